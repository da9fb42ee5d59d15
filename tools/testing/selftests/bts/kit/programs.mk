# SPDX-License-Identifier: GPL-2.0
# Programs of the image that "vmtest.sh image" makes: PID 1, and some that its steps run.
GUEST_PROGS += kit/kit kit/questions kit/tracecost kit/units
# The image has a 32-bit kernel with 32-bit programs, too.
GUEST_PROGS_32 += kit/kit kit/questions kit/tracecost kit/units
kit_SRCS := kit/main.c kit/screen.c kit/report.c kit/machine.c kit/stick.c kit/state.c \
	kit/steps.c kit/klog.c kit/qr.c
kit_CFLAGS = $(PTRACE_BTS_UAPI)
questions_SRCS := kit/questions.c
tracecost_SRCS := kit/tracecost.c guest/tracee.c $(SYSTEM)
tracecost_CFLAGS = $(PTRACE_BTS_UAPI)
units_SRCS := kit/units.c
