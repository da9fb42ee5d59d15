# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The sources of Linux and QEMU: Debian's packages, installed or downloaded with a separate
# configuration of apt, or directories that the user names.

MIRROR=${BTS_MIRROR:-http://deb.debian.org}
LINUX=
MAY_FALL_BACK=	# set if --base newest is a default that the user did not ask for

# own_apt COMMAND...: run a command of apt with lists and archives in APT_DIR, a directory of the
# cache, and without the system's lists.
own_apt() {
	"$1" -q -o Dir::Etc::sourcelist="$APT_DIR/sources.list" \
		-o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$APT_DIR/lists" -o Dir::Cache="$APT_DIR" \
		-o Dir::State::status=/dev/null -o APT::Sandbox::User="$(id -un)" \
		-o Acquire::Languages=none -o Acquire::Retries=2 "${@:2}"
}

# own_apt_lists deb|deb-src: fetch the lists of binary or source packages: of trixie-backports if
# APT_DIR is apt-newest, otherwise of bookworm.
own_apt_lists() {
	local signed=/usr/share/keyrings/debian-archive-keyring.gpg

	mkdir -p "$APT_DIR/lists/partial" "$APT_DIR/archives/partial"
	if [ "$APT_DIR" = "$CACHE/apt-newest" ]; then
		echo "$1 [signed-by=$signed] $MIRROR/debian trixie-backports main"
	else
		echo "$1 [signed-by=$signed] $MIRROR/debian bookworm main"
		echo "$1 [signed-by=$signed] $MIRROR/debian-security bookworm-security main"
	fi >"$APT_DIR/sources.list"
	own_apt apt-get update -o APT::Update::Error-Mode=any
}

download_linux() {
	own_apt_lists deb && cd "$SCRATCH" && own_apt apt-get download "$LINUX_PACKAGE" &&
		dpkg-deb --fsys-tarfile "$LINUX_PACKAGE"_*.deb |
		tar -x "./usr/src/$LINUX_PACKAGE.tar.xz"
}

# Print the version of the newest kernel that the series fits. Debian may have a newer one, or may
# not have this one.
newest_known() {
	sed -n 's/^kernel //p' "$REPO/series/series"
}

# If neither --base nor --kernel was given, take the newest kernel, or 6.12 if Debian does not have
# the newest one or cannot be asked.
default_to_newest() {
	[[ " ${GIVEN[*]} " != *" --base "* && " ${GIVEN[*]} " != *" --kernel "* ]] || return 0
	BASE=newest MAY_FALL_BACK=1
}

# Take 6.12 if the newest kernel is only the default of a command: see default_to_newest().
# Otherwise return 1.
fall_back() {
	[ -n "$MAY_FALL_BACK" ] || return
	BASE=6.12 MAY_FALL_BACK=
	say "vmtest.sh: $1: the kernel is $BASE"
	choose_package
}

# Set LINUX_PACKAGE to the package for --base, and APT_DIR. If --base newest was given, but neither
# /usr/src nor the cache nor trixie-backports has the newest kernel that the series fits, exit with
# 0: nothing can be tested.
choose_package() {
	local known there

	APT_DIR=$CACHE/apt
	LINUX_PACKAGE=linux-source-6.12
	[ "$BASE" = newest ] || return 0
	known=$(newest_known)
	APT_DIR=$CACHE/apt-newest
	LINUX_PACKAGE=linux-source-$known
	[ ! -f "/usr/src/$LINUX_PACKAGE.tar.xz" ] || return 0
	[ ! -f "$CACHE/$LINUX_PACKAGE.tar.xz" ] || return 0
	logged "look for the newest kernel" "$CACHE/log/newest" own_apt_lists deb || {
		! fall_back "cannot read the list of trixie-backports at $MIRROR" || return 0
		die "cannot read the list of trixie-backports at $MIRROR: check the network, or give --kernel DIR; see $CACHE/log/newest"
	}
	there=$(own_apt apt-cache pkgnames linux-source- | sed -n 's/^linux-source-\([0-9.]*\)$/\1/p' | sort -V)
	[ "$(tail -n 1 <<<"$there")" = "$known" ] ||
		say "vmtest.sh: trixie-backports has Linux $(tail -n 1 <<<"$there"), the series fits $known so far"
	grep -qx "$known" <<<"$there" || {
		! fall_back "trixie-backports does not have Linux $known" || return 0
		say "0 passed, 0 failed, 0 skipped"
		exit 0
	}
}

unpack_linux() {
	mkdir "$SCRATCH/linux" &&
		tar -xJf "$1" -C "$SCRATCH/linux" --strip-components=1
}

# Set ARCHIVE to the kernel's source archive: of the installed package, or downloaded to the cache.
linux_archive() {
	choose_package
	ARCHIVE=/usr/src/$LINUX_PACKAGE.tar.xz
	[ ! -f "$ARCHIVE" ] || return 0
	ARCHIVE=$CACHE/$LINUX_PACKAGE.tar.xz
	[ ! -f "$ARCHIVE" ] || return 0
	need_space 400 "$LINUX_PACKAGE"
	logged "download $LINUX_PACKAGE" "$CACHE/log/linux-download" download_linux ||
		die "cannot fetch $LINUX_PACKAGE from $MIRROR: check the network, or give --kernel DIR; see $CACHE/log/linux-download"
	mv "$SCRATCH/usr/src/$LINUX_PACKAGE.tar.xz" "$ARCHIVE" ||
		die "$LINUX_PACKAGE from $MIRROR contains no kernel source: give --kernel DIR"
}

# Copy the tree of --kernel. If it was built in, clean the copy.
copy_kernel_dir() {
	rsync -ai --delete --exclude=/.git "$KERNEL_DIR/" "$LINUX/" || return
	[ ! -e "$LINUX/.config" ] && [ ! -d "$LINUX/include/config" ] ||
		make -s -C "$LINUX" mrproper
}

check_kernel_dir() {
	[ -n "$KERNEL_DIR" ] || return 0
	[ -d "$KERNEL_DIR" ] || die "--kernel $KERNEL_DIR: no such directory: give a Linux source tree"
	[ -f "$KERNEL_DIR/Kbuild" ] && [ -d "$KERNEL_DIR/arch/x86" ] &&
		grep -qs '^PATCHLEVEL = ' "$KERNEL_DIR/Makefile" ||
		die "--kernel $KERNEL_DIR is not a Linux source tree: give the top directory of one"
	[ ! -e "$KERNEL_DIR/.bts-series" ] ||
		die "--kernel $KERNEL_DIR has the series already: give a pristine tree"
}

kernel_from_dir() {
	LINUX_KEY=dir-$(cd "$KERNEL_DIR" && pwd -P | key_of)
	LINUX=$CACHE/linux/$LINUX_KEY
	[ -d "$LINUX" ] || need_space 6000 "a copy of $KERNEL_DIR with its builds"
	mkdir -p "$LINUX"
	logged "copy $KERNEL_DIR" "$CACHE/log/linux-copy" copy_kernel_dir ||
		die "cannot copy $KERNEL_DIR: $(reason_in "$CACHE/log/linux-copy")"
	if [ -s "$CACHE/log/linux-copy" ] || [ ! -e "$LINUX.state" ]; then
		rm -rf "$CACHE/patched/$LINUX_KEY"
		now_ms >"$LINUX.state"
	fi
	LINUX_STATE=$(cat "$LINUX.state")
}

# version_of TREE: print VERSION.PATCHLEVEL of a kernel tree, such as 6.12.
version_of() {
	sed -n 's/^VERSION = //p; s/^PATCHLEVEL = //p' "$1/Makefile" | head -n 2 | paste -sd .
}

# Print the version of the kernel that the options select, before it is unpacked.
wanted_version() {
	if [ -n "$KERNEL_DIR" ]; then
		version_of "$KERNEL_DIR"
	elif [ "$BASE" = newest ]; then
		newest_known
	else
		echo "$BASE"
	fi
}

# Set LINUX_VERSION, such as 6.12, and OVERLAY.
read_version() {
	LINUX_VERSION=$(version_of "$LINUX")
	# The directory with changes for an older kernel, if this is one: see series/apply.
	OVERLAY=
	[ ! -d "$REPO/series/compat/$LINUX_VERSION" ] || OVERLAY=$REPO/series/compat/$LINUX_VERSION
}

# Set LINUX to a pristine tree, LINUX_KEY to its name in the cache, and LINUX_STATE to a value
# that changes with its contents.
need_linux() {
	[ -z "$LINUX" ] || return 0
	if [ -n "$KERNEL_DIR" ]; then
		kernel_from_dir
		read_version
		return
	fi
	linux_archive
	LINUX_KEY=$(stat -Lc '%s %Y' "$ARCHIVE" | key_of)
	LINUX_STATE=$LINUX_KEY
	LINUX=$CACHE/linux/$LINUX_KEY
	if [ ! -d "$LINUX" ]; then
		need_space 5000 "the kernel source with its builds"
		logged "unpack $(basename "$ARCHIVE")" "$CACHE/log/linux-unpack" unpack_linux "$ARCHIVE" ||
			die "cannot unpack $ARCHIVE: $(reason_in "$CACHE/log/linux-unpack"): reinstall $LINUX_PACKAGE"
		mkdir -p "$CACHE/linux"
		mv "$SCRATCH/linux" "$LINUX"
	fi
	read_version
}

download_qemu() {
	APT_DIR=$CACHE/apt
	own_apt_lists deb-src && mkdir -p "$SCRATCH/qemu-source" &&
		cd "$SCRATCH/qemu-source" && own_apt apt-get source --download-only qemu
}

# Download Debian's source package of QEMU to the cache.
need_qemu_archive() {
	[ ! -d "$CACHE/qemu-source" ] || return 0
	need_space 1500 "the emulator's source with its build"
	logged "download the emulator's source" "$CACHE/log/qemu-download" download_qemu ||
		die "cannot fetch QEMU's source from $MIRROR: check the network, or set QEMU_SRC; see $CACHE/log/qemu-download"
	mv "$SCRATCH/qemu-source" "$CACHE/qemu-source"
}

unpack_qemu() {
	if [ -n "${QEMU_SRC:-}" ]; then
		cp -a "$QEMU_SRC" "$1"
	else
		# dpkg-source leaves a copy of the archive beside the tree.
		dpkg-source --no-check -x "$CACHE"/qemu-source/*.dsc "$1" &&
			rm -f "${1%/*}"/qemu_*.orig.tar.*
	fi
}

# unpack_qemu_source DIR: unpack the emulator's source to DIR, or copy the tree $QEMU_SRC.
unpack_qemu_source() {
	local log=$CACHE/log/qemu-unpack

	logged "unpack the emulator's source" "$log" unpack_qemu "$1" ||
		die "cannot unpack the emulator's source: $(reason_in "$log"): remove $CACHE/qemu-source"
}
