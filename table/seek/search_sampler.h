// SPDX-License-Identifier: Apache-2.0

//  Samples the seeks of a search that turn out to be in vain.
//
//  A file whose next key lies behind the end of the search has been asked in
//  vain: it has no key from the target to there, and its filter should have
//  known. Whether that is so is found out when the next round begins, or when
//  the first of the iterators is destroyed: then the seeks that are watched are
//  looked at, and sampled.
//
//  A key that is found in a memtable is not seen. Then the search seems to have
//  gone on to the first key of the files; so it does, too, if a file makes room
//  for the next one of its level before all runs have been sought. What is
//  sampled is empty all the same.

#pragma once

#include <string>
#include <vector>

#include "table/seek/open_runs.h"

namespace ROCKSDB_NAMESPACE::protean {

class SearchSampler {
 public:
  bool IsWatching() const { return !watches_.empty(); }

  // Watches the seek of `run` for `target`, which has found a key or waits
  // before one. `inclusive` tells whether a backward seek may find `target`
  // itself.
  void Watch(OpenRun* run, const Slice& target, bool backwards, bool inclusive);
  // `run`, if it is watched, has waited, and is at a key, at a marker further
  // on, or at none now.
  void Follow(OpenRun* run);
  // Samples what was in vain in this round, and watches nothing any more.
  void Finish(const OpenRuns& runs);
  // `run` is no part of the search any more.
  void Forget(OpenRun* run);

 private:
  struct WatchedSeek {
    OpenRun* run;
    std::string target;
    std::string landing;  // the position at which the seek has ended
    bool backwards;
    bool inclusive;
  };

  // One for each run that is watched.
  std::vector<WatchedSeek> watches_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
