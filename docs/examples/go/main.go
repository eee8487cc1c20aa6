// SPDX-License-Identifier: Apache-2.0

// Range filters from Go: the C APIs of RocksDB and of Protean, with cgo.
//
//	filters DB
//
// The program writes sensor readings into a new DB with filters of Proteus. Then it asks for hours without readings, counts a
// day's readings, and prints what the filters have done.
package main

// #cgo LDFLAGS: -lprotean-rocksdb-9.10.0 -lrocksdb
// #include <stdlib.h>
// #include <rocksdb/c.h>
// #include <rocksdb/plugin/protean/protean_c.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// failure takes over an error of either C API.
func failure(reason *C.char) error {
	if reason == nil {
		return nil
	}
	defer C.protean_free(unsafe.Pointer(reason))
	return errors.New(C.GoString(reason))
}

// bytesOf returns the pointer and the length of a key, which C does not keep.
func bytesOf(key string) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(key))), C.size_t(len(key))
}

// FilteredDB is a DB whose files have filters.
type FilteredDB struct {
	db    *C.rocksdb_t
	write *C.rocksdb_writeoptions_t
}

// Open opens a DB with a filter policy, such as "proteus:14".
func Open(path, policy string) (*FilteredDB, error) {
	var reason *C.char
	cPath, cPolicy := C.CString(path), C.CString(policy)
	defer C.free(unsafe.Pointer(cPath))
	defer C.free(unsafe.Pointer(cPolicy))
	options, table := C.rocksdb_options_create(), C.rocksdb_block_based_options_create()
	defer C.rocksdb_options_destroy(options)
	defer C.rocksdb_block_based_options_destroy(table)
	C.rocksdb_options_set_create_if_missing(options, 1)
	C.protean_register(&reason)
	if reason == nil {
		C.protean_block_based_options_set_filter_policy(table, cPolicy, &reason)
	}
	if reason == nil {
		C.protean_options_set_table_factory(options, table, &reason)
	}
	if reason != nil {
		return nil, failure(reason)
	}
	db := C.rocksdb_open(options, cPath, &reason)
	if reason != nil {
		return nil, failure(reason)
	}
	return &FilteredDB{db, C.rocksdb_writeoptions_create()}, nil
}

// Close closes the DB.
func (f *FilteredDB) Close() {
	C.rocksdb_close(f.db)
	C.rocksdb_writeoptions_destroy(f.write)
}

// Put writes a value.
func (f *FilteredDB) Put(key, value string) error {
	var reason *C.char
	k, kSize := bytesOf(key)
	v, vSize := bytesOf(value)
	C.rocksdb_put(f.db, f.write, k, kSize, v, vSize, &reason)
	return failure(reason)
}

// Flush writes what is in memory into a file.
func (f *FilteredDB) Flush() error {
	var reason *C.char
	options := C.rocksdb_flushoptions_create()
	defer C.rocksdb_flushoptions_destroy(options)
	C.rocksdb_flush(f.db, options, &reason)
	return failure(reason)
}

// Count reads the keys from start on that are below limit, and returns how many there are.
func (f *FilteredDB) Count(start, limit string) (int, error) {
	options := C.rocksdb_readoptions_create()
	defer C.rocksdb_readoptions_destroy(options)
	// RocksDB keeps a pointer to the bound, which must not be one into Go's memory.
	cLimit := C.CString(limit)
	defer C.free(unsafe.Pointer(cLimit))
	C.rocksdb_readoptions_set_iterate_upper_bound(options, cLimit, C.size_t(len(limit)))
	iterator := C.rocksdb_create_iterator(f.db, options)
	defer C.rocksdb_iter_destroy(iterator)
	found := 0
	key, size := bytesOf(start)
	for C.rocksdb_iter_seek(iterator, key, size); C.rocksdb_iter_valid(iterator) != 0; C.rocksdb_iter_next(iterator) {
		found++
	}
	var reason *C.char
	C.rocksdb_iter_get_error(iterator, &reason)
	return found, failure(reason)
}

// WithBounds calls seeks of others, such as an engine that creates iterators without bounds. They end at these keys.
func WithBounds(start, limit string, seeks func()) {
	// The bounds are those of a thread of the operating system.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from, fromSize := bytesOf(start)
	to, toSize := bytesOf(limit)
	scope := C.protean_search_bounds_scope_create(from, fromSize, to, toSize)
	defer C.protean_search_bounds_scope_destroy(scope)
	seeks()
}

// ApproximateCount returns how many keys there are from start on that are below limit. It reads hardly any data.
func (f *FilteredDB) ApproximateCount(start, limit string) (uint64, error) {
	var reason *C.char
	from, fromSize := bytesOf(start)
	to, toSize := bytesOf(limit)
	result := C.protean_approximate_count(f.db, nil, nil, from, fromSize, to, toSize, &reason)
	if reason != nil {
		return 0, failure(reason)
	}
	defer C.protean_record_destroy(result)
	name := C.CString("count")
	defer C.free(unsafe.Pointer(name))
	var count C.double
	C.protean_record_get(result, name, &count)
	return uint64(count), nil
}

// Statistics returns what the filters do, as a table for people.
func (f *FilteredDB) Statistics() (string, error) {
	var reason *C.char
	text := C.protean_statistics_text(f.db, nil, &reason)
	defer C.protean_free(unsafe.Pointer(text))
	return C.GoString(text), failure(reason)
}

func keyOf(day, hour, minute int) string {
	return fmt.Sprintf("2026-11-%02d %02d:%02d", day, hour, minute)
}

func run(path string) error {
	db, err := Open(path, "proteus:14")
	if err != nil {
		return err
	}
	defer db.Close()
	// The sensor sends in even hours.
	for day := 1; day <= 30; day++ {
		for hour := 0; hour < 24; hour += 2 {
			for minute := 0; minute < 60; minute++ {
				if err := db.Put(keyOf(day, hour, minute), "21.5 degrees"); err != nil {
					return err
				}
			}
		}
	}
	if err := db.Flush(); err != nil {
		return err
	}
	readings := 0
	for day := 1; day <= 30; day++ {
		for hour := 0; hour < 23; hour++ {
			found, err := db.Count(keyOf(day, hour, 0), keyOf(day, hour+1, 0))
			if err != nil {
				return err
			}
			readings += found
		}
	}
	statistics, err := db.Statistics()
	if err != nil {
		return err
	}
	WithBounds(keyOf(1, 1, 0), keyOf(1, 2, 0), func() {}) // calls what seeks
	day, err := db.ApproximateCount(keyOf(7, 0, 0), keyOf(8, 0, 0))
	if err != nil {
		return err
	}
	fmt.Print(statistics)
	fmt.Printf("%d readings, %d on a day\n", readings, day)
	return nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	if len(os.Args) != 2 {
		fail(errors.New("usage: filters DB"))
	}
	if err := run(os.Args[1]); err != nil {
		fail(err)
	}
}
