# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Labs: kernel modules for tests. Each lab is a directory with a Makefile for kbuild.

# A header that labs share
LAB_LOOKUP=$B/guest/labs/lookup.h

make_lab() {
	local src=$1 build=$2 dir=$3

	make -C "$src" O="$build" -j "$JOBS" "${KERNEL_MAKE[@]}" modules_prepare &&
		make -C "$src" O="$build" -j "$JOBS" "${KERNEL_MAKE[@]}" \
			KBUILD_MODPOST_WARN=1 M="$dir" modules
}

# lab_overlay DIR: print the files in series/compat/VERSION that adapt the module in DIR to an older
# kernel.
lab_overlay() {
	local dir=$1

	[ -z "$OVERLAY" ] || find "$OVERLAY/rename.sed" "$OVERLAY/${dir#"$REPO/"}" -type f 2>/dev/null
}

# copy_lab DIR WORK: copy the module's sources and LAB_LOOKUP to WORK, and adapt them to this
# kernel.
copy_lab() {
	local dir=$1 work=$2 change

	cp "$dir"/* "$LAB_LOOKUP" "$work"
	[ -n "$OVERLAY" ] || return 0
	sed -i -f "$OVERLAY/rename.sed" "$work"/*.[ch]
	for change in "$OVERLAY/${dir#"$REPO/"}"/*.compat.patch; do
		[ ! -e "$change" ] || patch -s -F0 "$work/$(basename "$change" .compat.patch)" "$change" ||
			die "${change#"$REPO/"} does not fit $dir: update it"
	done
}

# need_lab DIR NAME FLAVOUR CONFIGURATION: build the module in DIR for this kernel, and set LAB to
# the path of NAME.ko.
need_lab() {
	local dir=$1 name=$2 flavour=$3 names=$4 src work key log

	need_kernel "$flavour" "$names"
	case $flavour in
	stock) src=$LINUX ;;
	fixed) src=$FIXED ;;
	*) src=$PATCHED ;;
	esac
	# The compiler splits kbuild's option -Wp,-MMD,FILE at commas: no comma may be in the path.
	work=$CACHE/lab/$LINUX_KEY-$name-$flavour-${names//,/+}
	LAB=$work/$name.ko
	key=$({
		cat "$KERNEL_BUILD.key" "$LAB_LOOKUP" "$dir"/*
		lab_overlay "$dir" | xargs -r cat
	} | key_of)
	[ "$(cat "$work.key" 2>/dev/null)" != "$key" ] || return 0
	rm -rf "$work" "$work.key"
	mkdir -p "$work"
	copy_lab "$dir" "$work"
	log=$CACHE/log/lab-$name-$flavour-${names//,/+}
	logged "build $name for the $flavour kernel, $names" "$log" \
		make_lab "$src" "$KERNEL_BUILD" "$work" ||
		die "$name does not build: $(reason_in "$log"), see $log"
	# tool_files finds a file for the guest by `command -v`, so the file must be executable.
	chmod +x "$LAB"
	echo "$key" >"$work.key"
}

# lab_boot CASE KEY=VALUE... -- PROG [ARG...]: build debugctl_lab for the given kernel, boot, and
# pass the path of the module before the first ARG. The keys kernel and config must come first.
lab_boot() {
	need_lab "$B/guest/labs/debugctl" debugctl_lab "${2#kernel=}" "${3#config=}"
	boot "$1" before="$LAB" "${@:2}"
}
