# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# The cache, and Debian packages. Many entries of the cache have a key: a checksum of what the entry
# is made from. It is in the name of the entry, or in a separate file. Downloaded sources are moved
# from $SCRATCH to their place when they are complete. Builds and patched trees are made at their
# place.

CACHE=${BTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/bts}

# Make the directory of the cache, which must have no other files: old entries are removed.
make_cache() {
	# Steps change the directory, so the path must be absolute. make supports neither a space
	# nor the first five of these characters in it, and the emulator not the last three.
	[[ $CACHE = /* ]] || CACHE=$PWD/$CACHE
	[[ $CACHE != *[[:space:]:\#\$%\\,\'\"]* ]] ||
		die "the path $CACHE has a space or one of :#\$%\\,'\", which make or the emulator does not support: set BTS_CACHE to another directory"
	if [ ! -e "$CACHE/lock" ]; then
		[[ $(readlink -m "$CACHE")/ != "$REPO"/* ]] ||
			die "$CACHE is in the clone: set BTS_CACHE to another directory"
		[ ! -d "$CACHE" ] || [ -z "$(ls -A -I lost+found "$CACHE")" ] ||
			die "$CACHE has other files: set BTS_CACHE to a new directory"
	fi
	mkdir -p "$CACHE" 2>/dev/null && [ -w "$CACHE" ] && : >>"$CACHE/lock" ||
		die "cannot write $CACHE: set BTS_CACHE to a directory of your own"
}

open_cache() {
	local holder

	make_cache
	exec 9>>"$CACHE/lock"
	if ! flock -n 9; then
		holder=$(cat "$CACHE/holder" 2>/dev/null)
		die "another run (process ${holder:-unknown}) uses $CACHE: wait until it ends, or set BTS_CACHE"
	fi
	echo $$ >"$CACHE/holder"
	# This process holds the lock, so no other run uses an old scratch directory.
	rm -rf "$CACHE"/scratch.*
	SCRATCH=$CACHE/scratch.$$
	mkdir "$SCRATCH" || die "cannot write $CACHE: free some space"
}

# need_space MIB WHAT: die unless the cache's file system has so much space for WHAT.
need_space() {
	local free

	free=$(($(df -Pk "$CACHE" | awk 'END { print $4 }') / 1024))
	[ "$free" -ge "$1" ] ||
		die "$2 needs $1 MiB in $CACHE, but only $free MiB are free: free space, or set BTS_CACHE to a larger disk"
}

# Print a short checksum of standard input.
key_of() {
	sha256sum | cut -c1-16
}

# Print checksums of files and directories, for key_of.
contents() {
	local path

	for path; do
		[ ! -e "$path" ] || find "$path" -type f -print0
	done | sort -z | xargs -0r sha256sum
}

# Remove all entries of a directory of the cache except the newest COUNT.
keep_newest() {
	local dir=$1 count=$2 entry

	find "$dir" -mindepth 1 -maxdepth 1 -printf '%T@ %p\n' 2>/dev/null |
		sort -rn | tail -n "+$((count + 1))" | cut -d' ' -f2- |
		while IFS= read -r entry; do
			rm -rf -- "$entry"
		done
}

# present COMMAND|/PATTERN: return whether the command, or a file that matches the pattern, exists.
present() {
	case $1 in
	/*) compgen -G "$1" >/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

install_packages() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y --no-install-recommends "$@" && return
	# The package lists may be old or missing.
	apt-get update && apt-get install -y --no-install-recommends "$@"
}

# need_packages PURPOSE...: install missing packages, or tell how to.
need_packages() {
	local package evidence purpose missing=()

	while read -r package evidence purpose; do
		[[ $package && $package != \#* ]] || continue
		[[ " $* " = *" $purpose "* ]] || continue
		present "$evidence" || missing+=("$package")
	done <"$B/vm/packages"
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
		die "packages are missing: apt-get install -y --no-install-recommends ${missing[*]}"
	fi
	logged "install ${missing[*]}" "$CACHE/log/packages" install_packages "${missing[@]}" ||
		die "apt-get cannot install ${missing[*]}: $(reason_in "$CACHE/log/packages"): check the network, see $CACHE/log/packages"
}
