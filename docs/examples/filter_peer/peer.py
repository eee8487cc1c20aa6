#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A peer of filter_bench: a Bloom filter of prefixes of keys, which takes the length of the prefixes from sample queries.

    build/filter_bench --workload=ranges --num=20000 --queries=20000 --filter=proteus:12,peer:12 \\
      --peer='python3 docs/examples/filter_peer/peer.py'

docs/benchmarks.md describes the protocol. A peer may be in any language; this one is short and slow.
"""

import hashlib
import math
import struct
import sys
import time

MAX_PREFIXES = 64  # that a query asks for


def read_string(file):
    """A string that comes after its length, or None at the end of the file."""
    head = file.read(4)
    return file.read(struct.unpack("<I", head)[0]) if head else None


def read_keys(path):
    with open(path, "rb") as file:
        return list(iter(lambda: read_string(file), None))


def read_queries(path):
    """Lists of lo, hi, and a byte that says whether hi belongs to the range, which this filter does not need."""
    with open(path, "rb") as file:
        return list(iter(lambda: (read_string(file), read_string(file), file.read(1)), (None, None, b"")))


class PrefixBloom:
    """A Bloom filter of the first bytes of all keys."""

    def __init__(self, keys, length, bits_per_key):
        self.length = length
        prefixes = {self.prefix(key) for key in keys}
        self.size = max(64, int(len(keys) * bits_per_key))
        self.probes = max(1, round(self.size / len(prefixes) * math.log(2)))
        self.bits = bytearray((self.size + 7) // 8)
        for prefix in prefixes:
            for place in self.places(prefix):
                self.bits[place // 8] |= 1 << place % 8

    def prefix(self, key):
        """The prefix as a number; a short key has zeros behind it."""
        return int.from_bytes(key[:self.length].ljust(self.length, b"\0"), "big")

    def places(self, prefix):
        digest = hashlib.blake2b(prefix.to_bytes(self.length, "big"), digest_size=16).digest()
        one, two = struct.unpack("<QQ", digest)
        return ((one + i * two) % self.size for i in range(self.probes))

    def may_match(self, lo, hi):
        first, last = self.prefix(lo), self.prefix(hi)
        if last - first >= MAX_PREFIXES:
            return True
        return any(all(self.bits[place // 8] >> place % 8 & 1 for place in self.places(prefix))
                   for prefix in range(first, last + 1))


def main():
    keys_path, samples_path, bits_per_key, *query_paths = sys.argv[1:]
    keys, samples = read_keys(keys_path), read_queries(samples_path)[:500]
    start = time.process_time_ns()
    lengths = range(1, min(max(map(len, keys)), 32) + 1)
    found = [(sum(PrefixBloom(keys[::20], length, float(bits_per_key)).may_match(lo, hi) for lo, hi, _ in samples), length)
             for length in lengths]
    bloom = PrefixBloom(keys, min(found)[1], float(bits_per_key))
    print(len(bloom.bits), time.process_time_ns() - start)
    for path in query_paths:
        queries = read_queries(path)
        start = time.process_time_ns()
        answers = [bloom.may_match(lo, hi) for lo, hi, _ in queries]
        print(time.process_time_ns() - start, "".join("01"[answer] for answer in answers))


if __name__ == "__main__":
    main()
