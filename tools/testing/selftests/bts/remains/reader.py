#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Tests of hw_branches.py without a dump: how it joins the records in the buffer of a CPU and those in
the ring of the recorder. Each row has what bts_flight_both() of the kernel would read. hw_branches.py
is in the directory that is the argument.
"""

import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import hw_branches

# Records, the newest first
BUFFER = [(4, 4), (3, 3)]
WRAPPED = BUFFER + [(0, 0)]
RING = [(2, 2), (1, 1)]
MARK = [(0, 0)]


class Object:
    """An object of drgn, as far as hw_branches.py uses it: a value, or members."""

    def __init__(self, value=None, **members):
        self.value = value
        self.__dict__.update(members)

    def __bool__(self):
        return self.value != 0

    def value_(self):
        return self.value

    def read_(self):
        return self

    def member_(self, name):
        return getattr(self, name)


class Record(Object):
    def __init__(self, source, target):
        branch = Object(to=Object(target))
        setattr(branch, "from", Object(source))
        super().__init__(type=Object(hw_branches.BRANCH), branch=branch)


class Program(dict):
    """The program of a kernel with one CPU."""

    def constant(self, name):
        return {"BTS_DS_BUSY": Object(2)}[name]


def kernel(records, state, late, gap, unmarked):
    ring = Object(size=Object(8), pos=Object(len(records)), head=Object(len(records)),
                  tail=Object(0), rec=[Record(*record) for record in reversed(records)],
                  gap=Object(gap), unmarked=Object(unmarked))
    context = Object(late=Object(late), ring=ring)
    return Program(hw_branches_readable=context, bts_ds=Object(state=Object(state)))


ROWS = [
    # what, buffer, ring, state of the Debug Store, late, gap, unmarked, what is read
    ("the ring follows", BUFFER, RING, 1, False, False, 0, BUFFER + RING),
    ("a gap is marked", BUFFER, RING, 1, False, True, 0, BUFFER + MARK + RING),
    ("lost records are marked", BUFFER, RING, 1, False, False, 7, BUFFER + MARK + RING),
    ("one mark is enough", WRAPPED, RING, 1, False, True, 7, WRAPPED + RING),
    ("no mark before an empty ring", BUFFER, [], 1, False, True, 7, BUFFER),
    ("a mark after an empty buffer", [], RING, 1, False, True, 0, MARK + RING),
    ("no ring while records are moved", BUFFER, RING, 2, False, True, 7, BUFFER),
    ("the ring after all were moved", [], RING, 2, False, False, 0, RING),
    ("no buffer from before the context", BUFFER, RING, 1, True, False, 0, RING),
    ("and a gap", WRAPPED, RING, 1, True, True, 0, MARK + RING),
    ("and records are moved", BUFFER, RING, 2, True, False, 0, []),
]

hw_branches.per_cpu = lambda variable, cpu: variable
failed = 0
for what, buffer, records, state, late, gap, unmarked, wanted in ROWS:
    found = hw_branches.with_ring(kernel(records, state, late, gap, unmarked), 0, list(buffer))
    if found != wanted:
        print("%s: %s, %s was wanted" % (what, found, wanted), file=sys.stderr)
        failed += 1
# The recorder was switched off meanwhile.
off = Program(hw_branches_readable=Object(0))
if hw_branches.with_ring(off, 0, list(BUFFER)) != BUFFER:
    print("no context: the buffer is not returned", file=sys.stderr)
    failed += 1
print("%d of %d rows failed" % (failed, len(ROWS) + 1), file=sys.stderr)
sys.exit(failed > 0)
