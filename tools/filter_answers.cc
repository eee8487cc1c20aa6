// SPDX-License-Identifier: Apache-2.0

//  The filters of some files are asked; the others are taken to answer as these
//  do.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <list>
#include <utility>

#include "filter_policy/open_db/seek_backoff.h"
#include "rocksdb/system_clock.h"
#include "table/seek/seek_decision.h"
#include "tools/filter_replay.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// `begin` to `end` are the questions of the read, and `markers` those at which
// other files of it wait.
FilterAnswer AnswerTo(const AskedFilter& filter, const ReadQuery& read,
                      const Question* begin, const Question* end,
                      const std::vector<Slice>& markers) {
  FilterAnswer answer;
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

// Extrapolates from the built files to all files; a level without built files
// is assumed to be like the others.
void ExtrapolateToAllFiles(std::map<int, ReplaySum>* levels) {
  ReplaySum built;
  for (const auto& [level, sum] : *levels) built.Add(sum);
  for (auto& [level, sum] : *levels) {
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
}

// Replays reads, one after the other: which of the files that they ask are
// read.
class ReadReplay {
 public:
  ReadReplay(const ReplayedReads& reads, const std::vector<TargetFile>& files,
             const std::vector<uint64_t>& keys, const ReplayedAnswers& answers)
      : reads_(reads), files_(files), keys_(keys), answers_(answers) {}

  // Whether each of the files is read that the read has questions for.
  std::vector<bool> Visited(uint32_t read) {
    const auto [begin, end] = reads_.QuestionsOf(read);
    const FilterAnswer* answer =
        answers_.answers.data() + reads_.first_question[read];
    if (!IsForwardSeek(reads_.reads[read])) {
      std::vector<bool> visited;
      for (const Question* question = begin; question != end;
           question++, answer++) {
        visited.push_back(!question->in_vain || answer->read);
      }
      return visited;
    }
    // An open seek gives up waiting if that has been useless for a while: in a
    // level, or a file of level 0.
    const bool is_open = reads_.reads[read].kind == ReadKind::kOpenSeek;
    std::list<SeekBackoff> backoffs;  // until all files have been asked
    std::vector<SearchedRun> runs;
    for (const Question* question = begin; question != end;
         question++, answer++) {
      const uint32_t file = question->file;
      const int level = files_[file].level;
      bool may_wait = true;
      if (is_open) {
        may_wait =
            backoffs
                .emplace_back(&shared_[{level, level > 0 ? 0 : file}], &none_)
                .ShouldWait();
      }
      runs.push_back({question, &answer->seek,
                      MarkerSequence(level, keys_[file]), may_wait});
    }
    std::vector<bool> visited =
        FilesRead(runs, reads_.reads[read], reads_.truth.ends[read]);
    size_t i = 0;
    for (SeekBackoff& backoff : backoffs) {
      if (runs[i].may_wait) {
        visited[i] ? backoff.OnReached() : backoff.OnPassed();
      }
      i++;
    }
    return visited;
  }

 private:
  const ReplayedReads& reads_;
  const std::vector<TargetFile>& files_;
  const std::vector<uint64_t>& keys_;
  const ReplayedAnswers& answers_;
  std::map<std::pair<int, uint32_t>, SeekBackoff::Shared> shared_;
  SeekBackoff::CachedReads none_{0};
};

}  // namespace

std::vector<Slice> ReplayedAnswers::MarkersOf(const ReplayedReads& reads,
                                              uint32_t read) const {
  std::vector<Slice> markers;
  if (!IsForwardSeek(reads.reads[read])) return markers;
  const size_t end = reads.first_question[read + 1];
  for (size_t i = reads.first_question[read]; i < end; i++) {
    const SeekAnswer& answer = answers[i].seek;
    for (const std::string* marker : {&answer.marker, &answer.next}) {
      if (!marker->empty()) markers.emplace_back(*marker);
    }
  }
  std::sort(markers.begin(), markers.end(),
            [](const Slice& a, const Slice& b) { return a.compare(b) < 0; });
  return markers;
}

void ReplayedAnswers::Ask(const ReplayedReads& reads, uint32_t file,
                          const AskedFilter& filter) {
  const std::vector<Question>& questions = reads.truth.questions;
  const std::vector<uint32_t>& to_file = reads.asked[file];
  // A read asks a file once, so these are the markers of other files.
  std::vector<std::vector<Slice>> markers;
  for (const uint32_t i : to_file) {
    markers.push_back(MarkersOf(reads, questions[i].read));
  }
  SystemClock& clock = *SystemClock::Default();
  const uint64_t begin = clock.CPUNanos();
  auto of_others = markers.begin();
  for (const uint32_t i : to_file) {
    const Question& question = questions[i];
    const auto [first, last] = reads.QuestionsOf(question.read);
    answers[i] =
        AnswerTo(filter, reads.ReadOf(question), first, last, *of_others++);
  }
  asking_nanos += clock.CPUNanos() - begin;
  asked += to_file.size();
  known[file] = true;
}

std::map<int, ReplayedAnswers::RatesByKind> ReplayedAnswers::RatesOf(
    const ReplayedReads& reads, const std::vector<int>& level_of) const {
  const ReadTruth& truth = reads.truth;
  std::map<int, RatesByKind> rates;
  for (uint32_t file = 0; file < level_of.size(); file++) {
    if (!known[file]) continue;
    for (const uint32_t i : reads.asked[file]) {
      const Question& question = truth.questions[i];
      const ReadQuery& read = reads.ReadOf(question);
      Rates& seen = rates[level_of[file]][static_cast<size_t>(read.kind)];
      const FilterAnswer& answer = answers[i];
      if (!IsForwardSeek(read)) {
        if (question.in_vain) seen.read.Add(answer.read);
        continue;
      }
      const auto [begin, end] = reads.QuestionsOf(question.read);
      // A closed seek may also end at its bound.
      const bool is_read =
          answer.seek.begin == SeekAnswer::Begin::kReads ||
          (read.kind == ReadKind::kClosedSeek && !question.found &&
           answer.seek.begin == SeekAnswer::Begin::kWaits &&
           !truth.ends[question.read].found);
      if (question.in_vain) seen.read.Add(is_read);
      if (is_read) continue;
      for (const Question* other = begin; other != end; other++) {
        if (!other->found ||
            (question.found && question.first_key <= other->first_key)) {
          continue;
        }
        seen.reach.Add(!answer.seek.Avoids(static_cast<size_t>(other - begin),
                                           other->first_key));
      }
    }
  }
  return rates;
}

void ReplayedAnswers::Draw(const ReplayedReads& reads, uint32_t file,
                           uint32_t i, double read, double reach) {
  const ReadTruth& truth = reads.truth;
  const Question& question = truth.questions[i];
  FilterAnswer& answer = answers[i];
  answer.read = DrawFor(i, file) < read;
  if (answer.read || !IsForwardSeek(reads.ReadOf(question))) return;
  // The file waits at its target, or has nothing for a closed seek.
  answer.seek.begin = reads.ReadOf(question).kind == ReadKind::kClosedSeek &&
                              !truth.ends[question.read].found
                          ? SeekAnswer::Begin::kEnds
                          : SeekAnswer::Begin::kWaits;
  answer.seek.marker = reads.ReadOf(question).target + std::string(1, '\0');
  const bool passes = DrawFor(file, i) >= reach;
  const auto [begin, end] = reads.QuestionsOf(question.read);
  for (const Question* other = begin; other != end; other++) {
    answer.seek.passes.push_back(
        passes && other->found &&
        !(question.found && question.first_key <= other->first_key));
  }
}

void ReplayedAnswers::Extrapolate(const ReplayedReads& reads,
                                  const std::vector<int>& level_of) {
  const std::map<int, RatesByKind> rates = RatesOf(reads, level_of);
  // The share in the nearest level with known files.
  const auto share_of = [&](int level, size_t kind, Rate Rates::*which,
                            double otherwise) {
    double share = otherwise;
    int distance = -1;
    for (const auto& [other, seen] : rates) {
      const Rate& found = seen[kind].*which;
      if (found.asked == 0) continue;
      if (distance >= 0 && std::abs(other - level) >= distance) continue;
      distance = std::abs(other - level);
      share = found.Share();
    }
    return share;
  };
  for (uint32_t file = 0; file < level_of.size(); file++) {
    if (known[file]) continue;
    std::array<double, kReadKinds> read{};
    std::array<double, kReadKinds> reach{};
    for (size_t kind = 0; kind < kReadKinds; kind++) {
      read[kind] = share_of(level_of[file], kind, &Rates::read, 1);
      reach[kind] = share_of(level_of[file], kind, &Rates::reach, 0);
    }
    for (const uint32_t i : reads.asked[file]) {
      const auto kind =
          static_cast<size_t>(reads.ReadOf(reads.truth.questions[i]).kind);
      Draw(reads, file, i, read[kind], reach[kind]);
    }
  }
}

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

ReplayResult SumUp(const std::string& name, const ReplayedReads& reads,
                   const std::vector<TargetFile>& files,
                   const std::vector<uint64_t>& keys,
                   const std::vector<ReplaySum>& sums,
                   const ReplayedAnswers& answers) {
  ReplayResult result;
  result.name = name;
  result.kinds = reads.kinds;
  uint64_t all_asked = 0;
  for (uint32_t i = 0; i < files.size(); i++) {
    all_asked += reads.asked[i].size();
    result.levels[files[i].level].Add(sums[i]);
  }
  ExtrapolateToAllFiles(&result.levels);
  const auto replayed = static_cast<double>(std::max<uint64_t>(reads.count, 1));
  result.asking_nanos_per_read =
      static_cast<double>(answers.asking_nanos) /
      static_cast<double>(std::max<uint64_t>(answers.asked, 1)) *
      static_cast<double>(all_asked) / replayed;

  ReadReplay replay(reads, files, keys, answers);
  for (uint32_t read = 0; read < reads.reads.size(); read++) {
    const auto [begin, end] = reads.QuestionsOf(read);
    if (!reads.replayed[read] || begin == end) continue;
    const std::vector<bool> visited = replay.Visited(read);
    for (const Question* question = begin; question != end; question++) {
      const bool is_visited = visited[static_cast<size_t>(question - begin)];
      ReplaySum& level = result.levels[files[question->file].level];
      if (is_visited) {
        level.blocks += question->blocks;
        result.kinds[reads.kind_of[read]].blocks += question->blocks;
      }
      if (!question->in_vain) continue;
      level.in_vain++;
      if (is_visited) level.false_positives++;
    }
  }
  for (const auto& [level, sum] : result.levels) result.all.Add(sum);
  result.blocks_per_read = static_cast<double>(result.all.blocks) / replayed;
  return result;
}

}  // namespace ROCKSDB_NAMESPACE::protean
