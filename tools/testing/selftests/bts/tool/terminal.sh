#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# terminal.sh DIR PROGRAM: check that btstrace (in DIR) uses colours and a pager on a terminal only,
# except that --color makes colours elsewhere, too. Also check that lines are no longer than the
# terminal is wide. Most checks show a trace of PROGRAM.

dir=$1 program=$(realpath "$2")
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
cd "$scratch" || exit 2
escape=$'\033['
export TERM=xterm PAGER='' LC_ALL=C.UTF-8

# on_terminal COMMAND: run it on a terminal, and print what it writes there
on_terminal() {
	script -qec "$1" /dev/null </dev/null
}

"$dir/test/record" trace "$program" sorts 2 || exit 1
show="$dir/btstrace -r trace"
on_terminal "$show" | grep -qF "$escape"
result $? "colours on a terminal"
! $show | grep -qF "$escape"
result $? "none in a pipe"
! on_terminal "NO_COLOR=1 $show" | grep -qF "$escape"
result $? "none with NO_COLOR"
! on_terminal "TERM=dumb $show" | grep -qF "$escape"
result $? "none on a dumb terminal"
! on_terminal "$show --color=never" | grep -qF "$escape"
result $? "none with --color=never"
$show --color | grep -qF "$escape"
result $? "some with --color, in a pipe too"
! on_terminal "$show -o file" | grep -q . && ! grep -qF "$escape" file
result $? "none in a file"
[ "$(on_terminal "stty -F /dev/tty cols 72; $show --color=never" | tr -d '\r' | wc -L)" -le 72 ]
result $? "no line is longer than the terminal is wide"
# Source lines with wide characters, and with combining characters
cat >wide.c <<'EOF'
static volatile int *nowhere;
int main(void)
{
	*nowhere = 1; /* 漢字かな交じり文、漢字かな交じり文、漢字 */
	return 0;
}
EOF
cp wide.c marked.c
sed -i 's|/\*.*\*/|/* éééééééééééééééé end */|' marked.c
for what in wide marked; do
	gcc -g -o $what $what.c && "$dir/test/record" $what.trace ./$what
	on_terminal "stty -F /dev/tty cols 72; $dir/btstrace -r $what.trace --color=never" | tr -d '\r' >out
	grep -q "main $what.c:4" out
	result $? "$what.c: the line is shown"
done
[ "$(wc -L <out)" -le 72 ] && grep -q ' end \*/$' out
result $? "marks above a character need no column of their own"
on_terminal "stty -F /dev/tty cols 72; $dir/btstrace -r wide.trace --color=never" | tr -d '\r' >out
[ "$(wc -L <out)" -le 72 ] && [ "$(wc -L <out)" -ge 71 ]
result $? "a line of wide characters is no longer than the terminal is wide, $(wc -L <out)"
[ "$($show --crash | sed 's/\o33\[[0-9;]*m//g')" = "$($show --crash --color | sed 's/\o33\[[0-9;]*m//g')" ]
result $? "colours change nothing else"
on_terminal "PAGER='sed s/^/paged:/' $show" | grep -q '^paged:'
result $? "a pager on a terminal"
on_terminal "BTSTRACE_PAGER='sed s/^/mine:/' PAGER=false $show" | grep -q '^mine:'
result $? "BTSTRACE_PAGER comes first"
! on_terminal "PAGER='sed s/^/paged:/' $show --no-pager" | grep -q '^paged:'
result $? "none with --no-pager"
! PAGER='sed s/^/paged:/' $show | grep -q '^paged:'
result $? "none before a pipe"
on_terminal "PAGER='head -n 1' $show --full" >out
result $? "a pager that ends early"
touch unfit
for pager in /nowhere/pager ./unfit; do
	on_terminal "PAGER=$pager $show" >out
	[ $? -eq 118 ] && grep -q "btstrace: the pager '$pager' cannot be run: give --no-pager" out
	result $? "a pager that cannot be run, $pager, is told"
done
on_terminal "PAGER='cat >/dev/null; exit 1 #' $show" >out && ! grep -q btstrace: out
result $? "the status of a pager that ran means nothing"
finish
