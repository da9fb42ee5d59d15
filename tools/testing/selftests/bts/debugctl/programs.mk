# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += debugctl/lbr debugctl/races debugctl/storm debugctl/resume debugctl/nested debugctl/upstream

lbr_SRCS := debugctl/lbr.c $(DEBUGCTL) guest/walk.c guest/walk.S
races_SRCS := debugctl/races.c $(DEBUGCTL)
storm_SRCS := debugctl/storm.c $(DEBUGCTL) guest/walk.c guest/walk.S
resume_SRCS := debugctl/resume.c $(DEBUGCTL)
nested_SRCS := debugctl/nested.c $(DEBUGCTL) debugctl/vcpu.S
