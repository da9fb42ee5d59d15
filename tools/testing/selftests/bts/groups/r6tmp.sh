# SPDX-License-Identifier: GPL-2.0
# r6tmp (slow): scratch
. "$B/groups/ring0.sh"
group_r6tmp() {
	crashing console smp=2 -- console 1
	crashing meet smp=2 -- meet 1
	crashing recursive smp=2 -- recursive 1
	flight sysrq smp=2 tools="$LAB" -- crash "$LAB" sysrq 1
	fatal panic panic smp=2
	fatal nmi bts_crash_fault smp=2 pti=off
}
