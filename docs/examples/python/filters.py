#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Range filters from Python, with the package protean-rocksdb (plugin/python).

    filters.py DB [LIBROCKSDB LIBPROTEAN]

Writes sensor readings into a new DB with filters of Proteus. Then asks for hours without readings, counts a day's readings,
and prints how many reads the filters have spared.
"""
import sys

import protean_rocksdb


def key_of(day, hour, minute=0):
    return f"2026-11-{day:02d} {hour:02d}:{minute:02d}".encode()


def main():
    if sys.argv[2:]:
        protean_rocksdb.load(*sys.argv[2:])
    with protean_rocksdb.DB(sys.argv[1], "proteus:14") as db:
        # The sensor sends in even hours.
        for day in range(1, 31):
            for hour in range(0, 24, 2):
                for minute in range(60):
                    db.put(key_of(day, hour, minute), b"21.5 degrees")
        db.put(b"2026-12", b"a mistake")
        db.delete(b"2026-12")
        db.flush()

        hours = [(key_of(day, hour), key_of(day, hour + 1)) for day in range(1, 31) for hour in range(23)]
        readings = sum(len(list(db.range(start, limit))) for start, limit in hours)
        if db.get(key_of(1, 2)) != b"21.5 degrees" or db.get(key_of(1, 1)) is not None:
            sys.exit("a reading is not what was written")
        exist = db.ranges_may_exist(hours)
        if not all(db.ranges_may_exist([(start, None), (None, limit)]) == [True, True] for start, limit in hours):
            sys.exit("a filter denies readings that there are")
        if not all(may for may, (start, limit) in zip(exist, hours) if any(db.range(start, limit))):
            sys.exit("a filter denies readings that there are")
        if db.keys_may_exist([key_of(3, 4)]) != [True]:
            sys.exit("a filter denies a reading that there is")
        with protean_rocksdb.bounds(*hours[1]):
            pass  # calls what seeks
        avoided = db.statistics()["total"]["bounded_seeks"]["negatives"]
        print(f"{readings} readings; {exist.count(False)} of {len(hours)} hours have none, as filters know")
        print(f"{db.approximate_count(key_of(7, 0), key_of(8, 0))['count']} readings on a day; {avoided} seeks did not read")
        rewritten = db.refresh_filters(min_gain=0.05)["files_rewritten"]
        print(f"{protean_rocksdb.version()}; {rewritten} files have new filters")


if __name__ == "__main__":
    main()
