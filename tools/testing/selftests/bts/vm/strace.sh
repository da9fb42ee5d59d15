# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# strace, stock and with the patch of strace/, built from Debian's source package. STRACE_SRC
# names another source tree, of a version that the patch fits.

# The tests of strace that concern ptrace, or code that the patch changes
STRACE_TESTS='^(ptrace|arch_prctl|wait)'
# The tests of these that also run in a guest
STRACE_LIVE='ptrace_bts-live ptrace_bts arch_prctl'

download_strace() {
	APT_DIR=$CACHE/apt
	own_apt_lists deb-src && mkdir -p "$SCRATCH/strace-source" &&
		cd "$SCRATCH/strace-source" && own_apt apt-get source --download-only strace
}

need_strace_source() {
	if [ -n "${STRACE_SRC:-}" ]; then
		[ -f "$STRACE_SRC/src/strace.c" ] ||
			die "STRACE_SRC=$STRACE_SRC is not a strace source tree: give the top directory of one"
		return
	fi
	[ ! -d "$CACHE/strace-source" ] || return 0
	need_space 1500 "strace's source with its builds"
	logged "download strace's source" "$CACHE/log/strace-download" download_strace ||
		die "cannot fetch strace's source from $MIRROR: check the network, or set STRACE_SRC; see $CACHE/log/strace-download"
	mv "$SCRATCH/strace-source" "$CACHE/strace-source"
}

unpack_strace() {
	if [ -n "${STRACE_SRC:-}" ]; then
		cp -a "$STRACE_SRC" "$1"
	else
		dpkg-source --no-check -x "$CACHE"/strace-source/*.dsc "$1" &&
			rm -f "${1%/*}"/strace_*.orig.tar.*
	fi
}

strace_key() {
	if [ -n "${STRACE_SRC:-}" ]; then
		(cd "$STRACE_SRC" && contents NEWS configure.ac src tests)
	else
		cat "$CACHE"/strace-source/*.dsc
	fi
	declare -f make_strace
	[ "$1" = stock ] || contents "$REPO/strace"
}

# make_strace VARIANT DIR: patch the tree DIR unless VARIANT is stock, and build it.
make_strace() {
	cd "$2" || return
	[ "$1" = stock ] || "$REPO/strace/apply" . || return
	if [ -x bootstrap ]; then
		./bootstrap || return
	elif [ "$1" != stock ]; then
		autoreconf -f -i || return
	fi
	./configure --enable-mpers=check --disable-stacktrace --disable-gcc-Werror \
		CFLAGS="-g -O2 -Wall -Wextra -Wno-unused-parameter" &&
		make -j "$JOBS"
}

# make_strace_tests DIR: build only the tests in STRACE_TESTS. Write tests.list, with those tests of
# the ABIs whose programs this system can run.
make_strace_tests() {
	local dir test abi programs

	cd "$1" || return
	: >tests.list
	for dir in tests tests-m32 tests-mx32; do
		programs=()
		abi=${dir#tests}
		abi=${abi#-}
		while IFS= read -r test; do
			[ -n "$abi" ] && ! grep -q "^HAVE_${abi^^}_RUNTIME_TRUE=''" config.log ||
				echo "$dir/$test" >>tests.list
			[ ! -e "$dir/$test.c" ] || programs+=("$test")
		done < <(cd "$dir" && printf '%s\n' *.gen.test | sed 's/\.gen\.test$//' | grep -E "$STRACE_TESTS")
		make -C "$dir" -j "$JOBS" libtests.a "${programs[@]}" || return
		make_strace_live "$dir" || return
	done
}

# make_strace_live DIR: build the tests in STRACE_LIVE statically, for the guest.
make_strace_live() {
	local live=ptrace_bts-live

	[ -e "$1/$live.o" ] || return 0
	mkdir -p "$1/live"
	for live in $STRACE_LIVE; do
		[ "$1/live/$live" -nt "$1/$live" ] || {
			rm -f "$1/$live"
			make -C "$1" LDFLAGS=-static "$live" && cp "$1/$live" "$1/live/$live" || return
		}
	done
}

# need_strace stock|patched: build strace and its tests, and set STRACE_TREE to the source tree with
# the build.
need_strace() {
	local variant=$1 log=$CACHE/log/strace-$1

	need_packages strace
	need_strace_source
	STRACE_TREE=$CACHE/strace/$variant-$(strace_key "$variant" | key_of)
	[ -e "$STRACE_TREE/ready" ] || build_strace "$variant" "$log"
	logged "build strace's tests, $variant" "$log-tests" make_strace_tests "$STRACE_TREE" ||
		die "strace's tests do not build, $variant: $(reason_in "$log-tests"), see $log-tests"
	sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: (warning: .*)/\1: \2/p' "$log-tests" |
		sort -u - "$STRACE_TREE/warnings" -o "$STRACE_TREE/warnings"
}

# build_strace VARIANT LOG: build at $STRACE_TREE.
build_strace() {
	local variant=$1 log=$2

	rm -rf "$STRACE_TREE"
	mkdir -p "$CACHE/strace"
	UNFINISHED=$STRACE_TREE
	unpack_strace "$STRACE_TREE" >"$CACHE/log/strace-unpack" 2>&1 ||
		die "cannot unpack strace's source: $(reason_in "$CACHE/log/strace-unpack"): remove $CACHE/strace-source"
	logged "build strace, $variant" "$log" make_strace "$variant" "$STRACE_TREE" ||
		die "strace does not build, $variant: $(reason_in "$log"), see $log"
	sed -nE 's/^([^ :]+):[0-9]+:[0-9]+: (warning: .*)/\1: \2/p' "$log" | sort -u >"$STRACE_TREE/warnings"
	: >"$STRACE_TREE/ready"
	UNFINISHED=
	keep_newest "$CACHE/strace" 4
}
