#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the objects with static lifetime that the code of an archive destroys when a process exits.

    at_exit_test.py OBJDUMP ARCHIVE

Prints a line for each: the file in the archive, and the object's symbol. The compiler registers a destructor with
__cxa_atexit, and as the second argument the object's address; for an array, that is 0, and a function __tcf_N destroys the
array. The code is that of x86-64.
"""
import re
import subprocess
import sys

SYMBOL = re.compile(r"([0-9a-f]{16}) .{7} (\S+)\t([0-9a-f]{16}) (?:\.hidden )?(\S+)$")
RELOCATION = re.compile(r"(R_X86_64_\w+)\t(\S+?)([-+]0x[0-9a-f]+)?$")


class File:
    """A file of the archive: its symbols, and what its functions register."""

    def __init__(self, name):
        self.name = name
        self.symbols = []  # section, beginning, end, name
        self.registered = []  # the places of a destructor and of an object; None for an array
        self.first_data = {}  # the place of the data that a function uses first

    def symbol_at(self, place):
        section, address = place
        for of, begin, end, name in self.symbols:
            if of == section and begin <= address < end:
                return name
        return section

    def objects(self):
        for function, place in self.registered:
            if place is None:
                # The function goes from the end to the beginning.
                section, end = self.first_data.get(self.symbol_at(function or ("", 0)), ("an array", 1))
                place = section, end - 1
            yield self.symbol_at(place)


def place_of(relocation):
    kind, name, addend = relocation.groups()
    return name, int(addend or "0", 16) + (0 if kind in ("R_X86_64_32", "R_X86_64_32S") else 4)


def parse(listing):
    files, function, registers = [], "", {}
    for line in listing.splitlines():
        header = re.match(r"(\S+): +file format ", line)
        if header:
            files.append(File(header[1]))
            continue
        symbol = SYMBOL.match(line)
        if symbol:
            begin, size = int(symbol[1], 16), int(symbol[3], 16)
            if symbol[4] != symbol[2]:  # the section itself
                files[-1].symbols.append((symbol[2], begin, begin + max(size, 1), symbol[4]))
            continue
        begins = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if begins:
            function, registers = begins[1], {}
            continue
        relocation = RELOCATION.search(line)
        if relocation and relocation[2].startswith((".bss", ".data")):
            files[-1].first_data.setdefault(function, place_of(relocation))
        # What a register was set to last: a place, or what another register has, or 0.
        written = re.search(r"\t(?:lea|mov|xor) +(.*),%[re]([a-z0-9]+?)d?\b", line)
        if written:
            copied = re.match(r"%[re]([a-z0-9]+?)d?$", written[1])
            registers[written[2]] = (place_of(relocation) if relocation else
                                     registers.get(copied[1]) if copied and copied[1] != written[2] else None)
        elif "__cxa_atexit" in line:
            files[-1].registered.append((registers.get("di"), registers.get("si")))
    return files


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 0 if "--help" in sys.argv else 1
    listing = subprocess.run([sys.argv[1], "-dtrw", "--no-show-raw-insn", sys.argv[2]], stdout=subprocess.PIPE, check=True,
                             universal_newlines=True).stdout
    for file in parse(listing):
        for name in file.objects():
            print(file.name + ": " + name)
    return 0


sys.exit(main())
