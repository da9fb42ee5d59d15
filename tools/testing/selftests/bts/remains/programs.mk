# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += remains/remains remains/snapshot
remains_SRCS := remains/remains.c $(RECORDER) guest/dump.c guest/lbrs.c guest/tracee.c
remains_CFLAGS = $(PTRACE_BTS_UAPI)
snapshot_SRCS := remains/snapshot.c $(RECORDER)
