// SPDX-License-Identifier: Apache-2.0

//  Which reads are replayed against filters, of which kind each one is, and
//  which files it asks. One half of the reads, chosen at random, is replayed;
//  the other half is for teaching filter policies.
//
//  Replays a forward seek over all sorted runs: which files RocksDB's iterators
//  read before the seek ends.
//
//  A file that waits asks its filter how far it has nothing, up to the nearest
//  key of the runs that have been read so far (table/seek/run_search.h). That
//  key may lie far behind the one at which the seek ends, so what a file does
//  depends on the files before it. Until a file is read, files move on to the
//  markers of each other, and which one is read first depends on these. Filters
//  are built and asked one after the other, though. So each filter is asked
//  beforehand about the first key of each run, and the markers of the files
//  that were asked before, and the search is replayed from the answers.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "filter_policy/range_filter.h"
#include "tools/read_truth.h"
#include "tools/reads.h"

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

// What a file's iterator does with a forward seek.
struct SeekAnswer {
  enum class Begin : uint8_t { kReads, kWaits, kEnds };

  Begin begin = Begin::kReads;
  // For kWaits: where the file waits first.
  std::string marker;
  // Where the file goes on to wait if other runs tell it nothing; empty if it
  // is read then.
  std::string next;
  // For the first key of each run: whether the filter knows that the file has
  // nothing from the marker to that key.
  std::vector<bool> passes;
  // The last of the markers of other files such that the filter knows that the
  // file has nothing before it; empty if there is none.
  std::string clear_to{};

  // Whether the file is not read if the search ends at `stop`, the key of the
  // run with that number.
  bool Avoids(size_t run, const std::string& stop) const {
    return begin == Begin::kEnds ||
           (begin == Begin::kWaits && (marker > stop || passes[run]));
  }
};

// One sorted run of a search: the file that is asked, and the first key that
// the run has for the seek.
struct SearchedRun {
  const Question* question = nullptr;
  const SeekAnswer* answer = nullptr;
  SequenceNumber marker_sequence = 0;  // of the file
  bool may_wait = true;
};

// `begin` to `end` are the questions of the read; `markers` are those at which
// other files of it wait, in ascending order.
SeekAnswer AskAboutSeek(const FileRangeFilter& filter, const ReadQuery& read,
                        const Question* begin, const Question* end,
                        const std::vector<Slice>& markers);

// For each of `runs`, in RocksDB's order, from the newest to the oldest:
// whether its file is read.
std::vector<bool> FilesRead(const std::vector<SearchedRun>& runs,
                            const ReadQuery& read, const ReadTruth::End& end);

}  // namespace ROCKSDB_NAMESPACE::protean
