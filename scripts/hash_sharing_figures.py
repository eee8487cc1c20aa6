# SPDX-License-Identifier: Apache-2.0
"""Makes the page of the hash sharing paper: counts the instructions of a Get over several sorted runs under callgrind, with
everything in memory, where each filter hashes the key again and where it is hashed once, beside RocksDB's Bloom filters. Runs
read_paths, and needs valgrind.
"""

import itertools
import os
import re
import tempfile

from figures import markdown, run
from papers import Claim, Section, claims, main_of

HEAD = """# Hash sharing: its paper's figures

*What does it save that a lookup hashes its key once, and not in the filter of each sorted run again?*

The paper is Zhu et al., "Reducing Bloom Filter CPU Overhead in LSM-Trees on Modern Storage Devices", DaMoN 2021. Made by
`scripts/paper_figures.sh hash_sharing`; each section names its commit, its scale and the machine.

Unless a section says otherwise, the numbers are instructions of a `Get` (callgrind), with all data in the block cache. Stock
is RocksDB's block-based table with its Bloom filter. Protean is `ProteanTable` with sets of whole keys
(`point_lookups_use_whole_keys=true`; Ribbon, as Proteus chooses), which hash the key in each filter (*apart*), or once
(*once*, as always outside of this measurement). *Saved* compares these two. Unless a table says otherwise, keys have 512
bytes, there are 7 sorted runs of level 0, 10 bits per key, and no key is found. The 8 bytes before the last 8 of a key are
random, and all others the same in all keys. So each key has a digest of its own, and comparing keys takes longest.

- *Keys of up to 119 bytes* have heads of less than 112 bytes, which are hashed in each filter. So both columns are the same.
- *Each filter mixes the digest with its own salt*, which the stock filter does not. That is part of both columns.
- *A digest that is remembered is the one that would be computed.* So both columns of Protean read the same blocks.
- *MultiGet* hashes each key in each filter ([why](../internals/proteus.md#hashing-a-key-once)).
- *Files of RocksDB's own filters* in the same tree hash the key for themselves. Their builders and readers take keys, not
  hashes, and no public function of theirs takes a hash.

[How it works](../internals/proteus.md#hashing-a-key-once)
"""

KEY_BYTES = (8, 16, 32, 64, 96, 128, 256, 512, 1024)
RUNS = (1, 4, 6, 8, 10, 12, 14)
BITS = (8, 10, 12, 14)
PRESENT = (0, 0.25, 0.5, 0.75, 1)
# Microseconds that reading a data block takes, and rounds, of which the fastest counts. In memory, all blocks are in the
# block cache; otherwise, none is.
DEVICES = {"memory": (0, 40), "PCIe SSD, 10 us": (10, 10), "SSD, 100 us": (100, 2)}
USUAL = {"key_bytes": 512, "runs": 7, "bits": 10, "present": 0}

FACTORIES = {
    "stock": "{{id=BlockBasedTable;filter_policy=bloomfilter:{bits};{cache};cache_index_and_filter_blocks=false}}",
    "protean": "{{id=ProteanTable;filter_policy={{id=protean.Proteus;bits_per_key={bits};"
               "point_lookups_use_whole_keys=true}};{cache};cache_index_and_filter_blocks=false}}",
}

class Counter:
    """Databases that are built once, and counts of their queries."""

    def __init__(self, bench):
        self.args = bench.args
        self.keys_of_run = bench.pick(500, 2000, 10_000)  # fewer would be a filter of a few cache lines
        self.queries = bench.pick(20, 300, 1000)
        self.temporary = tempfile.TemporaryDirectory(prefix="hash_sharing")  # pylint: disable=consider-using-with
        self.folder = self.temporary.name
        self.built = set()
        self.known = {}

    def get(self, engine, shared, point):
        """Instructions of a Get."""
        key = (engine, shared, *point.values())
        if key not in self.known:
            self.known[key] = self.measure(engine, shared, point)
        return self.known[key]

    def flags(self, engine, point, cache="block_cache=256M"):
        """The flags of a database, which is built if need be."""
        name = f"{engine}_{point['key_bytes']}_{point['runs']}_{point['bits']}"
        flags = [f"--table_factory={FACTORIES[engine].format(bits=point['bits'], cache=cache)}", f"--dir={self.folder}/{name}",
                 f"--key_bytes={point['key_bytes']}", f"--runs={point['runs']}",
                 f"--num={self.keys_of_run * point['runs']}"]
        if name not in self.built:
            run(self.args.build_dir, "read_paths", *flags, "--queries=1")
            self.built.add(name)
        return [*flags, "--reuse", f"--present={point['present']}"]

    def measure(self, engine, shared, point):
        out = f"{self.folder}/out"
        run("/usr/bin", "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
            "--toggle-collect=*CountedQueries*", os.path.join(self.args.build_dir, "read_paths"), *self.flags(engine, point),
            f"--queries={self.queries}", f"--share_digests={str(shared).lower()}")
        with open(out, encoding="utf-8") as lines:
            total = next(int(line.split()[1]) for line in lines if re.match("(summary|totals):", line))
        return total / self.queries

    def micros(self, engine, shared, point, latency, rounds):
        """Microseconds of a Get whose data blocks take `latency` microseconds to read, or from memory if that is 0."""
        cache = "block_cache=1" if latency else "block_cache=256M"
        return float(run(self.args.build_dir, "read_paths", *self.flags(engine, point, cache), f"--read_latency_us={latency}",
                         f"--queries={10 * self.queries}", f"--rounds={rounds}",
                         f"--share_digests={str(shared).lower()}").split()[0])


COUNTERS = []  # one, whose databases all sections share


def counter_of(bench):
    if not COUNTERS:
        COUNTERS.append(Counter(bench))
    return COUNTERS[0]


def lines_of(bench, field, values, usual):
    """A table over one field."""
    lines = []
    for value in values:
        point = {**usual, field: value}
        stock = counter_of(bench).get("stock", True, point)
        apart, once = (counter_of(bench).get("protean", shared, point) for shared in (False, True))
        lines.append([value, f"{stock:,.0f}", f"{apart:,.0f}", f"{once:,.0f}", f"{100 * (1 - once / apart):.1f} %"])
    return lines


def section(label, field, values, tiny, claims_of=None, more=()):
    """Makes a section over one field. `claims_of` makes claims from a function that gives apart over once at a value;
    `more` has other usual values, with a heading each."""
    def make(bench):
        chosen = bench.pick(tiny, values, values)
        counter = counter_of(bench)

        def gain(value):
            apart, once = (counter.get("protean", shared, {**USUAL, field: value}) for shared in (False, True))
            return apart / once

        header = [label, "stock", "Protean, apart", "Protean, once", "saved"]
        blocks = [markdown(header, lines_of(bench, field, chosen, USUAL))]
        for title, changes in more[:bench.pick(0, len(more), len(more))]:
            blocks += [title, markdown(header, lines_of(bench, field, chosen, {**USUAL, **changes}))]
        if bench.args.scale == "full" and field == "present":
            for runs, bits, present in itertools.product(RUNS, BITS, PRESENT):
                blocks += [f"{runs} runs, {bits} bits, a share of {present} found, by length of the key:", markdown(
                    ["bytes", *header[1:]],
                    lines_of(bench, "key_bytes", KEY_BYTES, {"runs": runs, "bits": bits, "present": present}))]
        return ([claims(*claims_of(gain, chosen))] if claims_of else []) + blocks
    return make


def section_devices(bench):
    """Times, in memory and on slower devices."""
    counter, lines, gains = counter_of(bench), [], {}
    for device, times in list(DEVICES.items())[:bench.pick(2, 3, 3)]:
        for present in bench.pick((0,), (0, 0.5, 1), PRESENT):
            point = {**USUAL, "present": present}
            stock = counter.micros("stock", True, point, *times)
            apart, once = (counter.micros("protean", shared, point, *times) for shared in (False, True))
            gains[device, present] = apart / once
            lines.append([device, present, f"{stock:.2f}", f"{apart:.2f}", f"{once:.2f}", f"{100 * (1 - once / apart):.1f} %"])
    differs = "XXPH3 is faster than the paper's hashes"
    return [claims(Claim("gain of a lookup, PCIe SSD", 1.2, gains["PCIe SSD, 10 us", 0], " times", False, differs, True, True),
                   Claim("gain of a lookup, emulated NVM", 1.65, gains["memory", 0], " times", False,
                         f"{differs}; all in the block cache", True, True)),
            "Microseconds of a `Get`, the least of 40, 10 and 2 rounds. In memory, processor time; with devices, elapsed time, with a delay of "
            "each read, and no data block in the cache:",
            markdown(["device", "share found", "stock", "Protean, apart", "Protean, once", "saved"], lines)]


def claims_of_keys(gain, chosen):
    return [Claim("gain of a lookup in memory, keys of 1 KB", 1.3, gain(chosen[-1]), " times", False,
                  "instructions, not time; XXPH3 is faster than the paper's hashes", True)]


def claims_of_bits(gain, chosen):
    return [Claim("gain of a lookup in memory, 10 bits per key", 1.65, gain(10 if 10 in chosen else chosen[0]), " times", False,
                  "instructions, not time; XXPH3 is faster than the paper's hashes, and there are 7 runs", True)]


SECTIONS = {
    "fig5a": Section("Figure 5a: length of the key",
                     section("bytes", "key_bytes", KEY_BYTES, (512,), claims_of_keys, [("Over one sorted run:", {"runs": 1})])),
    "fig5b": Section("Figure 5b: sorted runs", section("runs", "runs", RUNS, (1, 7))),
    "fig6": Section("Figures 6 and 8: devices, in microseconds", section_devices, timed=True),
    "fig7": Section("Figure 7: bits per key", section("bits", "bits", BITS, (10,), claims_of_bits)),
    "fig9": Section("Figure 9: share of keys that are found", section("share", "present", PRESENT, (0,))),
}

if __name__ == "__main__":
    main_of("hash_sharing", __doc__, HEAD, SECTIONS)
