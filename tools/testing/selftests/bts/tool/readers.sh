#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# readers.sh DIR PROGRAM: those for whom btstrace (in DIR) writes read what it wrote of
# PROGRAM, and find in it what btstrace tells itself: genhtml and lcov the coverage,
# protoc the timeline.

dir=$1 program=$(realpath "$2") schema=$(realpath "${BASH_SOURCE[0]%/*}") tests=0 failed=0
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2

result() {
	tests=$((tests + 1))
	[ "$1" -eq 0 ] || failed=1
	[ "$1" -eq 0 ] || printf 'not '
	echo "ok $tests - $2"
}

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
# What two runs covered is as much as both
lcov --quiet -a coverage.info -a coverage.info -o both.info 2>err && [ ! -s err ] &&
	[ "$(grep '^DA:' both.info)" = "$(grep '^DA:' coverage.info | awk -F, '{ print $1 "," 2 * $2 }')" ]
result $? "lcov: adds two of them up"

"$dir/btstrace" -r trace --perfetto -o timeline.pftrace
protoc --proto_path="$schema" --decode=bts.Trace perfetto.proto <timeline.pftrace >timeline 2>err &&
	[ ! -s err ]
result $? "protoc: reads it without a word"
sed 's/^/# /' err
[ -s timeline ] && ! grep -q '^ *[0-9][0-9]*[:{ ]' timeline
result $? "protoc: knows each field"
"$dir/btstrace" -r trace --calls -o calls

python3 - <<'END' || failed=1
import re, sys

packets = open("timeline").read().split("\npacket {\n")
calls = open("calls").read()

def numbers(name, text):
    return [int(n) for n in re.findall(name + r": (\d+)", text)]

def names(kind, text):
    """Those that are interned, by their number."""
    return {int(n): name for n, name in
            re.findall(kind + r' \{\s+iid: (\d+)\s+name: "((?:[^"\\]|\\.)*)"', text)}

wrong = {what: 0 for what in ("track", "name", "clock", "nesting", "sequence")}
known, functions, tracks, open_calls, clocks, begun = {}, {}, {}, {}, {}, {}
for packet in packets:
    known.update(names("event_names", packet))
    known.update(names("event_categories", packet))
    if "track_descriptor" in packet:
        track = numbers(r"\n    uuid", "\n" + packet)[0]
        tracks[track] = packet
        open_calls[track] = []
        wrong["track"] += any(p not in tracks for p in numbers("parent_uuid", packet))
    if "track_event" not in packet:
        continue
    track = numbers("track_uuid", packet)[0]
    wrong["track"] += track not in tracks or "thread {" not in tracks[track]
    wrong["sequence"] += numbers("sequence_flags", packet) != [2]
    clock = numbers("timestamp", packet)[0]
    wrong["clock"] += clock < clocks.get(track, 0)
    clocks[track] = clock
    for iid in numbers("name_iid", packet) + numbers("category_iids", packet):
        wrong["name"] += iid not in known
    if "type: BEGIN" in packet:
        name = known.get(numbers("name_iid", packet)[0])
        open_calls[track].append(name)
        begun[name] = begun.get(name, 0) + 1
    elif "type: END" in packet:
        wrong["nesting"] += not open_calls[track]
        open_calls[track][-1:] = []
wrong["nesting"] += sum(len(calls) for calls in open_calls.values())

count = 9
failed = 0
def ok(condition, what):
    global count, failed
    count += 1
    failed += not condition
    print(("" if condition else "not ") + "ok", count, "-", what)

ok(not any(wrong.values()) and sum(begun.values()) > 100,
   "timeline: %d calls; wrong: %s" % (sum(begun.values()), wrong))
processes = [re.search(r'process_name: "(.*)"', t) for t in tracks.values() if "process {" in t]
ok(len(processes) == 1 and processes[0] and processes[0].group(1) == "shapes",
   "timeline: the process has its name")
told = {}
for n, name in re.findall(r"^ *(\d+) +\d+ +\d+ +(compare|sorts|main) ", calls, re.M):
    told[name] = told.get(name, 0) + int(n)
ok(len(told) == 3 and all(begun.get(f) == n for f, n in told.items()),
   "timeline: as many calls as --calls tells of: %s" % told)
print("1..%d" % count)
sys.exit(failed != 0)
END
exit $failed
