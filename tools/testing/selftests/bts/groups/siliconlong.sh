# SPDX-License-Identifier: GPL-2.0
# siliconlong (slow): perf samples at 1 kHz beside long traces, and the oracle judges
# shellcheck shell=bash

# shellcheck source=silicon.sh
. "$B/groups/silicon.sh"
# shellcheck source=btslong.sh
. "$B/groups/btslong.sh"

group_siliconlong() {
	local rule

	for rule in "" ,x-bts-pmi=equal; do
		asked "lossless${rule//[,=]/-}" cpu="$CPU,x-pmu-counts=on$rule" smp=2 pti=on mem=512 \
			timeout=1800 stall=600 -- lossless 10000000 65536 0 sampled
	done
	judged_long user-sampled 200000 loop,jcc,jmp,call,ret,indirect --user-addresses
}
