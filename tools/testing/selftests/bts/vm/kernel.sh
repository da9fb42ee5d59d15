# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Kernels: stock, fixed (with the fixes of the series only) and patched. Each configuration has its
# own build directory, which is kept: a change of one file rebuilds only what depends on that file.

declare -A KERNELS=()	# kernels that this run has brought up to date

# Print the files of the series that change the kernel, as paths below $REPO. Changes of tools,
# documentation and manual pages must not rebuild a kernel.
series_files() {
	(
		cd "$REPO" && find . \( -path ./.git -o -path ./.ci -o -path ./series \
			-o -path ./tools -o -path ./Documentation -o -path ./man-pages \
			-o -path ./gdb -o -path ./strace \) -prune -o \
			-type f -path './*/*' -print
	)
}

series_key() {
	{
		cd "$REPO" && series_files | sort | tr '\n' '\0' | xargs -0r sha256sum
		cat "$REPO/series/series"
		[ -z "$OVERLAY" ] || contents "$OVERLAY"
	} | key_of
}

fresh_tree() {
	rm -rf "$1"
	mkdir -p "$(dirname "$1")" && cp -al "$LINUX" "$1"
}

# lay_series TREE [--to PATCH]: apply the series, or its patches up to PATCH, to TREE. Make TREE if
# it does not exist.
lay_series() {
	local tree=$1

	[ -d "$tree" ] || fresh_tree "$tree" || return
	"$REPO/series/apply" "${@:2}" "$tree" && return
	# If a previous series/apply was killed, the tree may be inconsistent: start with a fresh
	# one.
	fresh_tree "$tree" && "$REPO/series/apply" "${@:2}" "$tree"
}

# need_series_tree TREE [--to PATCH]: make TREE carry the series, or its patches up to PATCH.
# Unchanged files are links to those of the pristine tree: series/apply replaces files and never
# writes into them.
need_series_tree() {
	local tree=$1 key log=$CACHE/log/series-apply

	key=$LINUX_STATE-$(series_key)
	[ "$(cat "$tree.key" 2>/dev/null)" != "$key" ] || return 0
	rm -f "$tree.key"
	logged "apply the series to the kernel" "$log" lay_series "$@" ||
		die "the series does not fit: $(tail -n 1 "$log"), see $log"
	echo "$key" >"$tree.key"
}

# Set PATCHED to a tree with the series.
need_patched_tree() {
	need_linux
	PATCHED=$CACHE/patched/$LINUX_KEY
	need_series_tree "$PATCHED"
}

# Set FIXED to a tree with only the fixes of the series: its patches before number 0100.
need_fixed_tree() {
	need_linux
	FIXED=$CACHE/fixed/$LINUX_KEY
	need_series_tree "$FIXED" --to "$(grep '^00[0-9][0-9]-' "$REPO/series/series" | tail -n 1)"
}

# on_this_kernel FILE: print FILE. Remove '# on VERSION: ' from lines for this kernel's version, so
# that they are no longer comments.
on_this_kernel() {
	sed "s/^# on ${LINUX_VERSION//./\\.}: //" "$1"
}

# fragment FILE: print the path of a copy of this fragment of a configuration, adapted to this
# kernel by on_this_kernel.
fragment() {
	local dir=$CACHE/fragments/$LINUX_VERSION

	mkdir -p "$dir"
	on_this_kernel "$1" >"$dir/${1##*/}"
	echo "$dir/${1##*/}"
}

# Print the paths of the fragments of a configuration (NAME[,NAME...]) for a flavour.
fragments() {
	local flavour=$1 names=$2 name

	fragment "$B/config.base"
	if [ "$flavour" = patched ] && [ -f "$B/config.series" ]; then
		fragment "$B/config.series"
	fi
	for name in ${names//,/ }; do
		[ "$name" = base ] || fragment "$B/config.$name"
	done
}

check_config_name() {
	local name

	for name in ${1//,/ }; do
		[ "$name" = base ] || { [ "$name" != series ] && [ -f "$B/config.$name" ]; } ||
			die "no configuration $name: there are $(cd "$B" && echo config.* | sed 's/config\.series//; s/config\.//g')"
	done
}

# directive KEY FRAGMENT...: print the values of the directives '# KEY: VALUE'. '# include: PATH'
# includes a fragment of the kernel tree. '# arch: i386' and '# cc: clang-19' select architecture
# and compiler. '# count: series' builds the files that the series adds with gcov's counters.
directive() {
	local key=$1
	shift
	sed -n "s/^# $key: *//p" "$@"
}

# Set KERNEL_MAKE to make's arguments for the configuration of these fragments.
kernel_make() {
	local arch cc file

	arch=$(directive arch "$@" | tail -n 1)
	cc=$(directive cc "$@" | tail -n 1)
	ARCH_OPTION=ARCH=${arch:-x86_64}
	KERNEL_CC=${cc:-${CC:-gcc}}
	[[ $KERNEL_CC != clang* ]] || need_packages llvm
	KERNEL_MAKE=("$ARCH_OPTION" "CC=$KERNEL_CC")
	[ -n "$(directive count "$@")" ] || return 0
	while read -r file; do
		KERNEL_MAKE+=("GCOV_PROFILE_$(basename "$file" .c).o=y")
	done < <(series_sources new)
}

merge_config() {
	local src=$1 included cc
	shift

	mapfile -t included < <(directive include "$@")
	cc=$(directive cc "$@")
	cd "$src" && env "$ARCH_OPTION" ${cc:+"MAKEFLAGS=CC=$cc"} \
		scripts/kconfig/merge_config.sh -n -O "$SCRATCH/config" \
		"$1" "${included[@]}" "${@:2}"
}

# Print every option of the fragments that has another value in the configuration.
missing_options() {
	local config=$1
	shift

	awk '
	{
		if ($1 == "#" && $2 ~ /^CONFIG_/ && $5 == "set") {
			name = $2
			value = "n"
		} else if (/^CONFIG_[A-Za-z0-9_]*=/) {
			name = substr($0, 1, index($0, "=") - 1)
			value = substr($0, length(name) + 2)
		} else {
			next
		}
		if (last)
			have[name] = value
		else
			want[name] = value
	}
	END {
		for (name in want) {
			is = name in have ? have[name] : "n"
			if (is != want[name])
				print name "=" want[name]
		}
	}' "$@" last=1 "$config"
}

# config_key FRAGMENT...: print a checksum of the fragments, and of the Kconfig files of kernel and
# series.
config_key() {
	{
		echo "$LINUX_STATE"
		contents "$@"
		cd "$REPO" && series_files | grep Kconfig | sort | xargs -r sha256sum
	} | key_of
}

# make_config FLAVOUR NAMES SRC BUILD: make .config. Leave an equal .config as it is, as make takes
# a new file for a change.
make_config() {
	local flavour=$1 names=$2 src=$3 build=$4 log files missing key

	log=$CACHE/log/config-$(basename "$build")
	mapfile -t files < <(fragments "$flavour" "$names")
	key=$(config_key "${files[@]}")
	[ "$(cat "$build/.config.key" 2>/dev/null)" != "$key" ] || return 0
	rm -rf "${SCRATCH:?}/config"
	mkdir "$SCRATCH/config"
	logged "configure $flavour $names" "$log" merge_config "$src" "${files[@]}" ||
		die "cannot configure $flavour $names: $(reason_in "$log"), see $log"
	missing=$(missing_options "$SCRATCH/config/.config" "${files[@]}") ||
		die "cannot compare the configuration with its fragments: install mawk"
	[ -z "$missing" ] ||
		die "this kernel's .config lacks these options of $names: ${missing//$'\n'/ }: check what they depend on"
	if ! cmp -s "$SCRATCH/config/.config" "$build/.config.merged"; then
		cp "$SCRATCH/config/.config" "$build/.config"
		cp "$SCRATCH/config/.config" "$build/.config.merged"
	fi
	echo "$key" >"$build/.config.key"
}

make_kernel() {
	make -C "$1" O="$2" -j "$JOBS" "${KERNEL_MAKE[@]}" \
		KBUILD_BUILD_USER=bts KBUILD_BUILD_HOST=bts \
		KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970' bzImage
}

# build_in_place DIR: make the build directory DIR, and the file DIR.building, which built()
# removes. If that file exists already, an earlier build in DIR has not come to its end, for example
# because make was killed. It may have left unfinished files: remove DIR first.
build_in_place() {
	local build=$1

	[ ! -e "$build.building" ] || rm -rf "$build"
	mkdir -p "$build"
	BUILDING=$build.building
	: >"$BUILDING"
}

built() {
	rm -f "$BUILDING"
	BUILDING=
}

check_built() {
	[ -z "$BUILT_KERNEL" ] || [ -f "$BUILT_KERNEL/arch/x86/boot/bzImage" ] ||
		die "--built $BUILT_KERNEL: no arch/x86/boot/bzImage there: give the directory that make O= was given"
}

# Use the kernel of --built for all flavours and configurations.
use_built_kernel() {
	KERNEL_BUILD=$(readlink -f "$BUILT_KERNEL")
	KERNEL=$KERNEL_BUILD/arch/x86/boot/bzImage
	ARCH_OPTION=ARCH=x86_64
	has_option 64BIT || ARCH_OPTION=ARCH=i386
}

# need_kernel FLAVOUR NAMES: build a kernel, if necessary. FLAVOUR is stock, patched, or fixed (with
# the fixes only), NAMES its configuration. Sets KERNEL to the image, KERNEL_BUILD to the build
# directory, and, without --built, KERNEL_MAKE to the arguments of make.
need_kernel() {
	local flavour=$1 names=$2 src state key log files

	if [ -n "$BUILT_KERNEL" ]; then
		use_built_kernel
		return
	fi
	check_config_name "$names"
	[ -n "$(series_files)" ] || flavour=stock
	need_linux
	src=$LINUX state=$LINUX_STATE
	if [ "$flavour" = patched ]; then
		need_patched_tree
		src=$PATCHED state=$(cat "$PATCHED.key")
	elif [ "$flavour" = fixed ]; then
		need_fixed_tree
		src=$FIXED state=$(cat "$FIXED.key")
	fi
	mapfile -t files < <(fragments "$flavour" "$names")
	kernel_make "${files[@]}"
	# The compiler splits kbuild's option -Wp,-MMD,FILE at commas: no comma may be in the path.
	names=${names#base,}
	KERNEL_BUILD=$CACHE/build/$LINUX_KEY-$flavour-${names//,/+}
	KERNEL=$KERNEL_BUILD/arch/x86/boot/bzImage
	[ -z "${KERNELS[$KERNEL_BUILD]:-}" ] || return 0
	key=$({
		echo "$state $($KERNEL_CC --version | head -n 1)"
		cat "${files[@]}"
	} | key_of)
	if [ "$(cat "$KERNEL_BUILD.key" 2>/dev/null)" != "$key" ] || [ ! -f "$KERNEL" ]; then
		need_space 1000 "a kernel build"
		rm -f "$KERNEL_BUILD.key"
		build_in_place "$KERNEL_BUILD"
		make_config "$flavour" "$names" "$src" "$KERNEL_BUILD"
		log=$CACHE/log/kernel-$flavour-${names//,/+}
		logged "build the $flavour kernel, $names" "$log" make_kernel "$src" "$KERNEL_BUILD" || {
			built
			die "the $flavour kernel ($names) does not build: $(reason_in "$log"), see $log"
		}
		built
		echo "$key" >"$KERNEL_BUILD.key"
	fi
	KERNELS[$KERNEL_BUILD]=1
}

# has_option NAME: return whether the kernel of the last need_kernel has CONFIG_NAME=y.
has_option() {
	grep -qx "CONFIG_$1=y" "$KERNEL_BUILD/.config"
}
