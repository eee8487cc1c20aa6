#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Range filters from Python: the C APIs of RocksDB and of Protean, with ctypes alone.

    filters.py DB [LIBROCKSDB LIBPROTEAN]

Writes sensor readings into a new DB with filters of Proteus. Then asks for hours without readings, counts a day's readings,
and prints how many reads the filters have spared.
"""
import contextlib
import ctypes
import json
import sys

BYTE, SIZE, TEXT, POINTER = ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
KEY = (TEXT, SIZE)


class Library:
    """A C library whose functions are called with errors as exceptions."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)

    def call(self, name, types, *arguments, returns=POINTER):
        """Calls a function that cannot fail."""
        function = getattr(self._library, name)
        function.argtypes, function.restype = types, returns
        return function(*arguments)

    def attempt(self, name, types, *arguments, returns=POINTER):
        """Calls a function whose last parameter is `char** errptr`."""
        error = TEXT()
        value = self.call(name, (*types, ctypes.POINTER(TEXT)), *arguments, ctypes.byref(error), returns=returns)
        if error.value is not None:
            raise RuntimeError(f"{name}: {error.value.decode()}")
        return value


class FilteredDB:
    """A DB whose files have filters. Keys and values are bytes."""

    def __init__(self, rocksdb, protean, path, policy):
        self.rocksdb, self.protean = rocksdb, protean
        protean.attempt("protean_register", (), returns=None)
        options = rocksdb.call("rocksdb_options_create", ())
        table = rocksdb.call("rocksdb_block_based_options_create", ())
        self._write_options = rocksdb.call("rocksdb_writeoptions_create", ())
        try:
            rocksdb.call("rocksdb_options_set_create_if_missing", (POINTER, BYTE), options, 1, returns=None)
            protean.attempt("protean_block_based_options_set_filter_policy", (POINTER, TEXT), table, policy, returns=None)
            protean.attempt("protean_options_set_table_factory", (POINTER, POINTER), options, table, returns=None)
            self.db = rocksdb.attempt("rocksdb_open", (POINTER, TEXT), options, path)
        finally:
            rocksdb.call("rocksdb_block_based_options_destroy", (POINTER,), table, returns=None)
            rocksdb.call("rocksdb_options_destroy", (POINTER,), options, returns=None)

    def put(self, key, value):
        self.rocksdb.attempt("rocksdb_put", (POINTER, POINTER, *KEY, *KEY), self.db, self._write_options, key, len(key), value,
                             len(value), returns=None)

    def flush(self):
        options = self.rocksdb.call("rocksdb_flushoptions_create", ())
        self.rocksdb.attempt("rocksdb_flush", (POINTER, POINTER), self.db, options, returns=None)
        self.rocksdb.call("rocksdb_flushoptions_destroy", (POINTER,), options, returns=None)

    @contextlib.contextmanager
    def bounds(self, start, limit):
        """Seeks of this thread end at these keys: for iterators of an engine, which have none."""
        scope = self.protean.call("protean_search_bounds_scope_create", (*KEY, *KEY), start, len(start), limit, len(limit))
        try:
            yield
        finally:
            self.protean.call("protean_search_bounds_scope_destroy", (POINTER,), scope, returns=None)

    def keys(self, start, limit):
        """All keys from `start` on that are below `limit`."""
        found = []
        options = self.rocksdb.call("rocksdb_readoptions_create", ())
        self.rocksdb.call("rocksdb_readoptions_set_iterate_upper_bound", (POINTER, *KEY), options, limit, len(limit),
                          returns=None)
        iterator = self.rocksdb.call("rocksdb_create_iterator", (POINTER, POINTER), self.db, options)
        self.rocksdb.call("rocksdb_iter_seek", (POINTER, *KEY), iterator, start, len(start), returns=None)
        while self.rocksdb.call("rocksdb_iter_valid", (POINTER,), iterator, returns=BYTE):
            size = SIZE()
            key = self.rocksdb.call("rocksdb_iter_key", (POINTER, ctypes.POINTER(SIZE)), iterator, ctypes.byref(size))
            found.append(ctypes.string_at(key, size.value))
            self.rocksdb.call("rocksdb_iter_next", (POINTER,), iterator, returns=None)
        self.rocksdb.attempt("rocksdb_iter_get_error", (POINTER,), iterator, returns=None)
        self.rocksdb.call("rocksdb_iter_destroy", (POINTER,), iterator, returns=None)
        self.rocksdb.call("rocksdb_readoptions_destroy", (POINTER,), options, returns=None)
        return found

    def ranges_may_exist(self, ranges):
        """For each (start, limit), False if it certainly holds no key. No data is read."""
        count = len(ranges)
        starts, limits = ((TEXT * count)(*keys) for keys in zip(*ranges))
        start_sizes, limit_sizes = ((SIZE * count)(*map(len, keys)) for keys in zip(*ranges))
        exist = (BYTE * count)()
        self.protean.attempt("protean_ranges_may_exist", (POINTER,) * 3 + (SIZE,) + (POINTER,) * 5, self.db, None, None, count,
                             starts, start_sizes, limits, limit_sizes, exist, returns=None)
        return [bool(value) for value in exist]

    def approximate_count(self, start, limit):
        """How many keys there are from `start` on that are below `limit`."""
        result = self.protean.attempt("protean_approximate_count", (POINTER,) * 3 + KEY + KEY, self.db, None, None, start,
                                      len(start), limit, len(limit))
        return self._json_of(result)["count"]

    def statistics(self):
        return self._json_of(self.protean.attempt("protean_statistics", (POINTER, POINTER), self.db, None))

    def _json_of(self, record):
        text = self.protean.call("protean_record_json", (POINTER,), record, returns=POINTER)
        facts = json.loads(ctypes.string_at(text))
        self.protean.call("protean_free", (POINTER,), text, returns=None)
        self.protean.call("protean_record_destroy", (POINTER,), record, returns=None)
        return facts

    def close(self):
        self.rocksdb.call("rocksdb_close", (POINTER,), self.db, returns=None)
        self.rocksdb.call("rocksdb_writeoptions_destroy", (POINTER,), self._write_options, returns=None)


def key_of(day, hour, minute=0):
    return f"2026-11-{day:02d} {hour:02d}:{minute:02d}".encode()


def main():
    path = sys.argv[1]
    libraries = sys.argv[2:] or ["librocksdb.so.9.10", "libprotean-rocksdb-9.10.0.so.1"]
    rocksdb, protean = (Library(library) for library in libraries)
    db = FilteredDB(rocksdb, protean, path.encode(), b"proteus:14")
    # The sensor sends in even hours.
    for day in range(1, 31):
        for hour in range(0, 24, 2):
            for minute in range(60):
                db.put(key_of(day, hour, minute), b"21.5 degrees")
    db.flush()

    hours = [(day, hour) for day in range(1, 31) for hour in range(23)]
    readings = sum(len(db.keys(key_of(day, hour), key_of(day, hour + 1))) for day, hour in hours)
    ranges = [(key_of(day, hour), key_of(day, hour + 1)) for day, hour in hours]
    exist = db.ranges_may_exist(ranges)
    if not all(exist[i] for i, (day, hour) in enumerate(hours) if hour % 2 == 0):
        sys.exit("a filter denies readings that there are")
    with db.bounds(key_of(1, 1), key_of(1, 2)):
        pass  # calls what seeks
    avoided = db.statistics()["total"]["bounded_seeks"]["negatives"]
    print(f"{readings} readings; {exist.count(False)} of {len(hours)} hours have none, as filters know")
    print(f"{db.approximate_count(key_of(7, 0), key_of(8, 0))} readings on a day; {avoided} seeks did not read")
    db.close()


if __name__ == "__main__":
    main()
