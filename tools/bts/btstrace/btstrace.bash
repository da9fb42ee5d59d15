# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion for btstrace(1)

# Print the words of the command line before the one that is typed, as far as
# they are btstrace's own, and "command" where the command's own begin.
_btstrace_position() {
	local i=1 word

	while [ "$i" -lt "$COMP_CWORD" ]; do
		word=${COMP_WORDS[i]}
		case $word in
		--filter | --last | --output | --attach | --size | --read | --write) i=$((i + 2)) ;;
		--*) i=$((i + 1)) ;;
		-*[enoprsw]) i=$((i + 2)) ;;
		-*) i=$((i + 1)) ;;
		=) i=$((i + 2)) ;;
		*) break ;;
		esac
	done
	echo "$i"
}

_btstrace() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} at

	COMPREPLY=()
	at=$(_btstrace_position)
	if [ "$at" -lt "$COMP_CWORD" ]; then
		# The command and its arguments
		if declare -F _command_offset >/dev/null; then
			_command_offset "$at"
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		return
	fi
	case $prev in
	--output | --read | --write | -[!-]*[orw] | -[orw])
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--attach | -[!-]*p | -p)
		mapfile -t COMPREPLY < <(cd /proc && compgen -G '[1-9]*' | grep "^$cur")
		return
		;;
	--filter | -[!-]*e | -e)
		mapfile -t COMPREPLY < <(compgen -W 'call ret jmp jcc syscall interrupt
			func= from= to= module=' -- "$cur")
		return
		;;
	--last | --size | -[!-]*[ns] | -[ns]) return ;;
	esac
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W '--full --raw --json --calls --folded --perfetto
			--drcov --summary --follow --kernel --entries --times --filter --last
			--output --attach --size --read --write --quiet --help --version' -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	esac
}

complete -F _btstrace btstrace
