// SPDX-License-Identifier: Apache-2.0

//  Finds the dead ranges (filter_policy/open_db/dead_ranges.h) that a forward
//  search goes through, and skips those that are known.
//
//  Why it is right to skip one. A search sees the files of one version of the
//  tree. If all files of a range are among them, the newest entry that they
//  have of each key in the range is a deletion, and the search sees that
//  deletion unless its snapshot is older. Entries of other files and of
//  memtables are not part of the range: if another file may have a value in it,
//  the range is skipped up to there.
//
//  All or none. A file with deletions may only skip them if each file whose
//  values they hide skips these, too. So a range is skipped where the search
//  has come to, and no sooner: then all runs have been sought, none of them
//  stands at a value in it, and none waits before it. From then on, no run of
//  these files goes there: wherever one lands in the range, it goes on after
//  it. RocksDB seeks some runs and not others where a range deletion ends. The
//  next seek of the user, which is one of all runs, begins anew.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "filter_policy/open_db/dead_ranges.h"
#include "rocksdb/slice.h"
#include "table/seek/open_runs.h"

namespace ROCKSDB_NAMESPACE::protean {

// Not thread safe, as the user's iterator is not.
class DeadRangeSearch {
 public:
  // The search goes backwards, or cannot tell what it is for: from now on,
  // nothing is found or skipped.
  void Forbid() {
    is_forbidden_ = true;
    Stop();
    skipped_.reset();
  }
  // Finds nothing more until the next seek of the user.
  void Stop() { finding_ = Finding::kOff; }

  // A run is sought for an internal key with this footer. `begins` tells
  // whether it is the first one of a round.
  void OnSeek(uint64_t footer, bool begins) {
    level_goes_on_ = false;
    if (begins) {
      BeginRound(footer);
    } else if (footer != footer_ || sequence_ == 0) {
      // Some runs go on at another key.
      Stop();
    }
  }
  // A run is sought for the first key of its file. `is_new` tells whether it is
  // sought for the first time.
  void OnSeekToFirst(bool is_new);
  // A run leaves. `makes_room` tells that it has come to the end of its file,
  // and that another run waits to be sought: its level goes on with the next
  // file.
  void OnLeave(bool makes_room) { level_goes_on_ = makes_room; }

  // Returns true if the entries that runs leave are wanted.
  bool WantsEntries() const { return finding_ >= Finding::kReady; }
  bool HasBegun() const { return finding_ == Finding::kBegun; }
  // The search leaves an entry of `run`, in the round that is for `target`.
  // Returns false if the range that is looked for ends before the entry.
  bool Pass(const Slice& internal_key, const Slice& user_key,
            const Slice& target, OpenRun* run);
  // The search has come to a deletion of this key, which it has not passed yet.
  void OnDeletion(const Slice& user_key) {
    if (finding_ == Finding::kPaused && !IsInSkipped(user_key)) {
      Begin(user_key, /*inclusive=*/false);
    }
  }
  // The search skips what it has at `from`: deletions that hide nothing, or if
  // `dead`, what is in the range that is skipped.
  void OnSkip(const Slice& from, bool dead, const Slice& target);
  // The search has passed all entries below `end`: `run` keeps the range, which
  // has begun.
  void Finish(const Slice& end, const OpenRuns& runs, OpenRun* run);
  // The last key that has been passed since the range has begun.
  const std::string& passed() const { return finder_->key(); }

  bool IsSkipping() const { return skipped_ != nullptr; }
  // Returns true if runs of this file may not be at `key`, and stores where
  // they go on.
  bool MustSkip(uint64_t file, const Slice& key, std::string* to) const {
    if (!IsInSkipped(key) || !skipped_->range->HasFile(file)) return false;
    *to = skipped_->to;
    return true;
  }
  // Returns true if the search sees all deletions of the range.
  bool Sees(const DeadRange& range) const {
    return !is_forbidden_ && sequence_ >= range.sequence;
  }
  // The search has come to `from`, and `runs` are all of its runs. Skips what
  // it can of the range, and stores where its files go on. False if that is
  // nothing.
  bool Skip(std::shared_ptr<const DeadRange> range, const Slice& from,
            const OpenRuns& runs, std::string* to);

 private:
  enum class Finding : uint8_t {
    kOff,     // some runs have gone another way
    kPaused,  // a range may begin at a deletion
    kReady,   // a range may begin at the target: no entry has been left yet
    kBegun,
  };
  // What is skipped: [from, to) of the range.
  struct Skipped {
    std::shared_ptr<const DeadRange> range;
    std::string from;
    std::string to;
    // Whether the round sees all versions of its target in the range's files.
    bool sees_all = true;
  };

  void BeginRound(uint64_t footer);
  void Begin(const Slice& target, bool inclusive);
  bool IsInSkipped(const Slice& key) const {
    return IsSkipping() && key.compare(skipped_->to) < 0 &&
           key.compare(skipped_->from) >= 0;
  }
  // Returns true if a run of the range that is skipped has not come to its end.
  bool IsBeforeEnd(const OpenRuns& runs) const;

  Finding finding_ = Finding::kOff;
  bool is_forbidden_ = false;
  bool level_goes_on_ = false;
  // The footer of the keys for which the round seeks, and the sequence number
  // of the search's snapshot, which it tells; 0 if it does not.
  uint64_t footer_ = 0;
  SequenceNumber sequence_ = 0;
  std::unique_ptr<DeadRangeFinder> finder_;  // made when a range begins
  std::unique_ptr<const Skipped> skipped_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
