# SPDX-License-Identifier: GPL-2.0
# small (slow): kernels for one CPU, for 32 bits with either record layout, and with FRED
# shellcheck shell=bash

# small_unit CASE CONFIGURATION KEY=VALUE...: run unit tests of DEBUGCTL, Debug Store and traces.
small_unit() {
	boot "$1-debugctl" kernel=patched config="$2" append=kunit.enable=1 "${@:3}" -- kunit debugctl
	boot "$1-ds" kernel=patched config="$2" append=kunit.enable=1 "${@:3}" -- kunit x86_ds
	boot "$1-bts" kernel=patched config="$2" append=kunit.enable=1 "${@:3}" -- kunit bts_ring bts_context branch_freeze
}

# small_traces CASE KEY=VALUE...: run tests of ptrace and of the recorder on a 32-bit kernel.
small_traces() {
	local bits=(kernel=patched config="$CONFIG,32" abort=1)

	boot "$1-requests" "${bits[@]}" "${@:2}" -- requests kernel
	boot "$1-ring" "${bits[@]}" "${@:2}" -- rings
	boot "$1-steps" "${bits[@]}" icount=slow "${@:2}" -- tracedsteps
	boot "$1-files" "${bits[@]}" "${@:2}" -- files all
	need_lab "$B/guest/labs/crash" bts_crash patched "$CONFIG,32"
	boot "$1-crash" "${bits[@]}" before="$LAB" expect=splat "${@:2}" -- crash task 2
}

# small CASE KEY=VALUE...: run small_unit and small_traces on a 32-bit kernel.
small() {
	small_unit "$1" "$CONFIG,32" smp=2 "${@:2}"
	small_traces "$1" smp=2 "${@:2}"
}

# The kernel takes the code from asm_fred_entrypoint_user to asm_fred_entrypoints_end for FRED's
# entry points. Both entry points and the exit must be there, and no other function.
fred_symbols() {
	local found

	found=$(nm -n "$KERNEL_BUILD/vmlinux" | awk '
		$3 == "asm_fred_entrypoint_user" { inside = 1 }
		$3 == "asm_fred_entrypoints_end" { exit }
		inside { print $3 }' | xargs)
	if [ "$found" = "asm_fred_entrypoint_user asm_fred_exit_user asm_fred_entrypoint_kernel" ]; then
		pass fred-symbols
	else
		fail fred-symbols "among the entry points: $found (see $KERNEL_BUILD/System.map)"
	fi
}

group_small() {
	small_unit up "$CONFIG,up" smp=1
	small wide
	small narrow cpu="$CPU,-dtes64"
	small pentium4-wide cpu="$PENTIUM4"
	small pentium4-early cpu="$PENTIUM4_EARLY"
	boot pentium4-early-flags kernel=patched config="$CONFIG,32" cpu="$PENTIUM4_EARLY" -- \
		recordflags predicts
	small_unit fred "$CONFIG,fred" smp=2
	fred_symbols
}
