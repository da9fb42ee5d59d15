# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# gdb 13.1 of Debian 12 and gdb 18.1 of trixie-backports, each without and with the patch in gdb/;
# and the files that gdb's test suite needs in a guest.

GDB_VERSIONS=(13.1 18.1)

# Options of gdb's configure. They leave out most of what the tests gdb.btrace do not use.
GDB_CONFIGURE=(--quiet --disable-sim --disable-ld --disable-gold --disable-gas
	--disable-binutils --disable-gprof --disable-gprofng --disable-nls
	--disable-werror --disable-tui --disable-source-highlight
	--disable-inprocess-agent --disable-ubsan --without-guile --without-python
	--without-debuginfod --without-lzma --without-zstd --without-babeltrace
	--without-intel-pt --without-xxhash --without-auto-load-dir --with-expat
	--enable-gdbserver --prefix=/usr "CFLAGS=-O1 -g0" "CXXFLAGS=-O1 -g0")

# The directories of gdb's source that the patch changes
GDB_PARTS=(gdb gdbserver gdbsupport)

# Download Debian 12's source package, or the package gdb-source of trixie-backports.
download_gdb() {
	local there

	if [ "$1" = 13.1 ]; then
		APT_DIR=$CACHE/apt
		own_apt_lists deb-src && mkdir -p "$SCRATCH/gdb-source" &&
			cd "$SCRATCH/gdb-source" && own_apt apt-get source --download-only gdb
		return
	fi
	APT_DIR=$CACHE/apt-newest
	own_apt_lists deb || return
	there=$(own_apt apt-cache policy gdb-source | sed -n 's/^ *Candidate: //p')
	[[ $there = "$1"-* ]] || {
		echo "error: trixie-backports has gdb $there, the patch fits $1"
		return 1
	}
	mkdir -p "$SCRATCH/gdb-source" && cd "$SCRATCH/gdb-source" &&
		own_apt apt-get download gdb-source
}

unpack_gdb() {
	local from=$1 to=$2

	if compgen -G "$from/*.dsc" >/dev/null; then
		dpkg-source --no-check -x "$from"/*.dsc "$to" && rm -f "${to%/*}"/gdb_*.orig.tar.*
	else
		mkdir "$to" && dpkg-deb --fsys-tarfile "$from"/gdb-source_*.deb |
			tar -xO ./usr/src/gdb.tar.xz | tar -xJ -C "$to" --strip-components=1
	fi
}

# need_gdb_source VERSION: set GDB_SOURCE to the unpatched tree.
need_gdb_source() {
	local version=$1 archive=$CACHE/gdb/$1-archive log=$CACHE/log/gdb-$1-source

	GDB_SOURCE=$CACHE/gdb/$version
	[ ! -d "$GDB_SOURCE" ] || return 0
	need_space 3000 "gdb's source with its builds"
	mkdir -p "$CACHE/gdb"
	if [ ! -d "$archive" ]; then
		logged "download gdb $version" "$log" download_gdb "$version" ||
			die "cannot fetch gdb $version from $MIRROR: $(reason_in "$log"): check the network, see $log"
		mv "$SCRATCH/gdb-source" "$archive"
	fi
	logged "unpack gdb $version" "$log" unpack_gdb "$archive" "$SCRATCH/gdb" ||
		die "cannot unpack gdb $version: $(reason_in "$log"): remove $archive"
	mv "$SCRATCH/gdb" "$GDB_SOURCE"
}

# lay_gdb FLAVOUR SRC: make SRC a source tree, patched if FLAVOUR is not stock. Unchanged files keep
# their times, so that they are not compiled again.
lay_gdb() {
	local laid=$SCRATCH/gdb-laid

	[ -d "$2" ] || cp -a "$GDB_SOURCE" "$2" || return
	rm -rf "$laid"
	mkdir "$laid" && (cd "$GDB_SOURCE" && cp -a "${GDB_PARTS[@]}" "$laid") || return
	[ "$1" = stock ] || "$REPO/gdb/apply" "$laid" || return
	rsync -rlc --delete "${GDB_PARTS[@]/#/$laid/}" "$2"
}

make_gdb() {
	mkdir -p "$1/build" && cd "$1/build" || return
	[ -e Makefile ] || ../src/configure "${GDB_CONFIGURE[@]}" || return
	nice -n 5 make -s -j "$JOBS" all-gdb all-gdbserver MAKEINFO=true
}

# collect_gdb DIR: collect the files for the guest in DIR/bin and DIR/testsuite.
collect_gdb() {
	local dir

	rm -rf "${1:?}/bin" "$1/testsuite"
	mkdir -p "$1/bin" "$1/testsuite" &&
		strip -o "$1/bin/gdb" "$1/build/gdb/gdb" &&
		strip -o "$1/bin/gdbserver" "$1/build/gdbserver/gdbserver" || return
	for dir in boards config gdb.btrace gdb.xml lib; do
		cp -a "$1/src/gdb/testsuite/$dir" "$1/testsuite" || return
	done
	# The suite needs this directory, even if it is empty.
	mkdir -p "$1/testsuite/gdb.base"
}

# need_gdb VERSION FLAVOUR: set GDB to a directory with bin/gdb, bin/gdbserver and testsuite/.
# FLAVOUR is stock or patched.
need_gdb() {
	local version=$1 flavour=$2 key log=$CACHE/log/gdb-$1-$2

	need_packages gdb shell
	need_gdb_source "$version"
	GDB=$CACHE/gdb/$version-$flavour
	key=$(
		printf '%s\n' "${GDB_CONFIGURE[@]}"
		[ "$flavour" = stock ] || (cd "$REPO" && contents gdb/apply gdb/common "gdb/$version")
	)
	key=$(key_of <<<"$key")
	[ "$(cat "$GDB/ready" 2>/dev/null)" != "$key" ] || return 0
	mkdir -p "$GDB"
	rm -f "$GDB/ready"
	logged "patch gdb $version, $flavour" "$log-lay" lay_gdb "$flavour" "$GDB/src" ||
		die "the patch does not fit gdb $version: $(reason_in "$log-lay"), see $log-lay"
	logged "build gdb $version, $flavour" "$log" make_gdb "$GDB" ||
		die "gdb $version, $flavour, does not build: $(reason_in "$log"), see $log"
	collect_gdb "$GDB" || die "cannot copy gdb $version to $GDB: free some space"
	echo "$key" >"$GDB/ready"
}

# Print the paths of what gcc and g++ need to compile and link: programs, headers, libraries.
compiler_files() {
	local part

	for part in cc1 cc1plus collect2 lto-wrapper as ld; do
		with_libraries "$(readlink -f "$(command -v "$(/usr/bin/gcc -print-prog-name=$part)")")"
	done
	readlink -f "$(/usr/bin/gcc -print-file-name=liblto_plugin.so)"
	/usr/bin/gcc -print-file-name=liblto_plugin.so
	dpkg -L libc6-dev linux-libc-dev libcrypt-dev libgcc-12-dev libstdc++-12-dev |
		grep -Ev '/share/|san\.a$|san_preinit|\.py$' | while read -r part; do
		[ ! -f "$part" ] || echo "$part"
	done
	dpkg -L libc6 libgcc-s1 libstdc++6 | grep -E '/lib[^/]*\.so[.0-9]*$'
}

# compiler_links ROOT: make the links in ROOT by which gcc, g++, as and ld are called.
compiler_links() {
	mkdir -p "$1/usr/bin" "$1/bin"
	ln -sf x86_64-linux-gnu-gcc-12 "$1/usr/bin/gcc"
	ln -sf x86_64-linux-gnu-g++-12 "$1/usr/bin/g++"
	ln -sf x86_64-linux-gnu-as "$1/usr/bin/as"
	ln -sf x86_64-linux-gnu-ld.bfd "$1/usr/bin/ld"
}
