# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# SILICON: rules for behavior that Intel's manuals leave open, or that differs between models. Each
# rule is a list of properties of the emulated processor. Groups silicon and siliconlong test all
# rules. --silicon selects the rule for guests of the patched emulator whose test does not select
# one.
#
# Without a rule, the processor does what is likeliest, except that its PMI is never late:
#  - It requests the PMI with each record at or past the threshold: the manual compares the index
#    with the threshold, and names no other condition.
#  - If the vector of the PMI is masked, the PMI is lost: the local APIC keeps only interrupts that
#    it has accepted.
#  - The filter by CPL tests the level after the branch: the manual says so of LBR_SELECT.
#  - A #DB clears LBR and BTF, and not TR: the manual says so.
#  - FREEZE_LBRS_ON_PMI does not clear TR: the manual says so of Atom only.

SILICON_RULE=

# The Pentium 4 has BTS at other bits of DEBUGCTL, and other counters. PENTIUM4 has 64 bits.
# PENTIUM4_EARLY has neither 64-bit records nor a filter by CPL.
PENTIUM4=kvm64,x-netburst=on,x-pmu2=off,x-bts-predicts=on
PENTIUM4_EARLY=kvm32,model=2,-dtes64,-ds-cpl,x-netburst=on,x-pmu2=off,x-bts-predicts=on

# A Core Duo has each erratum of BTS: a wrong source where the CPL changes if the filter by CPL is
# used, garbage after SMIs, and records that are lost or garbage. This one has 64 bits.
CORE_DUO=Penryn,model=14,x-bts-wrong-from=on,x-bts-smi=997,x-bts-damage=97

# A model's errata are in no rule: the kernel must know the models that have them.
declare -A SILICON=(
	[once]=x-bts-pmi=crossed
	[equal]=x-bts-pmi=equal
	[kept]=x-bts-pmi=crossed,x-bts-pmi-kept=on
	[late]=x-bts-pmi=crossed,x-bts-pmi-delay=100
	[jitter]=x-bts-pmi=crossed,x-bts-pmi-delay=100,x-bts-pmi-jitter=on
	[db]=x-db-clears-bts=on
	[freeze]=x-freeze-clears-tr=on
	[worst]=x-bts-pmi=equal,x-bts-pmi-delay=100,x-db-clears-bts=on,x-freeze-clears-tr=on,x-pmu-counts=on
)
