# SPDX-License-Identifier: GPL-2.0
GUEST_PROGS += ds/area ds/aux ds/claims ds/offline ds/suspend ds/jump ds/trcleared

DS_SHARED := ds/store.c guest/debugctl.c $(SYSTEM)
area_SRCS := ds/area.c $(DS_SHARED)
aux_SRCS := ds/aux.c $(DS_SHARED)
claims_SRCS := ds/claims.c $(DS_SHARED)
offline_SRCS := ds/offline.c $(DS_SHARED)
suspend_SRCS := ds/suspend.c $(DS_SHARED)
trcleared_SRCS := ds/trcleared.c $(DS_SHARED)
jump_SRCS := ds/jump.c guest/lbrs.c $(DS_SHARED)
