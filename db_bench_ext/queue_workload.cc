// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/queue_workload.h"

#include <algorithm>
#include <cinttypes>
#include <deque>
#include <numeric>
#include <set>

#include "db_bench_ext/seed_samples.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Items of a state when it is full.
constexpr uint64_t kStateItems = 500;
// One of that many full states stays.
constexpr uint64_t kStatesPerKept = 4;
// Flushes of the part of the history that stays on level 0; those of other
// parts are in proportion.
constexpr uint64_t kFlushesPerPart = 4;
constexpr uint32_t kFiles = 24;
// Reads of one kind end after that time. Without filters, some of them step
// over every deletion there is.
constexpr double kMaxSeconds = 10;
// Two records around all others, which are on the last level from the
// beginning. Compactions drop deletions above the last key of the levels below,
// so a database of one queue and nothing else would have fewer of them.
constexpr char kFirstKey[] = "a";
constexpr char kLastKey[] = "z";

const char* GroupName(Deletions deletions) {
  switch (deletions) {
    case Deletions::kQueue:
      return "queue";
    case Deletions::kTtl:
      return "entry";
    case Deletions::kClear:
      return "state";
  }
  return "";
}

}  // namespace

const QueueWorkload::ReadKind QueueWorkload::kReadKinds[] = {
    {"head", /*closed=*/false, 1},
    {"closed", /*closed=*/true, 1},
    {"scan", /*closed=*/false, 10}};

// ---- Data ----

QueueWorkload::QueueWorkload(const QueueOptions& options)
    : options_(options),
      rng_(options.seed),
      values_(options.value_bytes, &rng_) {
  if (options.deletions == Deletions::kQueue) DrawQueues();
  if (options.deletions == Deletions::kTtl) DrawExpiry();
  if (options.deletions == Deletions::kClear) DrawClears();
  std::set<std::string> live = {kFirstKey, kLastKey};
  for (const Write& write : history_) {
    const std::string key = Key(write.group, write.item);
    if (write.is_deletion) {
      live.erase(key);
    } else {
      live.insert(key);
    }
  }
  live_.assign(live.begin(), live.end());
}

Status QueueWorkload::Create(const QueueOptions& options,
                             std::unique_ptr<DbWorkload>* workload) {
  std::unique_ptr<QueueWorkload> queue(new QueueWorkload(options));
  if (options.deletions == Deletions::kClear && queue->cleared_.empty()) {
    return Status::InvalidArgument(
        "--num is too small: no state is full; each of --queues states takes " +
        std::to_string(kStateItems) + " items");
  }
  queue->DrawReads();
  *workload = std::move(queue);
  return Status::OK();
}

void QueueWorkload::Put(uint64_t group, uint64_t item) {
  history_.push_back({group, item, /*is_deletion=*/false});
}

void QueueWorkload::Delete(uint64_t group, uint64_t item) {
  history_.push_back({group, item, /*is_deletion=*/true});
}

void QueueWorkload::DrawQueues() {
  struct Queue {
    uint64_t head = 0;
    uint64_t tail = 0;
  };
  std::vector<Queue> queues(options_.queues);
  // The backlog takes each value up to twice its mean equally often.
  const uint64_t max_backlog = 2 * options_.backlog;
  for (uint64_t puts = 0; puts < options_.items;) {
    const uint64_t group = rng_() % options_.queues;
    Queue& queue = queues[group];
    const bool consumes = rng_() % 2 == 0;
    if (consumes && queue.head < queue.tail) {
      Delete(group, queue.head++);
    } else if (!consumes && queue.tail - queue.head < max_backlog) {
      Put(group, queue.tail++);
      puts++;
    }
  }
}

void QueueWorkload::DrawExpiry() {
  const uint64_t max_live =
      std::max<uint64_t>(1, options_.queues * options_.backlog);
  std::deque<uint64_t> live;
  uint64_t time = 0;
  for (uint64_t puts = 0; puts < options_.items; puts++) {
    time += 1 + rng_() % 1000;
    live.push_back(time);
    Put(0, time);
    if (live.size() < max_live + max_live / 4 + 1) continue;
    for (; live.size() > max_live; live.pop_front()) Delete(0, live.front());
  }
}

void QueueWorkload::DrawClears() {
  std::vector<uint64_t> ids(options_.queues + options_.items / kStateItems);
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), rng_);
  struct State {
    uint64_t id;
    std::set<uint64_t> items;
  };
  std::vector<State> states;
  for (uint64_t i = 0; i < options_.queues; i++) states.push_back({ids[i], {}});
  uint64_t used = options_.queues;
  for (uint64_t puts = 0; puts < options_.items; puts++) {
    State& state = states[rng_() % states.size()];
    const uint64_t item = rng_() % (uint64_t{1} << 32);
    state.items.insert(item);
    Put(state.id, item);
    if (state.items.size() < kStateItems) continue;
    if (rng_() % kStatesPerKept != 0) {
      for (const uint64_t full : state.items) Delete(state.id, full);
      cleared_.push_back(state.id);
    }
    state = {ids[used++], {}};
  }
}

std::string QueueWorkload::Prefix(uint64_t group) const {
  char text[32];
  snprintf(text, sizeof(text), "%s%06" PRIu64 "/",
           GroupName(options_.deletions), group);
  return text;
}

std::string QueueWorkload::End(uint64_t group) const {
  std::string end = Prefix(group);
  end.back()++;
  return end;
}

std::string QueueWorkload::Key(uint64_t group, uint64_t item) const {
  char text[32];
  snprintf(text, sizeof(text), "%010" PRIu64, item);
  return Prefix(group) + text;
}

std::string QueueWorkload::Describe() const {
  const std::string groups = std::to_string(options_.queues);
  switch (options_.deletions) {
    case Deletions::kQueue:
      return "queue: " + groups + " queues of about " +
             std::to_string(options_.backlog) + " items";
    case Deletions::kTtl:
      return "queue: entries that expire when " +
             std::to_string(options_.queues * options_.backlog) +
             " are younger";
    case Deletions::kClear:
      return "queue: states of " + std::to_string(kStateItems) +
             " items, filled " + groups + " at a time, " +
             std::to_string(cleared_.size()) + " of them cleared";
  }
  return "";
}

uint64_t QueueWorkload::record_bytes() const {
  return Key(0, 0).size() + options_.value_bytes;
}

void QueueWorkload::Adjust(BenchDbOptions* options) const {
  options->files = kFiles;
  options->loaded_bytes =
      history_.size() * Key(0, 0).size() + live_.size() * record_bytes();
}

// ---- Loading ----

Status QueueWorkload::WritePart(BenchDb* db, size_t begin, size_t end) const {
  WriteOptions write_options;
  write_options.disableWAL = true;
  WriteBatch batch;
  std::string value;
  std::vector<Query> samples;
  const uint64_t writes_per_sample =
      1 + history_.size() / std::max<uint64_t>(1, 2 * options_.samples);
  Status s;
  for (size_t i = begin; i < end && s.ok(); i++) {
    const Write& write = history_[i];
    const std::string key = Key(write.group, write.item);
    if (write.is_deletion) {
      s = batch.Delete(key);
      // The range before the item, which a read of the item crosses.
      if (i % writes_per_sample == 0 && options_.samples > 0) {
        samples.push_back(
            {Prefix(write.group),
             options_.deletions == Deletions::kClear ? End(write.group) : key,
             /*hi_inclusive=*/false});
      }
    } else {
      values_.Fill(i, &value);
      s = batch.Put(key, value);
    }
    if (s.ok() && (batch.Count() == 64 || i + 1 == end)) {
      s = db->db()->Write(write_options, &batch);
      batch.Clear();
    }
  }
  SeedSamples(db->filter_policy(), samples);
  return s.ok() ? db->db()->Flush(FlushOptions()) : s;
}

Status QueueWorkload::Load(BenchDb* db,
                           const BenchDb::Progress& progress) const {
  WriteOptions write_options;
  write_options.disableWAL = true;
  Status s;
  for (const char* key : {kFirstKey, kLastKey}) {
    if (s.ok()) s = db->db()->Put(write_options, key, "");
  }
  const SortedRuns& runs = options_.runs;
  // Level 0 has as much of the history as level 1.
  const uint64_t flushes = (runs.Size() + 1) * kFlushesPerPart;
  uint64_t size = runs.Size() - runs.Size() / runs.size_ratio;
  uint64_t done = 0;
  for (uint32_t run = 0; run <= runs.count; run++, size /= runs.size_ratio) {
    const uint64_t end = done + std::max<uint64_t>(size, 1) * kFlushesPerPart;
    for (; done < end && s.ok(); done++) {
      s = WritePart(db, history_.size() * done / flushes,
                    history_.size() * (done + 1) / flushes);
      progress(static_cast<double>(done) / static_cast<double>(flushes));
    }
    if (s.ok() && run < runs.count) s = db->CompactLevel(0, runs.Level(run));
  }
  return s;
}

// ---- Reads ----

void QueueWorkload::DrawReads() {
  for (uint64_t i = 0; i < options_.queries; i++) {
    if (options_.deletions == Deletions::kTtl) {
      const Write& write = history_[rng_() % history_.size()];
      reads_.push_back({Prefix(0), Key(0, write.item)});
      continue;
    }
    const uint64_t group = options_.deletions == Deletions::kQueue
                               ? rng_() % options_.queues
                               : cleared_[rng_() % cleared_.size()];
    reads_.push_back({Prefix(group), End(group)});
  }
}

bool QueueWorkload::ReadIsRight(BenchDb* db, const ReadKind& kind,
                                const Read& read) const {
  const Slice bound = read.bound;
  const SeekOptions options(db->layout(), read.target,
                            kind.closed ? &bound : nullptr);
  const std::unique_ptr<Iterator> it(db->db()->NewIterator(options.get()));
  it->Seek(read.target);
  auto expected = std::lower_bound(live_.begin(), live_.end(), read.target);
  for (size_t i = 0; i < kind.keys; i++, ++expected) {
    if (i > 0) it->Next();
    if (expected == live_.end() || (kind.closed && *expected >= read.bound)) {
      return !it->Valid() && it->status().ok();
    }
    if (!it->Valid() || it->key() != *expected) return false;
  }
  return true;
}

QueryResult QueueWorkload::Measure(BenchDb* db, const ReadKind& kind,
                                   ProgressLine* line) const {
  const Stopwatch stopwatch;
  QueryMeter meter(db, QueryKind::kOpenSeek);
  for (size_t i = 0; i < reads_.size(); i++) {
    meter.Time([&] { return ReadIsRight(db, kind, reads_[i]); });
    if (i % 16 != 0) continue;
    if (stopwatch.Seconds() > kMaxSeconds) break;
    line->Show(kind.name,
               static_cast<double>(i) / static_cast<double>(reads_.size()));
  }
  return meter.Finish(/*files_with_answer=*/0);
}

Status QueueWorkload::WarmUp(BenchDb* db) const {
  for (size_t i = 0; i < std::min<size_t>(reads_.size(), 100); i++) {
    for (const ReadKind& kind : kReadKinds) ReadIsRight(db, kind, reads_[i]);
  }
  return Status::OK();
}

Status QueueWorkload::MeasureTree(BenchDb* db, bool compacted,
                                  std::vector<QueueRow>* rows,
                                  ProgressLine* line) const {
  FileSums sums;
  const Status s = SumFiles(db->db(), &sums);
  for (const ReadKind& kind : kReadKinds) {
    if (!s.ok()) break;
    QueueRow row;
    row.read = kind.name;
    row.compacted = compacted;
    row.deletions = sums.deletions;
    row.bits_per_key = sums.FilterBitsPerKey();
    row.reads = Measure(db, kind, line);
    rows->push_back(row);
  }
  line->Clear();
  return s;
}

Status QueueWorkload::Run(BenchDb* db, BenchReport* report,
                          ProgressLine* line) const {
  std::vector<QueueRow> rows;
  std::vector<QueueRow> compacted;
  Status s = MeasureTree(db, /*compacted=*/false, &rows, line);
  CompactRangeOptions all;
  all.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  if (s.ok()) s = db->db()->CompactRange(all, nullptr, nullptr);
  if (s.ok()) s = db->Reopen();
  if (s.ok()) s = WarmUp(db);
  if (s.ok()) s = MeasureTree(db, /*compacted=*/true, &compacted, line);
  for (size_t i = 0; i < rows.size() && s.ok(); i++) {
    rows[i].time_ratio =
        compacted[i].reads.ops_per_sec / rows[i].reads.ops_per_sec;
    report->Row(rows[i]);
    report->Row(compacted[i]);
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
