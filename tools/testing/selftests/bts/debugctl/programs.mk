# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += debugctl/races debugctl/steps debugctl/storm debugctl/resume debugctl/nested debugctl/upstream
GUEST_PROGS_32 += debugctl/steps

races_SRCS := debugctl/races.c debugctl/common.c
steps_SRCS := debugctl/steps.c debugctl/common.c debugctl/walk.c debugctl/walk.S
storm_SRCS := debugctl/storm.c debugctl/common.c debugctl/walk.c debugctl/walk.S
resume_SRCS := debugctl/resume.c debugctl/common.c
nested_SRCS := debugctl/nested.c debugctl/common.c debugctl/vcpu.S
NATIVE_PROGS += steps
