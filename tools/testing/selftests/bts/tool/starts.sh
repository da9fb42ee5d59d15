#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# starts.sh DIR: check that btstrace (in DIR) refuses some output files before it traces
# anything, and that it leaves no files behind then.

dir=$1
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
chmod 755 "$scratch"
cd "$scratch" || exit 2

# refused STATUS WORDS OPTION...: btstrace must exit with STATUS and print one line with WORDS
refused() {
	local status
	"$dir/btstrace" "${@:3}" >out 2>err
	status=$?
	[ "$status" -eq "$1" ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -e "$2" err
	result $? "${*:3}: $status, $(cat err)"
}

# Two names of one new file
ln -s new link
mkdir sub
refused 125 "-o: that file is for the recorded trace" -o new -w ./new true
refused 125 "-o: that file is for the recorded trace" -o new -w sub/../new true
refused 125 "-o: that file is for the recorded trace" -o new -w link true
refused 125 "-o: that file is for the recorded trace" -o link -w new true
[ ! -e new ] && [ -L link ]
result $? "no new file is left, and the link is"
: >new
refused 125 "-o: that file is for the recorded trace" -o link -w new true
[ -e new ]
result $? "a file that was there is left"
rm -f new link

# If one of both output files cannot be created, the other one must not be created or changed.
refused 118 /nowhere/file -o new -w /nowhere/file true
[ ! -e new ]
result $? "-w cannot be made: -o is not there"
echo before >new
refused 118 /nowhere/file -o new -w /nowhere/file true
[ "$(cat new)" = before ]
result $? "-w cannot be made: -o is as it was"
rm -f new
finish
