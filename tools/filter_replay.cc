// SPDX-License-Identifier: Apache-2.0

#include "tools/filter_replay.h"

#include <algorithm>
#include <list>
#include <map>
#include <numeric>
#include <set>

#include "filter_policy/open_db/file_budget.h"
#include "rocksdb/convenience.h"
#include "table/filter_trial.h"
#include "tools/file_facts.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// For each file, whether it is chosen; the chosen ones have at most `max_bytes`
// in all. Takes small levels completely, as long as each level gets its share;
// from larger levels, files at even distances.
std::vector<bool> ChooseFiles(const std::vector<TargetFile>& files,
                              uint64_t max_bytes) {
  std::vector<bool> chosen(files.size());
  std::map<int, std::vector<uint32_t>> levels;
  for (uint32_t i = 0; i < files.size(); i++) {
    levels[files[i].level].push_back(i);
  }
  const auto bytes = [&](const std::vector<uint32_t>& some) {
    return std::accumulate(
        some.begin(), some.end(), uint64_t{0},
        [&](uint64_t sum, uint32_t file) { return sum + files[file].bytes; });
  };
  std::vector<std::vector<uint32_t>> by_size;
  for (auto& [level, of_level] : levels) {
    std::sort(of_level.begin(), of_level.end(), [&](uint32_t a, uint32_t b) {
      return files[a].smallest < files[b].smallest;
    });
    by_size.push_back(std::move(of_level));
  }
  std::sort(by_size.begin(), by_size.end(),
            [&](const auto& a, const auto& b) { return bytes(a) < bytes(b); });
  uint64_t left = max_bytes;
  for (size_t i = 0; i < by_size.size(); i++) {
    const std::vector<uint32_t>& of_level = by_size[i];
    const uint64_t share = left / (by_size.size() - i);
    const uint64_t all = bytes(of_level);
    const double fraction =
        std::min(1.0, static_cast<double>(share) /
                          static_cast<double>(std::max<uint64_t>(all, 1)));
    const auto wanted = std::max<size_t>(
        1,
        static_cast<size_t>(fraction * static_cast<double>(of_level.size())));
    for (size_t n = 0; n < wanted; n++) {
      const uint32_t file =
          of_level[(2 * n + 1) * of_level.size() / (2 * wanted)];
      const uint64_t size = files[file].bytes;
      if (size > left) continue;
      chosen[file] = true;
      left -= size;
    }
  }
  return chosen;
}

class Replay {
 public:
  Replay(const TargetFamily& family, const std::vector<ReadQuery>& reads,
         const ReadTruth& truth, const std::vector<Candidate>& candidates,
         const ReportShare& progress,
         const std::function<bool()>& stop_requested, ReplayReport* report)
      : family_(family),
        candidates_(candidates),
        progress_(progress),
        stop_requested_(stop_requested),
        report_(*report),
        reads_(reads, truth, family.files.size()),
        keys_(family.files.size()) {
    contestants_.emplace_back("as it is", nullptr, reads_, family.files);
    for (const Candidate& candidate : candidates) {
      contestants_.emplace_back(candidate.name, candidate.policy.get(), reads_,
                                family.files);
    }
  }

  Status Run(uint64_t max_bytes) {
    chosen_ = ChooseFiles(family_.files, max_bytes);
    to_do_ = static_cast<double>(Bytes(/*all=*/true)) / 100 +
             static_cast<double>(Bytes(/*all=*/false));
    const std::vector<uint32_t> order = FilesBottomUp();
    Status s = LookAtFiles(order);
    TellTrees();
    Teach();
    if (s.ok()) s = BuildAllFilters(order);
    if (!s.ok()) return s;
    report_.replayed = reads_.count;
    std::vector<int> level_of;
    for (const TargetFile& file : family_.files) level_of.push_back(file.level);
    for (Contestant& contestant : contestants_) {
      contestant.answers.Extrapolate(reads_, level_of);
      report_.results.push_back(SumUp(contestant.name, reads_, family_.files,
                                      keys_, contestant.sums,
                                      contestant.answers));
    }
    return s;
  }

 private:
  // The filters of one policy. The first contestant stands for those that
  // exist.
  struct Contestant {
    Contestant(std::string its_name, const FilterPolicy* its_policy,
               const ReplayedReads& reads, const std::vector<TargetFile>& files)
        : name(std::move(its_name)),
          policy(its_policy),
          sums(files.size()),
          answers(reads.truth.questions.size(), files.size()) {
      for (size_t i = 0; i < files.size(); i++) {
        sums[i].files = 1;
        sums[i].bytes = files[i].bytes;
      }
    }

    std::string name;
    const FilterPolicy* policy;
    std::vector<ReplaySum> sums;  // by file
    ReplayedAnswers answers;
  };

  // All files, from the deepest level up.
  std::vector<uint32_t> FilesBottomUp() const {
    std::vector<uint32_t> order(family_.files.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(
        order.begin(), order.end(),
        [this](uint32_t a, uint32_t b) { return LevelOf(a) > LevelOf(b); });
    return order;
  }

  // `order` has all files, in the order in which filters are asked.
  Status LookAtFiles(const std::vector<uint32_t>& order) {
    for (const uint32_t i : order) {
      std::unique_ptr<FileFacts> facts;
      const TargetFile& file = family_.files[i];
      const Status s = FileFacts::Read(family_, file, &facts);
      if (IsGone(s) && file.level >= 0) {
        report_.files_gone++;
        chosen_[i] = false;
        continue;
      }
      if (!s.ok()) {
        return Status::Corruption(file.path +
                                  " cannot be read: " + s.ToString());
      }
      keys_[i] = facts->keys;
      const BlockBasedFile& opened = facts->file();
      if (facts->filter_bytes > 0 &&
          opened.filter_state() == BlockBasedFile::FilterState::kNone) {
        report_.files_not_asked++;
      }
      report_.range_deletions +=
          opened.table()->GetTableProperties()->num_range_deletions;
      Contestant& as_it_is = contestants_[0];
      as_it_is.sums[i].keys = static_cast<double>(facts->keys);
      as_it_is.sums[i].filter_bytes = static_cast<double>(facts->filter_bytes);
      Ask(AskedFilter::Of(opened), i, &as_it_is);
      Did(file.bytes / 100);
    }
    return Status::OK();
  }

  void TellTrees() {
    std::vector<FileFilter> tree;
    std::set<int> runs;
    for (uint32_t i = 0; i < family_.files.size(); i++) {
      if (LevelOf(i) < 0) continue;
      const TargetFile& file = family_.files[i];
      tree.push_back({file.level, keys_[i], 0, file.smallest, file.largest});
      runs.insert(LevelOf(i) > 0 ? LevelOf(i) : -static_cast<int>(i));
    }
    const TreeFilters::Tree name = {/*info_log=*/nullptr, family_.name};
    for (const Candidate& candidate : candidates_) {
      const ProteanFilterPolicy* policy =
          AsProteanFilterPolicy(candidate.policy.get());
      if (policy == nullptr || policy->Filters() == nullptr) continue;
      const TreePlan& plan = plans_.emplace_back(*policy, name, tree);
      if (plan.is_planned()) {
        report_.levels_settled = report_.levels_settled || runs.size() > 1;
      }
    }
  }

  void Teach() {
    const std::vector<SampleQuery> samples =
        SamplesOf(reads_.reads, reads_.truth, /*skip=*/reads_.replayed);
    report_.taught = samples.size();
    for (const Candidate& candidate : candidates_) {
      const ProteanFilterPolicy* policy =
          AsProteanFilterPolicy(candidate.policy.get());
      if (policy == nullptr || policy->Samples() == nullptr) continue;
      const std::shared_ptr<QueryQueue> queue = policy->Samples()->Queue(
          family_.name.empty() ? kDefaultColumnFamilyName : family_.name,
          Env::Default(), /*logger=*/nullptr);
      for (const SampleQuery& sample : samples) queue->Add(sample);
    }
  }

  Status BuildFilters(uint32_t file) {
    const TargetFile& target = family_.files[file];
    std::vector<const FilterPolicy*> policies;
    std::vector<Contestant*> builders;
    for (Contestant& contestant : contestants_) {
      if (contestant.policy == nullptr) continue;
      policies.push_back(contestant.policy);
      builders.push_back(&contestant);
    }
    std::unique_ptr<FilterTrial> trial;
    std::vector<BuiltFilter> built;
    std::string last;
    uint64_t keys = 0;
    uint64_t entries = 0;
    Status s = FilterTrial::Open(family_.options, target.path, &trial);
    if (s.ok()) {
      s = trial->Build(
          {family_.options, family_.name, target.level}, policies,
          [&](const Slice& key) {
            if (entries++ == 0 || key != last) {
              last.assign(key.data(), key.size());
              keys++;
            }
            return true;
          },
          &built);
    }
    if (IsGone(s) && target.level >= 0) {
      report_.files_gone++;
      chosen_[file] = false;
      return Status::OK();
    }
    if (!s.ok()) {
      return Status::Corruption("filters of " + target.path +
                                " cannot be built: " + s.ToString());
    }
    for (size_t i = 0; i < built.size(); i++) {
      ReplaySum& sum = builders[i]->sums[file];
      sum.filter_bytes = static_cast<double>(built[i].bytes);
      sum.build_nanos = static_cast<double>(built[i].build_nanos);
      sum.build_memory = built[i].build_memory;
      Ask(built[i].filter, file, builders[i]);
    }
    for (size_t i = 1; i < contestants_.size(); i++) {
      contestants_[i].sums[file].keys = static_cast<double>(keys);
      if (contestants_[i].policy == nullptr) {
        Ask(AskedFilter(), file, &contestants_[i]);
      }
    }
    Did(target.bytes);
    return s;
  }

  // Builds the filters of all chosen files, until a stop is requested.
  Status BuildAllFilters(const std::vector<uint32_t>& order) {
    size_t begun = 0;
    for (const uint32_t i : order) {
      if (!chosen_[i]) continue;
      if (begun++ > 0 && stop_requested_()) {
        report_.stopped = true;
        chosen_[i] = false;
        continue;
      }
      const Status s = BuildFilters(i);
      if (!s.ok()) return s;
    }
    return Status::OK();
  }

  void Ask(const AskedFilter& filter, uint32_t file, Contestant* contestant) {
    contestant->answers.Ask(reads_, file, filter);
    ReplaySum& sum = contestant->sums[file];
    sum.built_files = 1;
    sum.built_bytes = sum.bytes;
    if (filter.range_filter() == nullptr) return;
    const double predicted = filter.Report().predicted_fpr;
    if (predicted < 0) return;
    for (const uint32_t question : reads_.asked[file]) {
      sum.predicting += reads_.truth.questions[question].in_vain;
    }
    sum.predicted = predicted * static_cast<double>(sum.predicting);
  }

  int LevelOf(uint32_t file) const { return family_.files[file].level; }
  // The bytes of all files, or of the chosen ones.
  uint64_t Bytes(bool all) const {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < family_.files.size(); i++) {
      if (all || chosen_[i]) bytes += family_.files[i].bytes;
    }
    return bytes;
  }
  void Did(uint64_t bytes) {
    done_ += static_cast<double>(bytes);
    progress_(std::min(1.0, done_ / std::max(1.0, to_do_)));
  }

  const TargetFamily& family_;
  const std::vector<Candidate>& candidates_;
  const ReportShare& progress_;
  const std::function<bool()>& stop_requested_;
  ReplayReport& report_;

  const ReplayedReads reads_;
  std::vector<Contestant> contestants_;
  std::vector<bool> chosen_;    // by file: whether its filters are built
  std::vector<uint64_t> keys_;  // by file
  std::list<TreePlan> plans_;   // what the policies know of the tree
  double to_do_ = 0;
  double done_ = 0;
};

}  // namespace

Status ReplayReads(const TargetFamily& family,
                   const std::vector<ReadQuery>& reads, const ReadTruth& truth,
                   const std::vector<Candidate>& candidates, uint64_t max_bytes,
                   const ReportShare& progress,
                   const std::function<bool()>& stop_requested,
                   ReplayReport* report) {
  *report = ReplayReport();
  return Replay(family, reads, truth, candidates, progress, stop_requested,
                report)
      .Run(max_bytes);
}

}  // namespace ROCKSDB_NAMESPACE::protean
