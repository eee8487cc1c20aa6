// SPDX-License-Identifier: Apache-2.0

//  SuRF with updates beside a static SuRF that is built anew of the same keys:
//  a set of keys grows, old keys are deleted, and after each step the two are
//  asked the same queries.

#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "db_bench_ext/key_source.h"
#include "db_bench_ext/own_flags.h"
#include "db_bench_ext/stopwatch.h"
#include "filter_policy/surf/surf.h"
#include "sets/experimental/dynamic_surf.h"
#include "table/rocksdb_internals/versions.h"

DEFINE_uint64(num, 2'000'000, "Keys at the beginning, and inserted after that");
DEFINE_string(key_type, "u64", "Kind of the keys, such as u64, text, url");
DEFINE_uint32(hash_bits, 0, "Hash suffix bits");
DEFINE_uint32(real_bits, 8, "Real suffix bits");
DEFINE_uint32(merge_ratio, 16, "Keys in the SuRF for each key not merged");
DEFINE_double(deletes, 0.25, "Deletions per insertion, of the oldest keys");
DEFINE_uint32(steps, 8, "Lines of the table");
DEFINE_uint64(queries, 400'000, "Queries of each kind after each step");
DEFINE_string(
    scan_db, "",
    "Folder for a DB of the first keys, deleted afterwards, over "
    "which a SuRF is built: what building anew takes with its source");
DEFINE_uint64(seed, 42, "Seed of the keys");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kProgram[] = "updates_bench";
constexpr char kPurpose[] =
    "Measures SuRF with updates beside a SuRF that is built anew.";

// All keys that will ever be there, and those that never will. The keys whose
// ranks are in [begin, end) are in the set.
struct KeyTable {
  std::vector<std::string> sorted;
  std::vector<uint64_t> ranks;      // of the sorted keys
  std::vector<uint64_t> positions;  // in `sorted`, of each rank
  // The thread that merges reads them, too.
  std::atomic<uint64_t> begin{0};
  std::atomic<uint64_t> end{0};

  bool Has(uint64_t position) const {
    return ranks[position] >= begin && ranks[position] < end;
  }
  const std::string& key(uint64_t rank) const {
    return sorted[positions[rank]];
  }
};

// The keys of the table at the moment when the iterator is made.
class TableIterator final : public Iterator {
 public:
  explicit TableIterator(const KeyTable& table)
      : table_(table), begin_(table.begin), end_(table.end) {}

  bool Valid() const override { return position_ < table_.sorted.size(); }
  void SeekToFirst() override { MoveTo(0); }
  void Seek(const Slice& target) override {
    MoveTo(static_cast<uint64_t>(
        std::lower_bound(table_.sorted.begin(), table_.sorted.end(), target,
                         [](const std::string& key, const Slice& wanted) {
                           return Slice(key).compare(wanted) < 0;
                         }) -
        table_.sorted.begin()));
  }
  void Next() override { MoveTo(position_ + 1); }
  // Merges only go forwards.
  void SeekToLast() override { position_ = table_.sorted.size(); }
  void SeekForPrev(const Slice& /*target*/) override { SeekToLast(); }
  void Prev() override { SeekToLast(); }
  Slice key() const override { return table_.sorted[position_]; }
  Slice value() const override { return Slice(); }
  Status status() const override { return Status::OK(); }

 private:
  void MoveTo(uint64_t position) {
    position_ = position;
    while (Valid() && (table_.ranks[position_] < begin_ ||
                       table_.ranks[position_] >= end_)) {
      position_++;
    }
  }

  const KeyTable& table_;
  const uint64_t begin_;
  const uint64_t end_;
  uint64_t position_ = 0;
};

void MakeTable(KeyTable* made) {
  KeyTable& table = *made;
  KeyType type;
  Check(ParseKeyType(FLAGS_key_type, &type));
  Rng rng(FLAGS_seed);
  Check(DrawKeys(SourceOf(type), 2 * FLAGS_num + FLAGS_queries, &rng,
                 &table.sorted));
  table.positions.resize(table.sorted.size());
  std::iota(table.positions.begin(), table.positions.end(), uint64_t{0});
  std::shuffle(table.positions.begin(), table.positions.end(), rng);
  table.ranks.resize(table.sorted.size());
  for (uint64_t rank = 0; rank < table.positions.size(); rank++) {
    table.ranks[table.positions[rank]] = rank;
  }
  table.end = FLAGS_num;
}

// A SuRF of the keys that are there now.
struct FreshSurf {
  std::string payload;
  std::unique_ptr<RangeFilter> filter;
  double seconds = 0;  // that it took to build
};

FreshSurf BuildAnew(const KeyTable& table) {
  std::vector<Slice> keys;
  for (uint64_t i = 0; i < table.sorted.size(); i++) {
    if (table.Has(i)) keys.emplace_back(table.sorted[i]);
  }
  FreshSurf fresh;
  const CpuStopwatch stopwatch;
  SurfSuffix suffix;
  suffix.hash_bits = FLAGS_hash_bits;
  suffix.real_bits = FLAGS_real_bits;
  const FilterSalt salt = FilterSalt::Draw();
  SurfBuilder builder(suffix, FstOptions(), {salt, 0});
  for (const Slice& key : keys) builder.AddKey(key);
  std::vector<PlannedPart> parts;
  Check(builder.Finish(KeysEnd(), &parts));
  const uint64_t size = parts[0].payload_size;
  fresh.payload.assign(size + kReadPadding, '\0');
  builder.Write(0, fresh.payload.data());
  Check(Surf::Open(Slice(fresh.payload.data(), size), salt, &fresh.filter));
  fresh.seconds = stopwatch.Seconds();
  return fresh;
}

// A query for keys that are not there: of a key, or of a range.
struct Query {
  std::string lo;
  std::string hi;
};

// Queries for keys that never come, and for the empty ones of the ranges from
// these to the end of what begins as they do up to their last three bytes.
void MakeQueries(const KeyTable& table, std::vector<Query>* queries) {
  queries->clear();
  for (uint64_t i = 0; i < FLAGS_queries; i++) {
    Query query;
    uint64_t position = table.positions[2 * FLAGS_num + i];
    query.lo = table.sorted[position];
    Slice prefix(query.lo);
    prefix.remove_suffix(std::min<size_t>(3, prefix.size()));
    if (!FirstAfterPrefix(prefix, &query.hi)) continue;
    while (++position < table.sorted.size() && !table.Has(position)) {
    }
    if (position < table.sorted.size() && table.sorted[position] < query.hi) {
      continue;
    }
    queries->push_back(std::move(query));
  }
}

// What asking a filter gives.
struct Answers {
  double point_positives = 0;
  double range_positives = 0;
  double present_nanos = 0;
  double point_nanos = 0;
  double range_nanos = 0;
  double bound_nanos = 0;
};

// Calls ask(i) for i below `size`, and stores the share of true and the time.
template <class Ask>
double Share(uint64_t size, const Ask& ask, double* nanos) {
  uint64_t positives = 0;
  const CpuStopwatch stopwatch;
  for (uint64_t i = 0; i < size; i++) positives += ask(i);
  const auto queries = static_cast<double>(size);
  *nanos = stopwatch.Seconds() * 1e9 / queries;
  return static_cast<double>(positives) / queries;
}

template <class Point, class RangeOf, class Bound>
Answers AskAll(const KeyTable& table, const std::vector<Query>& queries,
               const Point& point, const RangeOf& range, const Bound& bound) {
  Answers answers;
  const uint64_t size = queries.size();
  answers.point_positives = Share(
      size, [&](uint64_t i) { return point(queries[i].lo); },
      &answers.point_nanos);
  answers.range_positives = Share(
      size, [&](uint64_t i) { return range(queries[i].lo, queries[i].hi); },
      &answers.range_nanos);
  std::string found;
  Share(
      size, [&](uint64_t i) { return bound(queries[i].lo, &found); },
      &answers.bound_nanos);
  const uint64_t present =
      std::min<uint64_t>(table.end - table.begin, FLAGS_queries);
  const double share = Share(
      present, [&](uint64_t i) { return point(table.key(table.end - 1 - i)); },
      &answers.present_nanos);
  if (share < 1) Check(Status::Corruption("keys are missed"));
  return answers;
}

// Measures how long it takes to build a filter over a DB in one run of files,
// and to seek in it.
void MeasureDb(const KeyTable& table, const std::string& folder) {
  Options options;
  options.create_if_missing = true;
  Check(DestroyDB(folder, options));
  std::unique_ptr<DB> db;
  Check(OpenDB(&db, options, folder));
  for (uint64_t rank = table.begin; rank < table.end; rank++) {
    Check(db->Put(WriteOptions(), table.key(rank), "a value of 20 bytes."));
  }
  Check(db->Flush(FlushOptions()));
  Check(db->CompactRange(CompactRangeOptions(), nullptr, nullptr));
  DynamicSurfOptions filter_options;
  filter_options.source = [&db] {
    return std::unique_ptr<Iterator>(db->NewIterator(ReadOptions()));
  };
  filter_options.hash_suffix_bits = FLAGS_hash_bits;
  filter_options.real_suffix_bits = FLAGS_real_bits;
  std::unique_ptr<DynamicSurf> filter;
  const CpuStopwatch building;
  Check(DynamicSurf::Build(filter_options, &filter));
  const double build_seconds = building.Seconds();
  std::unique_ptr<Iterator> it = filter_options.source();
  const CpuStopwatch seeking;
  // Merges seek in the order of the keys.
  constexpr uint64_t kStride = 160;
  uint64_t seeks = 0;
  for (uint64_t i = 0; i < table.sorted.size(); i += kStride, seeks++) {
    it->Seek(table.sorted[i]);
  }
  printf(
      "Over a DB, building takes %.0f ns a key, and a seek takes %.0f ns\n\n",
      build_seconds * 1e9 / static_cast<double>(table.end - table.begin),
      seeking.Seconds() * 1e9 / static_cast<double>(seeks));
  it.reset();
  filter.reset();
  db.reset();
  Check(DestroyDB(folder, options));
}

class UpdatesBench {
 public:
  UpdatesBench() {
    MakeTable(&table_);
    if (!FLAGS_scan_db.empty()) MeasureDb(table_, FLAGS_scan_db);
    DynamicSurfOptions options;
    options.source = [this] { return std::make_unique<TableIterator>(table_); };
    options.hash_suffix_bits = FLAGS_hash_bits;
    options.real_suffix_bits = FLAGS_real_bits;
    options.merge_ratio = FLAGS_merge_ratio;
    const CpuStopwatch stopwatch;
    Check(DynamicSurf::Build(options, &filter_));
    printf("%llu keys built in %.2f s of the processor\n\n",
           static_cast<unsigned long long>(FLAGS_num), stopwatch.Seconds());
  }

  void Run() {
    printf(
        "| keys | inserts a second | if built anew | p99.9 and longest insert, "
        "us | sought | bits per key | with front, mean | anew | false "
        "positives, points | anew | ranges | anew |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    std::string costs;
    for (uint32_t step = 0; step < FLAGS_steps; step++) {
      costs += Step(FLAGS_num / FLAGS_steps);
    }
    printf(
        "\nNanoseconds of a query, and of a key that is merged or built:\n\n"
        "| keys | not merged | present | static | absent | static | range | "
        "static | LowerBound | static | merge, of a key | building anew |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n%s",
        costs.c_str());
  }

 private:
  // Takes a step, prints its line, and returns that of the costs.
  std::string Step(uint64_t inserts) {
    const DynamicSurfStatistics before = filter_->GetStatistics();
    std::vector<double> micros;
    micros.reserve(inserts);
    // Bits per key are averaged over the step, in which the front fills up and
    // is merged.
    double bits = 0;
    uint64_t samples = 0;
    double deletes = 0;
    const CpuStopwatch stopwatch;
    for (uint64_t i = 0; i < inserts; i++) {
      const std::string& key = table_.key(table_.end);
      table_.end++;
      const Stopwatch one;
      Check(filter_->Insert(key));
      micros.push_back(one.Nanos() / 1000);
      for (deletes += FLAGS_deletes; deletes >= 1; deletes--) {
        Check(filter_->Delete(table_.key(table_.begin)));
        table_.begin++;
      }
      if (i % 4096 == 0) {
        bits += BitsPerKey(filter_->GetStatistics(), /*with_front=*/true);
        samples++;
      }
    }
    Check(filter_->WaitForMerge());
    const double seconds = stopwatch.Seconds();
    const DynamicSurfStatistics now = filter_->GetStatistics();
    const FreshSurf fresh = BuildAnew(table_);
    const double num_keys = static_cast<double>(table_.end - table_.begin);
    // A static SuRF that is built as often as merges come.
    const double batch = num_keys / FLAGS_merge_ratio;
    std::vector<Query> queries;
    MakeQueries(table_, &queries);
    const Answers ours = AskAll(
        table_, queries,
        [&](const std::string& key) { return filter_->MayContain(key); },
        [&](const std::string& lo, const std::string& hi) {
          return filter_->RangeMayContain(Range(lo, hi));
        },
        [&](const std::string& key, std::string* bound) {
          return filter_->LowerBound(key, bound);
        });
    const Answers theirs = AskAll(
        table_, queries,
        [&](const std::string& key) { return fresh.filter->KeyMayMatch(key); },
        [&](const std::string& lo, const std::string& hi) {
          return fresh.filter->RangeMayMatch(lo, hi, false);
        },
        [&](const std::string& key, std::string* bound) {
          return fresh.filter->LowerBound(key, bound);
        });
    const CpuStopwatch merging;
    Check(filter_->Merge());
    const double merge_seconds = merging.Seconds();
    std::sort(micros.begin(), micros.end());
    printf(
        "| %.0f | %.0f | %.0f | %.0f, %.0f | %.1f %% | %.2f | %.2f | %.2f | "
        "%.5f | %.5f | %.5f | %.5f |\n",
        num_keys, static_cast<double>(inserts) / seconds, batch / fresh.seconds,
        micros[micros.size() * 999 / 1000], micros.back(),
        100 * static_cast<double>(now.keys_sought - before.keys_sought) /
            static_cast<double>(inserts),
        BitsPerKey(now, /*with_front=*/false),
        bits / static_cast<double>(samples),
        8 * static_cast<double>(fresh.payload.size()) / num_keys,
        ours.point_positives, theirs.point_positives, ours.range_positives,
        theirs.range_positives);
    fflush(stdout);
    char line[200];
    snprintf(line, sizeof(line),
             "| %.0f | %llu | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | "
             "%.0f | %.0f | %.0f |\n",
             num_keys, static_cast<unsigned long long>(now.keys_in_front),
             ours.present_nanos, theirs.present_nanos, ours.point_nanos,
             theirs.point_nanos, ours.range_nanos, theirs.range_nanos,
             ours.bound_nanos, theirs.bound_nanos,
             1e9 * merge_seconds / num_keys, 1e9 * fresh.seconds / num_keys);
    return line;
  }

  double BitsPerKey(const DynamicSurfStatistics& statistics,
                    bool with_front) const {
    const uint64_t bytes =
        statistics.surf_bytes + (with_front ? statistics.front_bytes : 0);
    const uint64_t keys =
        with_front ? table_.end - table_.begin
                   : statistics.keys_in_surf - statistics.keys_deleted;
    return 8 * static_cast<double>(bytes) / static_cast<double>(keys);
  }

  KeyTable table_;
  std::unique_ptr<DynamicSurf> filter_;
};

int RunUpdatesBench(int argc, char** argv) {
  ParseOwnFlags(kProgram, kPurpose, &argc, &argv);
  if (FLAGS_steps == 0 || FLAGS_num / FLAGS_steps == 0 || FLAGS_queries == 0 ||
      FLAGS_merge_ratio == 0 || FLAGS_deletes < 0 || FLAGS_deletes > 1) {
    Check(Status::InvalidArgument(
        "--steps, --num / --steps, --queries and --merge_ratio are at least 1, "
        "--deletes is from 0 to 1"));
  }
  UpdatesBench().Run();
  return 0;
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunUpdatesBench(argc, argv);
}
