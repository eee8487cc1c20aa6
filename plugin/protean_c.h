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
//    protean_record_t* statistics = protean_statistics(db, NULL, &err);
//    double avoided;
//    if (protean_record_get(statistics, "total.blocks_avoided", &avoided)) ...
//    protean_record_destroy(statistics);
//
//  Conventions
//
//  - Functions that may fail take `errptr`, as those of RocksDB do: *errptr is
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
//  - All functions are thread safe, but options are set, and objects destroyed,
//    in one thread at a time.
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

// ---- Records ----

// Facts, each with a name: statistics, the result of a count or of a refresh,
// the progress of a refresh. The names are those of the members of the structs
// in C++, and of the JSON: "total.bounded_seeks.negatives". Later versions may
// add facts.
typedef struct protean_record_t protean_record_t;

// Stores a number; 1 or 0 for a truth value. Numbers below 2^53 are exact.
// Returns 0, and stores nothing, if the number is unknown, or if there is none
// of this name.
unsigned char protean_record_get(const protean_record_t* record,
                                 const char* name, double* value);

// A text, or a number as text. NULL if it is unknown, or if there is none.
char* protean_record_text(const protean_record_t* record, const char* name);

// The number of facts.
size_t protean_record_size(const protean_record_t* record);

// The name of a fact, in the order of the JSON, which lives as long as the
// record. NULL if the index is too large.
const char* protean_record_name(const protean_record_t* record, size_t index);

// The number of records in a list, such as "levels" and "files" of statistics.
// 0 if there is no such list.
size_t protean_record_list_size(const protean_record_t* record,
                                const char* list);

// A record of a list, which lives as long as the record that has it. NULL if
// the index is too large.
const protean_record_t* protean_record_list_get(const protean_record_t* record,
                                                const char* list, size_t index);

// All facts and lists, as a JSON object.
char* protean_record_json(const protean_record_t* record);

// Frees a record that a function returned, other than one of a list. NULL is
// allowed.
void protean_record_destroy(protean_record_t* record);

// ---- Statistics: filter_statistics.h ----

// What the filters of a column family do: FilterStatistics, with the lists
// "levels" and "files". NULL after an error.
protean_record_t* protean_statistics(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
    char** errptr);

// The sums over all column families of this process that have a file open in a
// folder or below it: FilterSums, as GetFilterSums finds them.
protean_record_t* protean_statistics_of_folder(const char* folder);

// What the filters of a column family do, as a table for people.
char* protean_statistics_text(rocksdb_t* db,
                              rocksdb_column_family_handle_t* column_family,
                              char** errptr);

// What the filters of several column families do, in the text format of
// Prometheus (0.0.4). `column_families` may be NULL if `num_column_families` is
// 0, which stands for the default column family.
char* protean_statistics_prometheus(
    rocksdb_t* db, rocksdb_column_family_handle_t* const* column_families,
    size_t num_column_families, char** errptr);

// A number of the statistics: its name (in a level's record, if its scope is
// "level"), a sentence about it, "counter" or "gauge", and its scope, "db",
// "column_family" or "level". Constant strings. Returns 0 if the index is too
// large.
unsigned char protean_statistics_fact(size_t index, const char** name,
                                      const char** help, const char** type,
                                      const char** scope);

// ---- Counts and existence: approximate_count.h, may_exist.h ----

// Counts the keys in [start_key, limit_key) without reading them, as
// ApproximateCount in approximate_count.h does. Each key may be NULL. Returns
// the members of CountResult, and "is_exact"; NULL after an error.
protean_record_t* protean_approximate_count(
    rocksdb_t* db, const rocksdb_readoptions_t* read_options,
    rocksdb_column_family_handle_t* column_family, const char* start_key,
    size_t start_key_len, const char* limit_key, size_t limit_key_len,
    char** errptr);

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
// may exist. Each key may be NULL.
void protean_ranges_may_exist(
    rocksdb_t* db, const rocksdb_readoptions_t* read_options,
    rocksdb_column_family_handle_t* column_family, size_t num_ranges,
    const char* const* range_start_key, const size_t* range_start_key_len,
    const char* const* range_limit_key, const size_t* range_limit_key_len,
    unsigned char* may_exist, char** errptr);

// The filter of one SST file that is read apart from any DB: a file of a
// backup, or one that is going to be ingested.
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

// 0 if the file certainly has no entry of a key in [start_key, limit_key). Each
// key may be NULL.
unsigned char protean_sst_file_filter_range_may_exist(
    const protean_sst_file_filter_t* filter, const char* start_key,
    size_t start_key_len, const char* limit_key, size_t limit_key_len);

// Closes the file. NULL is allowed.
void protean_sst_file_filter_destroy(protean_sst_file_filter_t* filter);

// ---- Bounds of seeks: search_bounds.h ----

// Bounds of this thread until the scope is destroyed.
typedef struct protean_search_bounds_scope_t protean_search_bounds_scope_t;

// Sets the bounds of this thread's seeks: only keys in [lower_key, upper_key)
// matter. Each key may be NULL; both are copied. End the scope when the seek
// has been made: bounds hide keys from later seeks. Scopes may be nested, and
// are destroyed in reverse order, in the thread that made them. A thread means
// one of the operating system, to which a goroutine must be locked.
protean_search_bounds_scope_t* protean_search_bounds_scope_create(
    const char* lower_key, size_t lower_key_len, const char* upper_key,
    size_t upper_key_len);

// Sets the bounds that the thread had before the scope was made, or none.
void protean_search_bounds_scope_destroy(protean_search_bounds_scope_t* scope);

// ---- Refreshing filters: refresh_filters.h ----

// What a refresh may do.
typedef struct protean_refresh_options_t protean_refresh_options_t;

// The defaults of RefreshOptions, freed with protean_refresh_options_destroy.
protean_refresh_options_t* protean_refresh_options_create(void);

// Frees options.
void protean_refresh_options_destroy(protean_refresh_options_t* options);

// Sets the option of this name from text, as RefreshOptions::Set does:
// "min_gain" from "0.05", "max_bytes" from "2G", "levels" from "0,1", and the
// keys "start" and "limit" as they are, from "0x6b6579", or from "" for none.
// Fails for another name or value, and says what is allowed.
void protean_refresh_options_set(protean_refresh_options_t* options,
                                 const char* name, const char* value,
                                 char** errptr);

// Sets all options in a text "NAME=VALUE;NAME=VALUE", or none after an error.
void protean_refresh_options_parse(protean_refresh_options_t* options,
                                   const char* text, char** errptr);

// Such a text of all options.
char* protean_refresh_options_text(const protean_refresh_options_t* options);

// Sets a function that is called now and then, from the thread that refreshes,
// with `state` and the members of RefreshProgress, which live until it returns.
// Refreshing ends when it returns 0.
void protean_refresh_options_set_progress(
    protean_refresh_options_t* options, void* state,
    unsigned char (*progress)(void* state, const protean_record_t* progress));

// Rewrites the files of a column family whose filters should be redesigned.
// Returns the members of RefreshResult, with the list "files"; never NULL,
// since they tell what has been done also after an error. A refresh that the
// progress function ended has the error "Result incomplete: ...".
protean_record_t* protean_refresh_filters(
    rocksdb_t* db, rocksdb_column_family_handle_t* column_family,
    const protean_refresh_options_t* options, char** errptr);

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
                   const protean_record_t* result),
    char** errptr);

// Ends the thread, after the files that are being rewritten. Must be called
// before the DB is closed.
void protean_filter_refresher_destroy(protean_filter_refresher_t* refresher);

#ifdef __cplusplus
}  // extern "C"
#endif
