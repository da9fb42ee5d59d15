# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += layer/asleep layer/beside layer/contexts layer/cost layer/cycle layer/forge \
	layer/freeze layer/itself layer/judged layer/life layer/segment

LAYER := layer/common.c guest/known.c $(SYSTEM) guest/generate.c guest/source.c guest/sequence.S
asleep_SRCS := layer/asleep.c $(LAYER)
beside_SRCS := layer/beside.c $(LAYER)
contexts_SRCS := layer/contexts.c $(LAYER)
cost_SRCS := layer/cost.c $(LAYER) guest/peer.c
cycle_SRCS := layer/cycle.c $(LAYER)
forge_SRCS := layer/forge.c $(LAYER) guest/workload.c guest/faults.S
freeze_SRCS := layer/freeze.c $(LAYER)
itself_SRCS := layer/itself.c $(LAYER)
judged_SRCS := layer/judged.c $(LAYER) guest/handover.c guest/workload.c guest/faults.S
life_SRCS := layer/life.c $(LAYER)
segment_SRCS := layer/segment.c $(LAYER)
