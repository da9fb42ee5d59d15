# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Files of the guest, packed into an initramfs: programs of the bench, and "tools" of this system,
# which are commands with their libraries, other files, and directories.

PROGRAMS=

# The directories of Python that gdb and drgn need to start.
PYTHON_DIRS=(collections email encodings importlib json re urllib)

make_programs() {
	make -C "$B" -f Makefile -j "$JOBS" OUTPUT="$PROGRAMS" ${CC:+"CC=$CC"} \
		SELFTESTS="$LINUX/tools/testing/selftests" programs
}

# Set PROGRAMS, with out/guest and out/host below it, and BENCH_BIN.
need_programs() {
	local log=$CACHE/log/programs

	[ -z "$PROGRAMS" ] || return 0
	need_linux
	PROGRAMS=$CACHE/programs/$(printf '%s' "$B $LINUX_KEY" | key_of)
	BENCH_BIN=$PROGRAMS/out/host
	logged "build the programs" "$log" make_programs ||
		die "the programs do not build: $(reason_in "$log"), see $log"
}

# pack DIR FILE: pack the content of DIR into a cpio archive.
pack() {
	(cd "$1" && find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0) >"$2"
}

# initrd_of PROGRAM...: set INITRD to an archive with PID 1 and these programs of the bench. Other
# programs would cost time, as each guest unpacks the archive. A 32-bit kernel gets 32-bit programs.
initrd_of() {
	local root=${SCRATCH:?}/root name from=$PROGRAMS/out/guest bits=

	rm -rf "$root"
	mkdir -p "$root/bt" "$root/etc" "$root/root" "$CACHE/initrd"
	[ "${ARCH_OPTION:-}" != ARCH=i386 ] || bits=_32
	for name in init "$@"; do
		cp "$from/$name$bits" "$root/bt/$name" ||
			die "cannot copy $name$bits from $from: check that a programs.mk lists it, and that there is space"
	done
	mv "$root/bt/init" "$root/init"
	echo 'root:x:0:0:root:/tmp:/bin/sh' >"$root/etc/passwd"
	echo 'nobody:x:65534:65534:nobody:/tmp:/bin/sh' >>"$root/etc/passwd"
	INITRD=$CACHE/initrd/guest$WORKER.cpio
	pack "$root" "$INITRD" || die "cannot pack the initramfs: free some space"
}

# Print the paths of Python's own modules: those of the top directory and of PYTHON_DIRS.
python_files() {
	local dir

	for dir in /usr/lib/python3.[0-9]*; do
		find "$dir" -maxdepth 1 -name '*.py'
		(cd "$dir" && find "${PYTHON_DIRS[@]}" -name '*.py' -printf "$dir/%p\n")
	done
}

# Print the path of a program or library, and the paths of the libraries that it needs. A host that
# refuses 32-bit programs cannot run ldd on them.
with_libraries() {
	echo "$1"
	if readelf -h "$1" 2>/dev/null | grep -q 'ELF32'; then
		readelf -ld "$1" | sed -n 's,.*interpreter: \(.*\)],\1,p; s,.*(NEEDED).*\[\(.*\)],/lib32/\1,p'
	else
		ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | grep -v '^/usr/sbin/ldd'
	fi
}

# tool_files ROOT TOOL...: print the paths of the files that the tools need, and make links in ROOT.
# TOOL is a directory, a file with a slash in its name, or a command.
tool_files() {
	local root=$1 tool path
	shift

	for tool; do
		if [[ $tool = /* && -d $tool ]]; then
			find "$tool" -type f
			continue
		fi
		path=$(command -v "$tool") || die "no program $tool on this system: install it"
		with_libraries "$(readlink -f "$path")"
		mkdir -p "$root/$(dirname "$path")"
		[ ! -L "$path" ] || ln -sf "$(readlink -f "$path")" "$root$path"
		case $tool in
		gdb)
			find /usr/share/gdb -type f -name '*.py'
			python_files
			;;
		drgn)
			find /usr/lib/python3/dist-packages -path '*drgn*' -type f
			with_libraries "$(echo /usr/lib/python3/dist-packages/_drgn.*.so)"
			find /usr/lib/python3.[0-9]*/lib-dynload -type f
			python_files
			;;
		*/btstrace)
			mkdir -p "$root/bin"
			ln -sf "$path" "$root/bin/btstrace"
			;;
		runtest)
			find /usr/share/dejagnu /etc/dejagnu -type f
			;;
		expect)
			find -L /usr/share/tcltk/tcl8.6 -type f
			;;
		/usr/bin/gcc)
			compiler_files
			compiler_links "$root"
			;;
		busybox)
			mkdir -p "$root/bin"
			busybox --list | grep -vx busybox |
				(cd "$root/bin" && xargs -n 1 ln -sf "$(readlink -f "$path")")
			;;
		esac
	done
}

pack_tools() {
	local root=${SCRATCH:?}/tools

	rm -rf "$root"
	mkdir -p "$root"
	# Do not use a pipe: it would hide a failure of tool_files, and the list would be
	# incomplete.
	tool_files "$root" "$@" >"$SCRATCH/tool_files"
	sort -u "$SCRATCH/tool_files" | xargs -d '\n' cp -L --parents -t "$root" || return
	pack "$root" "$SCRATCH/tools.cpio"
}

# add_tools TOOL...: add these tools of this system to INITRD.
add_tools() {
	local key tools

	[ $# -gt 0 ] || return 0
	key=$(for tool; do
		if [[ $tool = /* && -d $tool ]]; then
			find "$tool" -type f -printf '%p %s %T@\n'
		else
			stat -Lc '%n %s %Y' "$(command -v "$tool")" 2>&1
		fi
	done | cat - <(declare -f pack_tools tool_files with_libraries python_files compiler_files) | key_of)
	tools=$CACHE/initrd/tools-$key.cpio
	if [ ! -f "$tools" ]; then
		logged "pack $*" "$CACHE/log/tools" pack_tools "$@" ||
			die "cannot pack $*: $(reason_in "$CACHE/log/tools")"
		keep_newest "$CACHE/initrd" 8
		mv "$SCRATCH/tools.cpio" "$tools"
	fi
	touch "$tools"
	cat "$tools" >>"$INITRD" || die "no space left in $CACHE: free some, or set BTS_CACHE"
}
