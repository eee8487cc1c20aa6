// SPDX-License-Identifier: Apache-2.0

//  Measures how well filters do: filter policies build the filters of a column
//  family's files in memory, and reads are replayed against them.
//
//  One half of the reads, chosen at random, teaches the policies that design
//  their filters for queries, as the samples of a DB would. The other half is
//  replayed: for each read, it is known which files it asks, and which of them
//  in vain (reads.h). A file is read if it has something for the read, or
//  if its filter does not know better; the blocks of these files add up to the
//  cost of the read.
//
//  Policies that give small runs more bits (filter_budget.h) are told the tree
//  as it will be once all files have been rewritten under the policy.

#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/parted_filter.h"
#include "rocksdb/filter_policy.h"
#include "tools/output.h"
#include "tools/reads.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Which reads are replayed, and how a seek is: search_replay.cc ----

// A pseudorandom number in [0, 1) that depends on the arguments only.
double DrawFor(uint64_t a, uint64_t b);

inline constexpr char kGetsOfAbsentKeys[] = "gets of absent keys";

// Reads of one kind. A filter can serve one kind well and another one badly, so
// Gets of keys that are absent count apart from Gets of keys that are there.
struct ReplayKind {
  std::string name;  // such as kGetsOfAbsentKeys
  uint64_t reads = 0;
  uint64_t blocks = 0;

  double BlocksPerRead() const { return Ratio(blocks, reads); }
};

// Which reads are replayed, and what they ask. Not changed once it has been
// made. `reads` and `truth` must outlive it.
struct ReplayedReads {
  // The reads ask some of `files` files.
  ReplayedReads(const std::vector<ReadQuery>& reads, const ReadTruth& truth,
                size_t files);

  const ReadQuery& ReadOf(const Question& question) const {
    return reads[question.read];
  }
  // The begin and the end of the questions of a read.
  std::pair<const Question*, const Question*> QuestionsOf(uint32_t read) const {
    const Question* const all = truth.questions.data();
    return {all + first_question[read], all + first_question[read + 1]};
  }

  const std::vector<ReadQuery>& reads;
  const ReadTruth& truth;
  std::vector<bool> replayed;  // by read
  uint64_t count = 0;          // of the reads that are replayed
  // The kinds of the replayed reads, without their blocks, and the index of the
  // kind of a replayed read.
  std::vector<ReplayKind> kinds;
  std::vector<size_t> kind_of;
  std::vector<size_t> first_question;  // index in `truth`, by read
  // The indexes of the questions that replayed reads put to a file.
  std::vector<std::vector<uint32_t>> asked;  // by file
};

// The samples that the reads give: the ranges in which they find nothing, one
// for each read that asks a file in vain, except for reads for which `skip` is
// true.
std::vector<SampleQuery> SamplesOf(const std::vector<ReadQuery>& reads,
                                   const ReadTruth& truth,
                                   const std::vector<bool>& skip);

// What a file's iterator does with a read. Only forward seeks wait.
struct ReadAnswer {
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

  // Returns true if the file is not read if the search ends at `stop`, the key
  // of the run with that number.
  bool Avoids(size_t run, const std::string& stop) const {
    return begin == Begin::kEnds ||
           (begin == Begin::kWaits && (marker > stop || passes[run]));
  }
};

// One sorted run of a search: the file that is asked, and the first key that
// the run has for the seek.
struct SearchedRun {
  const Question* question = nullptr;
  const ReadAnswer* answer = nullptr;
  SequenceNumber marker_sequence = 0;  // of the file
  bool may_wait = true;
};

// `begin` to `end` are the questions of the read; `markers` are those at which
// other files of it wait, in ascending order.
ReadAnswer AskAboutSeek(const FileRangeFilter& filter, const ReadQuery& read,
                        const Question* begin, const Question* end,
                        const std::vector<Slice>& markers);

// For each of `runs`, in RocksDB's order, from the newest to the oldest:
// whether its file is read.
std::vector<bool> FilesRead(const std::vector<SearchedRun>& runs,
                            const ReadQuery& read, const ReadTruth::End& end);

// ---- What filters do ----

// Sums over a level, or over all levels; or what is known of a file. Keys,
// sizes and times cover all files of the level, extrapolated from the files
// whose filters were built.
struct ReplaySum {
  size_t files = 0;
  uint64_t bytes = 0;
  // The files whose filters were built.
  size_t built_files = 0;
  uint64_t built_bytes = 0;

  double keys = 0;
  double filter_bytes = 0;
  double build_nanos = 0;  // of CPU
  // The memory that building the filter of one of the files takes, at most.
  uint64_t build_memory = 0;

  // The reads that were replayed.
  uint64_t in_vain = 0;          // asked a file that has nothing for them
  uint64_t false_positives = 0;  // read such a file
  uint64_t blocks = 0;
  // The false positives that the filters predict for reads in vain, and the
  // number of these reads whose filter predicts a rate.
  double predicted = 0;
  uint64_t predicting = 0;

  void Add(const ReplaySum& other) {
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
  double BitsPerKey() const { return keys > 0 ? 8 * filter_bytes / keys : 0; }
  double FalsePositiveRate() const { return Ratio(false_positives, in_vain); }
  // Negative if no filter predicts a rate.
  double PredictedRate() const {
    return predicting == 0 ? -1 : Ratio(predicted, predicting);
  }
};

struct ReplayResult {
  std::string name;
  std::map<int, ReplaySum> levels;
  ReplaySum all;
  double blocks_per_read = 0;
  // CPU time of asking filters, for one read of all files that it asks, as if
  // files whose filters were not built were like the others.
  double asking_nanos_per_read = 0;
  // The kinds of the reads that were replayed, in the same order in each
  // result.
  std::vector<ReplayKind> kinds;
};

struct Candidate {
  std::string name;
  std::shared_ptr<const FilterPolicy> policy{};  // nullptr: no filters
};

struct ReplayReport {
  std::vector<ReplayResult> results;  // of the candidates
  uint64_t replayed = 0;              // reads
  uint64_t taught = 0;                // samples given to the policies
  size_t files_gone = 0;
  bool levels_settled = false;  // whether a policy was told the tree
  // Files whose existing filters are not asked, because the column family's
  // policy does not know them.
  size_t files_not_asked = 0;
  uint64_t range_deletions = 0;  // which are ignored
  // The replayed seeks that ask existing filters for a prefix, and so may read
  // less than in the replay, if they are to find keys with that prefix only.
  std::set<uint32_t> prefix_seeks;
  // Whether filters of some chosen files were not built, since a stop was
  // requested.
  bool stopped = false;

  // Has the files whose filters were built: those of any candidate.
  const ReplaySum& built() const { return results.back().all; }
};

// What is replayed.
struct ReplayTask {
  const TargetFamily& family;
  const std::vector<ReadQuery>& reads;
  const ReadTruth& truth;
  // The first one stands for the filters that exist.
  const std::vector<Candidate>& candidates;
  // The most bytes that the files whose filters are built may have in all.
  uint64_t max_bytes;
  ReportShare progress;
  // Once it returns true, no more files are begun; those before, at least one,
  // have to do.
  std::function<bool()> stop_requested;
};

// Builds filters for files, chosen evenly from each level, for each candidate,
// and replays the reads into `*report`, a new one. Corruption names a file that
// is damaged.
Status ReplayReads(const ReplayTask& task, ReplayReport* report);

// ---- Which filters are the best: advice.cc ----

// The best filters are those that save most for their bits, among those that
// obey the operator's limits.

// The first two results of a replay: the existing filters, and no filters.
constexpr size_t kAsItIs = 0;
constexpr size_t kNoFilters = 1;

// Filters count as equally good if their size and the blocks read differ by
// less than this factor.
constexpr double kAsGood = 1.02;

// What the filters may cost. Infinity, or 0 bytes, is no limit.
struct AdviceLimits {
  static constexpr double kNoLimit = std::numeric_limits<double>::infinity();

  double get_blocks = kNoLimit;  // of a Get of an absent key, on average
  uint64_t filter_memory = 0;    // bytes of all filters
  double build_cpu = kNoLimit;   // seconds, to build all filters
};

// How a result stands to the limit that it exceeds by the largest factor, or
// comes nearest to.
struct LimitUse {
  const char* flag;
  double needs;
  double allowed;
  // Such as "needs 0.0200 blocks for a Get of an absent key, but
  // --max_get_blocks=0.01".
  std::string text;

  // Above 1 if the limit is exceeded.
  double Share() const {
    if (allowed == AdviceLimits::kNoLimit) return 0;
    if (allowed > 0) return needs / allowed;
    return needs > 0 ? AdviceLimits::kNoLimit : 1;
  }
};
LimitUse TightestLimit(const ReplayResult& result, const AdviceLimits& limits);

// The Gets of absent keys; nullptr if none were replayed, without which their
// limit means nothing.
const ReplayKind* AbsentGets(const ReplayResult& result);

// For each result, the blocks saved by each bit per key that it has beyond the
// next smaller budget of its kind, or beyond no filter if it is the smallest;
// -1 where there is no such number.
std::vector<double> SavedPerBit(const std::vector<ReplayResult>& results);

// Returns the index of the best result, or of the nearest miss if none of the
// results obeys the limits. Starts from no filters; if the limits rule these
// out, from the result with the largest saving per bit. Goes on to the result
// with the largest saving per additional bit, until a bit saves less than
// `min_saving` percent of the blocks read without filters.
size_t Recommend(const std::vector<ReplayResult>& results,
                 const AdviceLimits& limits, double min_saving);

}  // namespace ROCKSDB_NAMESPACE::protean
