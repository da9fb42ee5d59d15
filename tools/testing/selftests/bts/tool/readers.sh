#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# readers.sh DIR PROGRAM: check that other tools read the files that btstrace (in DIR)
# writes for a trace of PROGRAM, and find the same as btstrace in them: genhtml and lcov
# in the coverage, protoc in the timeline.

dir=$1 program=$(realpath "$2") here=$(realpath "${BASH_SOURCE[0]%/*}")
# shellcheck source=host.sh
. "${BASH_SOURCE[0]%/*}/host.sh"
cd "$scratch" || exit 2

"$dir/test/record" trace "$program" sorts 2
result $? "the program runs"

"$dir/btstrace" -r trace --lcov -o coverage.info
genhtml --output-directory html coverage.info >out 2>err && [ ! -s err ]
result $? "genhtml: reads it without a word"
sed 's/^/# /' err
hit=$(grep -c '^DA:[0-9]*,[1-9]' coverage.info) found=$(grep -c '^DA:' coverage.info)
[ "$hit" -gt 10 ] && grep -q "lines\.*: .* ($hit of $found lines)" out
result $? "genhtml: $hit of $found lines"
functions=$(grep -c '^FNDA:[1-9]' coverage.info)
[ "$functions" -gt 2 ] && grep -q "functions\.*: .* ($functions of $(grep -c '^FN:' coverage.info) functions)" out
result $? "genhtml: $functions functions"
page=$(find html -name 'shapes.c.gcov.html')
grep -q 'lineCov.*qsort(' "$page"
result $? "genhtml: the line that was executed is shown so"
grep -q 'lineNoCov.*dlopen(' "$page"
result $? "genhtml: and so is one that was not"
# Added to itself, the coverage has twice each count.
lcov --quiet -a coverage.info -a coverage.info -o both.info 2>err && [ ! -s err ] &&
	[ "$(grep '^DA:' both.info)" = "$(grep '^DA:' coverage.info | awk -F, '{ print $1 "," 2 * $2 }')" ]
result $? "lcov: adds two of them up"

"$dir/btstrace" -r trace --perfetto -o timeline.pftrace
protoc --proto_path="$here" --decode=bts.Trace perfetto.proto <timeline.pftrace >timeline 2>err &&
	[ ! -s err ]
result $? "protoc: reads it without a word"
sed 's/^/# /' err
[ -s timeline ] && ! grep -q '^ *[0-9][0-9]*[:{ ]' timeline
result $? "protoc: knows each field"
"$dir/btstrace" -r trace --calls -o calls

awk -v first=$((tests + 1)) -f "$here/timeline.awk" calls timeline || failed=1
tests=$((tests + 3))
finish
