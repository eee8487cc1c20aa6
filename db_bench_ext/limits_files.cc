// SPDX-License-Identifier: Apache-2.0

//  Files of the largest keys, the largest files, and many files.

#include <cinttypes>
#include <cstdio>
#include <memory>

#include "db_bench_ext/limits_cases.h"
#include "plugin/filter_properties.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string Human(uint64_t number) {
  if (number >= 1 << 20 && number % (1 << 20) == 0) {
    return std::to_string(number >> 20) + " Mi";
  }
  if (number >= 1 << 10 && number % (1 << 10) == 0) {
    return std::to_string(number >> 10) + " Ki";
  }
  return std::to_string(number);
}

// Writes a file of `count` keys of `size` bytes with each policy, opens it in a
// DB and asks it.
void MeasureFile(const LimitsOptions& limits, uint64_t count, size_t size,
                 Differ differ = Differ::kEarly) {
  const std::string sst = limits.dir + "/limits.sst";
  const std::string path = limits.dir + "/db";
  double stock_seconds = 0;
  for (const std::string& policy : limits.policies) {
    const Options options = OptionsOf(policy);
    uint64_t file_size = 0;
    const Cost written = Measure([&] {
      SpreadKeys keys(count, size, differ);
      SstFileWriter writer(EnvOptions(), options);
      Check(writer.Open(sst));
      for (uint64_t i = 0; i < count; i++) {
        Check(writer.Put(keys.Make(i), "value"));
      }
      Check(writer.Finish());
      file_size = writer.FileSize();
    });
    if (stock_seconds == 0) stock_seconds = written.seconds;
    uint64_t filter_size = 0;
    std::string design = "-";
    {
      SstFileReader reader(options);
      Check(reader.Open(sst));
      const auto properties = reader.GetTableProperties();
      filter_size = properties->filter_size;
      FilterProperties filter;
      if (GetFilterProperties(*properties, &filter)) {
        design = filter.design.substr(0, filter.design.find(','));
      }
    }
    Check(DestroyDB(path, options));
    std::unique_ptr<DB> db;
    Check(OpenDB(&db, options, path));
    IngestExternalFileOptions ingest;
    ingest.move_files = true;
    const Cost opened =
        Measure([&] { Check(db->IngestExternalFile({sst}, ingest)); });
    SpreadKeys keys(count, size, differ);
    const uint64_t asked =
        std::min<uint64_t>(count, size > 1024 ? 1000 : 100000);
    std::string value;
    ReadOptions read;
    read.fill_cache = false;
    for (uint64_t i = 0; i < asked; i++) {
      const Slice key = keys.Make(i * count / asked);
      Check(db->Get(read, key, &value));
      const std::unique_ptr<Iterator> it(db->NewIterator(read));
      it->Seek(key);
      Check(it->Valid() && it->key() == key, "a key was not found");
    }
    // Short keys leave no room between them.
    const bool has_gaps = size >= 8 && count > 1;
    char share[32] = "-";
    if (has_gaps) {
      snprintf(share, sizeof(share), "%.2f %%",
               ShareRead(db.get(), &keys, count, size > 1024 ? 200 : 20000));
    }
    printf(
        "| %s | %s | %s | %.1f | %.2f | %.0f | %.1f | %.1f | %s | %s |\n",
        (Human(size) + (differ == Differ::kInPairs ? ", pairs" : "")).c_str(),
        Human(count).c_str(), policy.c_str(),
        static_cast<double>(file_size) / (1 << 20),
        written.seconds / stock_seconds, written.peak_mib,
        8.0 * static_cast<double>(filter_size) / static_cast<double>(count),
        opened.kept_mib, share, design.c_str());
    fflush(stdout);
    db.reset();
    Check(DestroyDB(path, options));
  }
}

void FileTable() {
  printf(
      "\n| bytes a key | keys | policy | file, MiB | time of writing, ratio | "
      "memory of writing, MiB | bits a key | memory of the open file, MiB | "
      "absent queries that read | design |\n"
      "|---:|---:|---|---:|---:|---:|---:|---:|---:|---|\n");
}

}  // namespace

void MeasureKeySizes(const LimitsOptions& limits) {
  FileTable();
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{8}, size_t{100}, size_t{1} << 10,
        size_t{1} << 16, size_t{1} << 20, size_t{1} << 24}) {
    if (size > limits.max_key_bytes) break;
    // 256 MiB of keys, but at least 32. There are only 256 keys of one byte.
    const uint64_t count =
        size == 0 ? 1
        : size == 1
            ? 100
            : std::clamp<uint64_t>((uint64_t{256} << 20) / size, 32, 100'000);
    MeasureFile(limits, count, size);
    if (size >= 100) MeasureFile(limits, count, size, Differ::kInPairs);
  }
}

void MeasureFileSizes(const LimitsOptions& limits) {
  FileTable();
  for (const uint64_t count :
       {uint64_t{1}, uint64_t{1'000}, uint64_t{1'000'000}, uint64_t{10'000'000},
        uint64_t{50'000'000}, uint64_t{400'000'000}}) {
    if (count <= limits.max_keys) MeasureFile(limits, count, 8);
  }
}

void MeasureManyFiles(const LimitsOptions& limits) {
  constexpr uint64_t kKeysOfFile = 100;
  printf(
      "\n%" PRIu64 " files of %" PRIu64
      " keys, in one level\n\n| policy | writing, s | opening, s | memory of "
      "the open DB, MiB | absent queries that read | a walk over all keys, s "
      "|\n"
      "|---|---:|---:|---:|---:|---:|\n",
      limits.files, kKeysOfFile);
  const std::string path = limits.dir + "/db";
  for (const std::string& policy : limits.policies) {
    Options options = OptionsOf(policy);
    Check(DestroyDB(path, options));
    std::unique_ptr<DB> db;
    Check(OpenDB(&db, options, path));
    const uint64_t count = limits.files * kKeysOfFile;
    const Cost written = Measure([&] {
      SpreadKeys keys(count, 16);
      std::vector<std::string> files;
      for (uint64_t file = 0; file < limits.files; file++) {
        SstFileWriter writer(EnvOptions(), options);
        files.push_back(limits.dir + "/" + std::to_string(file) + ".sst");
        Check(writer.Open(files.back()));
        for (uint64_t i = 0; i < kKeysOfFile; i++) {
          Check(writer.Put(keys.Make(file * kKeysOfFile + i), "value"));
        }
        Check(writer.Finish());
      }
      IngestExternalFileOptions ingest;
      ingest.move_files = true;
      Check(db->IngestExternalFile(files, ingest));
    });
    db.reset();
    const Cost opened = Measure([&] { Check(OpenDB(&db, options, path)); });
    SpreadKeys keys(count, 16);
    const double share = ShareRead(db.get(), &keys, count, 20000);
    uint64_t found = 0;
    const Cost walked = Measure([&] {
      const std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
      for (it->SeekToFirst(); it->Valid(); it->Next()) found++;
    });
    Check(found == count, "a walk misses keys");
    printf("| %s | %.1f | %.1f | %.1f | %.2f %% | %.2f |\n", policy.c_str(),
           written.seconds, opened.seconds, opened.kept_mib, share,
           walked.seconds);
    fflush(stdout);
    db.reset();
    Check(DestroyDB(path, options));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
