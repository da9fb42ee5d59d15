#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# full.sh DIR PROGRAM: check that btstrace (in DIR) exits with status 118 and an error message if
# write() fails, in each mode, or if close() fails. If the reader of a pipe ends early, that is no
# such error.

dir=$1 program=$(realpath "$2")
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
cd "$scratch" || exit 2

"$dir/test/record" trace "$program" sorts 1
result $? "the program runs"

# full FILE COMMAND...: it must exit with 118, and report that there is no space left for FILE
full() {
	local status
	"${@:2}" 2>err
	status=$?
	[ $status -eq 118 ] && [ "$(cat err)" = "btstrace: $1: No space left on device" ]
	result $? "${*:2}: status $status, $(cat err)"
}

# shellcheck disable=SC2317 # full calls it
to_full() {
	"$@" >/dev/full
}

for mode in crash plain full insn raw json calls flow folded perfetto profile lines loops drcov \
	lcov summary; do
	full output to_full "$dir/btstrace" -r trace --$mode
done
full /dev/full "$dir/btstrace" -r trace -o /dev/full
full output to_full "$dir/btstrace" --help
full output to_full "$dir/btstrace" --version

# Some file systems report the error when the file is closed. This library simulates that.
cat >late.c <<'EOF'
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int close(int fd)
{
	char path[64], to[256] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readlink(path, to, sizeof(to) - 1);
	syscall(SYS_close, fd);
	errno = ENOSPC;
	return strstr(to, "/late") ? -1 : 0;
}
EOF
gcc -shared -fPIC -o late.so late.c 2>/dev/null
full late env LD_PRELOAD=./late.so "$dir/btstrace" -r trace -o late
! LD_PRELOAD=./late.so "$dir/test/record" late "$program" sorts 1 2>err && grep -q 'late: No space left on device' err
result $? "a recorded trace, when it is closed"

for mode in full raw json insn flow; do
	"$dir/btstrace" -r trace --$mode 2>err | head -n 1 >first
	[ "${PIPESTATUS[0]}" -eq 0 ] && [ ! -s err ] && [ -s first ]
	result $? "--$mode: a reader that ends early"
done
finish
