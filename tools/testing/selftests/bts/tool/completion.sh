#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# completion.sh DIR SOURCE PAGE: check how bash completes btstrace's command line, and that the
# completion (in SOURCE) and the manual page PAGE have each long option of btstrace (in DIR).

dir=$1 page=$3
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
# shellcheck source=../../../../bts/btstrace/btstrace.bash
. "$2/btstrace.bash"

# completes WANTED WORD...: the completions of the last WORD must include WANTED; if WANTED
# is empty, there must be none. = is a separate WORD, as readline splits it.
completes() {
	local wanted=$1 found
	shift

	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_btstrace
	found=" ${COMPREPLY[*]} "
	if [ -n "$wanted" ]; then
		[[ $found = *" $wanted "* ]]
	else
		[ ${#COMPREPLY[@]} -eq 0 ]
	fi
	result $? "$*: ${wanted:-nothing}"
}

cd "$scratch" || exit 2
: >file
# Stub of bash-completion, which completes the words of the traced command
_command_offset() {
	COMPREPLY=("command$1")
}

completes --folded btstrace --fo
completes bash btstrace bas
completes bash btstrace --full -f bas
completes command2 btstrace --full ls ''
completes command1 btstrace bash -o fil
completes file btstrace -o fil
completes file btstrace -fo fil
completes file btstrace --output fil
completes file btstrace --output = fil
completes file btstrace --output =
completes bash btstrace --output = file bas
completes bash btstrace -ofile bas
completes bash btstrace -n5 -e call bas
completes bash btstrace -fe call bas
completes command3 btstrace -n 5 ls -
completes syscall btstrace -e sys
completes call,syscall btstrace -e call,sys
completes '!ret' btstrace -e '!r'
completes '!call,jmp' btstrace -e '!call,jm'
completes '!module=' btstrace -e '!mod'
completes func= btstrace --filter fu
completes kind= btstrace -e ki
completes '' btstrace -e func =
completes '' btstrace -e func = fil
completes '' btstrace -fe '!module' = fil
completes '' btstrace --filter = to = fil
completes call btstrace -e kind = ca
completes jcc btstrace -e kind =
completes call,jmp btstrace -fe '!kind' = call,jm
completes ret btstrace --filter = kind = r
completes bash btstrace -e func = 'x*' bas
completes bash btstrace --filter = from = 'x*' bas
completes --folded btstrace -e from = 'x*' --fo
completes command5 btstrace -e func = 'x*' ls ''
completes always btstrace --color =
completes never btstrace --color = n
completes auto btstrace --color = a
completes bash btstrace --color = never bas
completes bash btstrace --color bas
completes command4 btstrace --color = never ls ''
completes $$ btstrace -p $$
completes $$ btstrace --attach = $$
completes '' btstrace -n ''
completes '' btstrace --size ''
completes file btstrace -r fil

# Each filter that btstrace names when it refuses one is in the help and in the manual page.
mapfile -t filters < <("$dir/btstrace" -e x= true 2>&1 | grep -o '[a-z]*=' | grep -vx 'x=' | sort -u)
[ ${#filters[@]} -eq 5 ]
result $? "${#filters[@]} filters"
for filter in "${filters[@]}"; do
	completes "$filter" btstrace -e "${filter%=}"
	"$dir/btstrace" --help | grep -qF -e "$filter"
	result $? "$filter in the help"
	grep -qF -e "$filter" "$page"
	result $? "$filter in the manual page"
done

# Each long option that is in the help can be completed, and is in the manual page.
for option in $("$dir/btstrace" --help | grep -o -e '--[a-z-]*' | sort -u); do
	completes "$option" btstrace "$option"
	sed 's/\\-/-/g' "$page" | grep -qwe "$option"
	result $? "$option: in the manual page"
done
finish
