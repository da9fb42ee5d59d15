#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Build the bare-metal conformance test and run it once on an emulated machine.

usage() {
	cat <<-END
	usage: run.sh QEMU [option...]
	  --layout 64|32             size of the Debug Store's fields (default 64)
	  --rule after|before|either which CPL the filter looks at (default after)
	  --pmi each|crossed|equal   which record asks for the interrupt (default each)
	  --kept                     an interrupt is kept while its vector is masked
	  --late                     the interrupt comes two branches late ('each' needs --icount)
	  --jitter                   it comes 1 to 8 branches late, at random (not with 'each')
	  --wrong-from               'from' is wrong where the CPL changes, with a filter bit
	  --lbr 8|16|32              with a stack of last branch records
	  --arch-lbr 16|32           with architectural last branch records
	  --amd-lbr                  with AMD's last branch records
	  --counts                   with performance counters that count
	  --db-clears                a machine whose #DB clears TR and BTS
	  --freeze-clears            one whose PMI clears TR while DEBUGCTL freezes LBRs
	  --debugctl                 the firmware has left bits in DEBUGCTL, on each CPU
	  --smi                      SMIs at random; the record after each is garbage
	  --damage                   each fourth record is lost or garbage, by turns
	  --seed NUMBER              of the random numbers; with --damage: another seed must give
	                             other garbage, the same seed the same
	  --predicts                 records tell which branches were predicted
	  --icount, --singlestep     as QEMU's own options
	  --netburst                 a Pentium 4: other bits of DEBUGCTL, a PMU of its own
	  --plain                    without DS-CPL and without a PMU
	  --off                      a machine without a Debug Store: it must offer none
	  --abort                    the machine must exit with 3 at the first lost store
	Environment: O, directory for what is built; QEMU_L, QEMU's -L options; CC.
	END
}

die() { echo "metal/run.sh: $*" >&2; exit 2; }

here=$(dirname "$(readlink -f "$0")")
layout=64 rule=after pmi=each kept='' late='' wrong='' db='' plain='' off='' abort='' lbr='' arch_lbr='' amd_lbr='' counts='' extra=()
freeze='' jitter='' debugctl='' seed='' predicts='' smi='' damage=''
qemu=${1:-}
[ "$qemu" = --help ] && { usage; exit 0; }
[ -x "$qemu" ] || die "'$qemu' is no QEMU; say: run.sh QEMU [option...]"
netburst=''
shift
while [ $# -gt 0 ]; do
	case $1 in
	--layout) layout=${2:-}; shift ;;
	--rule) rule=${2:-}; shift ;;
	--pmi) pmi=${2:-}; shift ;;
	--kept) kept=1 ;;
	--late) late=1 ;;
	--jitter) jitter=1 ;;
	--wrong-from) wrong=1 ;;
	--db-clears) db=1 ;;
	--freeze-clears) freeze=1 ;;
	--debugctl) debugctl=1 ;;
	--seed) seed=${2:-}; shift ;;
	--predicts) predicts=1 ;;
	--smi) smi=1 ;;
	--damage) damage=1 ;;
	--lbr) lbr=${2:-}; shift ;;
	--arch-lbr) arch_lbr=${2:-}; shift ;;
	--amd-lbr) amd_lbr=16 ;;
	--counts) counts=1 ;;
	--icount) extra+=(-icount shift=0) ;;
	--singlestep) extra+=(-singlestep) ;;
	--netburst) netburst=1 ;;
	--plain) plain=1 ;;
	--off) off=1 ;;
	--abort) abort=1 ;;
	*) usage >&2; die "unknown option '$1'" ;;
	esac
	shift
done
[[ $layout =~ ^(32|64)$ ]] || die "--layout takes 64 or 32"
[[ $rule =~ ^(after|before|either)$ ]] || die "--rule takes after, before or either"

[[ $pmi =~ ^(each|crossed|equal)$ ]] || die "--pmi takes each, crossed or equal"
[[ $lbr =~ ^(|8|16|32)$ && $arch_lbr =~ ^(|16|32)$ ]] ||
	die "--lbr takes 8, 16 or 32, and --arch-lbr 16 or 32"
[[ $pmi != each || -z $late || ${extra[*]} = *icount* ]] || die "--late with --pmi each needs --icount"
[[ ! $jitter || ( $pmi != each && ! $late ) ]] ||
	die "--jitter is not for --pmi each, nor for --late"
[[ $seed =~ ^[0-9]*$ && ( ! $seed || $damage ) ]] || die "--seed takes a number, and needs --damage"

tmp=$(mktemp -d) || die "no temporary directory"
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
O=${O:-$tmp}${netburst:+/netburst}
make -s -C "$here" O="$O" NETBURST=$netburst || die "the test does not build"

words="layout=$layout rule=$rule"
cpu="max,vendor=GenuineIntel,+ds"
[ "$layout" = 64 ] && cpu+=",+dtes64"
[ "$netburst" ] && cpu+=",family=15,model=4,x-netburst=on"
[ "$plain" ] && words+=" cpl=0" || cpu+=",+ds-cpl"
[ "$plain$netburst$amd_lbr" ] && words+=" pmu=0" || cpu+=",x-pmu2=on"
cpu+=",x-bts-cpl-rule=$rule,x-bts-pmi=$pmi"
words+=" pmi=$pmi"
[ "$kept" ] && { words+=" kept"; cpu+=",x-bts-pmi-kept=on"; }
[ "$late" ] && { words+=" delay=2"; cpu+=",x-bts-pmi-delay=2"; }
[ "$jitter" ] && { words+=" delay=8 jitter"; cpu+=",x-bts-pmi-delay=8,x-bts-pmi-jitter=on"; }
[ "$wrong" ] && { words+=" wrong-from"; cpu+=",x-bts-wrong-from=on"; }
[ "$lbr" ] && { words+=" lbr=$lbr"; cpu+=",x-lbr=$lbr"; }
[ "$arch_lbr" ] && { words+=" arch-lbr=$arch_lbr"; cpu+=",x-lbr=$arch_lbr,x-lbr-kind=arch"; }
[ "$amd_lbr" ] && { words+=" amd-lbr=$amd_lbr"; cpu+=",x-lbr=$amd_lbr,x-lbr-kind=amd"; }
[ "$counts" ] && { words+=" counts"; cpu+=",x-pmu-counts=on"; }
[[ ${extra[*]} = *icount* ]] && words+=" icount"
[ "$db" ] && { words+=" db-clears"; cpu+=",x-db-clears-bts=on"; }
[ "$freeze" ] && { words+=" freeze-clears"; cpu+=",x-freeze-clears-tr=on"; }
# FIRMWARE_DEBUGCTL in defs.h
firmware=0x1800
[ "$netburst" ] && firmware=0x10
[ "$debugctl" ] && { words+=" debugctl"; cpu+=",x-debugctl-reset=$firmware"; }
[ "$smi" ] && { words+=" smi=5"; cpu+=",x-bts-smi=5"; }
[ "$predicts" ] && { words+=" predicts"; cpu+=",x-bts-predicts=on"; }
[ "$damage" ] && { words+=" damage=3"; cpu+=",x-bts-damage=3"; }
[ "$off" ] && { words=off; cpu=max,vendor=GenuineIntel; }
[ "$abort" ] && { words+=" abort"; cpu+=",x-bts-abort=on"; }

# boot NAME [SEED]: boot the machine. Sets $status. Its output goes to NAME.out and NAME.err.
boot() {
	# shellcheck disable=SC2086 # QEMU_L is a list of options
	timeout "${TIMEOUT:-20}" "$qemu" ${QEMU_L:--L /usr/share/qemu -L /usr/share/seabios} \
		-machine pc,accel=tcg -cpu "$cpu${2:+,x-bts-seed=$2}" -smp 2 -m 32 -nodefaults \
		-display none -no-reboot -serial stdio \
		-kernel "$O/metal.elf" -append "$words" "${extra[@]}" \
		</dev/null >"$tmp/$1.out" 2>"$tmp/$1.err"
	status=$?
}

boot first "$seed"
tr -d '\r' <"$tmp/first.out"

# totals prints what the emulator has counted, and summary prints what the test expects.
totals() {
	sed -n 's/^bts: total //p' "$tmp/first.err" | tail -1
}
summary() {
	sed -n 's/^# total //p' "$tmp/first.out" | tr -d '\r'
}

if [ "$abort" ]; then
	[ $status = 3 ] && { echo "ok 1 - abort mode exits with status 3"; exit 0; }
	echo "not ok 1 - abort mode exits with status 3"
	exit 1
fi
case $status in
0) ;;
124) echo "Bail out! time-out"; exit 1 ;;
*) sed 's/^/# /' "$tmp/first.err"; echo "Bail out! QEMU exited with $status"; exit 1 ;;
esac
[ "$(summary)" ] || { echo "Bail out! the test did not get to its end"; exit 1; }
grep -q '^not ok' "$tmp/first.out" && exit 1
[ "$off" ] && exit 0
if [ "$(totals)" != "$(summary)" ]; then
	echo "# the machine counted: $(totals)"
	echo "Bail out! the machine's counters differ from what the test saw"
	exit 1
fi

# garbage NAME: print the checksum of the garbled records in NAME.out.
garbage() {
	sed -n 's/^# garbage //p' "$tmp/$1.out" | tr -d '\r'
}

# Compare the garbage with that of the same seed, and with that of another one.
if [ "$seed" ]; then
	[ "$(garbage first)" ] || { echo "Bail out! no garbage"; exit 1; }
	boot same "$seed"
	[ "$(garbage same)" = "$(garbage first)" ] ||
		{ echo "Bail out! the same seed gave other garbage"; exit 1; }
	boot other $((seed + 1))
	[[ $(garbage other) && $(garbage other) != "$(garbage first)" ]] ||
		{ echo "Bail out! another seed gave the same garbage, or none"; exit 1; }
fi
