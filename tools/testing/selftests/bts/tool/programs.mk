# SPDX-License-Identifier: GPL-2.0
TOOLS := tool/toolmodes tool/toolfollow tool/toolhostile tool/toolerrors tool/toolcost \
	tool/toolshapes
GUEST_PROGS += tool/walk $(TOOLS)
GUEST_PROGS_32 += tool/walk
$(foreach p,$(TOOLS),$(eval $(notdir $(p))_SRCS := $(p).c tool/run.c))

GUEST_PROGS += tool/straced

# With libraries: they come along into the guest as the tools of this system do.
HOST_PROGS += tool/shapes tool/stripped
HOST_PROGS_32 += tool/shapes
stripped_SRCS := tool/shapes.c
stripped_CFLAGS := -s
