# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += bts/asleep bts/beside bts/contexts bts/cost bts/cycle bts/forge \
	bts/freeze bts/itself bts/judged bts/life bts/segment

BTS_TESTS := bts/common.c guest/known.c $(SYSTEM) guest/generate.c guest/source.c guest/sequence.S
asleep_SRCS := bts/asleep.c $(BTS_TESTS)
beside_SRCS := bts/beside.c $(BTS_TESTS)
contexts_SRCS := bts/contexts.c $(BTS_TESTS)
cost_SRCS := bts/cost.c $(BTS_TESTS) guest/peer.c
cycle_SRCS := bts/cycle.c $(BTS_TESTS)
forge_SRCS := bts/forge.c $(BTS_TESTS) guest/workload.c guest/faults.S
freeze_SRCS := bts/freeze.c $(BTS_TESTS)
itself_SRCS := bts/itself.c $(BTS_TESTS)
judged_SRCS := bts/judged.c $(BTS_TESTS) guest/handover.c guest/workload.c guest/faults.S
life_SRCS := bts/life.c $(BTS_TESTS)
segment_SRCS := bts/segment.c $(BTS_TESTS)
