# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += measure/capture measure/pingpong

capture_SRCS := measure/capture.c guest/peer.c
pingpong_SRCS := measure/pingpong.c guest/peer.c
