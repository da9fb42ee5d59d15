# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += bench/known bench/machine bench/stock \
	bench/tracers bench/victim bench/window

known_SRCS := bench/known.c $(SYSTEM) guest/generate.c guest/source.c guest/sequence.S
machine_SRCS := bench/machine.c $(SYSTEM) guest/source.c
stock_SRCS := bench/stock.c $(SYSTEM)
tracers_SRCS := bench/tracers.c $(SYSTEM) guest/generate.c guest/source.c guest/sequence.S
victim_CFLAGS := -nostdlib
window_SRCS := bench/window.c guest/handover.c guest/workload.c guest/source.c guest/sequence.S guest/faults.S
