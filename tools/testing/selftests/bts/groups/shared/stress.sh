# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Boots of programs that make random requests.

# Have the slab allocator record the caller that allocated each object of the caches kmalloc-*.
OWNERS='append=slub_debug=U,kmalloc-*'

# stressed CASE SECONDS [KEY=VALUE...] -- PROG [ARG...]: boot a PROG that runs for up to SECONDS.
stressed() {
	boot "$1" kernel=patched config="$CONFIG" abort=1 timeout=$((2 * $2 + 120)) stall=120 \
		with="again fuzz fuzz_32" "$OWNERS" "${@:3}"
}
