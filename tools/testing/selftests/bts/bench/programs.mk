# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += bench/known bench/machine bench/stock \
	bench/tracers bench/victim bench/window

known_SRCS := bench/known.c $(SYSTEM) bench/generate.c bench/source.c bench/sequence.S
machine_SRCS := bench/machine.c $(SYSTEM) bench/source.c
stock_SRCS := bench/stock.c $(SYSTEM)
tracers_SRCS := bench/tracers.c $(SYSTEM) bench/generate.c bench/source.c bench/sequence.S
victim_CFLAGS := -nostdlib
window_SRCS := bench/window.c bench/handover.c bench/workload.c bench/source.c bench/sequence.S bench/faults.S
