# SPDX-License-Identifier: GPL-2.0
# step: branch traces by the trap flag, on Debian's own emulator and beside the Debug Store
# shellcheck shell=bash
#
# STEP_PARTS selects some of the parts of this group.

# step_plain CASE [KEY=VALUE...] -- PROG [ARG...]: boot a machine without a Debug Store.
step_plain() {
	boot "$1" machine=plain kernel=patched config="$CONFIG" icount=slow "${@:2}"
}

# With SMAP, IRET and far RET fail in user mode: QEMU 7.2 reads the stack with the kernel's rights.
step_invisible() {
	local abi

	for abi in '' _32 _x32; do
		step_plain "invisible-qemu64$abi" cpu=qemu64 -- "invisible$abi"
		step_plain "invisible-epyc$abi" cpu=EPYC,-smap smp=2 -- "invisible$abi"
	done
	step_plain invisible-smap cpu=EPYC smp=4 -- invisible smap
	step_plain invisible-skylake cpu=Skylake-Client,-smap smp=4 pti=on -- invisible
	step_plain invisible-skylake_32 cpu=Skylake-Client,-smap pti=off -- invisible_32
}

# Tests of group ptrace, and of how instructions are stepped (rewrites, units, odd). Not those tests
# of group ptrace that need the hardware: recordflags, and giveway, holders, sibling and exclude, in
# which perf needs the hardware, too.
step_requests() {
	step_plain requests-qemu64 cpu=qemu64 -- requests kernel
	step_plain requests-epyc_32 cpu=EPYC smp=2 -- requests_32 kernel
	step_plain requests-skylake_x32 cpu=Skylake-Client smp=4 pti=on -- requests_x32 kernel
	step_plain lossless cpu=qemu64 smp=2 -- lossless 300000 65536
	step_plain lossless-small cpu=EPYC -- lossless 60000 240
	step_plain lossless-trap cpu=Skylake-Client pti=on -- lossless 60000 4096 5
	step_plain lossless-stop cpu=qemu64 smp=4 -- lossless 60000 4096 19
	step_plain lossless-no-apic cpu=qemu64 append="nolapic noapic" -- lossless 60000 4096
	step_plain lossless-suspended cpu=EPYC smp=2 -- lossless 60000 4096 0 suspended
	step_plain orphans cpu=EPYC smp=2 -- orphans
	step_plain rewrites cpu=qemu64 -- rewrites
	step_plain units cpu=qemu64 append=kunit.enable=1 -- kunit bts_step
	step_plain odd cpu=qemu64 smp=2 -- odd
	step_plain odd_32 cpu=qemu64 smp=2 -- odd_32
	step_plain ends cpu=qemu64 smp=2 -- ends 1000
	step_plain inherit cpu=Skylake-Client smp=2 -- inherit
}

# twice CASE [KEY=VALUE...] -- twice ARG...: trace tasks by the trap flag and by the Debug Store:
# both must record the same branches of each task.
twice() {
	boot "twice-$1" kernel=patched config="$CONFIG" abort=1 icount=slow cpu="$CPU,-smap" \
		mem=512 with="walk walk_32 unusual hello" "${@:2}"
}

step_sources() {
	local busybox

	boot odd-block kernel=patched config="$CONFIG" icount=slow smp=2 append=isolcpus=1 \
		-- odd block
	boot odd-block_32 kernel=patched config="$CONFIG" icount=slow smp=2 append=isolcpus=1 \
		-- odd_32 block

	busybox=$(readlink -f "$(command -v busybox)")
	twice loop -- twice branches /bt/walk loop 1000
	twice mixed -- twice branches /bt/walk mixed 3
	twice mixed_32 pti=on -- twice branches /bt/walk_32 mixed 3
	twice entry -- twice entry /bt/walk mixed 3
	twice crash -- twice branches /bt/walk crash
	twice fault smp=2 -- twice branches /bt/walk fault
	twice tasks smp=2 -- twice branches /bt/unusual 1 6
	twice forks smp=2 -- twice branches /bt/walk forks 4
	twice execs -- twice branches /bt/walk execs 3
	twice unusual pti=off -- twice branches /bt/unusual 3
	twice unusual-entry pti=on -- twice entry /bt/unusual 2
	twice busybox tools=busybox -- twice branches "$busybox" sh -c \
		"for i in 1 2 3; do $busybox true; test -n x && echo y; done"
}

# Step while the recorder uses the hardware. If #DB clears TR, the kernel must set TR again after
# each step.
step_recorder() {
	local rule=(kernel=patched config="$CONFIG" icount=slow)

	boot recorded "${rule[@]}" pti=on -- stepped
	boot recorded-db "${rule[@]}" silicon=db -- stepped
	boot recorded-pentium4 "${rule[@]}" cpu="$PENTIUM4" -- stepped
	boot recorded-pentium4-db "${rule[@]}" cpu="$PENTIUM4" silicon=db -- stepped
	boot recorded-pentium4-db-all "${rule[@]}" cpu="$PENTIUM4,-ds-cpl" silicon=db -- stepped
}

install_kselftest() {
	local out=$1

	make -C "$PATCHED" O="$out" ARCH=x86_64 -j "$JOBS" headers &&
		make -C "$PATCHED/tools/testing/selftests" O="$out" ARCH=x86_64 -j "$JOBS" \
			TARGETS=bts ${CC:+"CC=$CC"} INSTALL_PATH="$out/install" install
}

# Set KSELFTEST to the directory that `make install` of the kernel's selftests fills.
need_kselftest() {
	local log=$CACHE/log/kselftest out

	need_patched_tree
	out=$CACHE/kselftest/$LINUX_KEY
	rm -rf "$out/kselftest" "$out/install"
	mkdir -p "$out"
	logged "install the kselftest" "$log" install_kselftest "$out" ||
		die "the kselftest does not build: $(reason_in "$log"), see $log"
	KSELFTEST=$out/install
}

# Run the kselftest by run_kselftest.sh. Only its own programs may be built. No test may be skipped.
step_kselftest() {
	local built own

	need_kselftest
	built=$(cd "$CACHE/kselftest/$LINUX_KEY/kselftest/bts/out/guest" && echo *)
	own=$(sed -n 's/^NATIVE_PROGS := //p' "$B/Makefile" | tr ' ' '\n' | LC_ALL=C sort |
		paste -sd ' ')
	if [ "$built" = "$own" ]; then
		pass kselftest.built
	else
		fail kselftest.built "make built other programs than those of NATIVE_PROGS: $built"
	fi
	step_plain kselftest cpu=qemu64 smp=2 tools="busybox $KSELFTEST" \
		before="$KSELFTEST/run_kselftest.sh" -- sh
	if grep -q '# SKIP' "$CASE_DIR/ktap"; then
		fail kselftest.whole "$(grep -m 1 '# SKIP' "$CASE_DIR/ktap") (see $CASE_DIR/ktap)"
	else
		pass kselftest.whole
	fi
}

group_step() {
	local part

	for part in ${STEP_PARTS:-invisible requests sources recorder kselftest}; do
		part=$(one_of STEP_PARTS "$part" invisible requests sources recorder kselftest) ||
			exit
		"step_$part"
	done
}
