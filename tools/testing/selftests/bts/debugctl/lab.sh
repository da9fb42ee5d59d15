# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The laboratory's module, for the groups debugctl and nested.

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
	boot "$case" kernel="$kind" config="$names" tools="$dir/debugctl_lab.ko" \
		"${keys[@]}" -- "$2" "$dir/debugctl_lab.ko" "${@:3}"
}
