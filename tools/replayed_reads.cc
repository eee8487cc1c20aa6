// SPDX-License-Identifier: Apache-2.0

#include "tools/replayed_reads.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The name of the kind that a read counts to.
std::string NameOfKind(const ReadQuery& read, bool finds_key) {
  if (read.kind != ReadKind::kGet) return ToString(read.kind);
  return finds_key ? "gets of present keys" : kGetsOfAbsentKeys;
}

}  // namespace

double DrawFor(uint64_t a, uint64_t b) {
  const uint64_t numbers[] = {a, b};
  return static_cast<double>(
             Hash64(reinterpret_cast<const char*>(numbers), sizeof(numbers)) >>
             11) *
         0x1p-53;
}

ReplayedReads::ReplayedReads(const std::vector<ReadQuery>& reads,
                             const ReadTruth& truth, size_t files)
    : reads_(reads), truth_(truth), replayed_(reads.size()), asked_(files) {
  // Chosen at random, not every second read: reads of different kinds may
  // alternate.
  for (size_t i = 0; i < reads.size(); i++) {
    replayed_[i] = DrawFor(i, reads.size()) < 0.5;
    if (replayed_[i]) count_++;
  }
  first_question_.assign(reads.size() + 1, 0);
  for (const Question& question : truth.questions) {
    first_question_[question.read + 1]++;
  }
  std::partial_sum(first_question_.begin(), first_question_.end(),
                   first_question_.begin());
  for (uint32_t i = 0; i < truth.questions.size(); i++) {
    const Question& question = truth.questions[i];
    if (replayed_[question.read]) asked_[question.file].push_back(i);
  }
  FindKinds();
}

void ReplayedReads::FindKinds() {
  std::vector<bool> finds_key(reads_.size());
  for (const Question& question : truth_.questions) {
    if (!question.in_vain) finds_key[question.read] = true;
  }
  std::map<std::string, size_t> known;
  kind_of_.resize(reads_.size());
  for (size_t i = 0; i < reads_.size(); i++) {
    if (!replayed_[i]) continue;
    const std::string name = NameOfKind(reads_[i], finds_key[i]);
    const auto [place, is_new] = known.emplace(name, kinds_.size());
    if (is_new) kinds_.push_back({name});
    kind_of_[i] = place->second;
    kinds_[place->second].reads++;
  }
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

}  // namespace ROCKSDB_NAMESPACE::protean
