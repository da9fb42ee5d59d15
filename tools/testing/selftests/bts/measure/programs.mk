# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += measure/capture measure/pingpong

capture_SRCS := measure/capture.c measure/peer.c
pingpong_SRCS := measure/pingpong.c measure/peer.c
