// SPDX-License-Identifier: Apache-2.0

//  What filters answer to the reads that are replayed. The filters of some
//  files are asked; the others are taken to answer as these do.

#pragma once

#include <vector>

#include "table/filter_trial.h"
#include "tools/replayed_reads.h"
#include "tools/search_replay.h"

namespace ROCKSDB_NAMESPACE::protean {

// What the table iterator does with a read of a file.
struct FilterAnswer {
  // Whether the file is read, unless the read is a forward seek.
  bool read = false;
  SeekAnswer seek;
};

// The answers of filters that one policy has built, or of those that exist.
struct FilterAnswers {
  std::vector<FilterAnswer> answers;  // by question
  std::vector<bool> known;            // by file: whether it was asked
  // The questions that were asked, and the CPU time that they took.
  uint64_t asked = 0;
  uint64_t asking_nanos = 0;

  FilterAnswers(size_t questions, size_t files)
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
  // The markers at which files wait that the read has asked already, in order.
  // None unless the read is a forward seek.
  std::vector<Slice> MarkersOf(const ReplayedReads& reads, uint32_t read) const;
};

}  // namespace ROCKSDB_NAMESPACE::protean
