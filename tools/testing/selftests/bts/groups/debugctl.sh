# SPDX-License-Identifier: GPL-2.0
# debugctl: every bit of DEBUGCTL has one owner, and no update of it is lost
# shellcheck shell=bash

# FREEZE_IN_SMM is not on by itself: most of the time the kernel must do
# without, as in a virtual machine.
FREEZE_SMM=cpu=$CPU,x-freeze-smm=on

build_lab() {
	local src=$1 build=$2 dir=$3

	cp "$B"/debugctl/lab/* "$dir" &&
		make -C "$src" O="$build" "$ARCH_OPTION" -j "$JOBS" ${CC:+"CC=$CC"} modules_prepare &&
		make -C "$src" O="$build" "$ARCH_OPTION" -j "$JOBS" ${CC:+"CC=$CC"} \
			KBUILD_MODPOST_WARN=1 M="$dir" modules &&
		chmod +x "$dir/debugctl_lab.ko"
}

# lab_boot CASE KEY=VALUE... -- PROG [ARG...]: boot with the laboratory's
# module, made for that kernel; its path goes before the first ARG. The keys
# kernel and config must come first.
lab_boot() {
	local case=$1 kind=${2#kernel=} names=${3#config=} dir src key
	local keys=()
	shift 3

	while [ "$1" != -- ]; do
		keys+=("$1")
		shift
	done
	need_kernel "$kind" "$names"
	src=$LINUX
	[ "$kind" = stock ] || src=$PATCHED
	dir=$CACHE/lab/$kind-$names
	key=$(cat "$KERNEL_BUILD.key" "$B"/debugctl/lab/* | sha256sum)
	if [ "$(cat "$dir.key" 2>/dev/null)" != "$key" ]; then
		rm -rf "$dir" "$dir.key"
		mkdir -p "$dir"
		logged "build the laboratory for $kind $names" "$CACHE/log/lab" \
			build_lab "$src" "$KERNEL_BUILD" "$dir" ||
			die "the laboratory does not build: $(reason_in "$CACHE/log/lab"), see $CACHE/log/lab"
		echo "$key" >"$dir.key"
	fi
	boot "$case" kernel="$kind" config="$names" tools="$dir/debugctl_lab.ko" mem=512 \
		"${keys[@]}" -- "$2" "$dir/debugctl_lab.ko" "${@:3}"
}

# What must not change: on every kernel the same.
stepping() {
	lab_boot steps kernel="$FLAVOUR" config="$CONFIG" -- steps
	lab_boot steps32 kernel="$FLAVOUR" config="$CONFIG" -- steps_32
}

# What the stock kernel loses, and this one keeps.
races() {
	lab_boot races kernel=patched config="$CONFIG" -- races kept
	lab_boot races-bts kernel=patched config="$CONFIG" pti=off -- races kept bts
	lab_boot races-stock kernel=stock config=base -- races lost
	lab_boot races-bts-stock kernel=stock config=base pti=off -- races lost bts
}

# Suspend to RAM; the processor comes back with DEBUGCTL reset.
resume() {
	lab_boot resume kernel=patched config="$CONFIG" smp=2 "$FREEZE_SMM" -- resume kept
	lab_boot resume-stock kernel=stock config=base smp=2 "$FREEZE_SMM" -- resume lost
}

# All writers at once. On a processor without FREEZE_IN_SMM as well: its bit
# must not get into the copy.
storms() {
	lab_boot storm4 kernel=patched config="$CONFIG" smp=4 "$FREEZE_SMM" -- storm kept 20
	lab_boot storm2 kernel=patched config="$CONFIG" smp=2 -- storm kept 5
	lab_boot storm1 kernel=patched config="$CONFIG" smp=1 "$FREEZE_SMM" -- storm kept 5
	lab_boot storm-stock kernel=stock config=base smp=4 "$FREEZE_SMM" -- storm lost 10
}

# AMD's extension is what the emulator has; on Intel's this was only read.
nested() {
	local amd=max,vendor=AuthenticAMD,+svm

	lab_boot nested kernel=patched config=kvm cpu="$amd" -- nested kept
	lab_boot nested-stock kernel=stock config=kvm cpu="$amd" -- nested lost
}

group_debugctl() {
	boot kunit kernel=patched config="$CONFIG" append=kunit.enable=1 -- kunit debugctl
	races
	stepping
	storms
	resume
	nested
}
