# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += remains/remains remains/snapshot
remains_SRCS := remains/remains.c $(RECORDER) guest/dump.c
snapshot_SRCS := remains/snapshot.c $(RECORDER)
