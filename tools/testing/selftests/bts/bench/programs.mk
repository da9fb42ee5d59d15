# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += bench/known bench/window

known_SRCS := bench/known.c bench/generate.c bench/source.c bench/sequence.S
window_SRCS := bench/window.c bench/workload.c bench/source.c bench/sequence.S bench/faults.S
