# SPDX-License-Identifier: GPL-2.0
# lbrlong (slow): 200 crashes of each kind, recorded by last branch records
# shellcheck shell=bash

# shellcheck source=lbr.sh
. "$B/groups/lbr.sh"

group_lbrlong() {
	local CRASH="$CRASH|$LBR_ADDRESSES" i

	kinds_survived 32 20 200
	for i in {1..200}; do
		ROUND=-$i interrupted 32 20
		ROUND=-$i kinds_fatal 32 20
	done
}
