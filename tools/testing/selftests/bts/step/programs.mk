# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += step/rewrites
rewrites_SRCS := step/rewrites.c guest/tracee.c
rewrites_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += step/invisible
GUEST_PROGS_32 += step/invisible
GUEST_PROGS_X32 += step/invisible
invisible_SRCS := step/invisible.c step/invisible_ways.S guest/tracee.c
invisible_CFLAGS = $(PTRACE_BTS_UAPI) -no-pie
GUEST_PROGS += step/odd
GUEST_PROGS_32 += step/odd
odd_SRCS := step/odd.c step/odd.S guest/tracee.c $(SYSTEM)
odd_CFLAGS = $(PTRACE_BTS_UAPI) -no-pie
GUEST_PROGS += step/twice
twice_SRCS := step/twice.c guest/tracee.c
twice_CFLAGS = $(PTRACE_BTS_UAPI)
# A program that `twice` traces.
GUEST_PROGS += step/unusual
unusual_SRCS := step/unusual.c guest/workload.c guest/sequence.S guest/faults.S
GUEST_PROGS += step/stepped
stepped_SRCS := step/stepped.c $(RECORDER)
stepped_CFLAGS = $(PTRACE_BTS_UAPI)
