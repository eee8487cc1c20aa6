/* SPDX-License-Identifier: Apache-2.0 */

/*  A program in C that uses Protean by its C API, compiled with RocksDB's
 *  public headers and Protean's.
 *
 *      c_program DB
 *
 *  It writes keys into several files of two column families, and prints
 *  "all is well" if every function of plugin/protean_c.h does what it should.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rocksdb/c.h"
#include "rocksdb/plugin/protean/protean_c.h"

#define KEYS 30000
#define RUNS 3

static char* err = NULL;

static void fail(int line, const char* what) {
  printf("line %d: %s: %s\n", line, what, err == NULL ? "no error" : err);
  exit(1);
}

#define REQUIRE(condition) \
  if (!(condition)) fail(__LINE__, #condition)
#define REQUIRE_OK() REQUIRE(err == NULL)

/* There is an error that has the text in it; forgets it. */
static void require_error(int line, const char* text) {
  if (err == NULL || strstr(err, text) == NULL) fail(line, text);
  protean_free(err);
  err = NULL;
}
#define REQUIRE_ERROR(text) require_error(__LINE__, text)

/* Key number `number`, of 8 digits and the 0, in one of four places. */
static const char* key_of(int number) {
  static char keys[4][16];
  static int next = 0;
  char* key = keys[next++ % 4];
  snprintf(key, sizeof(keys[0]), "%08d", number);
  return key;
}

/* Whether a string of the API has a text in it; frees the string. */
static int has(char* string, const char* text) {
  int found = string != NULL && strstr(string, text) != NULL;
  protean_free(string);
  return found;
}

/* A number of a record that has it. */
static double number(const protean_record_t* record, const char* name) {
  double value;
  if (!protean_record_get(record, name, &value)) fail(__LINE__, name);
  return value;
}

static void test_library(void) {
  protean_register(&err);
  REQUIRE_OK();
  protean_register(&err);
  REQUIRE_OK();
  REQUIRE(strchr(protean_version(), '.') != NULL);
  REQUIRE(has(protean_build_info(), protean_version()));
  REQUIRE(has(protean_build_info(), protean_rocksdb_version()));
  protean_free(NULL);
}

/* Options with ProteanTable; those of RocksDB stay as they are. */
static rocksdb_options_t* new_options(const char* policy) {
  rocksdb_block_based_table_options_t* table =
      rocksdb_block_based_options_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_enable_statistics(options);
  protean_block_based_options_set_filter_policy(table, "proteus:many", &err);
  REQUIRE_ERROR("proteus:many");
  protean_block_based_options_set_filter_policy(table, policy, &err);
  REQUIRE_OK();
  rocksdb_block_based_options_set_block_size(table, 1024);
  protean_options_set_table_factory(options, table, &err);
  REQUIRE_OK();
  rocksdb_block_based_options_destroy(table);
  return options;
}

static void fill(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  int run, i;
  for (run = 0; run < RUNS; run++) {
    for (i = run; i < KEYS; i += RUNS) {
      rocksdb_put_cf(db, write, family, key_of(100 * i), 8, "value", 5, &err);
      REQUIRE_OK();
    }
    rocksdb_flush_cf(db, flush, family, &err);
    REQUIRE_OK();
  }
  rocksdb_writeoptions_destroy(write);
  rocksdb_flushoptions_destroy(flush);
}

/* Seeks between the keys, by `bounds` of the thread or of the read options. */
static void seek(rocksdb_t* db, rocksdb_column_family_handle_t* family,
                 int bounds_of_thread) {
  int i;
  for (i = 0; i < KEYS; i += 10) {
    rocksdb_readoptions_t* read = rocksdb_readoptions_create();
    rocksdb_iterator_t* it;
    const char* lower = key_of(100 * i + 10);
    const char* upper = key_of(100 * i + 20);
    protean_search_bounds_scope_t* scope = NULL;
    if (bounds_of_thread) {
      scope = protean_search_bounds_scope_create(lower, 8, upper, 8);
    } else {
      rocksdb_readoptions_set_iterate_upper_bound(read, upper, 8);
    }
    it = rocksdb_create_iterator_cf(db, read, family);
    rocksdb_iter_seek(it, lower, 8);
    REQUIRE(!rocksdb_iter_valid(it));
    rocksdb_iter_get_error(it, &err);
    REQUIRE_OK();
    if (scope != NULL) protean_search_bounds_scope_destroy(scope);
    rocksdb_iter_seek(it, key_of(100 * i), 8);
    REQUIRE(bounds_of_thread || rocksdb_iter_valid(it));
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(read);
  }
}

/* All that a record of statistics has, by name. */
static void test_records(rocksdb_t* db, rocksdb_column_family_handle_t* family,
                         const char* folder) {
  const char *name, *help, *type, *scope;
  const protean_record_t* level;
  protean_record_t* sums = protean_statistics_of_folder(folder);
  protean_record_t* record = protean_statistics(db, family, &err);
  double value = -5;
  size_t i;
  REQUIRE_OK();
  REQUIRE(has(protean_record_text(record, "column_family"), "second"));
  REQUIRE(has(protean_record_text(record, "live_files"), "3"));
  REQUIRE(number(record, "total.bounded_seeks.negatives") > KEYS / 20);
  REQUIRE(number(record, "refresh.running") == 0);
  /* What is unknown, no number, or nothing at all. */
  REQUIRE(!protean_record_get(record, "refresh.seconds_left", &value));
  REQUIRE(!protean_record_get(record, "column_family", &value));
  REQUIRE(!protean_record_get(record, "no.such.name", &value));
  REQUIRE(value == -5);
  REQUIRE(protean_record_text(record, "refresh.seconds_left") == NULL);
  REQUIRE(protean_record_list_size(record, "files") == RUNS);
  REQUIRE(protean_record_list_size(record, "no_such_list") == 0);
  REQUIRE(protean_record_list_get(record, "files", RUNS) == NULL);
  level = protean_record_list_get(record, "levels", 0);
  REQUIRE(number(level, "level") == 0);
  REQUIRE(number(level, "keys") == KEYS);
  REQUIRE(number(sums, "keys") == 2 * KEYS);
  for (i = 0; protean_statistics_fact(i, &name, &help, &type, &scope); i++) {
    const char* dot = strchr(help, '.');
    REQUIRE(dot != NULL);
    REQUIRE(strcmp(type, "counter") == 0 || strcmp(type, "gauge") == 0);
    if (strcmp(scope, "level") == 0 && !protean_record_get(level, name, &value))
      REQUIRE(strstr(name, "fpr") != NULL);
  }
  REQUIRE(i > 50);
  for (i = 0; protean_record_name(record, i) != NULL; i++) {
  }
  REQUIRE(i == protean_record_size(record));
  protean_record_destroy(record);
  protean_record_destroy(sums);
  protean_record_destroy(NULL);
}

static void test_statistics(rocksdb_t* db,
                            rocksdb_column_family_handle_t* const* families,
                            const char* folder) {
  protean_record_t* record = protean_statistics(db, families[1], &err);
  test_records(db, families[1], folder);
  REQUIRE(has(protean_record_json(record), "\"second\""));
  protean_record_destroy(record);
  REQUIRE(has(protean_statistics_text(db, NULL, &err), "default"));
  REQUIRE(has(protean_statistics_text(db, families[1], &err), "second"));
  REQUIRE(has(protean_statistics_prometheus(db, NULL, 0, &err),
              "column_family=\"default\""));
  REQUIRE(has(protean_statistics_prometheus(db, families, 2, &err),
              "column_family=\"second\""));
  REQUIRE_OK();
}

/* Counts, and checks the number. */
static void count(rocksdb_t* db, const rocksdb_readoptions_t* read,
                  rocksdb_column_family_handle_t* family, const char* start,
                  const char* limit, uint64_t expected) {
  protean_record_t* result =
      protean_approximate_count(db, read, family, start, 8, limit, 8, &err);
  REQUIRE_OK();
  REQUIRE(number(result, "count") == (double)expected);
  REQUIRE(number(result, "in_memtables") == 0);
  REQUIRE(number(result, "sorted_runs") == RUNS);
  REQUIRE(number(result, "files") == RUNS);
  REQUIRE(number(result, "files_scanned") == 0);
  REQUIRE(number(result, "deletions") == 0);
  REQUIRE(number(result, "is_exact") == 0);
  REQUIRE(number(result, "unsure") == 0);
  protean_record_destroy(result);
}

static void test_count(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  const rocksdb_snapshot_t* snapshot = rocksdb_create_snapshot(db);
  count(db, NULL, family, NULL, NULL, KEYS);
  count(db, read, family, key_of(100 * 1000), NULL, KEYS - 1000);
  count(db, read, family, NULL, key_of(100 * 1000), 1000);
  count(db, read, family, key_of(100 * 10), key_of(100 * 1000), 990);
  rocksdb_readoptions_set_snapshot(read, snapshot);
  REQUIRE(protean_approximate_count(db, read, family, NULL, 0, NULL, 0, &err) ==
          NULL);
  REQUIRE_ERROR("snapshot");
  rocksdb_release_snapshot(db, snapshot);
  rocksdb_readoptions_destroy(read);
}

static void test_existence(rocksdb_t* db,
                           rocksdb_column_family_handle_t* family) {
  int i, absent_keys = 0, empty_ranges = 0;
  for (i = 0; i < 1000; i++) {
    const char* keys[2];
    const char* limits[2];
    const size_t sizes[2] = {8, 8};
    unsigned char exist[2] = {2, 2};
    keys[0] = key_of(100 * i);
    keys[1] = key_of(100 * i + 10);
    limits[0] = key_of(100 * i + 5);
    limits[1] = key_of(100 * i + 20);
    protean_keys_may_exist(db, NULL, family, 2, keys, sizes, exist, &err);
    REQUIRE_OK();
    REQUIRE(exist[0] == 1 && exist[1] <= 1);
    absent_keys += exist[1] == 0;
    protean_ranges_may_exist(db, NULL, family, 2, keys, sizes, limits, sizes,
                             exist, &err);
    REQUIRE_OK();
    REQUIRE(exist[0] == 1 && exist[1] <= 1);
    empty_ranges += exist[1] == 0;
  }
  REQUIRE(absent_keys > 900);
  REQUIRE(empty_ranges > 900);
}

/* What may be in a file that no DB has. */
static void test_sst_file(rocksdb_options_t* with_protean, const char* path) {
  rocksdb_options_t* without = rocksdb_options_create();
  rocksdb_envoptions_t* env = rocksdb_envoptions_create();
  rocksdb_sstfilewriter_t* writer =
      rocksdb_sstfilewriter_create(env, with_protean);
  protean_sst_file_filter_t* filter;
  int i, absent_keys = 0, empty_ranges = 0;
  rocksdb_sstfilewriter_open(writer, path, &err);
  for (i = 0; i < 1000 && err == NULL; i++) {
    rocksdb_sstfilewriter_put(writer, key_of(100 * i), 8, "value", 5, &err);
  }
  rocksdb_sstfilewriter_finish(writer, &err);
  REQUIRE_OK();
  rocksdb_sstfilewriter_destroy(writer);
  rocksdb_envoptions_destroy(env);

  filter = protean_sst_file_filter_open(with_protean, path, &err);
  REQUIRE_OK();
  for (i = 0; i < 1000; i++) {
    const char* key = key_of(100 * i);
    const char* behind = key_of(100 * i + 10);
    const char* limit = key_of(100 * i + 20);
    REQUIRE(protean_sst_file_filter_key_may_exist(filter, key, 8) == 1);
    REQUIRE(protean_sst_file_filter_range_may_exist(filter, key, 8, behind,
                                                    8) == 1);
    absent_keys += !protean_sst_file_filter_key_may_exist(filter, behind, 8);
    empty_ranges +=
        !protean_sst_file_filter_range_may_exist(filter, behind, 8, limit, 8);
  }
  REQUIRE(absent_keys > 900);
  REQUIRE(empty_ranges > 900);
  protean_sst_file_filter_destroy(filter);
  protean_sst_file_filter_destroy(NULL);

  REQUIRE(protean_sst_file_filter_open(without, path, &err) == NULL);
  REQUIRE_ERROR("ProteanTable");
  remove(path);
  REQUIRE(protean_sst_file_filter_open(with_protean, path, &err) == NULL);
  REQUIRE_ERROR("No such file");
  rocksdb_options_destroy(without);
}

/* A seek between two keys, which finds none within the bounds that the thread
 * has; without bounds, it finds the second one. */
static int finds_a_key(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  rocksdb_iterator_t* it = rocksdb_create_iterator_cf(db, read, family);
  int valid;
  rocksdb_iter_seek(it, key_of(110), 8);
  valid = rocksdb_iter_valid(it);
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_destroy(read);
  return valid;
}

static void test_scopes(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  protean_search_bounds_scope_t* wide;
  protean_search_bounds_scope_t* narrow;
  REQUIRE(finds_a_key(db, family));
  wide = protean_search_bounds_scope_create(NULL, 0, key_of(100 * KEYS), 8);
  REQUIRE(finds_a_key(db, family));
  narrow = protean_search_bounds_scope_create(key_of(110), 8, key_of(120), 8);
  REQUIRE(!finds_a_key(db, family));
  protean_search_bounds_scope_destroy(narrow);
  REQUIRE(finds_a_key(db, family));
  protean_search_bounds_scope_destroy(wide);
  REQUIRE(finds_a_key(db, family));
}

/* The samples that the default column family of a DB with these options holds,
 * after one seek for each of `seeks` if there are any. */
static int count_samples(rocksdb_options_t* options, const char* path,
                         int seeks) {
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_t* db;
  protean_record_t* statistics;
  int i, samples;
  rocksdb_destroy_db(options, path, &err);
  db = rocksdb_open(options, path, &err);
  REQUIRE_OK();
  rocksdb_put(db, write, key_of(0), 8, "value", 5, &err);
  rocksdb_put(db, write, key_of(100 * seeks + 100), 8, "value", 5, &err);
  rocksdb_flush(db, flush, &err);
  REQUIRE_OK();
  for (i = 0; i < seeks; i++) {
    rocksdb_readoptions_t* read = rocksdb_readoptions_create();
    rocksdb_iterator_t* it;
    rocksdb_readoptions_set_iterate_upper_bound(read, key_of(100 * i + 60), 8);
    it = rocksdb_create_iterator(db, read);
    rocksdb_iter_seek(it, key_of(100 * i + 50), 8);
    rocksdb_iter_destroy(it);
    rocksdb_readoptions_destroy(read);
  }
  statistics = protean_statistics(db, NULL, &err);
  REQUIRE_OK();
  samples = (int)number(statistics, "samples.held");
  protean_record_destroy(statistics);
  rocksdb_close(db);
  rocksdb_writeoptions_destroy(write);
  rocksdb_flushoptions_destroy(flush);
  return samples;
}

/* Options of a sample group: from code, or from a string. */
static rocksdb_options_t* options_of_group(const char* group, int from_code) {
  rocksdb_block_based_table_options_t* table =
      rocksdb_block_based_options_create();
  rocksdb_options_t* empty = rocksdb_options_create();
  rocksdb_options_t* options = rocksdb_options_create();
  if (from_code) {
    protean_block_based_options_set_filter_policy(
        table, "{id=protean.Proteus;sample_every=1}", &err);
    REQUIRE_OK();
    protean_options_set_table_factory(options, table, &err);
  } else {
    rocksdb_get_options_from_string(
        empty,
        "table_factory={id=ProteanTable;block_size=1024;"
        "filter_policy={sample_every=1;id=protean.Proteus}}",
        options, &err);
  }
  REQUIRE_OK();
  rocksdb_options_set_create_if_missing(options, 1);
  protean_options_set_sample_group(options, group, &err);
  REQUIRE_OK();
  rocksdb_options_destroy(empty);
  rocksdb_block_based_options_destroy(table);
  return options;
}

/* A second DB begins with what the first of its group has learned. */
static void test_sample_groups(const char* path) {
  rocksdb_options_t* plain = rocksdb_options_create();
  rocksdb_options_t* first = options_of_group("days", 1);
  rocksdb_options_t* second = options_of_group("days", 0);
  rocksdb_options_t* other = options_of_group("nights", 1);
  int samples = count_samples(first, path, 200);
  REQUIRE(samples > 100);
  REQUIRE(count_samples(second, path, 0) == samples);
  REQUIRE(count_samples(other, path, 0) == 0);
  rocksdb_destroy_db(other, path, &err);
  REQUIRE_OK();
  protean_options_set_sample_group(other, "", &err);
  REQUIRE_ERROR("sample group is empty");
  protean_options_set_sample_group(plain, "days", &err);
  REQUIRE_ERROR("BlockBasedTable");
  protean_options_set_table_factory(plain, NULL, &err);
  protean_options_set_sample_group(plain, "days", &err);
  REQUIRE_ERROR("without one");
  rocksdb_options_destroy(first);
  rocksdb_options_destroy(second);
  rocksdb_options_destroy(other);
  rocksdb_options_destroy(plain);
}

/* Files without filters: where the table options have no policy. */
static void test_without_filters(const char* path) {
  rocksdb_block_based_table_options_t* table =
      rocksdb_block_based_options_create();
  rocksdb_options_t* options = rocksdb_options_create();
  int i;
  for (i = 0; i < 3; i++) {
    rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
    rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
    protean_record_t* statistics;
    rocksdb_t* db;
    rocksdb_options_set_create_if_missing(options, 1);
    protean_block_based_options_set_filter_policy(
        table, i < 2 ? "nullptr" : "proteus:12", &err);
    REQUIRE_OK();
    protean_options_set_table_factory(options, i == 1 ? NULL : table, &err);
    REQUIRE_OK();
    db = rocksdb_open(options, path, &err);
    REQUIRE_OK();
    rocksdb_put(db, write, "key", 3, "value", 5, &err);
    rocksdb_flush(db, flush, &err);
    REQUIRE_OK();
    statistics = protean_statistics(db, NULL, &err);
    REQUIRE_OK();
    REQUIRE(number(statistics, "total.used_files") == (i < 2 ? 0 : 1));
    protean_record_destroy(statistics);
    rocksdb_close(db);
    rocksdb_destroy_db(options, path, &err);
    REQUIRE_OK();
    rocksdb_writeoptions_destroy(write);
    rocksdb_flushoptions_destroy(flush);
  }
  rocksdb_options_destroy(options);
  rocksdb_block_based_options_destroy(table);
}

static unsigned char stop_at_once(void* state, const protean_record_t* at) {
  REQUIRE(number(at, "files") == RUNS && number(at, "files_decided") <= RUNS);
  REQUIRE(number(at, "bytes") > 0);
  REQUIRE(number(at, "bytes_decided") <= number(at, "bytes"));
  REQUIRE(number(at, "bytes_rewritten") == 0);
  ++*(int*)state;
  return 0;
}

static void set(protean_refresh_options_t* options, const char* name,
                const char* value) {
  protean_refresh_options_set(options, name, value, &err);
  REQUIRE_OK();
}

static void test_refresh_options(void) {
  protean_refresh_options_t* options = protean_refresh_options_create();
  protean_refresh_options_set(options, "min_gain", "5", &err);
  REQUIRE_ERROR("min_gain=5 is not allowed; allowed: numbers from 0 to 1");
  protean_refresh_options_set(options, "max_parallel_rewrites", "0", &err);
  REQUIRE_ERROR("=0 is not allowed; allowed: whole numbers from 1 to");
  protean_refresh_options_set(options, "min_gains", "1", &err);
  REQUIRE_ERROR("min_gains is not allowed; allowed: dry_run, ");
  protean_refresh_options_parse(options, "dry_run=true;levels=0,7,x", &err);
  REQUIRE_ERROR("levels=0,7,x is not allowed");
  REQUIRE(has(protean_refresh_options_text(options), "dry_run=false;"));
  protean_refresh_options_parse(options, "max_bytes=2M;levels=0,7", &err);
  REQUIRE_OK();
  set(options, "start", "a");
  REQUIRE(has(protean_refresh_options_text(options),
              "levels=0,7;start=0x61;limit=;"));
  REQUIRE(has(protean_refresh_options_text(options), "max_bytes=2097152;"));
  protean_refresh_options_destroy(options);
}

/* Whether the outcome of a file is this one. */
static int has_outcome(const protean_record_t* result, size_t index,
                       const char* outcome) {
  const protean_record_t* file =
      protean_record_list_get(result, "files", index);
  return has(protean_record_text(file, "outcome"), outcome);
}

static void test_refresh(rocksdb_t* db,
                         rocksdb_column_family_handle_t* family) {
  const char* const names[1] = {"table_factory.filter_policy"};
  const char* const values[1] = {
      "{id=protean.Proteus;bits_per_key=12;sample_every=1}"};
  int calls = 0;
  size_t i;
  protean_record_t* result;
  protean_refresh_options_t* options = protean_refresh_options_create();
  set(options, "bytes_per_second", "0");
  set(options, "min_gain", "0.01");
  set(options, "payback_seconds", "3600");
  set(options, "max_parallel_rewrites", "2");

  /* The files are in level 0, and hold no key from a letter on. */
  set(options, "levels", "6");
  result = protean_refresh_filters(db, family, options, &err);
  REQUIRE_OK();
  REQUIRE(protean_record_list_size(result, "files") == RUNS);
  for (i = 0; i < RUNS; i++) {
    const protean_record_t* file = protean_record_list_get(result, "files", i);
    REQUIRE(has(protean_record_text(file, "name"), ".sst"));
    REQUIRE(number(file, "level") == 0);
    REQUIRE(has_outcome(result, i, "not selected"));
  }
  REQUIRE(number(result, "files_rewritten") == 0);
  REQUIRE(number(result, "bytes_rewritten") == 0);
  REQUIRE(number(result, "bytes_read") == 0);
  protean_record_destroy(result);
  set(options, "levels", "");
  set(options, "start", "a");
  result = protean_refresh_filters(db, family, options, &err);
  REQUIRE_OK();
  REQUIRE(has_outcome(result, 0, "not selected"));
  protean_record_destroy(result);

  set(options, "start", "");
  protean_refresh_options_set_progress(options, &calls, stop_at_once);
  result = protean_refresh_filters(db, family, options, &err);
  REQUIRE_ERROR("Result incomplete: ");
  REQUIRE(calls == 1);
  REQUIRE(number(result, "samples") > 0);
  REQUIRE(has_outcome(result, RUNS - 1, "not reached"));
  protean_record_destroy(result);
  protean_refresh_options_destroy(options);

  /* All files have filters of another policy. */
  rocksdb_set_options_cf(db, family, 1, names, values, &err);
  REQUIRE_OK();
  options = protean_refresh_options_create();
  set(options, "all_files", "true");
  set(options, "dry_run", "true");
  result = protean_refresh_filters(db, family, options, &err);
  REQUIRE_OK();
  REQUIRE(number(result, "files_rewritten") == RUNS);
  REQUIRE(number(result, "bytes_rewritten") > 0);
  REQUIRE(has(protean_record_json(result), "\"would be rewritten\""));
  protean_record_destroy(result);
  protean_refresh_options_destroy(options);
}

/* What a thread of Protean has reported. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t reported = PTHREAD_COND_INITIALIZER;
static int reports = 0;

static void report(void* state, const char* error,
                   const protean_record_t* result) {
  REQUIRE(state == &reports);
  REQUIRE(error == NULL);
  REQUIRE(protean_record_list_size(result, "files") == RUNS);
  pthread_mutex_lock(&mutex);
  reports++;
  pthread_cond_signal(&reported);
  pthread_mutex_unlock(&mutex);
}

static void test_refresher(rocksdb_t* db,
                           rocksdb_column_family_handle_t* family) {
  protean_refresh_options_t* options = protean_refresh_options_create();
  protean_filter_refresher_t* refresher;
  set(options, "dry_run", "true");
  refresher = protean_filter_refresher_create(db, family, options, 1, NULL,
                                              &reports, report, &err);
  REQUIRE_OK();
  protean_refresh_options_destroy(options);
  pthread_mutex_lock(&mutex);
  while (reports == 0) pthread_cond_wait(&reported, &mutex);
  pthread_mutex_unlock(&mutex);
  protean_filter_refresher_destroy(refresher);
}

/* RocksDB's own table is refused where its filters cannot answer. */
static void test_other_table(const char* path) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_t* db;
  rocksdb_options_set_create_if_missing(options, 1);
  db = rocksdb_open(options, path, &err);
  REQUIRE_OK();
  REQUIRE(protean_approximate_count(db, NULL, NULL, NULL, 0, NULL, 0, &err) ==
          NULL);
  REQUIRE_ERROR("ProteanTable");
  rocksdb_close(db);
  rocksdb_destroy_db(options, path, &err);
  REQUIRE_OK();
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  const char* names[2] = {"default", "second"};
  rocksdb_options_t* surf;
  rocksdb_options_t* proteus;
  const rocksdb_options_t* family_options[2];
  rocksdb_column_family_handle_t* families[2];
  char sst_file[1000];
  char* value;
  rocksdb_t* db;
  if (argc != 2) return 2;
  test_library();
  surf = new_options("surf:0:8");
  proteus = new_options("{id=protean.Proteus;bits_per_key=16;sample_every=1}");
  family_options[0] = surf;
  family_options[1] = proteus;
  db = rocksdb_open_column_families(surf, argv[1], 2, names, family_options,
                                    families, &err);
  REQUIRE_OK();
  fill(db, families[0]);
  fill(db, families[1]);
  seek(db, families[0], 0);
  seek(db, families[1], 1);
  value = rocksdb_options_statistics_get_string(surf);
  REQUIRE(value != NULL);
  rocksdb_free(value);
  test_statistics(db, families, argv[1]);
  test_count(db, NULL);
  test_count(db, families[0]);
  test_existence(db, families[0]);
  test_existence(db, families[1]);
  test_scopes(db, families[0]);
  test_refresh_options();
  test_refresh(db, families[1]);
  test_refresher(db, families[1]);
  rocksdb_column_family_handle_destroy(families[0]);
  rocksdb_column_family_handle_destroy(families[1]);
  rocksdb_close(db);
  rocksdb_destroy_db(surf, argv[1], &err);
  REQUIRE_OK();
  snprintf(sst_file, sizeof(sst_file), "%s.sst", argv[1]);
  test_sst_file(surf, sst_file);
  rocksdb_options_destroy(surf);
  rocksdb_options_destroy(proteus);
  test_other_table(argv[1]);
  test_sample_groups(argv[1]);
  test_without_filters(argv[1]);
  printf("all is well\n");
  return 0;
}
