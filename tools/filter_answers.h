// SPDX-License-Identifier: Apache-2.0

//  What filters answer to the reads that are replayed, and what the reads cost
//  then. The filters of some files are asked; the others are taken to answer as
//  these do.

#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "table/filter_trial.h"
#include "tools/search_replay.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// What the table iterator does with a read of a file.
struct FilterAnswer {
  // Whether the file is read, unless the read is a forward seek.
  bool read = false;
  SeekAnswer seek;
};

// The answers of filters that one policy has built, or of those that exist.
struct ReplayedAnswers {
  std::vector<FilterAnswer> answers;  // by question
  std::vector<bool> known;            // by file: whether it was asked
  // The questions that were asked, and the CPU time that they took.
  uint64_t asked = 0;
  uint64_t asking_nanos = 0;

  ReplayedAnswers(size_t questions, size_t files)
      : answers(questions), known(files) {}

  // Puts the questions of the reads to the filter of a file. Files of large
  // levels are asked first: they wait at markers further on, about which those
  // of small levels are then asked.
  void Ask(const ReplayedReads& reads, uint32_t file,
           const AskedFilter& filter);
  // Draws the answers of files that were not asked, at the rates of those that
  // were, in the same level or the nearest one. `level_of` has each file's.
  void Extrapolate(const ReplayedReads& reads,
                   const std::vector<int>& level_of);

 private:
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
    Rate read;   // of reads in vain; of forward seeks, those read at once
    Rate reach;  // of stops up to which a file has nothing, those it does not
                 // pass
  };
  using RatesByKind = std::array<Rates, kReadKinds>;

  // The rates of the files that were asked, by level.
  std::map<int, RatesByKind> RatesOf(const ReplayedReads& reads,
                                     const std::vector<int>& level_of) const;
  // Draws the answer to a question, at the rates of its kind.
  void Draw(const ReplayedReads& reads, uint32_t file, uint32_t question,
            double read, double reach);
  // The markers at which files wait that the read has asked already, in order.
  // None unless the read is a forward seek.
  std::vector<Slice> MarkersOf(const ReplayedReads& reads, uint32_t read) const;
};

// Sums over a level, or over all levels. Keys, sizes and times cover all files
// of the level, extrapolated from the files whose filters were built.
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

  void Add(const ReplaySum& other);

  double BitsPerKey() const { return keys > 0 ? 8 * filter_bytes / keys : 0; }
  double FalsePositiveRate() const;
  // Negative if no filter predicts a rate.
  double PredictedRate() const;
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

// The outcome for a file under one policy.
struct FileOutcome {
  double keys = 0;
  uint64_t filter_bytes = 0;
  uint64_t build_nanos = 0;
  uint64_t build_memory = 0;
  double predicted = -1;  // false positives; negative if it is not known
};

// The sums of one policy's filters. All files have answers; those that were
// asked have an outcome, too. `keys` has the number of each file's keys.
ReplayResult SumUp(const std::string& name, const ReplayedReads& reads,
                   const std::vector<TargetFile>& files,
                   const std::vector<uint64_t>& keys,
                   const std::vector<FileOutcome>& outcomes,
                   const ReplayedAnswers& answers);

}  // namespace ROCKSDB_NAMESPACE::protean
