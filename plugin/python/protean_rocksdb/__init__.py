# SPDX-License-Identifier: Apache-2.0
"""RocksDB with Protean's range filters: the C APIs of both, with ctypes alone.

    with DB("/data/db", "proteus:14") as db:
        db.put(b"2026-11-20 10:00", b"21.5 degrees")
        for key, value in db.range(b"2026-11-20", b"2026-11-21"):
            ...

Keys and values are bytes. A range begins with its start and ends before its limit; None is no bound on that side. What fails
raises an Error with RocksDB's or Protean's message.
"""
import contextlib
import ctypes
import json
import os

__all__ = ["DB", "Error", "bounds", "load", "version"]

_BYTE, _SIZE, _TEXT, _POINTER = ctypes.c_ubyte, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
_KEY = (_TEXT, _SIZE)
_libraries = []


class Error(Exception):
    """What RocksDB or Protean says of a failure."""


def load(rocksdb=("librocksdb.so.9.10",),
         protean=("libprotean-rocksdb-9.10.0.so.1", "libprotean-rocksdb-9.10.0-assert.so.1")):
    """Loads RocksDB, and Protean's library for it: of each, the first name that is found. Without a call, the defaults.

    Debian's RocksDB has its assertions on, and so has the Protean for it.
    """
    if _libraries:
        raise Error("the libraries are loaded already")
    loaded = [_first_of(names) for names in (rocksdb, protean)]
    _libraries.extend(loaded)
    try:
        _attempt("protean_register", (), returns=None)
    except Error:
        _libraries.clear()
        raise


def version():
    """One line for people: the versions of Protean and of the RocksDB that it is for."""
    return _text(_call("protean_build_info", ()))


@contextlib.contextmanager
def bounds(start, limit):
    """Seeks of this thread end at these keys: for iterators of other code, which have no bounds of their own."""
    scope = _call("protean_search_bounds_scope_create", _KEY * 2, *_sized(start), *_sized(limit))
    try:
        yield
    finally:
        _call("protean_search_bounds_scope_destroy", (_POINTER,), scope, returns=None)


class DB:
    """An open DB whose new files have filters of a policy, as options strings name it; it is created if it is missing."""

    def __init__(self, path, filter_policy="proteus"):
        self._db = None
        options, table = _call("rocksdb_options_create", ()), _call("rocksdb_block_based_options_create", ())
        try:
            _call("rocksdb_options_set_create_if_missing", (_POINTER, _BYTE), options, 1, returns=None)
            _attempt("protean_block_based_options_set_filter_policy", (_POINTER, _TEXT), table, filter_policy.encode(),
                     returns=None)
            _attempt("protean_options_set_table_factory", (_POINTER, _POINTER), options, table, returns=None)
            self._db = _attempt("rocksdb_open", (_POINTER, _TEXT), options, os.fsencode(path))
        finally:
            _call("rocksdb_block_based_options_destroy", (_POINTER,), table, returns=None)
            _call("rocksdb_options_destroy", (_POINTER,), options, returns=None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._db is not None:
            _call("rocksdb_close", (_POINTER,), self._db, returns=None)
            self._db = None

    # ---- RocksDB ----

    def put(self, key, value):
        with _made("writeoptions") as options:
            _attempt("rocksdb_put", (_POINTER,) * 2 + _KEY * 2, self._open(), options, *_sized(key), *_sized(value), returns=None)

    def delete(self, key):
        with _made("writeoptions") as options:
            _attempt("rocksdb_delete", (_POINTER,) * 2 + _KEY, self._open(), options, *_sized(key), returns=None)

    def get(self, key):
        """The value of a key; None if there is none."""
        size = _SIZE()
        with _made("readoptions") as options:
            value = _attempt("rocksdb_get", (_POINTER,) * 2 + _KEY + (_POINTER,), self._open(), options, *_sized(key),
                             ctypes.byref(size))
        return None if value is None else _bytes(value, size)

    def range(self, start=None, limit=None):
        """Yields the keys and values of a range. The DB must stay open meanwhile."""
        with _made("readoptions") as options:
            if limit is not None:
                _call("rocksdb_readoptions_set_iterate_upper_bound", (_POINTER, *_KEY), options, *_sized(limit), returns=None)
            iterator = _call("rocksdb_create_iterator", (_POINTER, _POINTER), self._open(), options)
            try:
                _call("rocksdb_iter_seek", (_POINTER, *_KEY), iterator, *_sized(start or b""), returns=None)
                while _call("rocksdb_iter_valid", (_POINTER,), iterator, returns=_BYTE):
                    yield self._part(iterator, "key"), self._part(iterator, "value")
                    _call("rocksdb_iter_next", (_POINTER,), iterator, returns=None)
                _attempt("rocksdb_iter_get_error", (_POINTER,), iterator, returns=None)
            finally:
                _call("rocksdb_iter_destroy", (_POINTER,), iterator, returns=None)

    def flush(self):
        """Writes what is in memory to a file, with its filter."""
        with _made("flushoptions") as options:
            _attempt("rocksdb_flush", (_POINTER, _POINTER), self._open(), options, returns=None)

    def compact(self):
        """Compacts all files, which get filters of the present policy."""
        _call("rocksdb_compact_range", (_POINTER,) + _KEY * 2, self._open(), None, 0, None, 0, returns=None)

    # ---- Protean ----

    def keys_may_exist(self, keys):
        """For each key, False if it certainly does not exist. No data is read."""
        return self._may_exist("protean_keys_may_exist", [keys])

    def ranges_may_exist(self, ranges):
        """For each (start, limit), False if it certainly holds no key. No data is read."""
        return self._may_exist("protean_ranges_may_exist", list(zip(*ranges)) or [(), ()])

    def approximate_count(self, start=None, limit=None):
        """About how many keys a range has, as a dict with "count" and "is_exact". At most two blocks of a sorted run are read."""
        return _facts(_attempt("protean_approximate_count", (_POINTER,) * 3 + _KEY * 2, self._open(), None, None, *_sized(start),
                               *_sized(limit)))

    def statistics(self):
        """What the filters do, as a dict."""
        return _facts(_attempt("protean_statistics", (_POINTER, _POINTER), self._open(), None))

    def refresh_filters(self, **options):
        """Rewrites the files whose filters should be redesigned for the queries of late. Returns what was done, as a dict."""
        text = ";".join(f"{name}={value}" for name, value in options.items())
        refresh = _call("protean_refresh_options_create", ())
        try:
            _attempt("protean_refresh_options_parse", (_POINTER, _TEXT), refresh, text.encode(), returns=None)
            record = []
            try:
                _attempt("protean_refresh_filters", (_POINTER,) * 3, self._open(), None, refresh, result=record)
            finally:
                facts = [_facts(each) for each in record if each]
            return facts[0]
        finally:
            _call("protean_refresh_options_destroy", (_POINTER,), refresh, returns=None)

    def _open(self):
        if self._db is None:
            raise Error("the DB is closed")
        return self._db

    def _may_exist(self, function, lists):
        count = len(lists[0])
        arrays = []
        for keys in lists:
            arrays += [(_TEXT * count)(*keys), (_SIZE * count)(*(len(key or b"") for key in keys))]
        exist = (_BYTE * count)()
        _attempt(function, (_POINTER,) * 3 + (_SIZE,) + (_POINTER,) * (len(arrays) + 1), self._open(), None, None, count, *arrays,
                 exist, returns=None)
        return [bool(value) for value in exist]

    @staticmethod
    def _part(iterator, name):
        size = _SIZE()
        part = _call(f"rocksdb_iter_{name}", (_POINTER, _POINTER), iterator, ctypes.byref(size))
        return ctypes.string_at(part, size.value)


def _first_of(names):
    """The first library that there is. All see its symbols: Protean's need those of RocksDB."""
    reasons = []
    for name in [names] if isinstance(names, (str, os.PathLike)) else names:
        try:
            return ctypes.CDLL(os.fspath(name), mode=ctypes.RTLD_GLOBAL)
        except OSError as reason:
            reasons.append(str(reason))
    raise Error("; ".join(reasons))


def _call(name, types, *arguments, returns=_POINTER):
    """Calls a function that cannot fail."""
    if not _libraries:
        load()
    function = getattr(_libraries[name.startswith("protean_")], name)
    function.argtypes, function.restype = types, returns
    return function(*arguments)


def _attempt(name, types, *arguments, returns=_POINTER, result=None):
    """Calls a function whose last parameter is `char** errptr`. A list `result` gets what it returns also after an error."""
    error = _POINTER()
    value = _call(name, (*types, _POINTER), *arguments, ctypes.byref(error), returns=returns)
    if result is not None:
        result.append(value)
    if error.value is not None:
        raise Error(f"{name}: {_text(error.value)}")
    return value


def _sized(key):
    return (None, 0) if key is None else (key, len(key))


def _bytes(pointer, size):
    """Bytes from malloc, which are freed."""
    try:
        return ctypes.string_at(pointer, size.value)
    finally:
        _call("rocksdb_free", (_POINTER,), pointer, returns=None)


def _text(pointer):
    """A string from malloc, which is freed."""
    try:
        return ctypes.string_at(pointer).decode(errors="replace")
    finally:
        _call("protean_free", (_POINTER,), pointer, returns=None)


def _facts(record):
    """The facts of a record, which is freed."""
    try:
        return json.loads(_text(_call("protean_record_json", (_POINTER,), record)))
    finally:
        _call("protean_record_destroy", (_POINTER,), record, returns=None)


@contextlib.contextmanager
def _made(kind):
    options = _call(f"rocksdb_{kind}_create", ())
    try:
        yield options
    finally:
        _call(f"rocksdb_{kind}_destroy", (_POINTER,), options, returns=None)
