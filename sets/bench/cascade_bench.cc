// SPDX-License-Identifier: Apache-2.0

//  The experiment of Don't Thrash (section 3), scaled: insertions and lookups
//  of a cascade filter whose data are many times its memory, of an elevator
//  Bloom filter and a traditional one with the same memory and false positives,
//  on the same file system; and what the drive gives.

#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/own_flags.h"
#include "db_bench_ext/progress_line.h"
#include "db_bench_ext/stopwatch.h"
#include "monitoring/histogram.h"
#include "rocksdb/file_system.h"
#include "sets/bench/flash_bloom.h"
#include "sets/experimental/cascade_filter.h"
#include "util/aligned_buffer.h"
#include "util/hash.h"
#include "util/random.h"

DEFINE_uint64(num, 100'000'000, "Keys of 8 bytes that are inserted");
DEFINE_uint64(memory, 8 << 20, "Bytes of memory that each filter may use");
DEFINE_uint32(fingerprint_bits, 38,
              "Bits of the cascade filter's fingerprints, which decide on the "
              "false positives of all filters");
DEFINE_uint32(threads, 1, "Threads that insert into the cascade filter");
DEFINE_uint32(merges, 2, "Merges that may run at the same time");
DEFINE_double(deletes, .25,
              "Keys that are deleted from cascade_deletes, as a share of the "
              "insertions, above 0 and up to .5");
DEFINE_uint64(lookups, 20'000, "Lookups of absent keys, and of present ones");
DEFINE_double(seconds, 20,
              "Seconds after which the insertion into each Bloom filter, whose "
              "rate does not change, is ended");
DEFINE_string(filters, "cascade,elevator,elevator_chunks,bloom",
              "Filters, separated by commas: cascade, cascade_deletes (with "
              "tombstones), elevator (sets bits page by page, as the paper's), "
              "elevator_chunks (reads and writes a MiB at once), bloom (the "
              "traditional one)");
DEFINE_bool(direct, true, "Whether the cascade filter uses direct I/O");
DEFINE_uint64(page_cache, 0,
              "Bytes of a page cache for the cascade filter's lookups");
DEFINE_string(timeline, "",
              "File for the insertions into the cascade filter over time: "
              "seconds and keys, tab-separated, every 10 ms");
DEFINE_string(dir, "/tmp/protean_cascade_bench",
              "Folder of the filters, which is emptied");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The keys are numbers; those up to FLAGS_num are inserted.
Slice KeyOf(const uint64_t& n) {
  return Slice(reinterpret_cast<const char*>(&n), sizeof(n));
}

std::string Path(const std::string& name) { return FLAGS_dir + "/" + name; }

double ExpectedFpr() {
  return static_cast<double>(FLAGS_num) / std::pow(2.0, FLAGS_fingerprint_bits);
}

// ---- The drive ----

struct Drive {
  double random_reads_per_second = 0;
  double write_bytes_per_second = 0;
};

// Writes a file of as many bytes as the Bloom filters have, and reads pages of
// it, past the operating system's cache.
Drive MeasureDrive(uint64_t bytes) {
  constexpr size_t kChunk = 1 << 20;
  constexpr double kSeconds = 3;
  FlashBloom::Options options;
  options.bits = 8 * bytes;
  options.probes = 1;
  options.chunk_bytes = kChunk;
  Drive drive;
  std::unique_ptr<FlashBloom> file;
  const Stopwatch writing;
  Check(FlashBloom::Create(options, Path("drive"), &file));
  drive.write_bytes_per_second = static_cast<double>(bytes) / writing.Seconds();
  uint64_t pages = 0;
  Random64 random(1);
  const Stopwatch reading;
  while (reading.Seconds() < kSeconds) {
    bool is_set;
    Check(file->MayContain(random.Next(), &is_set, &pages));
  }
  drive.random_reads_per_second =
      static_cast<double>(pages) / reading.Seconds();
  std::filesystem::remove(Path("drive"));
  return drive;
}

// ---- Results ----

struct Row {
  std::string filter;
  uint64_t inserts = 0;
  double insert_seconds = 0;
  uint64_t flash_bytes = 0;
  uint64_t bytes_written = 0;
  // Lookups of absent keys and of present ones.
  double lookups_per_second[2] = {0, 0};
  double reads_per_lookup[2] = {0, 0};
  double found[2] = {0, 0};
};

void Print(const Row& row, const Drive& drive, double first_rate) {
  const double rate = static_cast<double>(row.inserts) / row.insert_seconds;
  printf("%-16s %11" PRIu64 " %10.0f %7.1f %8.2f %8.2f", row.filter.c_str(),
         row.inserts, rate, first_rate / rate,
         8.0 * static_cast<double>(row.flash_bytes) /
             static_cast<double>(FLAGS_num),
         static_cast<double>(row.bytes_written) / row.insert_seconds / 1e6);
  for (const int present : {0, 1}) {
    printf(" %9.0f %6.2f", row.lookups_per_second[present],
           row.reads_per_lookup[present]);
    const double predicted =
        drive.random_reads_per_second / row.reads_per_lookup[present];
    printf(" %5.2f %7.5f", row.lookups_per_second[present] / predicted,
           row.found[present]);
  }
  printf("\n");
  fflush(stdout);
}

// Calls `look_up` with absent keys, and then with present ones; it returns
// whether the key is found. `reads` returns the pages read so far.
template <class TLookUp, class TReads>
void MeasureLookups(uint64_t inserts, Row* row, const TLookUp& look_up,
                    const TReads& reads) {
  Random64 random(7);
  for (const int present : {0, 1}) {
    const uint64_t before = reads();
    uint64_t found = 0;
    const Stopwatch stopwatch;
    for (uint64_t i = 0; i < FLAGS_lookups; i++) {
      const uint64_t n = random.Uniform(inserts);
      found += look_up(present != 0 ? n : ~n);
    }
    const auto lookups = static_cast<double>(FLAGS_lookups);
    row->lookups_per_second[present] = lookups / stopwatch.Seconds();
    row->reads_per_lookup[present] =
        static_cast<double>(reads() - before) / lookups;
    row->found[present] = static_cast<double>(found) / lookups;
  }
}

// ---- The cascade filter ----

// Inserts the keys n with n % threads == thread, and notes how long each took.
// Every `deletes_every`-th time, if that is not 0, a key goes.
void InsertShare(CascadeFilter* filter, uint64_t thread, uint64_t deletes_every,
                 std::atomic<uint64_t>* done, HistogramImpl* nanos) {
  Env* const env = Env::Default();
  uint64_t count = 0;
  uint64_t before = env->NowNanos();
  for (uint64_t n = thread; n < FLAGS_num; n += FLAGS_threads) {
    Check(filter->Insert(KeyOf(n)));
    // A key that was inserted some time ago.
    if (deletes_every != 0 && n % deletes_every == 0) {
      const uint64_t deleted = n / 2;
      Check(filter->Delete(KeyOf(deleted)));
    }
    const uint64_t after = env->NowNanos();
    nanos->Add(after - before);
    before = after;
    if (++count % 1024 == 0) done->fetch_add(1024);
  }
  done->fetch_add(count % 1024);
}

// Notes every 10 ms how many keys have been inserted.
void WriteTimeline(const std::atomic<uint64_t>& done,
                   const std::atomic<bool>& stop) {
  FILE* const file =
      FLAGS_timeline.empty() ? nullptr : fopen(FLAGS_timeline.c_str(), "w");
  if (!FLAGS_timeline.empty() && file == nullptr) {
    Check(Status::IOError(FLAGS_timeline, strerror(errno)));
  }
  ProgressLine progress;
  progress.SetTitle("cascade");
  const Stopwatch stopwatch;
  while (!stop) {
    if (file != nullptr) {
      fprintf(file, "%.3f\t%" PRIu64 "\n", stopwatch.Seconds(), done.load());
    }
    progress.Show("inserting", static_cast<double>(done.load()) /
                                   static_cast<double>(FLAGS_num));
    Env::Default()->SleepForMicroseconds(10000);
  }
  progress.Clear();
  if (file != nullptr) fclose(file);
}

void PrintDetails(const std::string& name,
                  const CascadeFilterStatistics& statistics,
                  const HistogramImpl& nanos, double seconds) {
  printf("  %s: %" PRIu64 " runs after merging, %" PRIu64 " flushes, %" PRIu64
         " merges; memory %.1f MiB with fences; an insert takes %.0f ns in the "
         "median, p99.9 %.1f us, at most %.1f ms; %" PRIu64
         " inserts waited %.3f s of %.1f; %" PRIu64 " delays\n",
         name.c_str(), statistics.runs, statistics.flushes, statistics.merges,
         static_cast<double>(statistics.memory_bytes) / (1 << 20),
         nanos.Percentile(50), nanos.Percentile(99.9) / 1e3,
         static_cast<double>(nanos.max()) / 1e6, statistics.stalls,
         static_cast<double>(statistics.stall_micros) / 1e6, seconds,
         statistics.delays);
}

Row RunCascade(const std::string& name) {
  const uint64_t deletes_every =
      name == "cascade_deletes" ? std::lround(1 / FLAGS_deletes) : 0;

  CascadeFilterOptions options;
  options.fingerprint_bits = FLAGS_fingerprint_bits;
  options.memory = FLAGS_memory;
  options.use_direct_io = FLAGS_direct;
  options.max_background_merges = FLAGS_merges;
  if (FLAGS_page_cache > 0) options.page_cache = NewLRUCache(FLAGS_page_cache);
  const std::string folder = Path("cascade");
  std::unique_ptr<CascadeFilter> filter;
  Check(CascadeFilter::Open(options, folder, &filter));

  Row row;
  row.filter = name;
  row.inserts = FLAGS_num;
  HistogramImpl nanos;
  std::atomic<uint64_t> done{0};
  std::atomic<bool> stop{false};
  std::thread timeline([&] { WriteTimeline(done, stop); });
  const Stopwatch stopwatch;
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < FLAGS_threads; thread++) {
    threads.emplace_back([&, thread] {
      InsertShare(filter.get(), thread, deletes_every, &done, &nanos);
    });
  }
  for (std::thread& thread : threads) thread.join();
  Check(filter->Flush());
  row.insert_seconds = stopwatch.Seconds();
  const CascadeFilterStatistics inserted = filter->GetStatistics();
  stop = true;
  timeline.join();
  row.bytes_written = inserted.bytes_written;
  printf("  %s: %" PRIu64
         " runs when the last key was flushed, merged "
         "after ",
         name.c_str(), inserted.runs);
  Check(filter->WaitForMerges());
  printf("%.2f s\n", stopwatch.Seconds() - row.insert_seconds);
  CascadeFilterStatistics statistics = filter->GetStatistics();
  row.flash_bytes = statistics.flash_bytes;
  PrintDetails(name, statistics, nanos, row.insert_seconds);
  MeasureLookups(
      FLAGS_num, &row, [&](uint64_t n) { return filter->MayContain(KeyOf(n)); },
      [&] { return filter->GetStatistics().pages_read; });
  Check(filter->Close());
  Check(CascadeFilter::Destroy(options.env, folder));
  return row;
}

// ---- Bloom filters ----

FlashBloom::Options BloomOptions(const std::string& name) {
  FlashBloom::Options options;
  const bool chunks = name == "elevator_chunks";
  options.chunk_bytes = chunks ? 1 << 20 : 4096;
  // The optimal number of bits and probes for the false positives.
  const double bits_per_key = -std::log(ExpectedFpr()) / std::pow(M_LN2, 2);
  options.probes = static_cast<unsigned>(std::lround(bits_per_key * M_LN2));
  const uint64_t round = 8 << 20;
  options.bits =
      static_cast<uint64_t>(bits_per_key * static_cast<double>(FLAGS_num)) /
          round * round +
      round;
  if (name != "bloom") {
    options.buffered_positions = FLAGS_memory / sizeof(uint64_t);
  }
  return options;
}

Row RunBloom(const std::string& name) {
  const FlashBloom::Options options = BloomOptions(name);
  std::unique_ptr<FlashBloom> filter;
  Check(FlashBloom::Create(options, Path("bloom"), &filter));
  Row row;
  row.filter = name;
  row.flash_bytes = options.bits / 8;
  const Stopwatch stopwatch;
  while (row.inserts < FLAGS_num && stopwatch.Seconds() < FLAGS_seconds) {
    const Slice key = KeyOf(row.inserts);
    Check(filter->Insert(Hash64(key.data(), key.size())));
    row.inserts++;
  }
  Check(filter->Flush());
  row.insert_seconds = stopwatch.Seconds();
  row.bytes_written = filter->bytes_written();
  // Lookups shall find the filter as full as it is with all keys.
  Check(filter->FillHalf());
  uint64_t pages = 0;
  MeasureLookups(
      row.inserts, &row,
      [&](uint64_t n) {
        bool found;
        const Slice key = KeyOf(n);
        Check(
            filter->MayContain(Hash64(key.data(), key.size()), &found, &pages));
        return found;
      },
      [&] { return pages; });
  std::filesystem::remove(Path("bloom"));
  return row;
}

void Run() {
  if (FLAGS_threads == 0 || FLAGS_num == 0 || FLAGS_deletes <= 0 ||
      FLAGS_deletes > 0.5) {
    Check(
        Status::InvalidArgument("--threads and --num must be above 0, and "
                                "--deletes above 0, up to .5"));
  }
  std::filesystem::remove_all(FLAGS_dir);
  std::filesystem::create_directories(FLAGS_dir);
  const FlashBloom::Options bloom = BloomOptions("bloom");
  const Drive drive = MeasureDrive(bloom.bits / 8);
  printf("%" PRIu64
         " keys, %.1f MiB of memory; false positives %.5f; a Bloom "
         "filter has %u probes and %.1f bits a key\n",
         FLAGS_num, static_cast<double>(FLAGS_memory) / (1 << 20),
         ExpectedFpr(), bloom.probes,
         static_cast<double>(bloom.bits) / static_cast<double>(FLAGS_num));
  printf(
      "the drive: %.0f random reads of 4 KiB a second, one at a time; "
      "%.0f MB/s of sequential writes\n\n",
      drive.random_reads_per_second, drive.write_bytes_per_second / 1e6);
  std::vector<Row> rows;
  for (const std::string& name : SplitList(FLAGS_filters)) {
    if (name == "cascade" || name == "cascade_deletes") {
      rows.push_back(RunCascade(name));
    } else if (name == "bloom" || name == "elevator" ||
               name == "elevator_chunks") {
      rows.push_back(RunBloom(name));
    } else {
      Check(Status::InvalidArgument(
          "--filters: " + name,
          "cascade, cascade_deletes, elevator, elevator_chunks or bloom "
          "expected"));
    }
  }
  printf("\n%-16s %11s %10s %7s %8s %8s %9s %6s %5s %7s %9s %6s %5s %7s\n",
         "filter", "inserted", "inserts/s", "first/", "bits/key", "MB/s",
         "absent/s", "reads", "model", "found", "present/s", "reads", "model",
         "found");
  const double first_rate =
      static_cast<double>(rows.front().inserts) / rows.front().insert_seconds;
  for (const Row& row : rows) Print(row, drive, first_rate);
  std::filesystem::remove_all(FLAGS_dir);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  ROCKSDB_NAMESPACE::protean::ParseOwnFlags(
      "cascade_bench",
      "Insertions and lookups of a cascade filter on flash, beside Bloom "
      "filters on flash. In the table, first/ is how many times as fast the "
      "first filter inserts, MB/s is what is written while keys are inserted, "
      "and model is the lookups a second as a share of what the drive's random "
      "reads allow.",
      &argc, &argv);
  ROCKSDB_NAMESPACE::protean::Run();
}
