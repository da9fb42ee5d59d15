#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Add the Debug Store to the source tree of QEMU 7.2.12 or a later 7.2 release, and build the
# emulator. The patches and the new files in this directory are applied, without mutants/ and this
# script.

set -u

die() { echo "qemu/build.sh: $*" >&2; exit 2; }

usage() {
	cat <<-END
	usage: build.sh SRC OUT [JOBS]
	  SRC   writable, pristine source tree of QEMU 7.2.12 or a later 7.2 release; the
	        patches and new files are applied to it
	  OUT   gets qemu-system-x86_64, and the build under OUT/build
	  JOBS  compilers at a time (default: one a processor)
	Environment: CC, the compiler (default gcc).
	END
}

# Check for tools and libraries that the build needs, and report the missing ones together, so that
# the user can install them by one command. Without pkg-config, the libraries are not checked.
need_tools() {
	local missing=() tool lib

	for tool in meson ninja:ninja-build pkg-config patch python3 "${CC%% *}:gcc"; do
		command -v "${tool%%:*}" >/dev/null || missing+=("${tool#*:}")
	done
	if command -v pkg-config >/dev/null; then
		for lib in glib-2.0:libglib2.0-dev pixman-1:libpixman-1-dev zlib:zlib1g-dev \
			libfdt:libfdt-dev; do
			[ -f /usr/include/libfdt.h ] && [ "${lib%%:*}" = libfdt ] && continue
			pkg-config --exists "${lib%%:*}" || missing+=("${lib#*:}")
		done
	fi
	[ ${#missing[@]} -eq 0 ] || die "missing: apt-get install ${missing[*]}"
}

our_files() {
	find . -path ./mutants -prune -o -type f ! -name build.sh -print | LC_ALL=C sort
}

fingerprint() {
	our_files | xargs -d '\n' sha256sum | sha256sum
}

# Copy the new files and apply the patches, unless this was done before.
apply_ours() {
	local file out stamp=$src/.bts-applied

	if [ -e "$stamp" ]; then
		[ "$(cat "$stamp")" = "$(fingerprint)" ] && return
		die "$src has another version of these files: unpack QEMU again"
	fi
	while read -r file; do
		case $file in
		*.patch)
			out=$(patch -d "$src" -p1 -F0 -N --no-backup-if-mismatch -r - <"$file" 2>&1) || {
				echo "$out" >&2
				die "${file#./} does not fit: unpack a pristine QEMU 7.2 into $src"
			}
			;;
		*)
			[ ! -e "$src/$file" ] || die "$src has ${file#./} already: unpack QEMU again"
			install -D -m 644 "$file" "$src/$file" || die "cannot write $src/$file"
			;;
		esac
	done < <(our_files)
	fingerprint >"$stamp"
}

configure() {
	"$src/configure" --cc="$CC" --target-list=x86_64-softmmu --enable-system --enable-tcg \
		--without-default-features --without-default-devices --with-devices-x86_64=bts \
		--with-git-submodules=ignore --enable-trace-backends=nop --disable-werror \
		--disable-debug-info --disable-tools --disable-docs --disable-guest-agent
}

if [ "${1:-}" = --help ]; then
	usage
	exit 0
fi
[ $# -eq 2 ] || [ $# -eq 3 ] || { usage >&2; die "two or three arguments, not $#"; }
CC=${CC:-gcc}
src=$(readlink -e "$1") || die "no directory $1: unpack QEMU 7.2 there"
[ -f "$src/VERSION" ] && [ -f "$src/target/i386/tcg/translate.c" ] || die "$1 is no QEMU source tree"
case $(cat "$src/VERSION") in
7.2.1[2-9] | 7.2.[2-9]?) ;;
*) die "$1 is QEMU $(cat "$src/VERSION"): the patches fit 7.2.12 and later 7.2 releases" ;;
esac
[ -w "$src" ] || die "$1 is read-only: give a copy of it"
need_tools
mkdir -p "$2/build" || die "cannot make $2/build"
out=$(readlink -e "$2")
jobs=${3:-$(nproc)}
cd "$(dirname "$(readlink -e "$0")")" || exit 2

apply_ours
cd "$out/build" || exit 2
if [ ! -e build.ninja ]; then
	configure || die "configure failed, see $out/build/config.log"
fi
ninja -j "$jobs" qemu-system-x86_64 || die "the build failed: the compiler's messages are above"
cp qemu-system-x86_64 "$out/qemu-system-x86_64.new" &&
	mv "$out/qemu-system-x86_64.new" "$out/qemu-system-x86_64" || die "cannot write to $out"
