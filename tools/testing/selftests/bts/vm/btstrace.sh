# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Build btstrace in a directory of the cache.

BTSTRACE_DIR=tools/bts/btstrace

# make_btstrace DIR TARGET KEY=VALUE...: make TARGET in DIR with these variables of make.
make_btstrace() {
	make -C "$REPO/$BTSTRACE_DIR" -j "$JOBS" OUTPUT="$1" "${@:3}" "$2"
}

# need_btstrace [VARIANT TARGET KEY=VALUE...]: make TARGET of btstrace, and set BTSTRACE to the
# directory with the results. A compiler warning is an error.
need_btstrace() {
	local variant=${1:-plain} target=${2:-all} log

	log=$CACHE/log/btstrace-$variant
	BTSTRACE=$CACHE/programs/btstrace-$variant-$(printf '%s' "$REPO" | key_of)
	logged "build btstrace, $variant" "$log" make_btstrace "$BTSTRACE" "$target" \
		"CFLAGS=-O2 -g -Werror" ${CC:+"CC=$CC"} "${@:3}" ||
		die "btstrace does not build: $(reason_in "$log"), see $log"
}
