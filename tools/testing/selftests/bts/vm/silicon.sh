# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What manuals leave open, and what models do differently, as properties of the
# emulated processor. Group silicon walks them; --silicon chooses one for all guests.

SILICON_RULE=

declare -A SILICON=(
	[once]=x-bts-pmi=crossed
	[equal]=x-bts-pmi=equal
	[kept]=x-bts-pmi=crossed,x-bts-pmi-kept=on
	[late]=x-bts-pmi=crossed,x-bts-pmi-delay=100
	[db]=x-db-clears-bts=on,x-freeze-clears-tr=on
	[worst]=x-bts-pmi=equal,x-bts-pmi-delay=100,x-db-clears-bts=on,x-freeze-clears-tr=on,x-pmu-counts=on
)
