// SPDX-License-Identifier: Apache-2.0

//  Ranges of keys in which everything is deleted, as scans have found them.
//
//  A scan that has stepped over deletions and the values that they hide knows:
//  of all entries that its files have in [begin, end), the newest one of each
//  key is a deletion. This stays true for every reader that sees these files,
//  and is not older than the deletions: it may skip the range
//  (table/seek/run_search.h, docs/deletions.md).
//
//  A DeadRangeFinder finds such a range in a scan, and DeadRanges keeps those
//  of an open DB, until one of their files is closed. Ranges of the same file
//  do not overlap. When there is no more room, the oldest one goes.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/slice.h"
#include "rocksdb/types.h"

namespace ROCKSDB_NAMESPACE::protean {

struct DeadRange {
  std::string begin;
  std::string first;  // the first key in the range of which there is an entry
  std::string end;    // not part of the range
  // The newest deletion in the range.
  SequenceNumber sequence = 0;
  // The files that have entries in the range, by numbers that no other file of
  // the process has had. In order.
  std::vector<uint64_t> files;

  bool Contains(const Slice& key) const {
    return key.compare(begin) >= 0 && key.compare(end) < 0;
  }
  bool HasFile(uint64_t file) const;
};

// Finds the dead range that a forward scan goes through. The scan begins at a
// target, from which on all of its files have been sought, and then passes
// their entries: in the order of keys, and for each key the newest one first.
class DeadRangeFinder {
 public:
  // The scan begins at `target`, or right after it unless `inclusive`.
  void Begin(const Slice& target, bool inclusive);
  // The key of the last entry that has been passed.
  const std::string& key() const { return key_; }

  // The scan passes an entry, and perhaps sees all that its file has for the
  // target. Returns false if the key is not deleted: a range ends before it.
  bool Pass(uint64_t file, const Slice& user_key, bool is_deletion,
            SequenceNumber sequence, bool sees_all);

  // The scan, at `from`, skips entries that are known to be dead: by `range`,
  // or if that is nullptr, since they are deletions that hide nothing.
  void Skip(const Slice& from, const DeadRange* range, bool sees_all);

  // The scan has passed all entries below `end`. Stores the range if it is
  // worth keeping.
  bool Finish(const Slice& end, DeadRange* range);

  // How many entries make a range worth keeping.
  static constexpr uint32_t kMinEntries = 8;
  // For tests, while nothing reads.
  static void SetMinEntries(uint32_t entries) { min_entries_ = entries; }

 private:
  static inline uint32_t min_entries_ = kMinEntries;

  void AddFile(uint64_t file);

  std::string target_;
  bool sees_all_ = true;
  uint32_t entries_ = 0;  // passed, or skipped in one go
  std::string key_;       // the latest that was passed
  DeadRange range_;       // its files are not in order
};

// Thread safe.
class DeadRanges {
 public:
  // Keeps ranges of about `max_bytes` bytes in all, and none that takes more
  // than an eighth of that.
  explicit DeadRanges(size_t max_bytes) : max_bytes_(max_bytes) {}
  DeadRanges(const DeadRanges&) = delete;
  DeadRanges& operator=(const DeadRanges&) = delete;

  // REQUIRES: begin <= first < end, and there are files.
  void Add(DeadRange range);

  // The range with entries of the file that has this key in it, or nullptr.
  std::shared_ptr<const DeadRange> Find(uint64_t file, const Slice& key) const;

  // The file is closed: removes its ranges.
  void Forget(uint64_t file);

  size_t max_bytes() const { return max_bytes_; }
  // Ranges that are kept.
  size_t size() const;

 private:
  using Ranges = std::list<std::shared_ptr<const DeadRange>>;

  static size_t BytesOf(const DeadRange& range);
  // Removes the ranges that this one contains, and cuts off what others have of
  // it. False if nothing is left.
  bool MakeRoomFor(DeadRange* range);
  void Remove(Ranges::iterator range);

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  Ranges ranges_;  // the oldest first
  // The ranges of each file, by their ends.
  std::unordered_map<uint64_t, std::map<std::string, Ranges::iterator>>
      by_file_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
