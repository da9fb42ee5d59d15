#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Run the bare-metal test once with each set of options for run.sh that matrix() prints.
# Prints a line for each boot, and for a boot that fails, its output without the checks that passed.

usage() {
	cat <<-END
	usage: all.sh QEMU [JOBS]
	Runs the bare-metal test once with each set of options of run.sh that matters.
	  QEMU   the emulator, with the Debug Store of qemu/
	  JOBS   number of boots at a time (default 2)
	Environment: O, QEMU_L and CC, as for run.sh.
	END
}

case ${1:-} in
-h | --help)
	usage
	exit 0
	;;
esac
here=$(dirname "$(readlink -f "$0")")
qemu=${1:-} jobs=${2:-2}
[ -x "$qemu" ] || { echo "metal/all.sh: '$qemu' is no QEMU; say: all.sh QEMU [JOBS]" >&2; exit 2; }
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP
export O=${O:-$tmp} here qemu tmp

make -s -C "$here" O="$O" && make -s -C "$here" O="$O/netburst" NETBURST=1 || { echo "metal/all.sh: the test does not build" >&2; exit 2; }

matrix() {
	for layout in 64 32; do
		for rule in after before either; do
			for mode in "" " --icount" " --singlestep"; do
				echo "--layout $layout --rule $rule$mode"
			done
		done
		for mode in "" " --late" " --kept"; do
			echo "--layout $layout --pmi crossed$mode"
			echo "--layout $layout --pmi equal$mode"
		done
		echo "--layout $layout --pmi crossed --jitter"
		for mode in "" " --icount"; do
			echo "--layout $layout --lbr 8 --counts$mode"
			echo "--layout $layout --lbr 16 --counts$mode"
			echo "--layout $layout --lbr 32 --counts$mode"
			echo "--layout $layout --arch-lbr 16$mode"
			echo "--layout $layout --arch-lbr 32$mode"
			echo "--layout $layout --amd-lbr$mode"
		done
		echo "--layout $layout --pmi each --late --icount"
		echo "--layout $layout --pmi each --kept"
		for mode in "" " --icount"; do
			echo "--layout $layout --smi$mode"
		done
		echo "--layout $layout --damage"
		echo "--layout $layout --damage --predicts --seed 7"
		echo "--layout $layout --predicts"
		echo "--layout $layout --predicts --wrong-from"
		echo "--layout $layout --freeze-clears"
		echo "--layout $layout --freeze-clears --kept --lbr 16 --counts"
		echo "--layout $layout --debugctl"
		echo "--layout $layout --wrong-from"
		echo "--layout $layout --db-clears"
		echo "--layout $layout --plain"
		echo "--layout $layout --abort"
		for rule in after before either; do
			echo "--layout $layout --netburst --rule $rule"
		done
		echo "--layout $layout --netburst --plain"
		echo "--layout $layout --netburst --predicts"
		echo "--layout $layout --netburst --pmi crossed --late"
		echo "--layout $layout --netburst --pmi equal --jitter"
		echo "--layout $layout --netburst --db-clears"
		echo "--layout $layout --netburst --debugctl"
		echo "--layout $layout --netburst --damage"
	done
	echo "--off"
}

one() {
	local out=$tmp/${1// /_}

	# shellcheck disable=SC2086 # several options
	"$here/run.sh" "$qemu" $1 >"$out" 2>&1
	echo $? >"$out.status"
}
export -f one

# shellcheck disable=SC2016 # expanded by the shell that xargs starts
matrix | xargs -d '\n' -n 1 -P "$jobs" bash -c 'one "$1"' one

n=0 failed=0
echo "KTAP version 1"
echo "1..$(matrix | wc -l)"
while read -r options; do
	n=$((n + 1))
	out=$tmp/${options// /_}
	text="$n - metal ${options//--/}: $(grep -c '^ok' "$out") checks"
	if [ "$(cat "$out.status")" = 0 ]; then
		echo "ok $text"
	else
		failed=$((failed + 1))
		grep -v -e '^ok' -e '^KTAP' -e '^1\.\.' -e '^# total' "$out" | sed 's/^\(# \)\?/# /'
		echo "not ok $text passed"
	fi
done < <(matrix)
[ $failed = 0 ]
