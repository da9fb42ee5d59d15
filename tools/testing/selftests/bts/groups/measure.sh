# SPDX-License-Identifier: GPL-2.0
# measure (slow): a figure measured twice differs by less than 1 %, and the figures meet their goals
# shellcheck shell=bash

# Measure a row of measure/rows twice: the results must differ by less than 1 %, and the first must
# meet the goal, if the row has one.
measure_twice() {
	local first peer ratio met
	WANTED=()

	run_row "$@"
	first=$FIGURE
	LEFT_OF=()
	figure_of "$1.again" "$5" "$6"
	if awk -v a="$first" -v b="$FIGURE" 'BEGIN { exit !(a != "" && (a == b || (a && b && b / a < 1.01 && a / b < 1.01))) }'; then
		pass "$1.same"
	else
		fail "$1.same" "${first:-nothing}, then ${FIGURE:-nothing}: more than 1 % apart"
	fi
	[ "$4" != - ] || return 0
	read -r peer ratio met < <(compare_row "$@")
	if [ "$met" = met ]; then
		pass "$1.goal"
	else
		fail "$1.goal" "$first against $peer (ratio $ratio), the goal is $4"
	fi
}

group_measure() {
	each_row measure_twice
}
