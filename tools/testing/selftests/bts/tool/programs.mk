# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += tool/walk tool/toolmodes tool/toolfollow tool/toolhostile tool/toolerrors \
	tool/toolcost
GUEST_PROGS_32 += tool/walk

toolmodes_SRCS := tool/toolmodes.c tool/run.c
toolfollow_SRCS := tool/toolfollow.c tool/run.c
toolhostile_SRCS := tool/toolhostile.c tool/run.c
toolerrors_SRCS := tool/toolerrors.c tool/run.c
toolcost_SRCS := tool/toolcost.c tool/run.c
