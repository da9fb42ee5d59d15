# SPDX-License-Identifier: GPL-2.0
TOOLS := tool/toolmodes tool/toolfollow tool/toolhostile tool/toolerrors tool/toolcost \
	tool/toolshapes tool/toolcrash tool/toolread
GUEST_PROGS += tool/walk $(TOOLS)
GUEST_PROGS_32 += tool/walk
$(foreach p,$(TOOLS),$(eval $(notdir $(p))_SRCS := $(p).c tool/run.c))
toolread_SRCS += guest/peer.c
toolread_CFLAGS = $(PTRACE_BTS_UAPI)

# Dynamically linked programs. The bench copies some of them with their libraries into the guest.
HOST_PROGS += tool/shapes tool/stripped tool/crashes tool/crashesxx tool/loop \
	tool/repeat tool/madeup
loop_CFLAGS = $(PTRACE_BTS_UAPI)
repeat_CFLAGS = $(PTRACE_BTS_UAPI)
madeup_CFLAGS = $(PTRACE_BTS_UAPI)
HOST_PROGS_32 += tool/shapes
stripped_SRCS := tool/shapes.c
stripped_CFLAGS := -s
# These two have bugs on purpose: the compiler must neither warn of them nor optimize them away.
crashes_CFLAGS := -O1 -fstack-protector-all -Wno-array-bounds
crashesxx_CFLAGS := -O1
crashesxx_LDLIBS := -lstdc++
