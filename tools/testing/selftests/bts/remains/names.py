#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Tests of hw_branches.py without a dump: how it names addresses of the kernel and of modules, and
what it says about files that it cannot read.
hw_branches.py is in the directory that is the argument. This needs as, objdump and addr2line.

The kernel has the modules a, b and c_c, in this order of their addresses. There are files for a,
which has one function in .text, and for c_c, which has two, and an instruction before them.
"""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import hw_branches

STEXT, ETEXT, END = 0xffffffff81000000, 0xffffffff81002000, 0xffffffff81004000
A, B, C = 0xffffffffc0000000, 0xffffffffc0002000, 0xffffffffc0004000
SIZE = 0x1000

# The end of the image is not the last symbol.
MAP = """0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81001000 T start_kernel
ffffffff81002000 T _etext
ffffffff81003000 D init_task
ffffffff81004000 B _end
ffffffff81005000 B __init_scratch_begin
ffffffff81006000 B __init_scratch_end
"""

# What is in kallsyms, too, once a and b are loaded
KALLSYMS = MAP + """ffffffffc0000000 t a_only	[a]
ffffffffc0002000 t b_only	[b]
"""

A_TEXT = """	.text
	.type a_only, @function
a_only:
	jmp a_only
	.size a_only, . - a_only
	.section .text.unlikely, "ax"
	.skip 0x100
"""

C_TEXT = """	.text
	nop
	.type c_first, @function
c_first:
	jmp c_first
	.size c_first, . - c_first
	.skip 0x100, 0x90
	.type c_last, @function
c_last:
	nop
	nop
	jmp c_last
	.size c_last, . - c_last
"""


class Value:
    """A value of drgn, or a structure."""

    def __init__(self, value=None, **members):
        self.value = value
        self.__dict__.update(members)

    def value_(self):
        return self.value

    def string_(self):
        return self.value.encode()

    def address_of_(self):
        return self


def module(name, base):
    return Value(name=Value(name), mem=[Value(base=Value(base), size=Value(SIZE))])


class Program(dict):
    """The program of a kernel. With debug information, it has symbols of the kernel only."""

    def load_debug_info(self, files):
        self.loaded = files

    def symbol(self, address):
        if address == "init_uts_ns":
            return Value(address=int(INFO["SYMBOL(init_uts_ns)"], 16))
        if not STEXT <= address < ETEXT:
            raise LookupError
        return Value(name="kernel_function", address=STEXT)


# The files that are given by -d, the map, an address, and its name
V = ["vmlinux"]
ROWS = [
    (V + ["a.ko"], None, A + 1, "a_only+0x1 [a] (a.s:4)"),
    (V + ["a.ko"], None, A + 0x80, "0xffffffffc0000080 [a]"),
    (V + ["a.ko"], None, A + SIZE, "0xffffffffc0001000"),
    (V + ["c-c.ko"], None, C + 0x105, "c_last+0x2 [c_c] (c-c.s:12)"),
    (V + ["c-c.ko.debug"], None, C + 0x105, "c_last+0x2 [c_c] (c-c.s:12)"),
    (V + ["c-c.ko"], None, C + 1, "c_first+0x0 [c_c] (c-c.s:5)"),
    (V + ["c-c.ko"], None, C, "0xffffffffc0004000 [c_c] (c-c.s:2)"),
    (V + ["a.ko", "c-c.ko"], None, B + 0x30, "0xffffffffc0002030 [b]"),
    (V + ["a.ko", "c-c.ko"], None, A - 1, "0xffffffffbfffffff"),
    (V + ["a.ko", "c-c.ko"], None, C + SIZE, "0xffffffffc0005000"),
    (V + ["a.ko"], "map", STEXT + 2, "kernel_function+0x2"),
    (V + ["c-c.ko"], "map", A + 0x10, "0xffffffffc0000010 [a]"),
    (V + ["c-c.ko"], "map", A - 0x10, "0xffffffffbffffff0"),
    (V + ["c-c.ko"], "kallsyms", A + 0x10, "a_only+0x10 [a]"),
    (V + ["c-c.ko"], "kallsyms", B + 0x10, "b_only+0x10 [b]"),
    (V + ["c-c.ko"], "kallsyms", B + SIZE, "0xffffffffc0003000"),
    (["vmlinux-6.12.0-amd64", "a.ko"], None, A + 1, "a_only+0x1 [a] (a.s:4)"),
    (["vmlinux.debug"], None, STEXT + 2, "kernel_function+0x2"),
    ([], "map", STEXT + 0x1002, "start_kernel+0x2"),
    ([], "map", ETEXT + 2, "0xffffffff81002002"),
    ([], "map", END - 2, "init_task+0xffe"),
    ([], "map", END, "0xffffffff81004000"),
    ([], "map", A, "0xffffffffc0000000"),
    ([], "kallsyms", STEXT - 1, "0xffffffff80ffffff"),
    ([], "kallsyms", A + 2, "a_only+0x2 [a]"),
    (V, None, 0x1000, "0x1000"),
]

# The files that are given by -d, and the warnings
WARNINGS = [
    (V + ["a.ko", "c-c.ko"], []),
    (["vmlinux-6.12.0-amd64", "a.ko"], []),
    (V + ["gone.ko"], ["-d gone.ko is ignored: the kernel's list of modules has no gone"]),
    (V + ["vmlinuz"], ["-d vmlinuz is ignored: the kernel's list of modules has no vmlinuz"]),
    (["a.ko", "c-c.ko"], ["-d without vmlinux is ignored: a.ko, c-c.ko"]),
    ([], []),
]

# VMCOREINFO of the kernel that the files are from, and of others
INFO = {"SYMBOL(init_uts_ns)": "ffffffff81003000"}
OTHER = {"SYMBOL(init_uts_ns)": "ffffffff81002000"}
DAMAGED = {"SYMBOL(_stext)": "z", "NUMBER(nr_cpu_ids)": "0"}

OVERWRITTEN = "hw_branches.py: VMCOREINFO was overwritten: "

# A function, its arguments, and how its message begins
ERRORS = [
    ("Names", None, INFO, None, V, "hw_branches.py: vmlinux is not the vmlinux of that kernel"),
    ("Names", "recorder", OTHER, None, V, "hw_branches.py: vmlinux is not the vmlinux of that"),
    ("Names", "recorder", {}, None, V, OVERWRITTEN + "SYMBOL(init_uts_ns) has no number"),
    ("Names", None, DAMAGED, "map", [], OVERWRITTEN + "SYMBOL(_stext) has no number"),
    ("cpus_of", DAMAGED, "hw_branches.py: nr_cpu_ids is 0: "),
    ("open_dump", "gone", "hw_branches.py: gone: "),
    ("open_dump", "map", "hw_branches.py: map: "),
    ("open_dump", "pipe", "hw_branches.py: pipe was written to a pipe by makedumpfile: "),
    ("read_symbols", "gone", "hw_branches.py: gone: "),
    ("read_symbols", "a.s", "hw_branches.py: a.s: "),
    ("read_symbols", "a.ko", "hw_branches.py: a.ko: "),
    ("read_symbols", "/dev/null", "hw_branches.py: /dev/null: it has no addresses of a kernel"),
]


def assemble(name, text):
    with open(name + ".s", "w") as source:
        source.write(text)
    subprocess.run(["as", "-g", "-o", name + ".ko", name + ".s"], check=True)


def make_files():
    assemble("a", A_TEXT)
    assemble("c-c", C_TEXT)
    os.link("c-c.ko", "c-c.ko.debug")
    for name, text in (("map", MAP), ("kallsyms", KALLSYMS), ("pipe", "makedumpfile")):
        with open(name, "w") as file:
            file.write(text)


def names(files, path):
    """Return the names of addresses, and the warnings."""
    warnings = []
    hw_branches.warn = warnings.append
    program = Program(modules=Value(), hw_branches_readable=Value())
    return hw_branches.Names(program, INFO, path, files), warnings


def check(what, found, wanted):
    if found == wanted:
        return 0
    print("%s: %s, %s was wanted" % (what, found, wanted), file=sys.stderr)
    return 1


def name_of(files, path, address):
    found = names(files, path)[0]
    # There is no file of the kernel.
    found.files.pop("vmlinux", None)
    found.find_lines({address})
    return found.name(address)


def cpus_of(info):
    return hw_branches.Memory(None, info).cpus()


def message(function, *args):
    try:
        if function == "cpus_of":
            cpus_of(*args)
        elif function == "Names":
            program = Program(hw_branches_readable=None) if args[0] else Program()
            hw_branches.Names(program, *args[1:])
        else:
            getattr(hw_branches, function)(*args)
    except SystemExit as error:
        return error.code
    return "no error"


def main():
    modules = [module("a", A), module("b", B), module("c_c", C)]
    hw_branches.list_for_each_entry = lambda *_: iter(modules)
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        make_files()
        for files, path, address, wanted in ROWS:
            failed += check("%#x, %s, %s" % (address, files, path), name_of(files, path, address),
                            wanted)
        for files, wanted in WARNINGS:
            failed += check("warnings of %s" % files, names(files, None)[1], wanted)
        for *call, wanted in ERRORS:
            failed += check("error", message(*call)[:len(wanted)], wanted)
        os.chdir("/")
    rows = len(ROWS) + len(WARNINGS) + len(ERRORS)
    print("%d of %d rows failed" % (failed, rows), file=sys.stderr)
    return failed > 0


sys.exit(main())
