# SPDX-License-Identifier: GPL-2.0
# siliconlong (slow): more rules; errata; perf samples beside long traces; the oracle checks them
# shellcheck shell=bash

# shellcheck source=silicon.sh
. "$B/groups/silicon.sh"
# shellcheck source=shared/oracle.sh
. "$B/groups/shared/oracle.sh"

# The oracle compares what a crash on a Pentium 4 prints with the emulator's log. --netburst tells
# the oracle the layout of that processor's DEBUGCTL.
judged_pentium4() {
	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	strict printed-pentium4 before="$LAB" expect=splat "${WINDOW[@]}" cpu="$PENTIUM4" \
		timeout=400 stall=300 -- printed 200
	judge printed-pentium4 "branches=200,jcc,call,ret,ve" "200 records equal" --netburst
}

# The Debug Store and the recorder with each erratum alone
errata() {
	local cpu name kind

	for cpu in Nehalem,x-bts-smi=997 Nehalem,x-bts-damage=97 Penryn,x-bts-wrong-from=on; do
		name=${cpu#*,x-bts-} name=${name%=*}
		kind=damaged
		if [ "$name" = wrong-from ]; then
			kind=task
			strict "files-$name" cpu="$cpu" smp=2 -- files all
		fi
		ours "claims-$name" cpu="$cpu" smp=2 pti=off abort=1 -- claims recording
		ours "offline-$name" cpu="$cpu" smp=2 abort=1 -- offline claim 5
		survived "crash-$name" cpu="$cpu" smp=2 -- crash "$kind" 10
	done
}

group_siliconlong() {
	local rule

	core_with equal kept late freeze
	errata
	for rule in "" ,x-bts-pmi=equal; do
		strict "lossless${rule//[,=]/-}" cpu="$CPU,x-pmu-counts=on$rule" smp=2 pti=on mem=512 \
			timeout=1800 stall=600 -- lossless 10000000 65536 0 sampled
	done
	judged_long user-sampled 200000 loop,jcc,jmp,call,ret,indirect --user-addresses
	judged_pentium4
}
