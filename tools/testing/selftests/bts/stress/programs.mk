# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += stress/fuzz
GUEST_PROGS_32 += stress/fuzz
GUEST_PROGS_X32 += stress/fuzz
fuzz_SRCS := $(addprefix stress/,fuzz.c tracer.c run.c request.c view.c model.c rng.c \
	tracee.c noise.c memory.c say.c) bench/source.c ptrace/common.c $(SYSTEM)
fuzz_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += stress/again
again_CFLAGS := -nostdlib
GUEST_PROGS += stress/collide
GUEST_PROGS_32 += stress/collide
collide_SRCS := $(addprefix stress/,collide.c rng.c memory.c say.c) ptrace/common.c \
	$(SYSTEM)
collide_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += stress/faults
faults_SRCS := $(addprefix stress/,faults.c memory.c) ptrace/nth.c ptrace/nobody.c ptrace/common.c \
	$(SYSTEM)
faults_CFLAGS = $(PTRACE_BTS_UAPI)
