# SPDX-License-Identifier: GPL-2.0
# silicon: what manuals leave open and models do differently, one rule at a time
# shellcheck shell=bash

# shellcheck source=bts.sh
. "$B/groups/bts.sh"
# shellcheck source=ptrace.sh
. "$B/groups/ptrace.sh"

# When the interrupt comes, by name. With a counter's interrupt pending, or the handler
# of another NMI, the one of BTS finds its vector masked.
declare -A INTERRUPT=(
	[once]=x-bts-pmi=crossed
	[equal]=x-bts-pmi=equal
	[kept]=x-bts-pmi=crossed,x-bts-pmi-kept=on
	[late]=x-bts-pmi=crossed,x-bts-pmi-delay=100
)

# core NAME PROPERTY...: a trace of each kind on such a machine.
core() {
	local cpu=$CPU,$2

	traced "itself-$1" cpu="$cpu" smp=2 icount=slow -- itself
	traced "forge-$1" cpu="$cpu,-smap" smp=2 pti=on -- forge
	traced "beside-$1" cpu="$cpu" pti=off -- beside
	asked "requests-$1" cpu="$cpu" -- requests kernel
	asked "lossless-$1" cpu="$cpu" smp=2 -- lossless 60000 4096
	asked "lossless-small-$1" cpu="$cpu" pti=on -- lossless 60000 240
	asked "files-$1" cpu="$cpu" smp=2 -- files all
}

# Later than there is room for: what is lost is marked.
too_late() {
	asked too-late cpu="$CPU,x-bts-pmi=crossed,x-bts-pmi-delay=4000" -- silicon late
}

# Where #DB clears TR, nobody who steps loses a branch of user mode.
debug_exceptions() {
	core db x-db-clears-bts=on
	asked steps-db cpu="$CPU,x-db-clears-bts=on" smp=2 icount=slow -- silicon cleared
}

# Counters that overflow use the same vector.
sampled() {
	local rule

	for rule in "" ,x-bts-pmi=crossed ,x-bts-pmi=equal,x-bts-pmi-kept=on; do
		asked "sampled${rule//[,=]/-}" cpu="$CPU,x-pmu-counts=on$rule" smp=2 mem=1024 -- \
			silicon sampled
	done
}

# Records that are wrong or lost say so, on the models where that happens.
damaged() {
	asked smi cpu=Nehalem,x-bts-smi=997 -- recordflags all
	asked stpclk cpu=Nehalem,x-bts-damage=97 -- recordflags all
}

group_silicon() {
	local name

	for name in once equal kept late; do
		core "$name" "${INTERRUPT[$name]}"
	done
	sampled
	too_late
	debug_exceptions
	damaged
	traced itself-wrong-from cpu=Penryn,x-bts-wrong-from=on smp=2 icount=slow -- itself
	asked requests-wrong-from cpu=Penryn,x-bts-wrong-from=on -- requests kernel
}
