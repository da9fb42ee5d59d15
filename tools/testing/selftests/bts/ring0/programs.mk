# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += ring0/crash ring0/files ring0/flight ring0/guestlbr ring0/hw-branches ring0/kdb \
	ring0/lastbranch ring0/marks ring0/overlap ring0/pages ring0/printed ring0/recorded \
	ring0/remains ring0/scrub ring0/slow ring0/snapshot ring0/stepped ring0/stray ring0/watch
GUEST_PROGS_32 += ring0/crash ring0/files ring0/flight

RING0 := ring0/common.c $(SYSTEM)
crash_SRCS := ring0/crash.c $(RING0) ring0/dump.c
files_SRCS := ring0/files.c $(RING0)
flight_SRCS := ring0/flight.c $(RING0)
guestlbr_SRCS := ring0/guestlbr.c guest/lbrs.c $(RING0)
# The program that reads a dump, in the crash kernel or on the host.
hw-branches_SRCS := ../../../tracing/hw-branches/hw-branches.c \
	../../../tracing/hw-branches/dump.c \
	../../../../kernel/trace/trace_hw_branches_calls.c \
	../../../../kernel/trace/trace_hw_branches_fold.c \
	../../../../arch/x86/kernel/hw_branches_kind.c
hw-branches_CFLAGS := -I$(BTS_DIR)../../../../kernel/trace -I$(BTS_DIR)../../../../arch/x86/kernel
kdb_SRCS := ring0/kdb.c $(RING0) ring0/dump.c guest/tracee.c
kdb_CFLAGS = $(PTRACE_BTS_UAPI)
lastbranch_SRCS := ring0/lastbranch.c guest/lbrs.c $(RING0) ring0/dump.c
marks_SRCS := ring0/marks.c $(RING0) ring0/dump.c
pages_SRCS := ring0/pages.c $(SYSTEM)
printed_SRCS := ring0/printed.c $(RING0) ring0/dump.c guest/handover.c
overlap_SRCS := ring0/overlap.c $(RING0) ring0/dump.c guest/tracee.c
overlap_CFLAGS = $(PTRACE_BTS_UAPI)
recorded_SRCS := ring0/recorded.c $(RING0)
remains_SRCS := ring0/remains.c $(RING0) ring0/dump.c guest/tracee.c
remains_CFLAGS = $(PTRACE_BTS_UAPI)
scrub_SRCS := ring0/scrub.c $(RING0)
slow_SRCS := ring0/slow.c $(RING0) ring0/dump.c
snapshot_SRCS := ring0/snapshot.c $(RING0)
stepped_SRCS := ring0/stepped.c $(RING0)
stepped_CFLAGS = $(PTRACE_BTS_UAPI)
stray_SRCS := ring0/stray.c $(RING0)
watch_SRCS := ring0/watch.c $(RING0)
