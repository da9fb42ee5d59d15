# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += ring0/crash ring0/files ring0/flight ring0/guestlbr ring0/hw-branches ring0/kdb \
	ring0/marks ring0/overlap ring0/pages ring0/printed ring0/recorded ring0/scrub \
	ring0/slow ring0/stray ring0/watch
GUEST_PROGS_32 += ring0/crash ring0/files ring0/flight

crash_SRCS := ring0/crash.c $(RECORDER) guest/dump.c
files_SRCS := ring0/files.c $(RECORDER)
flight_SRCS := ring0/flight.c $(RECORDER)
guestlbr_SRCS := ring0/guestlbr.c guest/lbrs.c $(RECORDER)
# The program that reads a dump, in the crash kernel or on the host.
hw-branches_SRCS := ../../../tracing/hw-branches/hw-branches.c \
	../../../tracing/hw-branches/dump.c \
	../../../../kernel/trace/trace_hw_branches_calls.c \
	../../../../kernel/trace/trace_hw_branches_fold.c \
	../../../../arch/x86/kernel/hw_branches_kind.c
hw-branches_CFLAGS := -I$(BTS_DIR)../../../../kernel/trace -I$(BTS_DIR)../../../../arch/x86/kernel
kdb_SRCS := ring0/kdb.c $(RECORDER) guest/dump.c guest/tracee.c
kdb_CFLAGS = $(PTRACE_BTS_UAPI)
marks_SRCS := ring0/marks.c $(RECORDER) guest/dump.c
pages_SRCS := ring0/pages.c $(SYSTEM)
printed_SRCS := ring0/printed.c $(RECORDER) guest/dump.c guest/handover.c
overlap_SRCS := ring0/overlap.c $(RECORDER) guest/dump.c guest/tracee.c
overlap_CFLAGS = $(PTRACE_BTS_UAPI)
recorded_SRCS := ring0/recorded.c $(RECORDER)
scrub_SRCS := ring0/scrub.c $(RECORDER)
slow_SRCS := ring0/slow.c $(RECORDER) guest/dump.c
stray_SRCS := ring0/stray.c $(RECORDER)
watch_SRCS := ring0/watch.c $(RECORDER)
