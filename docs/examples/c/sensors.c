/* SPDX-License-Identifier: Apache-2.0 */

/*  Readings of a sensor in a DB with range filters: bounded seeks, counts,
 *  existence, statistics and a refresh in C.
 *
 *      cc sensors.c -lprotean-rocksdb-9.10.0 -lrocksdb && ./a.out DB
 */

#include <rocksdb/c.h>
#include <rocksdb/plugin/protean/protean_c.h>
#include <stdio.h>
#include <stdlib.h>

static char* err = NULL;
static void check(void) {
  if (err == NULL) return;
  fprintf(stderr, "%s\n", err);
  exit(1);
}

static const char* key_of(unsigned day, unsigned hour, unsigned minute) {
  static char keys[2][48];
  static int next = 0;
  char* key = keys[next++ % 2];
  snprintf(key, sizeof(keys[0]), "2026-11-%02u %02u:%02u", day, hour, minute);
  return key;
}

static double number(const protean_record_t* record, const char* name) {
  double value = 0;
  protean_record_get(record, name, &value);
  return value;
}

/* Keeps how far a refresh is, which goes on. */
static unsigned char keep(void* state, const protean_record_t* progress) {
  *(double*)state = number(progress, "bytes_decided");
  return 1;
}

/* The readings of an hour, which has none if it is odd. */
static int read_hour(rocksdb_t* db, int day, int hour) {
  rocksdb_readoptions_t* read = rocksdb_readoptions_create();
  const char* limit = key_of(day, hour + 1, 0);
  rocksdb_iterator_t* it;
  int readings = 0;
  rocksdb_readoptions_set_iterate_upper_bound(read, limit, 16);
  it = rocksdb_create_iterator(db, read);
  rocksdb_iter_seek(it, key_of(day, hour, 0), 16);
  for (; rocksdb_iter_valid(it); rocksdb_iter_next(it)) readings++;
  rocksdb_iter_destroy(it);
  rocksdb_readoptions_destroy(read);
  return readings;
}

static rocksdb_t* open_db(const char* path) {
  rocksdb_block_based_table_options_t* table =
      rocksdb_block_based_options_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_t* db;
  protean_register(&err), check();
  protean_block_based_options_set_filter_policy(table, "proteus:14", &err);
  check();
  protean_options_set_table_factory(options, table, &err), check();
  rocksdb_options_set_create_if_missing(options, 1);
  db = rocksdb_open(options, path, &err), check();
  rocksdb_options_destroy(options);
  rocksdb_block_based_options_destroy(table);
  return db;
}

int main(int argc, char** argv) {
  rocksdb_writeoptions_t* write = rocksdb_writeoptions_create();
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  protean_refresh_options_t* refresh = protean_refresh_options_create();
  rocksdb_t* db = open_db(argc > 1 ? argv[1] : "sensors_db");
  protean_record_t *statistics, *day_7, *refreshed;
  int day, hour, minute, readings = 0;
  double decided = 0;
  for (day = 1; day <= 30; day++) {
    for (hour = 0; hour < 24; hour += 2) {
      for (minute = 0; minute < 60; minute++) {
        rocksdb_put(db, write, key_of(day, hour, minute), 16, "21.5", 4, &err);
      }
    }
  }
  rocksdb_flush(db, flush, &err), check();
  for (day = 1; day <= 30; day++) {
    for (hour = 0; hour < 23; hour++) readings += read_hour(db, day, hour);
  }
  day_7 = protean_approximate_count(db, NULL, NULL, key_of(7, 0, 0), 16,
                                    key_of(8, 0, 0), 16, &err);
  check();
  statistics = protean_statistics(db, NULL, &err), check();
  protean_refresh_options_set(refresh, "min_gain", "0.05", &err), check();
  protean_refresh_options_set_progress(refresh, &decided, keep);
  refreshed = protean_refresh_filters(db, NULL, refresh, &err), check();
  printf("%d readings; %.0f readings on a day; %.0f seeks did not read; ",
         readings, number(day_7, "count"),
         number(statistics, "total.bounded_seeks.negatives"));
  printf("%.0f files have new filters, %.0f bytes decided\n",
         number(refreshed, "files_rewritten"), decided);
  protean_record_destroy(day_7);
  protean_record_destroy(statistics);
  protean_record_destroy(refreshed);
  protean_refresh_options_destroy(refresh);
  rocksdb_close(db);
  rocksdb_writeoptions_destroy(write);
  rocksdb_flushoptions_destroy(flush);
  return 0;
}
