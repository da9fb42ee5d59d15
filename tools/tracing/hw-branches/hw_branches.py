#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""
Print the last branches of each CPU, the newest first, that the branch flight
recorder has left in the memory of a kernel. This needs drgn.

  hw_branches.py [-n NR] [-m MAP] [-d FILE]... [DUMP]

DUMP may be in any format that drgn reads, also one that makedumpfile has
compressed. Without DUMP, the script reads the running kernel by /proc/kcore:
before that, write 1 to hw_branches/freeze in tracefs.

The branches are either in last branch records (LBR), which the kernel has saved,
or in the buffer of the Branch Trace Store (BTS). The Debug Store has the address
of this buffer. If the buffer of a CPU had to be emptied, for example to trace a task
for a debugger, the kernel has moved older branches from this buffer to another buffer
in memory, the ring.

VMCOREINFO tells where the branches are, so no debug information is needed. With
the debug information of vmlinux and of modules (-d), the script also prints files
and lines, the functions of modules, and the branches in the ring. MAP is a copy of
/proc/kallsyms, or System.map: it gives the names of addresses without -d. For the
running kernel, /proc/kallsyms is the default.
"""

import argparse
import bisect
import itertools
import os
import re
import subprocess
import sys

try:
    from drgn import FaultError, Program
    from drgn.helpers.linux.list import list_for_each_entry
    from drgn.helpers.linux.percpu import per_cpu
except ImportError as error:
    sys.exit("hw_branches.py: %s: install python3-drgn" % error)

# The buffer of each CPU: 64 KiB for records of 24 bytes.
RECORD = 24
MOST_RECORDS = 65536 // RECORD
MOST_LBRS = 64
MOST_CPUS = 8192

KALLSYMS = "/proc/kallsyms"

# More than any kernel has: a list or a ring that has more was overwritten.
MOST_MODULES = 10000
MOST_IN_RING = 1 << 24

LINKER = re.compile(r"__.*_(start|end)$")

# Symbols at the end of the kernel's text, of its init text, and of its image
END = re.compile(r"(_etext|_einittext|_end|__init_scratch_end)$")

# The name of the kernel's file: distributions append the version.
VMLINUX = re.compile(r"vmlinux([-_.].*)?$")

# Where tracefs is mounted
TRACING = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")

# The type of a branch in a ring: X86_BTS_BRANCH of <asm/bts.h>
BRANCH = 1

# The record that stands for missing records
MISSING = (0, 0)


def is_user(address):
    return not address >> 63


def warn(text):
    print("hw_branches.py: " + text, file=sys.stderr)


def read_info(path, size):
    """
    Return VMCOREINFO as a dictionary. All formats contain it as text, in the headers at the
    beginning of the file: look for it in the first size bytes.
    """
    with open(path, "rb") as dump:
        text = re.search(rb"OSRELEASE=[\n -~]*", dump.read(size))
    if not text:
        sys.exit("hw_branches.py: %s has no VMCOREINFO: it is not the dump of a kernel" % path)
    return dict(line.split("=", 1) for line in text[0].decode().splitlines() if "=" in line)


def is_from_pipe(path):
    """Return whether makedumpfile wrote a dump to a pipe."""
    try:
        with open(path, "rb") as dump:
            return dump.read(12) == b"makedumpfile"
    except OSError:
        return False


def open_dump(path):
    """Return drgn's program, and VMCOREINFO."""
    program = Program()
    try:
        if path is None:
            program.set_kernel()
            return program, read_info("/proc/kcore", 1 << 16)
        program.set_core_dump(path)
        return program, read_info(path, 1 << 24)
    except Exception as error:
        if path and is_from_pipe(path):
            sys.exit("hw_branches.py: %s was written to a pipe by makedumpfile: copy it "
                     "with makedumpfile -R COPY < %s" % (path, path))
        sys.exit("hw_branches.py: %s: %s" % (path or "/proc/kcore", error))


def warn_if_recording():
    """Warn if the recorder of the running kernel is on, and not frozen."""
    for tracing in TRACING:
        files = tracing + "/hw_branches/"
        try:
            with open(files + "enable") as enable, open(files + "freeze") as freeze:
                if enable.read().strip() != "0" and freeze.read().strip() == "0":
                    warn("the recorder is not frozen, so the branches change while they are read: "
                         "write 1 to " + freeze.name)
                return
        except OSError:
            continue


def run(command, text):
    """Return the output of a command with this input; an empty string if the command fails."""
    try:
        return subprocess.run(command, input=text, stdout=subprocess.PIPE,
                              universal_newlines=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        warn(str(error))
        return ""


def to_number(info, key, base):
    try:
        return int(info[key], base)
    except (KeyError, ValueError):
        sys.exit("hw_branches.py: VMCOREINFO was overwritten: %s has no number" % key)


class Memory:
    """Where the branches of each CPU are, from VMCOREINFO."""

    def __init__(self, program, info):
        self.program = program
        self.info = info
        self.damaged = False
        key = "NUMBER(hw_branches_unreliable)"
        self.bts_name = "bts (unreliable)" if self.has(key) and self.value(key) else "bts"

    def say_damaged(self, cpu, what, error):
        warn("CPU %d: %s cannot be read: %s" % (cpu, what, error))
        self.damaged = True

    def has(self, key):
        return key in self.info

    def value(self, key, base=10):
        if not self.has(key):
            sys.exit("hw_branches.py: no %s in VMCOREINFO: that kernel could not record branches"
                     % key)
        return to_number(self.info, key, base)

    def symbol(self, name):
        return self.value("SYMBOL(%s)" % name, 16)

    def offset(self, name):
        return self.value("OFFSET(%s)" % name)

    def words(self, address, nr):
        data = self.program.read(address, 8 * nr)
        return [int.from_bytes(data[8 * i:8 * i + 8], "little") for i in range(nr)]

    def records(self, address, nr):
        """Return the sources and targets of records."""
        words = self.words(address, 3 * nr)
        return list(zip(words[0::3], words[1::3]))

    def cpus(self):
        nr = self.value("NUMBER(nr_cpu_ids)")
        if not 0 < nr <= MOST_CPUS:
            sys.exit("hw_branches.py: nr_cpu_ids is %d: VMCOREINFO was overwritten" % nr)
        return range(nr)

    def variable(self, name, cpu):
        """
        Return the address of a per-CPU variable of a CPU. A kernel without CONFIG_SMP has one
        instance of the variable, and no __per_cpu_offset.
        """
        address = self.symbol(name)
        if self.has("SYMBOL(__per_cpu_offset)"):
            address += self.words(self.symbol("__per_cpu_offset") + 8 * cpu, 1)[0]
        return address % (1 << 64)

    def lbr(self, cpu):
        """Return the saved last branch records of a CPU; None if there are none."""
        if not self.has("SYMBOL(hw_branches_lbr_cpu)"):
            return None
        state = self.variable("hw_branches_lbr_cpu", cpu)
        try:
            saved = self.program.read(state + self.offset("hw_branches_lbr_cpu.saved"), 1)[0]
        except FaultError as error:
            self.say_damaged(cpu, "whether it has last branch records", error)
            return None
        if not saved:
            return None
        kept = self.words(state + self.offset("hw_branches_lbr_cpu.kept"), 1)[0]
        nr = int.from_bytes(self.program.read(kept, 4), "little")
        if nr > MOST_LBRS:
            raise ValueError("the last branch records were overwritten")
        return self.records(kept + self.offset("hw_branches_lbr_saved.raw"), nr)

    def store(self, cpu):
        """
        Return the address of a CPU's Debug Store. It is a per-CPU variable, or in memory
        reserved by the boot parameter reserve_mem.
        """
        state = self.variable("ds_cpu", cpu)
        if self.has("OFFSET(ds_cpu.store)"):
            store = self.words(state + self.offset("ds_cpu.store"), 1)[0]
            if store:
                return store
        return self.variable("cpu_debug_store", cpu)

    def bts(self, cpu):
        """
        Return the records in the buffer of a CPU; None if it has no buffer, or if the recorder
        did not use it: then it may have branches of a traced task. If the buffer has wrapped,
        older records are missing.
        """
        used = self.words(self.variable("hw_branches_readable", cpu), 1)[0]
        state = self.variable("ds_cpu", cpu)
        base, index = self.words(self.store(cpu), 2)
        buffer = self.words(state + self.offset("ds_cpu.pages"), 1)[0]
        if not used or not base or not buffer:
            return None
        at = (index - base) // RECORD
        if not 0 <= at <= MOST_RECORDS:
            raise ValueError("the Debug Store was overwritten")
        records = self.records(buffer, MOST_RECORDS)
        newest = records[:at][::-1]
        # The buffer has wrapped if the last record is not empty.
        if any(records[-1]):
            newest += records[at:][::-1] + [MISSING]
        return newest


def read_ring(records):
    """
    Return the branches in a ring. A record that is not a branch is returned as MISSING: branches
    are missing there.
    """
    size, pos = records.size.value_(), records.pos.value_()
    if not 0 < size <= MOST_IN_RING:
        raise ValueError("the ring was overwritten")
    held = min(records.head.value_() - records.tail.value_(), size)
    found = []
    for i in range(held):
        record = records.rec[(pos - 1 - i) % size].read_()
        branch = record.branch
        if record.type.value_() == BRANCH:
            found.append((branch.member_("from").value_(), branch.to.value_()))
        else:
            found.append(MISSING)
    return found


def with_ring(program, cpu, buffer):
    """
    Return the records in the buffer of a CPU, and then those that were moved from there to the
    ring of the recorder's context. This does the same as bts_flight_both() of the kernel.
    """
    context = per_cpu(program["hw_branches_readable"], cpu).read_()
    # The running kernel may have switched the recorder off meanwhile.
    if not context:
        return buffer
    # A late context was created after its CPU was frozen: the branches in the buffer are older.
    newest = [] if context.late.value_() else buffer
    # While the CPU moves records from the buffer to the ring, they may be in both.
    state = per_cpu(program["bts_ds"], cpu).state
    if buffer and state.value_() == program.constant("BTS_DS_BUSY").value_():
        return newest
    older = read_ring(context.ring)
    # Records may be missing in between, without a mark in the buffer or in the ring.
    gap = context.ring.gap.value_() or context.ring.unmarked.value_()
    if gap and older and newest[-1:] != [MISSING]:
        newest = newest + [MISSING]
    return newest + older


def read_symbols(path):
    """Return the addresses and names in System.map, or in a copy of /proc/kallsyms."""
    found = []
    try:
        with open(path) as lines:
            for line in lines:
                field = line.split()
                # Leave out offsets of per-CPU variables.
                if len(field) > 2 and not is_user(int(field[0], 16)):
                    found.append((int(field[0], 16), " ".join(field[2:4])))
        if not found:
            raise ValueError("it has no addresses of a kernel")
    except (OSError, ValueError) as error:
        if path != KALLSYMS:
            sys.exit("hw_branches.py: %s: %s: give System.map or a copy of %s" %
                     (path, error, KALLSYMS))
        warn("%s: %s: addresses have no names" % (path, error))
    return found


class Names:
    """The names of addresses: from debug information, or from a map."""

    def __init__(self, program, info, path, files):
        self.program = program
        self.files = {}
        self.lines = {}
        self.modules = []
        self.symbols = []
        self.shift = to_number(info, "KERNELOFFSET", 16) if "KERNELOFFSET" in info else 0
        for file in files:
            self.files[self.name_of(file)] = file
        self.has_debug = "vmlinux" in self.files
        if self.has_debug:
            self.read_debug_info(info)
        elif files:
            warn("-d without vmlinux is ignored: %s" % ", ".join(files))
        if path:
            self.read_map(path, info)
        # If an address has several symbols, print a function, not a symbol of the linker script.
        # An empty name comes first: it says that the functions before this address end there.
        self.symbols.sort(key=lambda symbol: (symbol[0], symbol[1] != "",
                                              not LINKER.match(symbol[1]), symbol[1]))
        self.addresses = [symbol[0] for symbol in self.symbols]

    @staticmethod
    def name_of(file):
        """Return the name of the module that has this file, or vmlinux."""
        base = os.path.basename(file)
        if VMLINUX.match(base):
            return "vmlinux"
        return re.sub(r"\.ko(\.debug)?$", "", base).replace("-", "_")

    def read_debug_info(self, info):
        try:
            self.program.load_debug_info([self.files["vmlinux"]])
            self.program["hw_branches_readable"]
            found = self.program.symbol("init_uts_ns").address
        except LookupError:
            found = None
        except Exception as error:
            sys.exit("hw_branches.py: %s: %s" % (self.files["vmlinux"], error))
        if found is None or found != to_number(info, "SYMBOL(init_uts_ns)", 16):
            sys.exit("hw_branches.py: %s is not the vmlinux of that kernel, or has no debug "
                     "information" % self.files["vmlinux"])
        self.find_modules()
        loaded = {name for _, _, name in self.modules}
        for name in sorted(self.files.keys() - loaded - {"vmlinux"}):
            warn("-d %s is ignored: the kernel's list of modules has no %s" %
                 (self.files[name], name))

    def find_modules(self):
        try:
            modules = self.program["modules"]
        except KeyError:
            return
        found = list_for_each_entry("struct module", modules.address_of_(), "list")
        try:
            for module in itertools.islice(found, MOST_MODULES):
                self.add_module(module)
        except (FaultError, OSError) as error:
            warn("the list of modules was overwritten: %s" % error)

    def add_module(self, module):
        text = module.mem[0]
        base = text.base.value_()
        end = base + text.size.value_()
        name = module.name.string_().decode(errors="replace")
        self.modules.append((base, end, name))
        # Otherwise the last function before the module, or in it, would name addresses after it.
        self.symbols += [(base, ""), (end, "")]
        if name in self.files:
            self.read_module(name, base)

    def read_module(self, name, base):
        """Read the functions of a module, whose section .text begins at base."""
        out = run(["objdump", "-h", "-t", self.files[name]], "")
        for at, function in re.findall(r"^([0-9a-f]+) .* \.text\t\S+ (?:\.hidden )?(\S+)$", out,
                                       re.M):
            if function != ".text":
                self.symbols.append((base + int(at, 16), function + " [" + name + "]"))
        # Other sections follow, whose functions are not read.
        for size in re.findall(r"^ *[0-9]+ \.text +([0-9a-f]+) ", out, re.M):
            self.symbols.append((base + int(size, 16), ""))

    def read_map(self, path, info):
        moved = 0
        found = []
        for at, name in read_symbols(path):
            found.append((at, "" if END.match(name) else name))
            if name == "_stext" and "SYMBOL(_stext)" in info:
                moved = to_number(info, "SYMBOL(_stext)", 16) - at
        self.symbols += [(at + moved, name) for at, name in found]

    def module_of(self, address):
        for start, end, name in self.modules:
            if start <= address < end:
                return name, start
        return "vmlinux", self.shift

    def find_lines(self, addresses):
        """Look up files and lines, with one addr2line for each file."""
        wanted = {}
        for address in addresses:
            name, start = self.module_of(address)
            if name in self.files and not is_user(address):
                wanted.setdefault(name, {})[address] = address - start
        for name, offsets in wanted.items():
            command = ["addr2line", "-s", "-e", self.files[name]]
            if name != "vmlinux":
                command += ["-j", ".text"]
            text = "".join("%#x\n" % offset for offset in offsets.values())
            for address, line in zip(offsets, run(command, text).splitlines()):
                if "?" not in line:
                    self.lines[address] = line.split(" ")[0]

    def symbol(self, address):
        """Return the function, the offset in it, and the module; None if they are not known."""
        if self.has_debug:
            try:
                symbol = self.program.symbol(address)
                return symbol.name, address - symbol.address, self.module_of(address)[0]
            except LookupError:
                pass
        at = bisect.bisect_right(self.addresses, address)
        # Where the last symbol ends is not known.
        if not at or at == len(self.symbols) or not self.symbols[at - 1][1]:
            return None
        name, _, module = self.symbols[at - 1][1].partition(" ")
        return name, address - self.symbols[at - 1][0], module.strip("[]") or "vmlinux"

    def name(self, address):
        if is_user(address):
            return "%#x" % address
        symbol = self.symbol(address)
        text = "%s+%#x" % symbol[:2] if symbol else "%#x" % address
        module = symbol[2] if symbol else self.module_of(address)[0]
        if module != "vmlinux":
            text += " [%s]" % module
        if address in self.lines:
            text += " (%s)" % self.lines[address]
        return text


def kernel_branches(records):
    """
    Return the branches of the kernel as pairs of source and target. Leave out branches within
    user mode. Replace a source in user mode by None, with one exception: if the next older
    record is a branch of the kernel to this source, the kernel may have jumped through a bad
    pointer, and the address is kept. A pair of None and None says that branches are missing.
    """
    found = []
    for i, (source, target) in enumerate(records):
        older = records[i + 1] if i + 1 < len(records) else MISSING
        astray = older[1] == source and not is_user(older[0])
        if (source, target) == MISSING:
            found.append((None, None))
        elif not (is_user(source) and is_user(target)):
            found.append((None if is_user(source) and not astray else source, target))
    return found


def print_branches(cpu, source, branches, names):
    names.find_lines({at for branch in branches for at in branch if at is not None})
    print("Last branches of CPU %d, newest first, %d follow, source %s:" %
          (cpu, len(branches), source))
    for origin, target in branches:
        if target is None:
            print(" %3d -- some are missing here --" % cpu)
        else:
            print(" %3d %s <- %s" % (cpu, names.name(target), "user mode" if origin is None
                                     else names.name(origin)))


def read_cpu(memory, names, cpu):
    """Return the source of a CPU's branches, and the branches."""
    records = memory.lbr(cpu)
    if records is not None:
        return "lbr", kernel_branches(records)
    records = memory.bts(cpu)
    if records is None:
        return memory.bts_name, []
    if names.has_debug:
        records = with_ring(memory.program, cpu, records)
    return memory.bts_name, kernel_branches(records)


def number(text):
    value = int(text, 0)
    if value < 1:
        raise argparse.ArgumentTypeError("give a number of lines, 1 or more")
    return value


def main():
    parser = argparse.ArgumentParser(prog="hw_branches.py", description="Print the last "
                                     "branches that the flight recorder of a kernel has left.")
    parser.add_argument("-n", type=number, default=32, metavar="NR",
                        help="print at most NR lines of each CPU [32]")
    parser.add_argument("-m", metavar="MAP", help="System.map, or a copy of /proc/kallsyms")
    parser.add_argument("-d", metavar="FILE", action="append", default=[],
                        help="vmlinux, or a module, with debug information")
    parser.add_argument("dump", metavar="DUMP", nargs="?",
                        help="a dump; without it, the running kernel is read")
    args = parser.parse_args()
    if sys.stdout is None:
        sys.exit("hw_branches.py: output: it is closed")
    program, info = open_dump(args.dump)
    memory = Memory(program, info)
    if not args.dump:
        warn_if_recording()
        args.m = args.m or KALLSYMS
    names = Names(program, info, args.m, args.d)
    found = False
    for cpu in memory.cpus():
        try:
            source, branches = read_cpu(memory, names, cpu)
        except (FaultError, ValueError, OverflowError, OSError) as error:
            memory.say_damaged(cpu, "its branches", error)
            continue
        if branches:
            found = True
            print_branches(cpu, source, branches[:args.n], names)
    if not found and not memory.damaged:
        warn("no branches: the recorder was off, perf had the LBRs, or nothing froze lbr")
    sys.stdout.flush()
    sys.exit(memory.damaged)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        # Python flushes the output once more at its end: that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # The reader of a pipe may have read enough.
        sys.exit(1 if isinstance(error, BrokenPipeError) else
                 "hw_branches.py: output: %s" % error)
