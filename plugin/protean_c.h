// SPDX-License-Identifier: Apache-2.0

//  Protean for C, and for languages that call C, in the style of rocksdb/c.h:
//
//    char* err = NULL;
//    protean_register(&err);
//    rocksdb_block_based_table_options_t* table =
//        rocksdb_block_based_options_create();
//    protean_block_based_options_set_filter_policy(table, "proteus:14", &err);
//    rocksdb_options_t* options = rocksdb_options_create();
//    protean_options_set_table_factory(options, table, &err);
//    rocksdb_t* db = rocksdb_open(options, path, &err);
//    ...
//    char* json = protean_statistics_json(db, NULL, &err);
//    ...
//    protean_free(json);
//
//  Conventions
//
//  - Functions that may fail take `errptr`, as those of RocksDB do: `*errptr`
//  is
//    NULL or a string from malloc. An error replaces it by another such string,
//    and the function returns NULL or 0. Without an error it stays as it is.
//  - Strings that are returned as `char*` are freed with protean_free or
//    rocksdb_free; strings that are returned as `const char*` are not freed.
//  - Keys are pointers with lengths, and have no timestamps. Where NULL is
//    allowed for a key, it stands for no bound on that side.
//  - NULL as the column family stands for the default one, and NULL as the read
//    options for those that rocksdb_readoptions_create makes. All other
//    pointers must not be NULL, unless their function says so.
//  - Truth values are unsigned char, 0 or 1.
//  - All functions are thread safe, but objects that are created here are not:
//    the options are set, and a result is destroyed, in one thread at a time.
//
//  A rocksdb_t is a DB of any kind. Where a transaction DB is open,
//  rocksdb_transactiondb_get_base_db and
//  rocksdb_optimistictransactiondb_get_base_db return one.
//
//  Functions that take a handle of RocksDB fail with "Not implemented" if
//  RocksDB's C API in the process is not that of the version which Protean was
//  compiled for (protean_rocksdb_version).
//
//  Without code, rocksdb_get_options_from_string selects Protean, too:
//  "table_factory={id=ProteanTable;filter_policy=proteus:14}".

#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rocksdb/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- The library ----

// Registers Protean, so that options strings and OPTIONS files know it. Call it
// before options that name Protean are read. Does nothing if this library is
// registered already, as the shared library is when it has been loaded. Fails
// if the RocksDB in the process is not the one that Protean was compiled for,
// or if another Protean is registered; then nothing is changed.
void protean_register(char** errptr);

// The version of Protean, such as "1.0.0".
const char* protean_version(void);

// The version of the RocksDB that Protean was compiled for, such as "9.10.0".
const char* protean_rocksdb_version(void);

// One line for people: "protean 1.0.0 for RocksDB 9.10.0, ...".
char* protean_build_info(void);

// Frees a string of this API. NULL is allowed.
void protean_free(void* string);

// ---- Options ----

// Sets the filter policy, as an options string names it: "proteus:14",
// "surf:0:8", "bloomfilter:10", "{id=protean.Proteus;bits_per_key=12;...}", or
// "nullptr", which removes the one that is set. Fails if the text is none of
// these.
void protean_block_based_options_set_filter_policy(
    rocksdb_block_based_table_options_t* table_options, const char* policy,
    char** errptr);

// Sets ProteanTable with these table options, which are copied, as the table
// factory. NULL stands for the default options. Without a filter policy, new
// files get no filters, and files that have a filter of Protean keep using it.
void protean_options_set_table_factory(
    rocksdb_options_t* options,
    rocksdb_block_based_table_options_t* table_options, char** errptr);

// Puts the tables of these options into a sample group: all that have an equal
// filter policy in the same group share it, as GetSharedFilterPolicy in
// protean.h describes, so that their column families of the same name learn
// together. The options have ProteanTable with a filter policy already, from
// the functions above or from an options string. Fails if they have not, or if
// the group is "".
void protean_options_set_sample_group(rocksdb_options_t* options,
                                      const char* sample_group, char** errptr);

// ---- Statistics: filter_statistics.h ----

// What the filters of a column family do, as a table for people.
char* protean_statistics_text(rocksdb_t* db,
                              rocksdb_column_family_handle_t* column_family,
                              char** errptr);

// What the filters of a column family do, as a JSON object.
char* protean_statistics_json(rocksdb_t* db,
                              rocksdb_column_family_handle_t* column_family,
                              char** errptr);

// What the filters of several column families do, in the text format of
// Prometheus (0.0.4). `column_families` may be NULL if `num_column_families` is
// 0, which stands for the default column family.
char* protean_statistics_prometheus(
    rocksdb_t* db, rocksdb_column_family_handle_t* const* column_families,
    size_t num_column_families, char** errptr);

// ---- Counts and existence: protean_db.h, may_exist.h ----

// The result of protean_approximate_count.
typedef struct protean_count_result_t protean_count_result_t;

// Counts the keys in [start_key, limit_key) without reading them, as
// ApproximateCount in protean_db.h does. Each key may be NULL. The result,
// which is NULL after an error, is freed with protean_count_result_destroy.
protean_count_result_t* protean_approximate_count(
    rocksdb_t* db, const rocksdb_readoptions_t* read_options,
    rocksdb_column_family_handle_t* column_family, const char* start_key,
    size_t start_key_len, const char* limit_key, size_t limit_key_len,
    char** errptr);

// The number of keys.
uint64_t protean_count_result_count(const protean_count_result_t* result);

// The part of the keys that the memtables hold.
uint64_t protean_count_result_in_memtables(
    const protean_count_result_t* result);

// The number of sorted runs of files that hold the other keys.
uint64_t protean_count_result_sorted_runs(const protean_count_result_t* result);

// The number of files that were asked.
uint64_t protean_count_result_files(const protean_count_result_t* result);

// The number of files that had to be scanned.
uint64_t protean_count_result_files_scanned(
    const protean_count_result_t* result);

// The number of deletions, which may be counted as keys and hide others.
uint64_t protean_count_result_deletions(const protean_count_result_t* result);

// Whether the count is certainly the number of live keys.
unsigned char protean_count_result_is_exact(
    const protean_count_result_t* result);

// Frees a result.
void protean_count_result_destroy(protean_count_result_t* result);

// Stores for each key whether it may exist: 0 says that it certainly does not.
// No data block is read. `may_exist` has room for `num_keys` values. After an
// error, only those that are 0 mean anything.
void protean_keys_may_exist(rocksdb_t* db,
                            const rocksdb_readoptions_t* read_options,
                            rocksdb_column_family_handle_t* column_family,
                            size_t num_keys, const char* const* keys_list,
                            const size_t* keys_list_sizes,
                            unsigned char* may_exist, char** errptr);

// Stores the same for each range [start_key, limit_key): whether any key in it
// may exist.
void protean_ranges_may_exist(
    rocksdb_t* db, const rocksdb_readoptions_t* read_options,
    rocksdb_column_family_handle_t* column_family, size_t num_ranges,
    const char* const* range_start_key, const size_t* range_start_key_len,
    const char* const* range_limit_key, const size_t* range_limit_key_len,
    unsigned char* may_exist, char** errptr);

// The filter of one SST file that is read apart from any DB: a file of a
// backup, or one that is going to be ingested. Used by one thread at a time.
typedef struct protean_sst_file_filter_t protean_sst_file_filter_t;

// Opens a file, and reads its filter and its index. `options`, which may be
// destroyed afterwards, are those of its column family, with ProteanTable.
// Fails if the table factory is another one, if there is no such file, or if
// the file is damaged. A file without a filter of Protean, or with a damaged
// one, is opened and may hold anything. The filter, which is NULL after an
// error, is freed with protean_sst_file_filter_destroy.
protean_sst_file_filter_t* protean_sst_file_filter_open(
    rocksdb_options_t* options, const char* path, char** errptr);

// 0 if the file certainly has no entry of the key, neither a value nor a
// deletion.
unsigned char protean_sst_file_filter_key_may_exist(
    const protean_sst_file_filter_t* filter, const char* key, size_t key_len);

// 0 if the file certainly has no entry of a key in [start_key, limit_key).
unsigned char protean_sst_file_filter_range_may_exist(
    const protean_sst_file_filter_t* filter, const char* start_key,
    size_t start_key_len, const char* limit_key, size_t limit_key_len);

// Closes the file. NULL is allowed.
void protean_sst_file_filter_destroy(protean_sst_file_filter_t* filter);

// ---- Bounds of seeks: search_bounds.h ----

// Sets the bounds of this thread's seeks: only keys in [lower_key, upper_key)
// matter. Each key may be NULL; both are copied. Clear the bounds when the seek
// has been made: bounds that are forgotten hide keys from later seeks. A thread
// means one of the operating system, to which a goroutine must be locked.
void protean_set_search_bounds(const char* lower_key, size_t lower_key_len,
                               const char* upper_key, size_t upper_key_len);

// Removes the bounds of this thread, if there are any.
void protean_clear_search_bounds(void);

// Bounds of this thread until the scope is destroyed.
typedef struct protean_search_bounds_scope_t protean_search_bounds_scope_t;

// Sets bounds as protean_set_search_bounds does. Scopes may be nested, and are
// destroyed in reverse order, in the thread that made them.
protean_search_bounds_scope_t* protean_search_bounds_scope_create(
    const char* lower_key, size_t lower_key_len, const char* upper_key,
    size_t upper_key_len);

// Sets the bounds that the thread had before the scope was made, or none.
void protean_search_bounds_scope_destroy(protean_search_bounds_scope_t* scope);

// ---- Refreshing filters: refresh_filters.h ----

// What a refresh may do.
typedef struct protean_refresh_options_t protean_refresh_options_t;

// What a refresh has done.
typedef struct protean_refresh_result_t protean_refresh_result_t;

// The defaults of RefreshOptions, freed with protean_refresh_options_destroy.
protean_refresh_options_t* protean_refresh_options_create(void);

// Frees options.
void protean_refresh_options_destroy(protean_refresh_options_t* options);

// Only reports what would be rewritten.
void protean_refresh_options_set_dry_run(protean_refresh_options_t* options,
                                         unsigned char dry_run);

// Only files of these levels; all levels if `num_levels` is 0.
void protean_refresh_options_set_levels(protean_refresh_options_t* options,
                                        const int* levels, size_t num_levels);

// Only files that may have keys in [start_key, limit_key). Each key may be
// NULL.
void protean_refresh_options_set_range(protean_refresh_options_t* options,
                                       const char* start_key,
                                       size_t start_key_len,
                                       const char* limit_key,
                                       size_t limit_key_len);

// Maximum number of files that are rewritten at the same time.
void protean_refresh_options_set_max_parallel_rewrites(
    protean_refresh_options_t* options, uint32_t max_parallel_rewrites);

// Rewrites all files, after a change of the filter policy, but for those that
// have filters of that policy and of the right size; these are rewritten if
// that pays, as always.
void protean_refresh_options_set_all_files(protean_refresh_options_t* options,
                                           unsigned char all_files);

// Maximum bytes of files to rewrite.
void protean_refresh_options_set_max_bytes(protean_refresh_options_t* options,
                                           uint64_t max_bytes);

// Maximum bytes per second to read and rewrite, on average. 0 for no limit.
void protean_refresh_options_set_bytes_per_second(
    protean_refresh_options_t* options, uint64_t bytes_per_second);

// The smallest fall of the false positive rate for which a file is rewritten.
void protean_refresh_options_set_min_gain(protean_refresh_options_t* options,
                                          double min_gain);

// The seconds within which a new filter must save what its file costs.
void protean_refresh_options_set_payback_seconds(
    protean_refresh_options_t* options, double payback_seconds);

// Sets a function that is called now and then, from the thread that refreshes,
// with `state` and the progress so far. Refreshing ends when it returns 0.
void protean_refresh_options_set_progress(
    protean_refresh_options_t* options, void* state,
    unsigned char (*progress)(void* state, size_t files, size_t files_decided,
                              uint64_t bytes_read, uint64_t bytes_rewritten));

// Rewrites the files of a column family whose filters should be redesigned. The
// result is never NULL, and tells what has been done also after an error. It is
// freed with protean_refresh_result_destroy.
protean_refresh_result_t* protean_refresh_filters(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
    const protean_refresh_options_t* options, char** errptr);

// The number of sample queries.
uint64_t protean_refresh_result_samples(const protean_refresh_result_t* result);

// The bytes that were read from files to learn their keys.
uint64_t protean_refresh_result_bytes_read(
    const protean_refresh_result_t* result);

// The number of files that were rewritten or, in a dry run, would be.
uint64_t protean_refresh_result_files_rewritten(
    const protean_refresh_result_t* result);

// The bytes of these files, as they were.
uint64_t protean_refresh_result_bytes_rewritten(
    const protean_refresh_result_t* result);

// The number of files of the column family, by level.
size_t protean_refresh_result_num_files(const protean_refresh_result_t* result);

// The name of the file with this index, such as "000123.sst". The string lives
// as long as the result.
const char* protean_refresh_result_file_name(
    const protean_refresh_result_t* result, size_t index);

// The level of the file.
int protean_refresh_result_file_level(const protean_refresh_result_t* result,
                                      size_t index);

// The outcome for the file, such as "rewritten" or "too little gain": a
// constant string.
const char* protean_refresh_result_file_outcome(
    const protean_refresh_result_t* result, size_t index);

// All that is known of the refresh and of each file, as RefreshResult::ToJson
// writes it: a JSON object.
char* protean_refresh_result_json(const protean_refresh_result_t* result);

// Frees a result.
void protean_refresh_result_destroy(protean_refresh_result_t* result);

// A thread that refreshes a column family periodically.
typedef struct protean_filter_refresher_t protean_filter_refresher_t;

// Refreshes `period_seconds` (1 to a century) after this call, and again that
// long after each refresh has ended. `options` are copied. After each refresh,
// `report` is called in that thread, unless it is NULL, with `state`, the error
// or NULL, and the result, both of which live until it returns. `socket` is the
// path of the socket at which requests are answered, as FilterRefresher in
// refresh_filters.h describes, or NULL for none; NULL is returned, and nothing
// begins, if it cannot be used. The DB, and a handle of a column family, must
// outlive the refresher.
protean_filter_refresher_t* protean_filter_refresher_create(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
    const protean_refresh_options_t* options, uint64_t period_seconds,
    const char* socket, void* state,
    void (*report)(void* state, const char* error,
                   const protean_refresh_result_t* result),
    char** errptr);

// Ends the thread, after the files that are being rewritten. Must be called
// before the DB is closed.
void protean_filter_refresher_destroy(protean_filter_refresher_t* refresher);

#ifdef __cplusplus
}  // extern "C"
#endif
