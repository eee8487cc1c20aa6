// SPDX-License-Identifier: Apache-2.0

//  The limits: how much time and memory it takes to build, open and ask the
//  filters of the largest keys and files, of many files, column families and
//  iterators, beside RocksDB's table with a Bloom filter. Every key is looked
//  up, and so are absent keys and ranges.

#include <gflags/gflags.h>

#include <cstdio>
#include <string>
#include <vector>

#include "db_bench_ext/limits_cases.h"
#include "db_bench_ext/own_flags.h"
#include "rocksdb/env.h"
#include "util/string_util.h"

DEFINE_string(cases, "key_sizes,file_sizes,files,families,iterators",
              "What to measure, separated by commas");
DEFINE_string(policies, "bloomfilter:10,surf:0:8,proteus:12",
              "Filter policies, separated by commas. bloomfilter is RocksDB's, "
              "in RocksDB's table");
DEFINE_string(dir, "/tmp/protean_limits",
              "Where to put files, at most 4 GB; they are removed afterwards");
DEFINE_uint64(max_keys, 50'000'000, "Keys of the largest file");
DEFINE_uint64(max_key_bytes, 16 << 20, "Bytes of the largest key");
DEFINE_uint64(files, 10'000, "Files of the case files");
DEFINE_uint64(families, 1'000, "Column families of the case families");
DEFINE_uint64(iterators, 1'000, "Iterators of the case iterators");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

int Run() {
  const struct {
    const char* name;
    void (*measure)(const LimitsOptions&);
  } cases[] = {{"key_sizes", MeasureKeySizes},
               {"file_sizes", MeasureFileSizes},
               {"files", MeasureManyFiles},
               {"families", MeasureManyFamilies},
               {"iterators", MeasureManyIterators}};
  std::vector<void (*)(const LimitsOptions&)> chosen;
  for (const std::string& name : StringSplit(FLAGS_cases, ',')) {
    const size_t before = chosen.size();
    for (const auto& one : cases) {
      if (name == one.name) chosen.push_back(one.measure);
    }
    if (chosen.size() == before) {
      fprintf(stderr,
              "protean_limits: --cases=%s is not allowed; allowed: key_sizes, "
              "file_sizes, files, families, iterators\n",
              name.c_str());
      return 2;
    }
  }
  LimitsOptions limits;
  limits.policies = StringSplit(FLAGS_policies, ',');
  limits.dir = FLAGS_dir;
  limits.max_keys = FLAGS_max_keys;
  limits.max_key_bytes = FLAGS_max_key_bytes;
  limits.files = FLAGS_files;
  limits.families = FLAGS_families;
  limits.iterators = FLAGS_iterators;
  Check(Env::Default()->CreateDirIfMissing(limits.dir));
  for (const auto measure : chosen) measure(limits);
  Env::Default()->DeleteDir(limits.dir).PermitUncheckedError();
  printf("\nprotean_limits: all keys found, nothing else\n");
  return 0;
}

}  // namespace

int RunProteanLimits(int argc, char** argv) {
  ParseOwnFlags("protean_limits",
                "Measures what the largest keys and files, and many files, "
                "column families and iterators cost.",
                &argc, &argv);
  return Run();
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunProteanLimits(argc, argv);
}
