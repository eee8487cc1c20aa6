// SPDX-License-Identifier: Apache-2.0

//  A worker for remote compaction that is RocksDB alone, without Protean. Its
//  arguments are the folder of the DB, the folder for the output, the file with
//  the input of the compaction, and the file for the result.

#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"

int main(int argc, char** argv) {
  using namespace ROCKSDB_NAMESPACE;
  if (argc != 5) return 2;
  Env* const env = Env::Default();
  std::string input;
  Status s = ReadFileToString(env, argv[3], &input);
  CompactionServiceOptionsOverride options;
  BlockBasedTableOptions table;
  table.filter_policy.reset(NewBloomFilterPolicy(10));
  options.table_factory.reset(NewBlockBasedTableFactory(table));
  std::string output;
  if (s.ok()) s = DB::OpenAndCompact(argv[1], argv[2], input, &output, options);
  if (s.ok()) s = WriteStringToFile(env, output, argv[4]);
  if (!s.ok()) fprintf(stderr, "%s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
