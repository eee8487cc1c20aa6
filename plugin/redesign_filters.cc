// SPDX-License-Identifier: Apache-2.0

#include "plugin/redesign_filters.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <queue>

#include "file/filename.h"
#include "filter_policy/false_positive_price.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/tree_plan.h"
#include "filter_policy/samples/empty_queries.h"
#include "rocksdb/convenience.h"
#include "table/filter_trial.h"
#include "table/rocksdb_internals/column_family.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Outcome = RefreshOutcome;
using Queries = std::vector<const SampleQuery*>;

// One call of RefreshFilters where a policy of Protean designs the filters.
//
// The file that saves most per byte comes first. What a new filter saves is
// known only after all keys of the file have been read, but it cannot save more
// than the old filter lets through. So files wait in the order of that limit.
// The first file is tried, and waits again with what it really saves; it is
// rewritten when it comes first again. The files behind it cannot be better,
// and need not be read if the limit is reached.
//
// A file that was read in vain is not read again while its filter lets through
// the same part of its samples: the queries are like those of that time. That
// is no proof, since a filter that knows nothing lets through all queries of
// any kind. So one of these files is read now and then, and if that pays, all
// of them are.
//
// If all files are to be rewritten, they come level by level, and have the
// sizes of a tree of which all is rewritten (tree_plan.h). Files that have the
// filter which they would get are left alone, so that a refresh which was
// interrupted goes on where it was.
class Refresh {
 public:
  explicit Refresh(RefreshRun* run)
      : run_(*run),
        options_(run->options()),
        result_(run->result()),
        family_options_(run->family_options()) {}

  Status Run();

 private:
  struct Candidate {
    RefreshedFile* file;
    FileFilter in_tree;  // without bits
    std::string path;
    Queries queries;       // within its keys, ordered by lower bound
    PassedSamples passed;  // the part of the queries
    double asked = 0;      // its share of all questions to filters
    double saved = 0;      // part of `asked`; an upper limit until `is_tried`
    bool is_tried = false;
    double min_gain;  // below which the file is not rewritten

    double Value() const {
      return saved / static_cast<double>(std::max<uint64_t>(file->bytes, 1));
    }
  };
  // The candidate that comes first is the largest.
  struct ComesAfter {
    bool by_level;

    bool operator()(const Candidate* a, const Candidate* b) const {
      if (by_level) return a->file->level > b->file->level;
      return a->Value() < b->Value();
    }
  };

  using Waiting =
      std::priority_queue<Candidate*, std::vector<Candidate*>, ComesAfter>;

  // Number of calls of RefreshFilters in one of which a file is read that was
  // read in vain before.
  static constexpr uint64_t kRunsPerLook = 4;

  Status Check() const;
  void Remember();
  void Recall();
  void FindPrices();
  void TakeSamples();
  void ListCandidates();
  void ListQueries(const ColumnFamilyMetaData& metadata);

  // Each of these decides about the file, or leaves it a candidate. They return
  // an error only if refreshing must end.
  Status Screen(Candidate* candidate);
  Status Try(Candidate* candidate);

  // Decides about files that were read in vain before. Now and then, reads one
  // of them, which may make all of them wait.
  Status LookAtFutile(std::vector<Candidate*> futile, Waiting* waiting);

  // Opens the candidate's file, or decides about it if it cannot be opened.
  std::unique_ptr<FilterTrial> Open(const Candidate& candidate);

  // The policy for files of a level, or nullptr if that is RocksDB's or none.
  // Stores the policy if it is for this level alone.
  const ProteanFilterPolicy* PolicyOf(
      int level, std::shared_ptr<const FilterPolicy>* of_level) const;
  // Whether the file would get the same filter again: it was designed for what
  // the policy designs filters for now, and has the size that it would get.
  bool IsDesignedForNow(const ProteanFilterPolicy& policy,
                        const Candidate& candidate, const FilterTrial& trial);
  // Whether the filter was designed for the price that a false positive has
  // now.
  bool HasPriceOfNow(const ProteanFilterPolicy& policy, int level,
                     const UserCollectedProperties& properties);
  // The least fall of the false positive rate that is worth a rewrite: less
  // than the option says if the filter was designed for cheap reads, which its
  // level has no longer.
  double MinGain(const ProteanFilterPolicy& policy, int level,
                 const UserCollectedProperties& properties);
  // Whether the file was read in vain before, and nothing has changed since
  // then that would make a difference.
  bool IsFutile(const Candidate& candidate) const;
  bool PaysBack(const RefreshedFile& file, double saved) const;

  // The share of `queries` in all questions that the samples stand for.
  double Share(const Queries& queries) const;

  Slice UserKey(const std::string& key) const {
    return Slice(key.data(),
                 key.size() - family_options_.comparator->timestamp_size());
  }

  std::vector<FileFilter> FilesOfTree() const;

  const FilterPolicy* policy() const {
    return run_.table().filter_policy.get();
  }

  RefreshRun& run_;
  const RefreshOptions& options_;
  RefreshResult* const result_;
  const Options& family_options_;

  std::vector<SampleQuery> samples_;  // ordered by lower bound
  // The weight of each sample, for each file that encloses it.
  std::vector<double> weights_;
  double questions_per_second_ = 0;  // that all samples stand for
  // What a false positive costs in files of each level; 0 if it is unknown.
  std::map<int, uint64_t> prices_;
  std::vector<Candidate> candidates_;
  RefreshMemory memory_;
};

Status Refresh::Check() const {
  const Comparator* comparator = family_options_.comparator;
  if ((comparator != BytewiseComparator() &&
       comparator != BytewiseComparatorWithU64Ts()) ||
      !run_.table().whole_key_filtering) {
    return Status::NotSupported(
        "range filters are off in column family " +
        run_.column_family()->GetName() + ": they need the comparator " +
        BytewiseComparator()->Name() + " and whole_key_filtering");
  }
  return run_.CheckWritable();
}

void Refresh::Recall() {
  const std::shared_ptr<DBSession> session = SessionOf(run_.db());
  if (session != nullptr) {
    memory_ = session->refresh_memories()->Of(FamilyOf(run_.column_family()));
  }
  const std::string text = policy()->ToString(ConfigOptions());
  if (memory_.policy != text) memory_ = RefreshMemory();
  memory_.policy = text;
  memory_.runs++;
  if (!options_.all_files || options_.dry_run || memory_.first_new_file > 0) {
    return;
  }
  for (const RefreshedFile& file : result_->files) {
    memory_.first_new_file = std::max<uint64_t>(
        memory_.first_new_file, TableFileNameToNumber(file.name) + 1);
  }
}

void Refresh::Remember() {
  const std::shared_ptr<DBSession> session = SessionOf(run_.db());
  if (session == nullptr) return;
  // Files that are gone, or have been rewritten, are forgotten.
  std::map<std::string, FutileTrial> futile;
  bool all_reached = true;
  for (const RefreshedFile& file : result_->files) {
    all_reached = all_reached && file.outcome != Outcome::kNotReached &&
                  file.outcome != Outcome::kLimitReached;
    const auto trial = memory_.futile.find(file.name);
    if (trial != memory_.futile.end()) futile.insert(*trial);
  }
  memory_.futile = std::move(futile);
  if (options_.all_files && !options_.dry_run && all_reached) {
    memory_.first_new_file = 0;
  }
  session->refresh_memories()->Set(FamilyOf(run_.column_family()), memory_);
}

void Refresh::FindPrices() {
  const std::shared_ptr<DBSession> session = SessionOf(run_.db());
  if (session == nullptr) return;
  for (const RefreshedFile& file : result_->files) {
    if (prices_.count(file.level) > 0) continue;
    prices_[file.level] =
        session->families()->PriceOf(FamilyOf(run_.column_family()), file.level,
                                     family_options_.statistics.get());
  }
}

void Refresh::TakeSamples() {
  const std::shared_ptr<SampleStore> store =
      AsProteanFilterPolicy(policy())->Samples();
  if (store == nullptr) return;
  const std::shared_ptr<QueryQueue> queue = store->Queue(
      run_.column_family()->GetName(), run_.db()->GetEnv(), /*logger=*/nullptr);
  samples_ = queue->Snapshot();
  std::sort(
      samples_.begin(), samples_.end(),
      [](const SampleQuery& a, const SampleQuery& b) { return a.lo < b.lo; });
  result_->samples = samples_.size();
  result_->rate_known = queue->sampled() > 0;
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - queue->created();
  questions_per_second_ = static_cast<double>(queue->sampled()) *
                          queue->sample_every() /
                          std::max(elapsed.count(), 1e-6);
}

void Refresh::ListCandidates() {
  const ColumnFamilyMetaData metadata = run_.ListFiles();
  for (const LevelMetaData& level : metadata.levels) {
    for (const SstFileMetaData& file : level.files) {
      Candidate candidate;
      candidate.file = &result_->files[candidates_.size()];
      candidate.min_gain = options_.min_gain;
      candidate.path = file.directory + "/" + file.relative_filename;
      candidate.in_tree = {level.level, file.num_entries, 0,
                           UserKey(file.smallestkey).ToString(),
                           UserKey(file.largestkey).ToString()};
      // A default, which ListQueries replaces if there are samples.
      candidate.asked =
          static_cast<double>(file.size) /
          static_cast<double>(std::max<uint64_t>(metadata.size, 1));
      candidate.saved = candidate.asked;
      candidates_.push_back(std::move(candidate));
    }
  }
  if (!samples_.empty()) ListQueries(metadata);
}

// A query that begins or ends outside of a file's keys, and yet overlaps it,
// finds the file's first or last key. So a query can be empty only in a file
// that encloses it; in all other files it is decided without a filter.
void Refresh::ListQueries(const ColumnFamilyMetaData& metadata) {
  weights_.resize(samples_.size());
  std::vector<size_t> enclosing;
  for (size_t i = 0; i < samples_.size(); i++) {
    const SampleQuery& query = samples_[i];
    enclosing.clear();
    size_t level_begin = 0;
    for (const LevelMetaData& level : metadata.levels) {
      const std::vector<SstFileMetaData>& files = level.files;
      auto file = files.begin();
      auto end = files.end();
      if (level.level > 0) {
        file = std::partition_point(
            file, end, [this, &query](const SstFileMetaData& f) {
              return UserKey(f.largestkey).compare(query.lo) <= 0;
            });
        if (file != end) end = file + 1;
      }
      for (; file != end; ++file) {
        if (UserKey(file->smallestkey).compare(query.lo) < 0 &&
            IsInverted(UserKey(file->largestkey), query.hi,
                       query.hi_inclusive)) {
          enclosing.push_back(level_begin +
                              static_cast<size_t>(file - files.begin()));
        }
      }
      level_begin += files.size();
    }
    if (enclosing.empty()) continue;
    weights_[i] = 1 / static_cast<double>(enclosing.size());
    for (size_t file : enclosing) candidates_[file].queries.push_back(&query);
  }
  for (Candidate& candidate : candidates_) {
    candidate.asked = Share(candidate.queries);
    candidate.file->queries = candidate.queries.size();
  }
}

double Refresh::Share(const Queries& queries) const {
  double sum = 0;
  for (const SampleQuery* query : queries) {
    sum += weights_[static_cast<size_t>(query - samples_.data())];
  }
  return sum / static_cast<double>(samples_.size());
}

std::vector<FileFilter> Refresh::FilesOfTree() const {
  std::vector<FileFilter> files;
  for (const Candidate& candidate : candidates_) {
    files.push_back(candidate.in_tree);
  }
  return files;
}

std::unique_ptr<FilterTrial> Refresh::Open(const Candidate& candidate) {
  std::unique_ptr<FilterTrial> trial;
  const Status s = FilterTrial::Open(family_options_, candidate.path, &trial);
  if (!s.ok()) {
    run_.DecideUnreadable(candidate.file, s);
    return nullptr;
  }
  candidate.file->old_design = trial->old_filter().Describe();
  return trial;
}

const ProteanFilterPolicy* Refresh::PolicyOf(
    int level, std::shared_ptr<const FilterPolicy>* of_level) const {
  const ProteanFilterPolicy* own = AsProteanFilterPolicy(policy());
  return own->ForLevel(level, of_level) ? AsProteanFilterPolicy(of_level->get())
                                        : own;
}

bool Refresh::HasPriceOfNow(const ProteanFilterPolicy& policy, int level,
                            const UserCollectedProperties& properties) {
  // Filters without a model have no price.
  if (PropertyText(properties, kBasisProperty).empty()) return true;
  // The file's own price stays while nothing is known of its level's.
  const uint64_t of_file = PriceOf(properties);
  const uint64_t known = prices_[level];
  return of_file == policy.PriceFor(known == 0 ? of_file : known);
}

double Refresh::MinGain(const ProteanFilterPolicy& policy, int level,
                        const UserCollectedProperties& properties) {
  const uint64_t known = prices_[level];
  if (known == 0) return options_.min_gain;
  const uint64_t now = std::min(policy.PriceFor(known), kUsualPrice);
  return PriceOf(properties) < now
             ? std::min(options_.min_gain, MaxRateForTime(now))
             : options_.min_gain;
}

bool Refresh::IsDesignedForNow(const ProteanFilterPolicy& policy,
                               const Candidate& candidate,
                               const FilterTrial& trial) {
  // Where fewer bits than these are missing, more of them hardly pay. Small
  // filters are less exact: their sizes are rounded, and they have headers.
  constexpr double kSameBits = 0.5;
  constexpr double kMoreBits = 1;
  constexpr double kRoundedBits = 1024;  // of the filter
  const RefreshedFile& file = *candidate.file;
  const UserCollectedProperties properties = trial.old_properties();
  const std::string purpose = PropertyText(properties, kPurposeProperty);
  if (purpose.empty() || !HasPriceOfNow(policy, file.level, properties) ||
      !trial.OldFilterHasFormOf(family_options_)) {
    return false;
  }
  const std::string& family = run_.column_family()->GetName();
  Env* const env = run_.db()->GetEnv();
  Logger* const log = family_options_.info_log.get();
  // While the DB is open, its samples go on changing.
  const bool is_of_this_refresh =
      options_.all_files && memory_.first_new_file > 0 &&
      TableFileNameToNumber(file.name) >= memory_.first_new_file;
  if (!is_of_this_refresh && purpose != PurposeOf(policy, family, env, log)) {
    return false;
  }
  const double bits_now =
      BitsOfFileNow(policy, {log, family}, candidate.in_tree, env);
  if (bits_now == 0) return true;
  const double more =
      PropertyNumber(properties, kBitsPerKeyProperty, 0) - bits_now;
  const double rounded =
      kRoundedBits / std::max<double>(1, static_cast<double>(file.entries));
  return -more < kSameBits + rounded &&
         (!options_.all_files || more < kMoreBits + rounded);
}

bool Refresh::PaysBack(const RefreshedFile& file, double saved) const {
  const double cost =
      2 * static_cast<double>(file.bytes) /
      static_cast<double>(std::max<uint64_t>(run_.table().block_size, 1));
  return !result_->rate_known ||
         saved * questions_per_second_ * options_.payback_seconds >= cost;
}

bool Refresh::IsFutile(const Candidate& candidate) const {
  const auto found = memory_.futile.find(candidate.file->name);
  if (found == memory_.futile.end()) return false;
  const FutileTrial& trial = found->second;
  if (candidate.passed.DiffersFrom(trial.passed, candidate.min_gain)) {
    return false;
  }
  return trial.gain < candidate.min_gain || trial.saved <= 0 ||
         !PaysBack(*candidate.file, trial.saved);
}

Status Refresh::Screen(Candidate* candidate) {
  RefreshedFile* const file = candidate->file;
  if (!options_.all_files && !samples_.empty() && candidate->queries.empty()) {
    run_.Decide(file, Outcome::kNotAsked);
    return Status::OK();
  }
  const std::unique_ptr<FilterTrial> trial = Open(*candidate);
  if (trial == nullptr) return Status::OK();
  std::shared_ptr<const FilterPolicy> of_level;
  const ProteanFilterPolicy* own = PolicyOf(file->level, &of_level);
  if (own != nullptr) {
    candidate->min_gain = MinGain(*own, file->level, trial->old_properties());
    if (IsDesignedForNow(*own, *candidate, *trial)) {
      run_.Decide(file, Outcome::kTooLittleGain);
    }
  } else if (trial->OldFilterIsLikeThatOf(
                 of_level.get(),
                 {family_options_, run_.column_family()->GetName(),
                  file->level})) {
    run_.Decide(file, trial->has_old_filter() ? Outcome::kHasFilter
                                              : Outcome::kUnfiltered);
  }
  if (file->outcome != Outcome::kNotReached) {
    return run_.GoOn(trial->opened_bytes());
  }
  if (options_.all_files || samples_.empty()) return Status::OK();
  Queries positives;
  for (const SampleQuery* query : candidate->queries) {
    if (trial->old_filter().MayMatch(*query)) positives.push_back(query);
  }
  candidate->saved = Share(positives);
  const auto asked = static_cast<double>(candidate->queries.size());
  file->old_fpr = static_cast<double>(positives.size()) / asked;
  candidate->passed = {file->old_fpr, asked};
  if (file->old_fpr < candidate->min_gain) {
    run_.Decide(file, Outcome::kTooLittleGain);
  }
  return run_.GoOn(trial->opened_bytes());
}

Status Refresh::Try(Candidate* candidate) {
  RefreshedFile* const file = candidate->file;
  candidate->is_tried = true;
  const std::unique_ptr<FilterTrial> trial = Open(*candidate);
  if (trial == nullptr) return Status::OK();

  EmptySamples empty_samples(std::move(candidate->queries));
  GapQueries gap_queries(file->entries);
  const double entry_bytes =
      static_cast<double>(file->bytes) /
      static_cast<double>(std::max<uint64_t>(file->entries, 1));
  constexpr double kBytesPerReport = 64 << 10;
  double unreported = 0;
  Status stopped;
  const auto report = [&] {
    const auto bytes = static_cast<uint64_t>(unreported);
    unreported = 0;
    run_.CountRead(bytes);
    stopped = run_.GoOn(bytes);
    return stopped.ok();
  };
  std::vector<BuiltFilter> built;
  Status s = trial->Build(
      {family_options_, run_.column_family()->GetName(), file->level,
       prices_[file->level] == 0 ? kUsualPrice : prices_[file->level]},
      {policy()},
      [&](const Slice& key) {
        if (samples_.empty()) {
          gap_queries.Pass(key);
        } else {
          empty_samples.Pass(key);
        }
        unreported += entry_bytes;
        return unreported < kBytesPerReport || report();
      },
      &built);
  if (s.ok()) report();
  if (!stopped.ok()) return stopped;
  if (!s.ok()) {
    run_.DecideUnreadable(file, s);
    return Status::OK();
  }
  if (built[0].reader == nullptr) {
    const bool loses_filter = options_.all_files && trial->has_old_filter();
    if (!loses_filter) run_.Decide(file, Outcome::kUnfiltered);
    return Status::OK();
  }

  const AskedFilter& new_filter = built[0].filter;
  const std::vector<SampleQuery> made_up = gap_queries.Finish();
  Queries empty = empty_samples.Finish();
  for (const SampleQuery& query : made_up) empty.push_back(&query);
  // The queries that only one of the two filters denies.
  Queries denied_by_new;
  Queries denied_by_old;
  uint64_t old_positives = 0;
  for (const SampleQuery* query : empty) {
    const bool by_old = trial->old_filter().MayMatch(*query);
    const bool by_new = new_filter.MayMatch(*query);
    if (by_old) old_positives++;
    if (by_old && !by_new) denied_by_new.push_back(query);
    if (by_new && !by_old) denied_by_old.push_back(query);
  }
  file->new_design = new_filter.Describe();
  file->queries = empty.size();
  if (empty.empty()) {
    if (!options_.all_files) run_.Decide(file, Outcome::kNotAsked);
    return Status::OK();
  }
  const auto all = static_cast<double>(empty.size());
  const auto better = static_cast<double>(denied_by_new.size());
  const auto worse = static_cast<double>(denied_by_old.size());
  file->old_fpr = static_cast<double>(old_positives) / all;
  file->new_fpr = file->old_fpr - (better - worse) / all;
  if (samples_.empty()) {
    candidate->saved = candidate->asked * (better - worse) / all;
  } else {
    candidate->asked = Share(empty);
    candidate->saved = Share(denied_by_new) - Share(denied_by_old);
  }
  if (result_->rate_known) {
    file->asked_per_second = candidate->asked * questions_per_second_;
    file->saved_reads_per_second = candidate->saved * questions_per_second_;
  }

  // If the filters were equally good, each query that only one of them denies
  // would be denied by either with equal probability: this is two standard
  // deviations of chance.
  const bool by_chance = better - worse < 2 * std::sqrt(better + worse);
  const double gain = by_chance ? 0 : file->old_fpr - file->new_fpr;
  const bool is_worth_it = gain >= candidate->min_gain &&
                           candidate->saved > 0 &&
                           PaysBack(*file, candidate->saved);
  if (!is_worth_it && !options_.all_files) {
    run_.Decide(file, Outcome::kTooLittleGain);
    memory_.futile[file->name] = {candidate->passed, gain, candidate->saved};
  }
  return Status::OK();
}

Status Refresh::LookAtFutile(std::vector<Candidate*> futile, Waiting* waiting) {
  Status s;
  bool pays = false;
  if (!futile.empty() && memory_.runs % kRunsPerLook == 0) {
    Random64 random(memory_.runs);
    Candidate* const drawn = futile[random.Uniform(futile.size())];
    if (!run_.ExceedsLimit(*drawn->file)) s = Try(drawn);
    pays = drawn->is_tried && drawn->file->outcome == Outcome::kNotReached;
  }
  for (Candidate* candidate : futile) {
    if (!s.ok()) break;
    if (candidate->file->outcome != Outcome::kNotReached) continue;
    if (pays) {
      waiting->push(candidate);
    } else {
      run_.Decide(candidate->file, Outcome::kTooLittleGain);
    }
  }
  return s;
}

Status Refresh::Run() {
  Status s = Check();
  if (!s.ok()) return s;
  TakeSamples();
  ListCandidates();
  Recall();
  FindPrices();

  const auto is_undecided = [](const Candidate* candidate) {
    return candidate->file->outcome == Outcome::kNotReached;
  };
  const TreePlan plan(
      *AsProteanFilterPolicy(policy()),
      {family_options_.info_log.get(), run_.column_family()->GetName()},
      options_.all_files ? FilesOfTree() : std::vector<FileFilter>());
  const std::shared_ptr<void> searching =
      AsProteanFilterPolicy(policy())->SearchAllDesigns();
  Waiting waiting(ComesAfter{options_.all_files});
  std::vector<Candidate*> futile;
  for (Candidate& candidate : candidates_) {
    if (s.ok() && is_undecided(&candidate)) s = Screen(&candidate);
    if (!is_undecided(&candidate)) continue;
    if (!options_.all_files && IsFutile(candidate)) {
      futile.push_back(&candidate);
    } else {
      waiting.push(&candidate);
    }
  }
  if (s.ok()) s = LookAtFutile(std::move(futile), &waiting);
  while (s.ok() && !waiting.empty()) {
    Candidate* const best = waiting.top();
    waiting.pop();
    if (best->is_tried || run_.ExceedsLimit(*best->file)) {
      s = run_.Rewrite(best->file);
    } else {
      s = Try(best);
      if (s.ok() && is_undecided(best)) waiting.push(best);
    }
  }
  s = run_.Finish(s);
  Remember();
  return s;
}

}  // namespace

Status RedesignFilters(RefreshRun* run) { return Refresh(run).Run(); }

}  // namespace ROCKSDB_NAMESPACE::protean
