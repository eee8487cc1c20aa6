//  Where the ends are: how long it takes and how much memory to build, open and
//  ask the filters of the largest keys and files, of many files, column
//  families and iterators, beside RocksDB's table with a Bloom filter. Every
//  key is looked up, as are keys and ranges that are not there. Prints tables
//  in Markdown.

#include <gflags/gflags.h>
#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugin/filter_properties.h"
#include "rocksdb/convenience.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "table/rocksdb_internals/versions.h"
#include "util/coding.h"
#include "util/math.h"
#include "util/string_util.h"

DEFINE_string(cases, "key_sizes,file_sizes,files,families,iterators",
              "What to measure, separated by commas");
DEFINE_string(policies, "bloomfilter:10,surf:0:8,proteus:12",
              "Filter policies, separated by commas. bloomfilter is RocksDB's, "
              "in RocksDB's table");
DEFINE_string(dir, "/tmp/protean_limits",
              "Where to put files, 4 GB at most; they are removed again");
DEFINE_uint64(most_keys, 50'000'000, "Keys of the largest file");
DEFINE_uint64(most_key_bytes, 16 << 20, "Bytes of the largest key");
DEFINE_uint64(files, 10'000, "Files of the case of that name");
DEFINE_uint64(families, 1'000, "Column families of the case of that name");
DEFINE_uint64(iterators, 1'000, "Iterators of the case of that name");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Measuring ----

void Check(const Status& s) {
  if (s.ok()) return;
  fprintf(stderr, "protean_limits: %s\n", s.ToString().c_str());
  exit(1);
}
void Check(bool right, const char* what) {
  if (right) return;
  fprintf(stderr, "protean_limits: WRONG: %s\n", what);
  exit(1);
}

// A line of /proc/self/status, in MiB.
double ProcessMiB(const char* field) {
  FILE* file = fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  double kib = 0;
  while (fgets(line, sizeof(line), file) != nullptr) {
    if (Slice(line).starts_with(field))
      kib = strtod(line + strlen(field), nullptr);
  }
  fclose(file);
  return kib / 1024;
}

struct Cost {
  double seconds = 0;
  double peak_mib = 0;  // above what there was before
  double kept_mib = 0;  // of it, what is still there afterwards
};

Cost Measure(const std::function<void()>& work) {
  malloc_trim(0);
  // Peaks begin anew.
  if (FILE* file = fopen("/proc/self/clear_refs", "w")) {
    fputs("5", file);
    fclose(file);
  }
  Cost cost;
  const double before = ProcessMiB("VmRSS:");
  const auto start = std::chrono::steady_clock::now();
  work();
  cost.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  cost.peak_mib = ProcessMiB("VmHWM:") - before;
  malloc_trim(0);
  cost.kept_mib = ProcessMiB("VmRSS:") - before;
  return cost;
}

// ---- Keys ----

// What tells keys apart.
enum class Differ { kEarly, kInPairs };

// Ascending keys of `size` bytes: 8 random ones, as far as there are so many,
// and then the same for all of them. In pairs, two keys share all but their
// last byte.
class KeyMaker {
 public:
  KeyMaker(uint64_t count, size_t size, Differ differ = Differ::kEarly)
      : in_pairs_(differ == Differ::kInPairs),
        part_(~uint64_t{0} / (in_pairs_ ? (count + 1) / 2 : count)),
        key_(size, 'k') {}

  // Key number i. Valid until the next call.
  Slice Make(uint64_t i) {
    if (in_pairs_) key_.back() = i % 2 == 0 ? 'a' : 'b';
    return Put(Number(i));
  }
  // A key that is not there, near number i, and a bound above it with none in
  // between. REQUIRES: keys of 8 bytes at least
  Slice MakeAbsent(uint64_t i, std::string* end) {
    if (in_pairs_) key_.back() = 'a';
    const uint64_t number = Number(i);
    uint64_t absent = Begin(i) + Mix(~Place(i)) % part_;
    if (absent == number) absent++;
    const uint64_t after =
        absent < number ? number : Begin(i) + part_;  // that is not empty
    *end = Put(absent + std::min(part_ / 8 + 1, after - absent)).ToString();
    return Put(absent);
  }

 private:
  // Each key, or pair, has an equal part of the space of 8 bytes, and is in the
  // first half of it.
  uint64_t Place(uint64_t i) const { return in_pairs_ ? i / 2 : i; }
  uint64_t Begin(uint64_t i) const { return part_ * Place(i); }
  uint64_t Number(uint64_t i) const {
    return Begin(i) + Mix(Place(i)) % (part_ / 2 + 1);
  }
  static uint64_t Mix(uint64_t number) {
    uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
    return mixed ^ mixed >> 32;
  }
  Slice Put(uint64_t number) {
    char head[8];
    EncodeFixed64(head, EndianSwapValue(number));
    memcpy(key_.data(), head, std::min(key_.size(), sizeof(head)));
    return key_;
  }

  const bool in_pairs_;
  const uint64_t part_;
  std::string key_;
};

// ---- Tables ----

Options OptionsOf(const std::string& policy) {
  const bool stock = Slice(policy).starts_with("bloomfilter");
  Options options;
  options.create_if_missing = true;
  options.compression = kNoCompression;
  options.max_open_files = -1;
  options.disable_auto_compactions = true;
  options.level0_slowdown_writes_trigger = 1 << 30;
  options.level0_stop_writes_trigger = 1 << 30;
  Check(GetColumnFamilyOptionsFromString(
      ConfigOptions(), options,
      std::string("table_factory={id=") +
          (stock ? "BlockBasedTable" : "ProteanTable") +
          ";filter_policy=" + policy + "}",
      &options));
  return options;
}

std::vector<std::string> Policies() { return StringSplit(FLAGS_policies, ','); }

// Queries of keys that are not there, points and ranges in turn: how many of
// 100 read data.
double ShareRead(DB* db, KeyMaker* keys, uint64_t count, uint64_t queries) {
  ReadOptions read;
  read.fill_cache = false;
  std::string value;
  std::string end;
  SetPerfLevel(kEnableCount);
  uint64_t reads = 0;
  for (uint64_t q = 0; q < queries; q++) {
    const Slice begin = keys->MakeAbsent(q * count / queries, &end);
    get_perf_context()->Reset();
    if (q % 2 == 0) {
      Check(db->Get(read, begin, &value).IsNotFound(), "a key was found");
    } else {
      const Slice bound = end;
      read.iterate_upper_bound = &bound;
      const std::unique_ptr<Iterator> it(db->NewIterator(read));
      it->Seek(begin);
      Check(!it->Valid(), "a range is not empty");
      Check(it->status());
      read.iterate_upper_bound = nullptr;
    }
    reads += get_perf_context()->block_read_count > 0;
  }
  SetPerfLevel(kDisable);
  return 100.0 * static_cast<double>(reads) / static_cast<double>(queries);
}

// ---- Cases ----

std::string Human(uint64_t number) {
  if (number >= 1 << 20 && number % (1 << 20) == 0) {
    return std::to_string(number >> 20) + " Mi";
  }
  if (number >= 1 << 10 && number % (1 << 10) == 0) {
    return std::to_string(number >> 10) + " Ki";
  }
  return std::to_string(number);
}

// A file of `count` keys of `size` bytes with each policy: written, opened by a
// DB and asked.
void MeasureFile(uint64_t count, size_t size, Differ differ = Differ::kEarly) {
  const std::string sst = FLAGS_dir + "/limits.sst";
  const std::string path = FLAGS_dir + "/db";
  double stock_seconds = 0;
  for (const std::string& policy : Policies()) {
    const Options options = OptionsOf(policy);
    uint64_t file_size = 0;
    const Cost written = Measure([&] {
      KeyMaker keys(count, size, differ);
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
    KeyMaker keys(count, size, differ);
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
    // Keys of few bytes leave no room between them.
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

void KeySizes() {
  FileTable();
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{8}, size_t{100}, size_t{1} << 10,
        size_t{1} << 16, size_t{1} << 20, size_t{1} << 24}) {
    if (size > FLAGS_most_key_bytes) break;
    // 256 MiB of keys, but at least some; of one byte there are few.
    const uint64_t count =
        size == 0 ? 1
        : size == 1
            ? 100
            : std::clamp<uint64_t>((uint64_t{256} << 20) / size, 32, 100'000);
    MeasureFile(count, size);
    if (size >= 100) MeasureFile(count, size, Differ::kInPairs);
  }
}

void FileSizes() {
  FileTable();
  for (const uint64_t count :
       {uint64_t{1}, uint64_t{1'000}, uint64_t{1'000'000}, uint64_t{10'000'000},
        uint64_t{50'000'000}}) {
    if (count <= FLAGS_most_keys) MeasureFile(count, 8);
  }
}

// Files of 100 keys each, in one level.
void ManyFiles() {
  constexpr uint64_t kKeysOfFile = 100;
  printf(
      "\n%" PRIu64 " files of %" PRIu64
      " keys, in one level\n\n| policy | writing, s | opening, s | memory of "
      "the open DB, MiB | absent queries that read | a walk over all keys, s "
      "|\n"
      "|---|---:|---:|---:|---:|---:|\n",
      FLAGS_files, kKeysOfFile);
  const std::string path = FLAGS_dir + "/db";
  for (const std::string& policy : Policies()) {
    Options options = OptionsOf(policy);
    Check(DestroyDB(path, options));
    std::unique_ptr<DB> db;
    Check(OpenDB(&db, options, path));
    const uint64_t count = FLAGS_files * kKeysOfFile;
    const Cost written = Measure([&] {
      KeyMaker keys(count, 16);
      std::vector<std::string> files;
      for (uint64_t file = 0; file < FLAGS_files; file++) {
        SstFileWriter writer(EnvOptions(), options);
        files.push_back(FLAGS_dir + "/" + std::to_string(file) + ".sst");
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
    KeyMaker keys(count, 16);
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

void ManyFamilies() {
  constexpr uint64_t kKeysOfFamily = 200;
  printf(
      "\n%" PRIu64 " column families of %" PRIu64
      " keys in one file each\n\n| policy | filling, s | opening, s | memory "
      "of the open DB, MiB | closing, s |\n|---|---:|---:|---:|---:|\n",
      FLAGS_families, kKeysOfFamily);
  const std::string path = FLAGS_dir + "/db";
  for (const std::string& policy : Policies()) {
    const Options options = OptionsOf(policy);
    Check(DestroyDB(path, options));
    std::unique_ptr<DB> db;
    std::vector<ColumnFamilyHandle*> handles;
    const auto close = [&] {
      for (ColumnFamilyHandle* handle : handles) {
        Check(db->DestroyColumnFamilyHandle(handle));
      }
      handles.clear();
      db.reset();
    };
    KeyMaker keys(kKeysOfFamily, 16);
    const Cost filled = Measure([&] {
      Check(OpenDB(&db, options, path));
      std::vector<std::string> names;
      for (uint64_t i = 0; i < FLAGS_families; i++) {
        names.push_back("family" + std::to_string(i));
      }
      Check(db->CreateColumnFamilies(options, names, &handles));
      for (ColumnFamilyHandle* family : handles) {
        for (uint64_t i = 0; i < kKeysOfFamily; i++) {
          Check(db->Put(WriteOptions(), family, keys.Make(i), "value"));
        }
        Check(db->Flush(FlushOptions(), family));
      }
      close();
    });
    std::vector<ColumnFamilyDescriptor> descriptors = {
        {kDefaultColumnFamilyName, options}};
    for (uint64_t i = 0; i < FLAGS_families; i++) {
      descriptors.push_back({"family" + std::to_string(i), options});
    }
    const Cost opened = Measure(
        [&] { Check(OpenDB(&db, options, path, descriptors, &handles)); });
    std::string value;
    for (ColumnFamilyHandle* family : handles) {
      if (family->GetID() == 0) continue;
      for (uint64_t i = 0; i < kKeysOfFamily; i++) {
        Check(db->Get(ReadOptions(), family, keys.Make(i), &value));
      }
    }
    const Cost closed = Measure(close);
    printf("| %s | %.1f | %.2f | %.1f | %.2f |\n", policy.c_str(),
           filled.seconds, opened.seconds, opened.kept_mib, closed.seconds);
    fflush(stdout);
    Check(DestroyDB(path, options, descriptors));
  }
}

// Over a tree of seven runs, all standing somewhere.
void ManyIterators() {
  constexpr uint64_t kRuns = 7;
  constexpr uint64_t kKeysOfRun = 20'000;
  printf("\n%" PRIu64 " iterators at once over %" PRIu64
         " runs\n\n| policy | making and "
         "one seek, us each | memory, KiB each | a closed seek of each, us |\n"
         "|---|---:|---:|---:|\n",
         FLAGS_iterators, kRuns);
  const std::string path = FLAGS_dir + "/db";
  for (const std::string& policy : Policies()) {
    const Options options = OptionsOf(policy);
    Check(DestroyDB(path, options));
    std::unique_ptr<DB> db;
    Check(OpenDB(&db, options, path));
    const uint64_t count = kRuns * kKeysOfRun;
    KeyMaker keys(count, 16);
    for (uint64_t run = 0; run < kRuns; run++) {
      for (uint64_t i = run; i < count; i += kRuns) {
        Check(db->Put(WriteOptions(), keys.Make(i), "value"));
      }
      Check(db->Flush(FlushOptions()));
    }
    db.reset();
    Check(OpenDB(&db, options, path));
    std::vector<std::unique_ptr<Iterator>> iterators;
    std::vector<std::string> ends(FLAGS_iterators);
    std::vector<Slice> bounds(FLAGS_iterators);
    std::vector<std::string> begins;
    for (uint64_t i = 0; i < FLAGS_iterators; i++) {
      const uint64_t where = i * count / FLAGS_iterators;
      begins.push_back(keys.MakeAbsent(where, &ends[i]).ToString());
      bounds[i] = ends[i];
    }
    const Cost made = Measure([&] {
      for (uint64_t i = 0; i < FLAGS_iterators; i++) {
        ReadOptions read;
        read.iterate_upper_bound = &bounds[i];
        iterators.emplace_back(db->NewIterator(read));
        iterators.back()->Seek(begins[i]);
        Check(!iterators.back()->Valid(), "a range is not empty");
      }
    });
    constexpr int kRounds = 20;
    const Cost sought = Measure([&] {
      for (int round = 0; round < kRounds; round++) {
        for (uint64_t i = 0; i < FLAGS_iterators; i++) {
          iterators[i]->Seek(begins[i]);
          Check(!iterators[i]->Valid(), "a range is not empty");
        }
      }
    });
    const auto each = static_cast<double>(FLAGS_iterators);
    printf("| %s | %.1f | %.1f | %.1f |\n", policy.c_str(),
           1e6 * made.seconds / each, 1024 * made.kept_mib / each,
           1e6 * sought.seconds / each / kRounds);
    fflush(stdout);
    iterators.clear();
    db.reset();
    Check(DestroyDB(path, options));
  }
}

int Main() {
  const struct {
    const char* name;
    void (*measure)();
  } cases[] = {{"key_sizes", KeySizes},
               {"file_sizes", FileSizes},
               {"files", ManyFiles},
               {"families", ManyFamilies},
               {"iterators", ManyIterators}};
  std::vector<void (*)()> chosen;
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
  Check(Env::Default()->CreateDirIfMissing(FLAGS_dir));
  for (const auto measure : chosen) measure();
  Env::Default()->DeleteDir(FLAGS_dir).PermitUncheckedError();
  printf("\nprotean_limits: all keys found, nothing else\n");
  return 0;
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  gflags::SetUsageMessage(
      "What the largest keys and files, and many files, column families and "
      "iterators cost.");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  return ROCKSDB_NAMESPACE::protean::Main();
}
