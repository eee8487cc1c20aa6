// SPDX-License-Identifier: Apache-2.0

//  Replays a forward seek over all sorted runs: which files RocksDB's iterators
//  read before the seek ends.
//
//  A file that waits asks its filter how far it has nothing, up to the nearest
//  key of the runs that have been read so far (table/seek/open_runs.h). That
//  key may lie far behind the one at which the seek ends, so what a file does
//  depends on the files before it. Until a file is read, files move on to the
//  markers of each other, and which one is read first depends on these. Filters
//  are built and asked one after the other, though. So each filter is asked
//  beforehand about the first key of each run, and the markers of the files
//  that were asked before, and the search is replayed from the answers.

#pragma once

#include <string>
#include <vector>

#include "filter_policy/file_range_filter.h"
#include "tools/read_queries.h"
#include "tools/read_truth.h"

namespace ROCKSDB_NAMESPACE::protean {

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
