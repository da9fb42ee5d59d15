#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# names.sh DIR PROGRAM: whatever a program is called, the output of btstrace (in
# DIR) is what its format says, and nothing that a terminal would act upon.

dir=$1
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT

# Quotes, separators, a newline, escapes in one byte and in two, no UTF-8, UTF-8
name=$'e"v,i;l\\ {}\n\t\x1b[31m\x80\xc2\x9b\xe2\x82\xac 7'
cp "$2" "$scratch/$name" &&
	"$dir/test/record" "$scratch/trace" "$scratch/$name" sorts 2 || {
	echo "1..1"
	echo "not ok 1 - the program runs"
	exit 1
}
for mode in full raw json calls folded perfetto drcov summary crash flow lcov profile lines loops; do
	"$dir/btstrace" -r "$scratch/trace" "--$mode" >"$scratch/$mode"
done

python3 - "$scratch" "$name" <<'END'
import json, os, re, sys

scratch = sys.argv[1]
name = os.fsencode(sys.argv[2])
tests = failed = 0

def ok(condition, what):
    global tests, failed
    tests += 1
    failed += not condition
    print(("" if condition else "not ") + "ok", tests, "-", what)

def read(mode):
    with open(os.path.join(scratch, mode), "rb") as f:
        return f.read()

def valid(parse, text):
    try:
        return parse(text)
    except ValueError as error:
        print("#", error)
        return None

for mode in ("full", "raw", "json", "calls", "folded", "drcov", "summary", "crash", "flow", "lcov",
             "profile", "lines", "loops"):
    text = read(mode).split(b"\nBB Table: ")[0]
    text = valid(lambda t: t.decode(), text)
    ok(text and not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f]", text), mode + ": no controls")

shown = name.decode(errors="replace")
lines = read("json").splitlines()
modules = {valid(json.loads, line)["from"]["module"] for line in lines if b'"from"' in line}
ok(shown in modules, "json: %d lines, the name among the modules" % len(lines))

def fields(message):
    """The fields of a message of protobuf: numbers, and bytes."""
    at = 0
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(message):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
        yield key >> 3, value

packets = [dict(fields(packet)) for number, packet in fields(read("perfetto"))]
interned = [dict(fields(part)) for p in packets if 12 in p for n, part in fields(p[12])]
types = [dict(fields(p[11]))[9] for p in packets if 11 in p]
safe = re.sub("[\0-\x1f\x7f-\x9f\ufffd]", "?", shown)
ok(safe in {i[2].decode() for i in interned}, "perfetto: %d packets, the name among them" % len(packets))
ok(types.count(1) == types.count(2) > 50, "perfetto: %d calls, and all end" % types.count(1))
folded = read("folded").decode().splitlines()
split = [re.fullmatch("([^;]+(?:;[^;]+)*) ([0-9]+)", line) for line in folded]
ok(len(folded) > 50 and all(split), "folded: %d stacks with a number each" % len(folded))
table = re.findall(b"\n *[0-9]+, 0x[0-9a-f]+, 0x[0-9a-f]+, 0x[0-9a-f]+, [^\n]+", read("drcov"))
count = int(re.search(b"version 2, count ([0-9]+)\n", read("drcov")).group(1))
blocks = re.search(b"\nBB Table: ([0-9]+) bbs\n", read("drcov"))
ok(len(table) == count >= 3, "drcov: %d modules, a line each" % count)
ok(len(read("drcov")) - blocks.end() == 8 * int(blocks.group(1)), "drcov: as many blocks as it says")
print("1..%d" % tests)
sys.exit(failed != 0)
END
