# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += lbr/lastbranch
lastbranch_SRCS := lbr/lastbranch.c guest/lbrs.c $(RECORDER) guest/dump.c
