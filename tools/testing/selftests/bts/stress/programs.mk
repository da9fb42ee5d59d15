# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += stress/fuzz
GUEST_PROGS_32 += stress/fuzz
GUEST_PROGS_X32 += stress/fuzz
fuzz_SRCS := $(addprefix stress/,fuzz.c tracer.c run.c request.c view.c model.c rng.c \
	tracee.c noise.c memory.c say.c) guest/source.c guest/tracee.c $(SYSTEM)
fuzz_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += stress/again
again_CFLAGS := -nostdlib
GUEST_PROGS += stress/collide
GUEST_PROGS_32 += stress/collide
collide_SRCS := $(addprefix stress/,collide.c rng.c memory.c say.c) guest/tracee.c \
	$(SYSTEM)
collide_CFLAGS = $(PTRACE_BTS_UAPI)
GUEST_PROGS += stress/faults
faults_SRCS := $(addprefix stress/,faults.c memory.c) guest/nth.c guest/nobody.c guest/tracee.c \
	$(SYSTEM)
faults_CFLAGS = $(PTRACE_BTS_UAPI)
