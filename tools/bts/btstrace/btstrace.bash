# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Completion for btstrace(1)

# Is the last short option in the word $1 one that takes the next word as its argument?
_btstrace_wants() {
	local rest=${1#-}

	[[ $1 = -[!-]* ]] || return
	while [[ $rest = [!enoprsw]* ]]; do
		rest=${rest#?}
	done
	[ ${#rest} -eq 1 ]
}

# Set the caller's variable $at to the index of the command to trace: the first word that is
# neither an option of btstrace nor the argument of an option. Bash splits --option=VALUE into
# three words.
_btstrace_position() {
	local word

	at=1
	while [ "$at" -lt "$COMP_CWORD" ]; do
		word=${COMP_WORDS[at]}
		case $word in
		--filter | --last | --output | --attach | --size | --read | --write | --memory | --root | --depth)
			[ "${COMP_WORDS[at + 1]}" = = ] || at=$((at + 1))
			;;
		-?*) ! _btstrace_wants "$word" || at=$((at + 1)) ;;
		*) return ;;
		esac
		# Skip the = and the word behind it, as in --color=never and -e func=main.
		while [ "${COMP_WORDS[at + 1]}" = = ]; do
			at=$((at + 2))
		done
		at=$((at + 1))
	done
}

# Complete the last entry of a list of kinds of branches, such as call,ret. Keep the entries
# before it. $1 has more words to offer.
_btstrace_kinds() {
	local before='' words="call ret jmp jcc syscall interrupt $1"

	[[ $cur != !* ]] || before=!
	[[ $cur != *,* ]] || before=${cur%,*},
	mapfile -t COMPREPLY < <(compgen -P "$before" -W "$words" -- "${cur#"$before"}")
}

# Complete the argument of -e: a list of kinds of branches, or the name of a condition and =.
_btstrace_filter() {
	case $cur in
	*=*) ;;
	*,*) _btstrace_kinds '' ;;
	*) _btstrace_kinds 'func= from= to= module= kind=' ;;
	esac
}

_btstrace() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} at

	COMPREPLY=()
	_btstrace_position
	if [ "$at" -lt "$COMP_CWORD" ]; then
		# Complete the command and its arguments.
		if declare -F _command_offset >/dev/null; then
			_command_offset "$at"
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		return
	fi
	if [ "$prev" = = ] || [ "$cur" = = ]; then
		[ "$prev" != = ] || prev=${COMP_WORDS[COMP_CWORD - 2]}
		cur=${cur#=}
		# The pattern of a filter, as in -e func=main, cannot be completed; a kind can.
		if [[ $prev = ?(!)kind ]]; then
			_btstrace_kinds ''
			return
		fi
		[[ $prev = --* ]] || return
		if [ "$prev" = --color ]; then
			mapfile -t COMPREPLY < <(compgen -W 'always never auto' -- "$cur")
			return
		fi
	elif _btstrace_wants "$prev"; then
		prev=-${prev: -1}
	fi
	case $prev in
	--output | --read | --write | -[orw])
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--attach | -p)
		mapfile -t COMPREPLY < <(cd /proc && compgen -G '[1-9]*' | grep "^$cur")
		return
		;;
	--filter | -e)
		_btstrace_filter
		return
		;;
	--last | --size | --memory | --root | --depth | -[ns]) return ;;
	esac
	case $cur in
	-*) mapfile -t COMPREPLY < <(compgen -W '--crash --plain --full --insn --raw --json --calls --folded --perfetto
			--drcov --lcov --profile --lines --loops --summary --flow --root --depth --follow --kernel --entries --times --filter --last
			--output --attach --size --read --write --quiet --help --version
			--by-thread --color --no-pager --force --no-demangle --memory' -- "$cur") ;;
	*) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	esac
}

complete -F _btstrace btstrace
