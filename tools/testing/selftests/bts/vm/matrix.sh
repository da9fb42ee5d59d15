# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# vmtest.sh matrix: run vmtest.sh test for rows of the file matrix.

MATRIX=()	# lines of the table of results
ROWS_RUN=0	# number of rows that were run

# each_configuration FUNCTION: call FUNCTION NAME CONFIGURATION OPTIONS GROUPS for each row.
each_configuration() {
	local name config options groups

	while IFS=$'\t' read -r name config options groups <&6; do
		[[ $name && $name != \#* ]] || continue
		"$1" "$name" "$config" "$options" "$groups"
	done 6< <(on_this_kernel "$B/matrix")
}

know_row() {
	KNOWN+=("$1")
}

matrix_line() {
	local line

	printf -v line '%-10s %-9s %7s %7s %7s %7s  %s' "$@"
	MATRIX+=("$line")
}

# matrix_row NAME CONFIGURATION OPTIONS GROUPS: run vmtest.sh test for a row that is wanted, unless
# its configuration is '-'.
matrix_row() {
	local name=$1 config=$2 options groups log start=$SECONDS status=0 last

	[ ${#WANTED[@]} -eq 0 ] || [[ " ${WANTED[*]} " = *" $name "* ]] || return 0
	if [ "$config" = - ]; then
		matrix_line "$name" - - - - - "not run: $3"
		return
	fi
	[ "$3" = - ] || read -ra options <<<"$3"
	read -ra groups <<<"$4"
	log=$MATRIX_LOGS/$name
	ROWS_RUN=$((ROWS_RUN + 1))
	step "$name: $4" "$B/vmtest.sh" test --config "$config" "${MATRIX_OPTIONS[@]}" \
		"${options[@]}" "${groups[@]}" >"$log" 2>&1 || status=$?
	last=$(tail -n 1 "$log")
	if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		matrix_line "$name" "$config" "${BASH_REMATCH[@]:1}" $((SECONDS - start)) "$4"
	else
		matrix_line "$name" "$config" - - - $((SECONDS - start)) "$last"
	fi
	say "  $([ "$status" -eq 0 ] && echo ok || echo FAIL) $name ($((SECONDS - start)) s): $last"
	[ "$status" -eq 0 ] || {
		grep '^  FAIL' "$log" | sed 's/^/    /'
		FAILED=$((FAILED + 1))
		say "       log: $log"
	}
}

cmd_matrix() {
	local name
	KNOWN=() WANTED=("$@")
	check_kernel_dir
	LINUX_VERSION=$(wanted_version)
	MATRIX_OPTIONS=(-j "$JOBS" --cpu "$CPU" --cpl-rule "$CPL_RULE")
	if [ -n "$KERNEL_DIR" ]; then
		MATRIX_OPTIONS+=(--kernel "$KERNEL_DIR")
	else
		MATRIX_OPTIONS+=(--base "$BASE")
	fi
	MATRIX_OPTIONS+=(--seconds "$STRESS_SECONDS" --seed "$STRESS_SEED")
	[ "$STRESS_REQUESTS" -eq 0 ] || MATRIX_OPTIONS+=(--requests "$STRESS_REQUESTS")
	[ "$STRESS_ROUNDS" -eq 0 ] || MATRIX_OPTIONS+=(--rounds "$STRESS_ROUNDS")

	each_configuration know_row
	for name; do
		[[ " ${KNOWN[*]} " = *" $name "* ]] || die "no row $name: there are ${KNOWN[*]}"
	done
	make_cache
	MATRIX_LOGS=$CACHE/log/matrix
	mkdir -p "$MATRIX_LOGS" || die "cannot write $MATRIX_LOGS: free some space"
	set_traps
	each_configuration matrix_row
	printf '%-10s %-9s %7s %7s %7s %7s  %s\n' name config passed failed skipped seconds groups
	printf '%s\n' "${MATRIX[@]}"
	[ "$FAILED" -eq 0 ] && [ "$ROWS_RUN" -gt 0 ]
}
