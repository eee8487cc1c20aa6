// SPDX-License-Identifier: Apache-2.0

#include "tools/filter_replay.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <numeric>
#include <set>

#include "filter_policy/open_db/file_budget.h"
#include "filter_policy/open_db/seek_backoff.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/system_clock.h"
#include "table/filter_trial.h"
#include "table/seek/seek_decision.h"
#include "tools/file_facts.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// For each file, whether it is chosen; the chosen ones have at most `max_bytes`
// in all. Takes small levels completely, as long as each level gets its share;
// from larger levels, files at even distances.
std::vector<bool> ChooseFiles(const std::vector<TargetFile>& files,
                              uint64_t max_bytes) {
  std::vector<bool> chosen(files.size());
  std::map<int, std::pair<uint64_t, std::vector<uint32_t>>> levels;
  for (uint32_t i = 0; i < files.size(); i++) {
    auto& [bytes, of_level] = levels[files[i].level];
    bytes += files[i].bytes;
    of_level.push_back(i);
  }
  std::multimap<uint64_t, std::vector<uint32_t>> by_size;
  for (auto& [level, sized] : levels) by_size.insert(std::move(sized));
  uint64_t left = max_bytes;
  size_t levels_left = by_size.size();
  for (auto& [bytes, of_level] : by_size) {
    std::sort(of_level.begin(), of_level.end(), [&](uint32_t a, uint32_t b) {
      return files[a].smallest < files[b].smallest;
    });
    const uint64_t share = left / levels_left--;
    const double fraction = std::min(1.0, Ratio(share, bytes));
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

// What the table iterator does with a read of a file. `begin` to `end` are the
// questions of the read, and `markers` those at which other files of it wait.
ReadAnswer AnswerTo(const AskedFilter& filter, const ReadQuery& read,
                    const Question* begin, const Question* end,
                    const std::vector<Slice>& markers) {
  const FileRangeFilter* const asked = filter.range_filter();
  bool is_read = true;
  if (read.kind == ReadKind::kGet) {
    is_read = filter.MayMatch({read.target, read.target, true});
  } else if (read.kind == ReadKind::kOpenSeekForPrev) {
    // No filter is asked.
  } else if (asked == nullptr) {
    is_read = read.kind != ReadKind::kClosedSeek ||
              filter.PrefixMayMatch(read.target, read.bound).value_or(true);
  } else if (read.kind == ReadKind::kClosedSeekForPrev) {
    std::string marker;
    const Slice target(read.target);
    is_read = DecideSeekBackwards(*asked, &target, read.inclusive, read.bound,
                                  /*lower_is_known=*/true, &marker)
                  .action == SeekDecision::Action::kRead;
  } else {
    return AskAboutSeek(*asked, read, begin, end, markers);
  }
  ReadAnswer answer;
  if (!is_read) answer.begin = ReadAnswer::Begin::kEnds;
  return answer;
}

// Returns true if the seek asks the filter for the prefix of its target, which
// is not replayed, if it is to find keys with that prefix only: with
// prefix_same_as_start, or neither total_order_seek nor auto_prefix_mode.
bool MayAskForPrefix(const AskedFilter& filter, const ReadQuery& read) {
  if (read.kind == ReadKind::kGet || filter.prefixes() == nullptr ||
      !filter.prefixes()->InDomain(read.target)) {
    return false;
  }
  return read.kind != ReadKind::kClosedSeek ||
         (filter.range_filter() == nullptr &&
          !filter.PrefixMayMatch(read.target, read.bound).has_value());
}

// Extrapolates from the built files to all files; a level without built files
// is assumed to be like the others.
void ExtrapolateToAllFiles(std::map<int, ReplaySum>* levels) {
  ReplaySum built;
  for (const auto& [level, sum] : *levels) built.Add(sum);
  for (auto& [level, sum] : *levels) {
    const ReplaySum& like = sum.built_bytes > 0 ? sum : built;
    const double more = Ratio(sum.bytes, like.built_bytes);
    for (double ReplaySum::*member :
         {&ReplaySum::keys, &ReplaySum::filter_bytes,
          &ReplaySum::build_nanos}) {
      sum.*member = more * like.*member;
    }
  }
}

// The filters of one policy, what they answer, and what reads cost then. The
// first contestant stands for the filters that exist. The filters of some files
// are asked; the others are taken to answer as these do.
class Contestant {
 public:
  Contestant(const Candidate& candidate, const ReplayedReads& reads,
             const std::vector<TargetFile>& files)
      : policy(candidate.policy.get()),
        sums(files.size()),
        name_(candidate.name),
        reads_(reads),
        questions_(reads.truth.questions),
        files_(files),
        answers_(questions_.size()) {
    for (size_t i = 0; i < files.size(); i++) {
      sums[i].files = 1;
      sums[i].bytes = files[i].bytes;
    }
  }

  // Puts the questions of the reads to the filter of a file. Files of large
  // levels are asked first: they wait at markers further on, about which those
  // of small levels are then asked.
  void Ask(uint32_t file, const AskedFilter& filter) {
    const std::vector<uint32_t>& to_file = reads_.asked[file];
    // A read asks a file once, so these are the markers of other files.
    std::vector<std::vector<Slice>> markers;
    for (const uint32_t i : to_file) {
      markers.push_back(MarkersOf(questions_[i].read));
    }
    SystemClock& clock = *SystemClock::Default();
    const uint64_t begin = clock.CPUNanos();
    auto of_others = markers.begin();
    for (const uint32_t i : to_file) {
      const Question& question = questions_[i];
      const auto [first, last] = reads_.QuestionsOf(question.read);
      answers_[i] =
          AnswerTo(filter, reads_.ReadOf(question), first, last, *of_others++);
    }
    asking_nanos_ += clock.CPUNanos() - begin;
    asked_ += to_file.size();
    ReplaySum& sum = sums[file];
    sum.built_files = 1;
    sum.built_bytes = sum.bytes;
    if (filter.range_filter() == nullptr) return;
    const double predicted = filter.Report().predicted_fpr;
    if (predicted < 0) return;
    for (const uint32_t i : to_file) sum.predicting += questions_[i].in_vain;
    sum.predicted = predicted * static_cast<double>(sum.predicting);
  }

  // Draws the answers of files that were not asked, at the rates of those that
  // were, in the same level or the nearest one. Then sums up; `keys` has the
  // number of keys of each file.
  ReplayResult SumUp(const std::vector<uint64_t>& keys) {
    Extrapolate();
    ReplayResult result;
    result.name = name_;
    result.kinds = reads_.kinds;
    uint64_t all_asked = 0;
    for (uint32_t i = 0; i < files_.size(); i++) {
      all_asked += reads_.asked[i].size();
      result.levels[files_[i].level].Add(sums[i]);
    }
    ExtrapolateToAllFiles(&result.levels);
    result.asking_nanos_per_read =
        Ratio(Ratio(asking_nanos_, asked_) * static_cast<double>(all_asked),
              reads_.count);

    for (uint32_t read = 0; read < reads_.reads.size(); read++) {
      const auto [begin, end] = reads_.QuestionsOf(read);
      if (!reads_.replayed[read] || begin == end) continue;
      const std::vector<bool> visited = Visited(read, keys);
      for (const Question* question = begin; question != end; question++) {
        const bool is_visited = visited[static_cast<size_t>(question - begin)];
        ReplaySum& level = result.levels[files_[question->file].level];
        if (is_visited) {
          level.blocks += question->blocks;
          result.kinds[reads_.kind_of[read]].blocks += question->blocks;
        }
        if (!question->in_vain) continue;
        level.in_vain++;
        if (is_visited) level.false_positives++;
      }
    }
    for (const auto& [level, sum] : result.levels) result.all.Add(sum);
    result.blocks_per_read = Ratio(result.all.blocks, reads_.count);
    return result;
  }

  const FilterPolicy* const policy;
  std::vector<ReplaySum> sums;  // by file: what is known of it

 private:
  using Begin = ReadAnswer::Begin;
  // The share of reads of one kind that the filters of some files have let
  // through.
  struct Rate {
    uint64_t asked = 0;
    uint64_t answered = 0;

    void Add(bool answer) {
      asked++;
      answered += answer;
    }
  };
  struct Rates {
    Rate read;   // of reads in vain; of forward seeks, those read at once
    Rate reach;  // of stops up to which a file has nothing, those it does not
                 // pass
  };
  using RatesByPlace = std::map<std::pair<ReadKind, int>, Rates>;  // the level

  bool IsAsked(uint32_t file) const { return sums[file].built_files > 0; }

  // The markers at which files wait that the read has asked already, in order.
  // None unless the read is a forward seek.
  std::vector<Slice> MarkersOf(uint32_t read) const {
    std::vector<Slice> markers;
    if (!IsForwardSeek(reads_.reads[read])) return markers;
    const size_t end = reads_.first_question[read + 1];
    for (size_t i = reads_.first_question[read]; i < end; i++) {
      const ReadAnswer& answer = answers_[i];
      for (const std::string* marker : {&answer.marker, &answer.next}) {
        if (!marker->empty()) markers.emplace_back(*marker);
      }
    }
    std::sort(markers.begin(), markers.end(),
              [](const Slice& a, const Slice& b) { return a.compare(b) < 0; });
    return markers;
  }

  RatesByPlace FindRates() const {
    RatesByPlace rates;
    for (uint32_t file = 0; file < files_.size(); file++) {
      if (!IsAsked(file)) continue;
      for (const uint32_t i : reads_.asked[file]) {
        const Question& question = questions_[i];
        const ReadQuery& read = reads_.ReadOf(question);
        Rates& seen = rates[{read.kind, files_[file].level}];
        const ReadAnswer& answer = answers_[i];
        // A closed seek may also end at its bound.
        const bool is_read =
            answer.begin == Begin::kReads ||
            (read.kind == ReadKind::kClosedSeek && !question.found &&
             answer.begin == Begin::kWaits &&
             !reads_.truth.ends[question.read]);
        if (question.in_vain) seen.read.Add(is_read);
        if (is_read || !IsForwardSeek(read)) continue;
        const auto [begin, end] = reads_.QuestionsOf(question.read);
        for (const Question* other = begin; other != end; other++) {
          if (!IsStop(*other, question)) continue;
          seen.reach.Add(!answer.Avoids(static_cast<size_t>(other - begin),
                                        other->first_key));
        }
      }
    }
    return rates;
  }

  // Whether the first key of another run is a stop up to which the file of a
  // question has nothing.
  static bool IsStop(const Question& other, const Question& question) {
    return other.found &&
           !(question.found && question.first_key <= other.first_key);
  }

  void Extrapolate() {
    const RatesByPlace rates = FindRates();
    // The share in the nearest level with known files.
    const auto share_of = [&](int level, ReadKind kind, Rate Rates::*which,
                              double otherwise) {
      double share = otherwise;
      int distance = std::numeric_limits<int>::max();
      for (const auto& [place, seen] : rates) {
        const Rate& found = seen.*which;
        const int away = std::abs(place.second - level);
        if (place.first != kind || found.asked == 0 || away >= distance) {
          continue;
        }
        distance = away;
        share = Ratio(found.answered, found.asked);
      }
      return share;
    };
    for (uint32_t file = 0; file < files_.size(); file++) {
      if (IsAsked(file)) continue;
      for (const uint32_t i : reads_.asked[file]) {
        const ReadKind kind = reads_.ReadOf(questions_[i]).kind;
        const int level = files_[file].level;
        Draw(file, i, share_of(level, kind, &Rates::read, 1),
             share_of(level, kind, &Rates::reach, 0));
      }
    }
  }

  void Draw(uint32_t file, uint32_t i, double read, double reach) {
    const Question& question = questions_[i];
    const ReadQuery& query = reads_.ReadOf(question);
    ReadAnswer& answer = answers_[i];
    if (DrawFor(i, file) < read) return;
    // A forward seek waits at its target, unless it is closed and finds
    // nothing.
    answer.begin = Begin::kEnds;
    if (!IsForwardSeek(query)) return;
    if (query.kind == ReadKind::kOpenSeek || reads_.truth.ends[question.read]) {
      answer.begin = Begin::kWaits;
    }
    answer.marker = query.target + std::string(1, '\0');
    const bool passes = DrawFor(file, i) >= reach;
    const auto [begin, end] = reads_.QuestionsOf(question.read);
    for (const Question* other = begin; other != end; other++) {
      answer.passes.push_back(passes && IsStop(*other, question));
    }
  }

  // Replays a read: whether each of the files is read that it has questions
  // for. Reads are replayed in their order.
  std::vector<bool> Visited(uint32_t read, const std::vector<uint64_t>& keys) {
    const auto [begin, end] = reads_.QuestionsOf(read);
    const ReadQuery& query = reads_.reads[read];
    const ReadAnswer* answer = &answers_[reads_.first_question[read]];
    std::vector<bool> visited;
    if (!IsForwardSeek(query)) {
      for (const Question* question = begin; question != end;
           question++, answer++) {
        visited.push_back(!question->in_vain || answer->begin == Begin::kReads);
      }
      return visited;
    }
    // An open seek gives up waiting if that has been useless for a while: in a
    // level, or a file of level 0.
    std::list<SeekBackoff> backoffs;  // until all files have been asked
    std::vector<SearchedRun> runs;
    for (const Question* question = begin; question != end;
         question++, answer++) {
      const uint32_t file = question->file;
      const int level = files_[file].level;
      bool may_wait = true;
      if (query.kind == ReadKind::kOpenSeek) {
        may_wait =
            backoffs
                .emplace_back(&backoff_[{level, level > 0 ? 0 : file}], &none_)
                .ShouldWait();
      }
      runs.push_back(
          {question, answer, MarkerSequence(level, keys[file]), may_wait});
    }
    visited = FilesRead(runs, query, reads_.truth.ends[read]);
    size_t i = 0;
    for (SeekBackoff& backoff : backoffs) {
      if (runs[i].may_wait) {
        visited[i] ? backoff.OnReached() : backoff.OnPassed();
      }
      i++;
    }
    return visited;
  }

  const std::string& name_;
  const ReplayedReads& reads_;
  const std::vector<Question>& questions_;
  const std::vector<TargetFile>& files_;
  std::vector<ReadAnswer> answers_;  // by question
  // The questions that were asked, and the CPU time that they took.
  uint64_t asked_ = 0;
  uint64_t asking_nanos_ = 0;
  std::map<std::pair<int, uint32_t>, SeekBackoff::Shared> backoff_;
  SeekBackoff::CachedReads none_{0};
};

class Replay {
 public:
  Replay(const ReplayTask& task, ReplayReport* report)
      : task_(task),
        family_(task.family),
        report_(*report),
        reads_(task.reads, task.truth, family_.files.size()),
        keys_(family_.files.size()) {
    for (const Candidate& candidate : task.candidates) {
      contestants_.emplace_back(candidate, reads_, family_.files);
    }
  }

  Status Run() {
    chosen_ = ChooseFiles(family_.files, task_.max_bytes);
    // All files, from the deepest level up.
    std::vector<uint32_t> order(family_.files.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(
        order.begin(), order.end(),
        [this](uint32_t a, uint32_t b) { return LevelOf(a) > LevelOf(b); });
    for (const uint32_t i : order) {
      const auto bytes = static_cast<double>(family_.files[i].bytes);
      to_do_ += chosen_[i] ? bytes + bytes / 100 : bytes / 100;
    }
    Status s = LookAtFiles(order);
    TellPolicies();
    if (s.ok()) s = BuildAllFilters(order);
    if (!s.ok()) return s;
    report_.replayed = reads_.count;
    for (Contestant& contestant : contestants_) {
      report_.results.push_back(contestant.SumUp(keys_));
    }
    return s;
  }

 private:
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
      if (facts->filter_bytes > 0 && !opened.HasFilter()) {
        report_.files_not_asked++;
      }
      report_.range_deletions +=
          opened.table()->GetTableProperties()->num_range_deletions;
      Contestant& as_it_is = contestants_[0];
      as_it_is.sums[i].keys = static_cast<double>(facts->keys);
      as_it_is.sums[i].filter_bytes = static_cast<double>(facts->filter_bytes);
      const AskedFilter asked =
          AskedFilter::Of(opened, family_.options.prefix_extractor.get());
      as_it_is.Ask(i, asked);
      for (const uint32_t q : reads_.asked[i]) {
        const Question& question = reads_.truth.questions[q];
        if (MayAskForPrefix(asked, reads_.ReadOf(question))) {
          report_.prefix_seeks.insert(question.read);
        }
      }
      Did(file.bytes / 100);
    }
    return Status::OK();
  }

  void TellPolicies() {
    std::vector<FileFilter> tree;
    std::set<int> runs;
    for (uint32_t i = 0; i < family_.files.size(); i++) {
      if (LevelOf(i) < 0) continue;
      const TargetFile& file = family_.files[i];
      tree.push_back({file.level, keys_[i], 0, file.smallest, file.largest});
      runs.insert(LevelOf(i) > 0 ? LevelOf(i) : -static_cast<int>(i));
    }
    const TreeFilters::Tree name = {/*info_log=*/nullptr, family_.name};
    const std::vector<SampleQuery> samples =
        SamplesOf(reads_.reads, reads_.truth, /*skip=*/reads_.replayed);
    report_.taught = samples.size();
    for (const Candidate& candidate : task_.candidates) {
      const ProteanFilterPolicy* policy =
          AsProteanFilterPolicy(candidate.policy.get());
      if (policy == nullptr) continue;
      plans_.push_back(PlanTree(*policy, name, tree));
      if (plans_.back() != nullptr && runs.size() > 1) {
        report_.levels_settled = true;
      }
      if (policy->Samples() == nullptr) continue;
      const std::shared_ptr<QueryQueue> queue = policy->Samples()->Queue(
          family_.name.empty() ? kDefaultColumnFamilyName : family_.name,
          family_.options.env, /*logger=*/nullptr);
      for (const SampleQuery& sample : samples) queue->Add(sample);
    }
  }

  Status BuildFilters(uint32_t file) {
    const TargetFile& target = family_.files[file];
    std::vector<const FilterPolicy*> policies;
    for (const Contestant& contestant : contestants_) {
      if (contestant.policy != nullptr) policies.push_back(contestant.policy);
    }
    std::unique_ptr<BlockBasedFile> opened;
    std::vector<BuiltFilter> built;
    std::string last;
    uint64_t keys = 0;
    Status s = BlockBasedFile::OpenApart(family_.options, target.path, &opened);
    if (s.ok()) {
      s = TryPolicies(
          *opened, {family_.options, family_.name, target.level}, policies,
          [&](const Slice& key) {
            if (keys == 0 || key != last) {
              last.assign(key.data(), key.size());
              keys++;
            }
            return true;
          },
          &built);
    }
    if (IsGone(s) && target.level >= 0) {
      report_.files_gone++;
      return Status::OK();
    }
    if (!s.ok()) {
      return Status::Corruption("filters of " + target.path +
                                " cannot be built: " + s.ToString());
    }
    auto filter = built.begin();
    for (size_t i = 1; i < contestants_.size(); i++) {
      ReplaySum& sum = contestants_[i].sums[file];
      sum.keys = static_cast<double>(keys);
      if (contestants_[i].policy == nullptr) {
        contestants_[i].Ask(file, AskedFilter());
        continue;
      }
      sum.filter_bytes = static_cast<double>(filter->bytes);
      sum.build_nanos = static_cast<double>(filter->build_nanos);
      sum.build_memory = filter->build_memory;
      contestants_[i].Ask(file, filter++->filter);
    }
    Did(target.bytes);
    return s;
  }

  // Builds the filters of all chosen files, until a stop is requested.
  Status BuildAllFilters(const std::vector<uint32_t>& order) {
    size_t begun = 0;
    for (const uint32_t i : order) {
      if (!chosen_[i]) continue;
      if (begun++ > 0 && task_.stop_requested()) {
        report_.stopped = true;
        break;
      }
      const Status s = BuildFilters(i);
      if (!s.ok()) return s;
    }
    return Status::OK();
  }

  int LevelOf(uint32_t file) const { return family_.files[file].level; }
  void Did(uint64_t bytes) {
    done_ += static_cast<double>(bytes);
    task_.progress(std::min(1.0, done_ / std::max(1.0, to_do_)));
  }

  const ReplayTask& task_;
  const TargetFamily& family_;
  ReplayReport& report_;

  const ReplayedReads reads_;
  std::deque<Contestant> contestants_;
  std::vector<bool> chosen_;    // by file: whether its filters are built
  std::vector<uint64_t> keys_;  // by file
  // What the policies know of the tree.
  std::vector<std::shared_ptr<TreeFilters>> plans_;
  double to_do_ = 0;
  double done_ = 0;
};

}  // namespace

Status ReplayReads(const ReplayTask& task, ReplayReport* report) {
  return Replay(task, report).Run();
}

}  // namespace ROCKSDB_NAMESPACE::protean
