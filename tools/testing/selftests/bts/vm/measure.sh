# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtest.sh measure: each row of measure/rows is a program that measures a figure in a guest, or one
# of the functions figure_reach and figure_left. Except for figure_left, the guest runs with
# -icount: its clock counts instructions. Each iteration of REP MOVSB would count as an instruction,
# so the processor lacks ERMS and FSRM, with which the kernel copies by REP MOVSB.

MEASURE_CPU=-erms,-fsrm

declare -A VALUE=()	# figure of each key, empty if there is none

# each_row FUNCTION: call FUNCTION KEY UNIT PEER GOAL BOOT PROGRAM for each row.
each_row() {
	local key unit peer goal options program

	while IFS=$'\t' read -r key unit peer goal options program <&7; do
		[[ $key && $key != \#* ]] || continue
		"$1" "$key" "$unit" "$peer" "$goal" "$options" "$program"
	done 7<"$B/measure/rows"
}

# wanted KEY: return whether a row is to be measured. WANTED has the rows that the user has named,
# and their peers; if it is empty, all rows are wanted.
wanted() {
	[ ${#WANTED[@]} -eq 0 ] || [[ " ${WANTED[*]} " = *" $1 "* ]]
}

want_peer() {
	if wanted "$1" && [ "$3" != - ]; then
		WANTED+=("$3")
	fi
}

# figure CASE OPTIONS PROGRAM: run the program in a guest, and set FIGURE to what it measures.
figure() {
	local options program

	read -ra options <<<"$2"
	read -ra program <<<"$3"
	# The first option may be a word instead of KEY=VALUE. It selects the files for the program.
	case ${options[0]} in
	lab) need_lab "$B/guest/labs/bts" bts_lab patched "$CONFIG" ;;
	tool)
		need_btstrace plain tests
		LAB="$BTSTRACE/btstrace $BTSTRACE/test/record"
		;;
	crash) need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG" ;;
	esac
	if [[ ${options[0]} != *=* ]]; then
		options[0]="before=$LAB"
	fi
	boot "$1" icount=1 smp=1 cpu="$CPU,$MEASURE_CPU" "${options[@]}" -- "${program[@]}"
	FIGURE=$(sed -n 's/^# measure //p' "$CASE_DIR/ktap")
}

# Print the median of sorted numbers.
median() {
	awk '{ v[NR] = $1 } END { print NR ? (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 : "" }'
}

# The kinds of crashes for the figure recorder.reach.
REACH=(task jump bug lock irq work nmi recurse longjmp panic)

# reach_of CASE KIND: crash a guest, whose console shows the newest branches in 32 lines. Append to
# $SCRATCH/values the number of branches that these lines stand for, divided by 32.
reach_of() {
	boot "$1-$2" icount=1 smp=1 cpu="$CPU,$MEASURE_CPU" kernel=patched \
		config="$CONFIG,mitigations" before="$LAB" expect=splat \
		append="sysctl.kernel.panic_on_oops=1" -- crash end "$2" >&2
	tr -d '\r' <"$CASE_DIR/console" | awk -v kind="$2" '
		/Last branches of CPU 0, .* follow/ && !n { sub(/ follow.*/, ""); n = $NF }
		END { print n / 32, kind }' >>"$SCRATCH/values"
}

# figure_reach CASE: set FIGURE to the median of reach_of() for all kinds of crashes.
figure_reach() {
	local kind values

	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG,mitigations"
	: >"$SCRATCH/values"
	for kind in "${REACH[@]}"; do
		reach_of "$1" "$kind"
	done
	values=$(sort -n "$SCRATCH/values")
	awk '{ print "       " $0 }' <<<"$values" >&2
	FIGURE=$(median <<<"$values")
}

# The kinds of crashes for the figures of last branch records.
LEFT=(task kernel null jump error protection interrupted bug double panic nmipanic warn stuck)

# left_of CASE KIND OUT: crash a guest whose LBRs leave out the branches that OUT names ("nothing":
# none). Append to $SCRATCH/values how many lines of branches the console shows, and how many
# functions they name.
left_of() {
	local append=panic_on_warn=1

	# The detector of hard lockups must find this one.
	[ "$2" != stuck ] || append=$NMI_WATCHDOG
	boot "$1-$2" smp=1 "$(lbr_cpu 32),$MEASURE_CPU" kernel=patched config="$CONFIG" before="$LAB" \
		expect=splat append="$append" -- lastbranch die "$2" "$3" >&2
	echo "$(awk -f "$B/ring0/left.awk" "$CASE_DIR/console") $2" >>"$SCRATCH/values"
}

declare -A LEFT_OF=()	# for each OUT, the output of left_of for all kinds of crashes

# figure_left CASE branches|functions OUT: set FIGURE to the least number of lines that left_of()
# counts for any kind of crash, or to the median of the number of functions.
figure_left() {
	local kind values

	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG"
	if [ -z "${LEFT_OF[$3]-}" ]; then
		: >"$SCRATCH/values"
		for kind in "${LEFT[@]}"; do
			left_of "$1" "$kind" "$3"
		done
		LEFT_OF[$3]=$(sort -n "$SCRATCH/values")
	fi
	values=${LEFT_OF[$3]}
	awk '{ print "       " $1 " branches, " $2 " functions, " $3 }' <<<"$values" >&2
	if [ "$2" = branches ]; then
		FIGURE=$(awk 'NR == 1 { print $1 }' <<<"$values")
	else
		FIGURE=$(awk '{ print $2 }' <<<"$values" | sort -n | median)
	fi
}

# figure_of CASE BOOT PROGRAM: set FIGURE to what PROGRAM of a row measures.
figure_of() {
	local words

	read -ra words <<<"$3"
	case ${words[0]} in
	reach) figure_reach "$1" ;;
	left) figure_left "$1" "${words[1]}" "${words[2]}" ;;
	*) figure "$@" ;;
	esac
}

run_row() {
	wanted "$1" || return 0
	figure_of "$1" "$5" "$6"
	VALUE[$1]=$FIGURE
}

# compare_row KEY UNIT PEER GOAL...: print the peer's figure, the ratio to it, and whether the goal
# is met: met or missed; ? if the row has no figure, or if the goal needs the peer's figure, which
# is missing; otherwise - if there is no goal.
compare_row() {
	awk -v ours="${VALUE[$1]}" -v peer="${VALUE[$3]-}" -v goal="$4" 'BEGIN {
		ratio = met = "-"
		if (ours != "" && peer != "" && peer + 0)
			ratio = sprintf("%.3f", ours / peer)
		n = substr(goal, 2) + 0
		if (ours == "" || (goal ~ /^[x+]/ && peer == ""))
			met = "?"
		else if (goal ~ /^x/)
			met = ours <= n * peer ? "met" : "missed"
		else if (goal ~ /^[+]/)
			met = ours <= peer + n ? "met" : "missed"
		else if (goal ~ /^</)
			met = ours <= n ? "met" : "missed"
		else if (goal ~ /^>/)
			met = ours >= n ? "met" : "missed"
		print (peer == "" ? "-" : peer), ratio, met
	}'
}

print_row() {
	local peer ratio met format='%-22s %12s %-20s %-20s %12s %8s  %s\n'
	wanted "$1" || return 0

	read -r peer ratio met < <(compare_row "$@")
	[ "$4" = - ] || [ "$met" = met ] || MISSED=$((MISSED + 1))
	if [ -n "$TSV" ]; then
		format='%s\t%s\t%s\t%s\t%s\t%s\t%s\n'
		met=$4
	elif [ "$4" = - ]; then
		met=
	else
		met="$4 $met"
	fi
	# shellcheck disable=SC2059
	printf "$format" "$1" "${VALUE[$1]:--}" "$2" "$3" "$peer" "$ratio" "$met"
}

check_key() {
	KNOWN+=("$1")
}

cmd_measure() {
	local arg
	WANTED=() KNOWN=() MISSED=0

	each_row check_key
	for arg; do
		[[ " ${KNOWN[*]} " = *" $arg "* ]] || die "no figure $arg: there are ${KNOWN[*]}"
		WANTED+=("$arg")
	done
	[ ${#WANTED[@]} -eq 0 ] || each_row want_peer
	check_config_name "$CONFIG"
	prepare build
	GROUP=measure
	RESULTS=$CACHE/results/measure
	mkdir -p "$RESULTS" || die "cannot write $RESULTS: free some space"
	# Standard output is for the table.
	each_row run_row >&2
	[ -n "$TSV" ] ||
		printf '%-22s %12s %-20s %-20s %12s %8s  %s\n' figure ours unit peer "peer's" ratio goal
	each_row print_row
	[ "$FAILED" -eq 0 ] || say "logs: $RESULTS" >&2
	[ "$FAILED" -eq 0 ] && [ "$MISSED" -eq 0 ]
}
