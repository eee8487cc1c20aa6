// SPDX-License-Identifier: Apache-2.0

#include "tools/filter_replay.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <numeric>
#include <set>

#include "filter_policy/open_db/seek_backoff.h"
#include "filter_policy/open_db/tree_plan.h"
#include "rocksdb/convenience.h"
#include "rocksdb/system_clock.h"
#include "table/filter_trial.h"
#include "table/seek/seek_decision.h"
#include "tools/file_facts.h"
#include "tools/search_replay.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A pseudorandom number in [0, 1) that depends on the arguments only.
double Draw(uint64_t a, uint64_t b) {
  const uint64_t numbers[] = {a, b};
  return static_cast<double>(
             Hash64(reinterpret_cast<const char*>(numbers), sizeof(numbers)) >>
             11) *
         0x1p-53;
}

bool IsForwardSeek(const ReadQuery& read) {
  return read.kind == ReadKind::kOpenSeek || read.kind == ReadKind::kClosedSeek;
}

// What the table iterator does with a read of a file.
struct Answer {
  // Whether the file is read, unless the read is a forward seek.
  bool read = false;
  SeekAnswer seek;
};

// `begin` to `end` are the questions of the read, and `markers` those at which
// other files of it wait.
Answer AnswerTo(const AskedFilter& filter, const ReadQuery& read,
                const Question* begin, const Question* end,
                const std::vector<Slice>& markers) {
  Answer answer;
  const FileRangeFilter* const asked = filter.range_filter();
  if (read.kind == ReadKind::kGet) {
    answer.read = filter.MayMatch({read.target, read.target, true});
  } else if (asked == nullptr || read.kind == ReadKind::kOpenSeekForPrev) {
    answer.read = true;
  } else if (read.kind == ReadKind::kClosedSeekForPrev) {
    std::string marker;
    answer.read =
        DecideSeekForPrev(*asked, read.target, read.inclusive, read.bound,
                          /*lower_is_known=*/true, &marker)
            .action == SeekDecision::Action::kRead;
  } else {
    answer.seek = AskAboutSeek(*asked, read, begin, end, markers);
  }
  return answer;
}

// The name of the kind that a read counts to.
std::string KindOf(const ReadQuery& read, bool finds_key) {
  if (read.kind != ReadKind::kGet) return ToString(read.kind);
  return finds_key ? "gets of present keys" : kGetsOfAbsentKeys;
}

// The share of reads of one kind that the filters of some files have let
// through.
struct Rate {
  uint64_t asked = 0;
  uint64_t answered = 0;

  void Add(bool answer) {
    asked++;
    if (answer) answered++;
  }
  double Share() const {
    return static_cast<double>(answered) / static_cast<double>(asked);
  }
};
struct Rates {
  Rate read;  // of reads in vain; of forward seeks, those read at once
  Rate
      reach;  // of stops up to which a file has nothing, those it does not pass
};

class Replay {
 public:
  Replay(const TargetFamily& family, const std::vector<ReadQuery>& reads,
         const ReadTruth& truth, const std::vector<Candidate>& candidates,
         uint64_t max_bytes, const ReportShare& progress,
         const std::function<bool()>& stop_requested, ReplayReport* report)
      : family_(family),
        reads_(reads),
        truth_(truth),
        candidates_(candidates),
        max_bytes_(max_bytes),
        progress_(progress),
        stop_requested_(stop_requested),
        report_(*report) {}

  Status Run();

 private:
  // The outcome for a file under one policy. The first policy stands for the
  // existing filters.
  struct FileOutcome {
    bool known = false;
    double keys = 0;
    uint64_t filter_bytes = 0;
    uint64_t build_nanos = 0;
    uint64_t build_memory = 0;
    double predicted = -1;
  };
  struct Contestant {
    std::string name;
    const FilterPolicy* policy = nullptr;
    std::vector<FileOutcome> files;
    std::vector<Answer> answers;  // by question
    // The questions that were asked, and the CPU time that they took.
    uint64_t asked = 0;
    uint64_t asking_nanos = 0;
  };

  void Prepare();
  void ChooseFiles();
  // Leaves out a file that may have been chosen, but is not read.
  void LeaveOut(uint32_t file) {
    if (!chosen_[file]) return;
    chosen_[file] = false;
    report_.built_files--;
    report_.built_bytes -= family_.files[file].bytes;
  }
  Status LookAtFiles();
  void TellTrees();
  void Teach();
  Status BuildFilters(uint32_t file);
  // Builds the filters of all chosen files, until a stop is requested.
  Status BuildAllFilters();
  // The markers at which files wait that the read has asked already, in order.
  // None unless the read is a forward seek.
  std::vector<Slice> MarkersOf(const Contestant& contestant,
                               uint32_t read) const;
  void Ask(const AskedFilter& filter, uint32_t file, Contestant* contestant);
  // Estimates the outcomes of unknown files from those of the known ones.
  void Extrapolate(Contestant* contestant) const;
  void Sum(const Contestant& contestant, ReplayResult* result) const;
  // The kinds of the replayed reads, without their blocks. Stores the kind of
  // each read in `kind_of_`.
  void FindKinds();

  int LevelOf(uint32_t file) const { return family_.files[file].level; }
  const ReadQuery& ReadOf(const Question& question) const {
    return reads_[question.read];
  }
  std::pair<const Question*, const Question*> QuestionsOf(uint32_t read) const {
    const Question* const all = truth_.questions.data();
    return {all + first_question_[read], all + first_question_[read + 1]};
  }
  void Did(uint64_t bytes) {
    done_ += static_cast<double>(bytes);
    progress_(std::min(1.0, done_ / std::max(1.0, to_do_)));
  }

  const TargetFamily& family_;
  const std::vector<ReadQuery>& reads_;
  const ReadTruth& truth_;
  const std::vector<Candidate>& candidates_;
  const uint64_t max_bytes_;
  const ReportShare& progress_;
  const std::function<bool()>& stop_requested_;
  ReplayReport& report_;

  std::vector<Contestant> contestants_;
  std::vector<bool> replayed_;                // by read
  std::vector<ReplayKind> kinds_;             // of the replayed reads
  std::vector<size_t> kind_of_;               // in kinds_, by read
  std::vector<size_t> first_question_;        // by read
  std::vector<std::vector<uint32_t>> asked_;  // questions, by file
  // All files, from the deepest level up. Files of large levels wait at markers
  // further on, about which those of small levels are then asked.
  std::vector<uint32_t> order_;
  std::vector<bool> chosen_;    // by file
  std::vector<uint64_t> keys_;  // by file
  std::list<TreePlan> plans_;   // what the policies know of the tree
  double to_do_ = 0;
  double done_ = 0;
};

void Replay::Prepare() {
  const size_t files = family_.files.size();
  // Chosen at random, not every second read: reads of different kinds may
  // alternate.
  replayed_.resize(reads_.size());
  for (size_t i = 0; i < reads_.size(); i++) {
    replayed_[i] = Draw(i, reads_.size()) < 0.5;
    if (replayed_[i]) report_.replayed++;
  }
  first_question_.assign(reads_.size() + 1, 0);
  for (const Question& question : truth_.questions) {
    first_question_[question.read + 1]++;
  }
  std::partial_sum(first_question_.begin(), first_question_.end(),
                   first_question_.begin());
  asked_.resize(files);
  order_.resize(files);
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(
      order_.begin(), order_.end(),
      [this](uint32_t a, uint32_t b) { return LevelOf(a) > LevelOf(b); });
  for (uint32_t i = 0; i < truth_.questions.size(); i++) {
    const Question& question = truth_.questions[i];
    if (replayed_[question.read]) asked_[question.file].push_back(i);
  }
  FindKinds();
  keys_.resize(files);
  contestants_.resize(1 + candidates_.size());
  contestants_[0].name = "as it is";
  for (size_t i = 0; i < candidates_.size(); i++) {
    contestants_[i + 1].name = candidates_[i].name;
    contestants_[i + 1].policy = candidates_[i].policy.get();
  }
  for (Contestant& contestant : contestants_) {
    contestant.files.resize(files);
    contestant.answers.resize(truth_.questions.size());
  }
}

void Replay::FindKinds() {
  std::vector<bool> finds_key(reads_.size());
  for (const Question& question : truth_.questions) {
    if (!question.in_vain) finds_key[question.read] = true;
  }
  std::map<std::string, size_t> known;
  kind_of_.resize(reads_.size());
  for (size_t i = 0; i < reads_.size(); i++) {
    if (!replayed_[i]) continue;
    const std::string name = KindOf(reads_[i], finds_key[i]);
    const auto [place, is_new] = known.emplace(name, kinds_.size());
    if (is_new) kinds_.push_back({name});
    kind_of_[i] = place->second;
    kinds_[place->second].reads++;
  }
}

// Takes small levels completely, as long as each level gets its share; from
// larger levels, files at even distances.
void Replay::ChooseFiles() {
  chosen_.assign(family_.files.size(), false);
  std::map<int, std::vector<uint32_t>> levels;
  for (uint32_t i = 0; i < family_.files.size(); i++) {
    levels[LevelOf(i)].push_back(i);
  }
  const auto bytes = [&](const std::vector<uint32_t>& files) {
    return std::accumulate(files.begin(), files.end(), uint64_t{0},
                           [&](uint64_t sum, uint32_t file) {
                             return sum + family_.files[file].bytes;
                           });
  };
  std::vector<std::vector<uint32_t>> by_size;
  for (auto& [level, files] : levels) {
    std::sort(files.begin(), files.end(), [&](uint32_t a, uint32_t b) {
      return family_.files[a].smallest < family_.files[b].smallest;
    });
    by_size.push_back(std::move(files));
  }
  std::sort(by_size.begin(), by_size.end(),
            [&](const auto& a, const auto& b) { return bytes(a) < bytes(b); });
  uint64_t left = max_bytes_;
  for (size_t i = 0; i < by_size.size(); i++) {
    const std::vector<uint32_t>& files = by_size[i];
    const uint64_t share = left / (by_size.size() - i);
    const uint64_t all = bytes(files);
    const double fraction =
        std::min(1.0, static_cast<double>(share) /
                          static_cast<double>(std::max<uint64_t>(all, 1)));
    const auto wanted = std::max<size_t>(
        1, static_cast<size_t>(fraction * static_cast<double>(files.size())));
    for (size_t n = 0; n < wanted; n++) {
      const uint32_t file = files[(2 * n + 1) * files.size() / (2 * wanted)];
      const uint64_t size = family_.files[file].bytes;
      if (size > left) continue;
      chosen_[file] = true;
      left -= size;
      report_.built_files++;
      report_.built_bytes += size;
    }
  }
}

std::vector<Slice> Replay::MarkersOf(const Contestant& contestant,
                                     uint32_t read) const {
  std::vector<Slice> markers;
  if (!IsForwardSeek(reads_[read])) return markers;
  for (size_t i = first_question_[read]; i < first_question_[read + 1]; i++) {
    const SeekAnswer& answer = contestant.answers[i].seek;
    for (const std::string* marker : {&answer.marker, &answer.next}) {
      if (!marker->empty()) markers.emplace_back(*marker);
    }
  }
  std::sort(markers.begin(), markers.end(),
            [](const Slice& a, const Slice& b) { return a.compare(b) < 0; });
  return markers;
}

void Replay::Ask(const AskedFilter& filter, uint32_t file,
                 Contestant* contestant) {
  // A read asks a file once, so these are the markers of other files.
  std::vector<std::vector<Slice>> markers;
  for (const uint32_t i : asked_[file]) {
    markers.push_back(MarkersOf(*contestant, truth_.questions[i].read));
  }
  SystemClock& clock = *SystemClock::Default();
  const uint64_t begin = clock.CPUNanos();
  auto known = markers.begin();
  for (const uint32_t i : asked_[file]) {
    const Question& question = truth_.questions[i];
    const auto [first, last] = QuestionsOf(question.read);
    contestant->answers[i] =
        AnswerTo(filter, ReadOf(question), first, last, *known++);
  }
  contestant->asking_nanos += clock.CPUNanos() - begin;
  contestant->asked += asked_[file].size();
  FileOutcome& outcome = contestant->files[file];
  outcome.known = true;
  const FileRangeFilter* const asked = filter.range_filter();
  if (asked != nullptr) outcome.predicted = filter.Report().predicted_fpr;
}

Status Replay::LookAtFiles() {
  for (const uint32_t i : order_) {
    std::unique_ptr<FileFacts> facts;
    const TargetFile& file = family_.files[i];
    const Status s = FileFacts::Read(family_, file, &facts);
    if (IsGone(s) && file.level >= 0) {
      report_.files_gone++;
      LeaveOut(i);
      continue;
    }
    if (!s.ok()) {
      return Status::Corruption(file.path + " cannot be read: " + s.ToString());
    }
    keys_[i] = facts->keys();
    const BlockBasedFile& opened = facts->file();
    if (facts->filter_bytes() > 0 &&
        opened.filter_state() == BlockBasedFile::FilterState::kNone) {
      report_.files_not_asked++;
    }
    report_.range_deletions +=
        opened.table()->GetTableProperties()->num_range_deletions;
    Contestant& as_it_is = contestants_[0];
    as_it_is.files[i].keys = static_cast<double>(facts->keys());
    as_it_is.files[i].filter_bytes = facts->filter_bytes();
    Ask(AskedFilter::Of(opened), i, &as_it_is);
    Did(file.bytes / 100);
  }
  return Status::OK();
}

void Replay::TellTrees() {
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

void Replay::Teach() {
  const std::vector<SampleQuery> samples =
      SamplesOf(reads_, truth_, /*skip=*/replayed_);
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

Status Replay::BuildFilters(uint32_t file) {
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
    LeaveOut(file);
    return Status::OK();
  }
  if (!s.ok()) {
    return Status::Corruption("filters of " + target.path +
                              " cannot be built: " + s.ToString());
  }
  for (size_t i = 0; i < built.size(); i++) {
    FileOutcome& outcome = builders[i]->files[file];
    outcome.filter_bytes = built[i].bytes;
    outcome.build_nanos = built[i].build_nanos;
    outcome.build_memory = built[i].build_memory;
    Ask(built[i].filter, file, builders[i]);
  }
  for (size_t i = 1; i < contestants_.size(); i++) {
    FileOutcome& outcome = contestants_[i].files[file];
    outcome.keys = static_cast<double>(keys);
    if (contestants_[i].policy == nullptr) {
      Ask(AskedFilter(), file, &contestants_[i]);
    }
  }
  Did(target.bytes);
  return s;
}

Status Replay::BuildAllFilters() {
  size_t begun = 0;
  for (const uint32_t i : order_) {
    if (!chosen_[i]) continue;
    if (begun++ > 0 && stop_requested_()) {
      report_.stopped = true;
      LeaveOut(i);
      continue;
    }
    const Status s = BuildFilters(i);
    if (!s.ok()) return s;
  }
  return Status::OK();
}

void Replay::Extrapolate(Contestant* contestant) const {
  std::map<int, std::array<Rates, kReadKinds>> rates;
  const auto kind_of = [&](uint32_t i) {
    return static_cast<size_t>(ReadOf(truth_.questions[i]).kind);
  };
  for (uint32_t file = 0; file < family_.files.size(); file++) {
    if (!contestant->files[file].known) continue;
    for (const uint32_t i : asked_[file]) {
      const Question& question = truth_.questions[i];
      Rates& known = rates[LevelOf(file)][kind_of(i)];
      const Answer& answer = contestant->answers[i];
      if (!IsForwardSeek(ReadOf(question))) {
        if (question.in_vain) known.read.Add(answer.read);
        continue;
      }
      const auto [begin, end] = QuestionsOf(question.read);
      // A closed seek may also end at its bound.
      const bool reads =
          answer.seek.begin == SeekAnswer::Begin::kReads ||
          (ReadOf(question).kind == ReadKind::kClosedSeek && !question.found &&
           answer.seek.begin == SeekAnswer::Begin::kWaits &&
           !truth_.ends[question.read].found);
      if (question.in_vain) known.read.Add(reads);
      if (reads) continue;
      for (const Question* other = begin; other != end; other++) {
        if (!other->found ||
            (question.found && question.first_key <= other->first_key)) {
          continue;
        }
        known.reach.Add(!answer.seek.Avoids(static_cast<size_t>(other - begin),
                                            other->first_key));
      }
    }
  }
  // The share in the nearest level with known files.
  const auto share_of = [&](int level, size_t kind, Rate Rates::*which,
                            double otherwise) {
    double share = otherwise;
    int distance = -1;
    for (const auto& [other, known] : rates) {
      const Rate& found = known[kind].*which;
      if (found.asked == 0) continue;
      if (distance >= 0 && std::abs(other - level) >= distance) continue;
      distance = std::abs(other - level);
      share = found.Share();
    }
    return share;
  };
  for (uint32_t file = 0; file < family_.files.size(); file++) {
    if (contestant->files[file].known) continue;
    std::array<double, kReadKinds> read{};
    std::array<double, kReadKinds> reach{};
    for (size_t kind = 0; kind < kReadKinds; kind++) {
      read[kind] = share_of(LevelOf(file), kind, &Rates::read, 1);
      reach[kind] = share_of(LevelOf(file), kind, &Rates::reach, 0);
    }
    for (const uint32_t i : asked_[file]) {
      const Question& question = truth_.questions[i];
      Answer& answer = contestant->answers[i];
      answer.read = Draw(i, file) < read[kind_of(i)];
      if (answer.read || !IsForwardSeek(ReadOf(question))) continue;
      // The file waits at its target, or has nothing for a closed seek.
      answer.seek.begin = ReadOf(question).kind == ReadKind::kClosedSeek &&
                                  !truth_.ends[question.read].found
                              ? SeekAnswer::Begin::kEnds
                              : SeekAnswer::Begin::kWaits;
      answer.seek.marker = ReadOf(question).target + std::string(1, '\0');
      const bool passes = Draw(file, i) >= reach[kind_of(i)];
      const auto [begin, end] = QuestionsOf(question.read);
      for (const Question* other = begin; other != end; other++) {
        answer.seek.passes.push_back(
            passes && other->found &&
            !(question.found && question.first_key <= other->first_key));
      }
    }
  }
}

void Replay::Sum(const Contestant& contestant, ReplayResult* result) const {
  result->name = contestant.name;
  result->kinds = kinds_;
  uint64_t all_asked = 0;
  for (const auto& of_file : asked_) all_asked += of_file.size();
  result->asking_nanos_per_read =
      static_cast<double>(contestant.asking_nanos) /
      static_cast<double>(std::max<uint64_t>(contestant.asked, 1)) *
      static_cast<double>(all_asked) /
      static_cast<double>(std::max<uint64_t>(report_.replayed, 1));
  for (uint32_t i = 0; i < family_.files.size(); i++) {
    ReplaySum& level = result->levels[LevelOf(i)];
    const FileOutcome& outcome = contestant.files[i];
    level.files++;
    level.bytes += family_.files[i].bytes;
    if (!outcome.known) continue;
    level.built_files++;
    level.built_bytes += family_.files[i].bytes;
    level.keys += outcome.keys;
    level.filter_bytes += static_cast<double>(outcome.filter_bytes);
    level.build_nanos += static_cast<double>(outcome.build_nanos);
    level.build_memory = std::max(level.build_memory, outcome.build_memory);
    if (outcome.predicted >= 0) {
      for (const uint32_t question : asked_[i]) {
        if (!truth_.questions[question].in_vain) continue;
        level.predicted += outcome.predicted;
        level.predicting++;
      }
    }
  }
  // Extrapolates from the built files to all files; a level without built files
  // is assumed to be like the others.
  ReplaySum built;
  for (const auto& [level, sum] : result->levels) built.Add(sum);
  for (auto& [level, sum] : result->levels) {
    const ReplaySum& like = sum.built_bytes > 0 ? sum : built;
    const double more =
        static_cast<double>(sum.bytes) /
        static_cast<double>(std::max<uint64_t>(like.built_bytes, 1));
    const double keys = more * like.keys;
    const double filter_bytes = more * like.filter_bytes;
    const double build_nanos = more * like.build_nanos;
    sum.keys = keys;
    sum.filter_bytes = filter_bytes;
    sum.build_nanos = build_nanos;
  }

  // An open seek gives up waiting if that has been useless for a while: in a
  // level, or a file of level 0.
  std::map<std::pair<int, uint32_t>, SeekBackoff::Shared> shared;
  SeekBackoff::CachedReads none{0};
  const std::vector<Question>& questions = truth_.questions;
  for (size_t begin = 0, end; begin < questions.size(); begin = end) {
    const uint32_t read = questions[begin].read;
    end = begin;
    while (end < questions.size() && questions[end].read == read) end++;
    if (!replayed_[read]) continue;
    const bool is_open = reads_[read].kind == ReadKind::kOpenSeek;
    std::list<SeekBackoff> of_read;  // until all files have been asked
    std::vector<SearchedRun> runs;
    for (size_t i = begin; i < end; i++) {
      const uint32_t file = questions[i].file;
      const int level = LevelOf(file);
      bool may_wait = true;
      if (is_open) {
        may_wait =
            of_read.emplace_back(&shared[{level, level > 0 ? 0 : file}], &none)
                .ShouldWait();
      }
      runs.push_back({&questions[i], &contestant.answers[i].seek,
                      MarkerSequence(level, keys_[file]), may_wait});
    }
    std::vector<bool> visited;
    if (IsForwardSeek(reads_[read])) {
      visited = FilesRead(runs, reads_[read], truth_.ends[read]);
    } else {
      for (size_t i = begin; i < end; i++) {
        visited.push_back(!questions[i].in_vain || contestant.answers[i].read);
      }
    }
    auto backoff = of_read.begin();
    for (size_t i = begin; i < end; i++) {
      const Question& question = questions[i];
      const bool is_visited = visited[i - begin];
      if (is_open) {
        if (runs[i - begin].may_wait) {
          is_visited ? backoff->OnReached() : backoff->OnPassed();
        }
        ++backoff;
      }
      ReplaySum& level = result->levels[LevelOf(question.file)];
      if (is_visited) {
        level.blocks += question.blocks;
        result->kinds[kind_of_[read]].blocks += question.blocks;
      }
      if (!question.in_vain) continue;
      level.in_vain++;
      if (is_visited) level.false_positives++;
    }
  }
  for (const auto& [level, sum] : result->levels) result->all.Add(sum);
  result->blocks_per_read =
      static_cast<double>(result->all.blocks) /
      static_cast<double>(std::max<uint64_t>(report_.replayed, 1));
}

Status Replay::Run() {
  Prepare();
  ChooseFiles();
  uint64_t bytes = 0;
  for (const TargetFile& file : family_.files) bytes += file.bytes;
  to_do_ = static_cast<double>(bytes) / 100 +
           static_cast<double>(report_.built_bytes);
  Status s = LookAtFiles();
  TellTrees();
  Teach();
  if (s.ok()) s = BuildAllFilters();
  if (!s.ok()) return s;
  for (Contestant& contestant : contestants_) {
    Extrapolate(&contestant);
    Sum(contestant, &report_.results.emplace_back());
  }
  return s;
}

}  // namespace

void ReplaySum::Add(const ReplaySum& other) {
  files += other.files;
  bytes += other.bytes;
  built_files += other.built_files;
  built_bytes += other.built_bytes;
  keys += other.keys;
  filter_bytes += other.filter_bytes;
  build_nanos += other.build_nanos;
  build_memory = std::max(build_memory, other.build_memory);
  in_vain += other.in_vain;
  false_positives += other.false_positives;
  blocks += other.blocks;
  predicted += other.predicted;
  predicting += other.predicting;
}

double ReplaySum::FalsePositiveRate() const {
  return static_cast<double>(false_positives) /
         static_cast<double>(std::max<uint64_t>(in_vain, 1));
}

double ReplaySum::PredictedRate() const {
  return predicting == 0 ? -1 : predicted / static_cast<double>(predicting);
}

std::vector<SampleQuery> SamplesOf(const std::vector<ReadQuery>& reads,
                                   const ReadTruth& truth,
                                   const std::vector<bool>& skip) {
  std::vector<SampleQuery> samples;
  uint32_t last = 0;
  for (const Question& question : truth.questions) {
    if (!question.in_vain || skip[question.read]) continue;
    if (!samples.empty() && question.read == last) continue;
    last = question.read;
    const ReadQuery& read = reads[question.read];
    const ReadTruth::End& end = truth.ends[question.read];
    SampleQuery sample;
    if (read.kind == ReadKind::kGet) {
      sample = {read.target, read.target, true};
    } else if (read.kind == ReadKind::kClosedSeekForPrev) {
      sample = {read.bound, read.target, read.inclusive};
    } else if (end.found) {
      sample = {read.target, end.key, true};
    } else if (read.kind == ReadKind::kClosedSeek) {
      sample = {read.target, read.bound, false};
    } else {
      continue;
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

Status ReplayReads(const TargetFamily& family,
                   const std::vector<ReadQuery>& reads, const ReadTruth& truth,
                   const std::vector<Candidate>& candidates, uint64_t max_bytes,
                   const ReportShare& progress,
                   const std::function<bool()>& stop_requested,
                   ReplayReport* report) {
  *report = ReplayReport();
  return Replay(family, reads, truth, candidates, max_bytes, progress,
                stop_requested, report)
      .Run();
}

}  // namespace ROCKSDB_NAMESPACE::protean
