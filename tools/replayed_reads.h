// SPDX-License-Identifier: Apache-2.0

//  Which reads are replayed against filters, of which kind each one is, and
//  which files it asks. One half of the reads, chosen at random, is replayed;
//  the other half is for teaching filter policies.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/read_truth.h"

namespace ROCKSDB_NAMESPACE::protean {

// A pseudorandom number in [0, 1) that depends on the arguments only.
double DrawFor(uint64_t a, uint64_t b);

inline constexpr char kGetsOfAbsentKeys[] = "gets of absent keys";

// Reads of one kind. A filter can serve one kind well and another one badly, so
// Gets of keys that are absent count apart from Gets of keys that are there.
struct ReplayKind {
  std::string name;  // such as kGetsOfAbsentKeys
  uint64_t reads = 0;
  uint64_t blocks = 0;

  double BlocksPerRead() const {
    return static_cast<double>(blocks) /
           static_cast<double>(reads > 0 ? reads : 1);
  }
};

// Immutable. `reads` and `truth` must outlive it.
class ReplayedReads {
 public:
  // The reads ask some of `files` files.
  ReplayedReads(const std::vector<ReadQuery>& reads, const ReadTruth& truth,
                size_t files);

  const ReadTruth& truth() const { return truth_; }
  const ReadQuery& ReadOf(const Question& question) const {
    return reads_[question.read];
  }
  const std::vector<ReadQuery>& reads() const { return reads_; }

  // Whether each read is replayed, and how many are.
  const std::vector<bool>& replayed() const { return replayed_; }
  uint64_t count() const { return count_; }

  // The kinds of the replayed reads, without their blocks, and the index of the
  // kind of a replayed read.
  const std::vector<ReplayKind>& kinds() const { return kinds_; }
  size_t KindOf(uint32_t read) const { return kind_of_[read]; }

  // The indexes of the questions that replayed reads put to a file.
  const std::vector<uint32_t>& QuestionsTo(uint32_t file) const {
    return asked_[file];
  }
  // The begin and the end of the questions of a read, and the index of the
  // first one.
  std::pair<const Question*, const Question*> QuestionsOf(uint32_t read) const {
    const Question* const all = truth_.questions.data();
    return {all + first_question_[read], all + first_question_[read + 1]};
  }
  size_t FirstQuestionOf(uint32_t read) const { return first_question_[read]; }

 private:
  void FindKinds();

  const std::vector<ReadQuery>& reads_;
  const ReadTruth& truth_;
  std::vector<bool> replayed_;  // by read
  uint64_t count_ = 0;
  std::vector<ReplayKind> kinds_;
  std::vector<size_t> kind_of_;               // by read
  std::vector<size_t> first_question_;        // by read
  std::vector<std::vector<uint32_t>> asked_;  // by file
};

// The samples that the reads give: the ranges in which they find nothing, one
// for each read that asks a file in vain, except for reads for which `skip` is
// true.
std::vector<SampleQuery> SamplesOf(const std::vector<ReadQuery>& reads,
                                   const ReadTruth& truth,
                                   const std::vector<bool>& skip);

}  // namespace ROCKSDB_NAMESPACE::protean
