# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# What the manuals leave open and models do differently, as properties of the emulated processor.
# Group silicon tests all of them; --silicon selects one for all guests.

SILICON_RULE=

# The Pentium 4, with BTS at other bits of DEBUGCTL and other counters: the 64-bit variant, and an
# early one with neither 64-bit records nor a filter by CPL.
PENTIUM4=kvm64,x-netburst=on,x-pmu2=off,x-bts-predicts=on
PENTIUM4_EARLY=kvm32,model=2,-dtes64,-ds-cpl,x-netburst=on,x-pmu2=off,x-bts-predicts=on

declare -A SILICON=(
	[once]=x-bts-pmi=crossed
	[equal]=x-bts-pmi=equal
	[kept]=x-bts-pmi=crossed,x-bts-pmi-kept=on
	[late]=x-bts-pmi=crossed,x-bts-pmi-delay=100
	[db]=x-db-clears-bts=on,x-freeze-clears-tr=on
	[worst]=x-bts-pmi=equal,x-bts-pmi-delay=100,x-db-clears-bts=on,x-freeze-clears-tr=on,x-pmu-counts=on
)
