# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Short forms of boot() that several groups use.

# ours CASE [KEY=VALUE...] -- PROG [ARG...]: boot the kernel with the series.
ours() {
	boot "$1" kernel=patched config="$CONFIG" "${@:2}"
}

# strict CASE [KEY=VALUE...] -- PROG [ARG...]: the same. The emulator ends if the CPU cannot store a
# record because its buffer is not mapped.
strict() {
	ours "$1" abort=1 "${@:2}"
}

# traced CASE KEY=VALUE... -- PROG [ARG...]: boot with the module bts_lab, and pass its path before
# the first ARG.
traced() {
	need_lab "$B/guest/labs/bts" bts_lab patched "$CONFIG"
	strict "$1" before="$LAB" mem=1024 "${@:2}"
}

# stock CASE [KEY=VALUE...] -- PROG [ARG...]: boot the kernel without the series.
stock() {
	boot "$1" kernel=stock config=base "${@:2}"
}

# stuck_pmu CASE kernel=FLAVOUR config=CONFIGURATION -- aux reset right|wrong: run on a processor
# whose PMU gets stuck. perf must warn, and reset the PMU.
stuck_pmu() {
	lab_boot "$1" "$2" "$3" pti=off cpu="$CPU,x-pmu-stuck=on" expect=splat "${@:4}"
	nothing_else "$1" 'irq loop stuck|WARNING: .* intel_pmu_handle_irq'
	came_to_end "$1"
}
