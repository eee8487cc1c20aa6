// SPDX-License-Identifier: Apache-2.0

#include "tools/filter_answers.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "rocksdb/system_clock.h"
#include "table/seek/seek_decision.h"

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

}  // namespace

std::vector<Slice> FilterAnswers::MarkersOf(const ReplayedReads& reads,
                                            uint32_t read) const {
  std::vector<Slice> markers;
  if (!IsForwardSeek(reads.reads()[read])) return markers;
  const size_t end = reads.FirstQuestionOf(read + 1);
  for (size_t i = reads.FirstQuestionOf(read); i < end; i++) {
    const SeekAnswer& answer = answers[i].seek;
    for (const std::string* marker : {&answer.marker, &answer.next}) {
      if (!marker->empty()) markers.emplace_back(*marker);
    }
  }
  std::sort(markers.begin(), markers.end(),
            [](const Slice& a, const Slice& b) { return a.compare(b) < 0; });
  return markers;
}

void FilterAnswers::Ask(const ReplayedReads& reads, uint32_t file,
                        const AskedFilter& filter) {
  const std::vector<Question>& questions = reads.truth().questions;
  const std::vector<uint32_t>& to_file = reads.QuestionsTo(file);
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

void FilterAnswers::Extrapolate(const ReplayedReads& reads,
                                const std::vector<int>& level_of) {
  const ReadTruth& truth = reads.truth();
  std::map<int, std::array<Rates, kReadKinds>> rates;
  const auto kind_of = [&](uint32_t i) {
    return static_cast<size_t>(reads.ReadOf(truth.questions[i]).kind);
  };
  for (uint32_t file = 0; file < level_of.size(); file++) {
    if (!known[file]) continue;
    for (const uint32_t i : reads.QuestionsTo(file)) {
      const Question& question = truth.questions[i];
      Rates& seen = rates[level_of[file]][kind_of(i)];
      const FilterAnswer& answer = answers[i];
      if (!IsForwardSeek(reads.ReadOf(question))) {
        if (question.in_vain) seen.read.Add(answer.read);
        continue;
      }
      const auto [begin, end] = reads.QuestionsOf(question.read);
      // A closed seek may also end at its bound.
      const bool is_read =
          answer.seek.begin == SeekAnswer::Begin::kReads ||
          (reads.ReadOf(question).kind == ReadKind::kClosedSeek &&
           !question.found && answer.seek.begin == SeekAnswer::Begin::kWaits &&
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
    for (const uint32_t i : reads.QuestionsTo(file)) {
      const Question& question = truth.questions[i];
      FilterAnswer& answer = answers[i];
      answer.read = DrawFor(i, file) < read[kind_of(i)];
      if (answer.read || !IsForwardSeek(reads.ReadOf(question))) continue;
      // The file waits at its target, or has nothing for a closed seek.
      answer.seek.begin =
          reads.ReadOf(question).kind == ReadKind::kClosedSeek &&
                  !truth.ends[question.read].found
              ? SeekAnswer::Begin::kEnds
              : SeekAnswer::Begin::kWaits;
      answer.seek.marker = reads.ReadOf(question).target + std::string(1, '\0');
      const bool passes = DrawFor(file, i) >= reach[kind_of(i)];
      const auto [begin, end] = reads.QuestionsOf(question.read);
      for (const Question* other = begin; other != end; other++) {
        answer.seek.passes.push_back(
            passes && other->found &&
            !(question.found && question.first_key <= other->first_key));
      }
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
