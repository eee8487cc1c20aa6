// SPDX-License-Identifier: Apache-2.0

//  Where a file has deletions and no values.
//
//  Queues, expired entries and cleared states leave long stretches of deletions
//  that hide nothing (docs/deletions.md), and a scan steps over each of them.
//  It need not, if it knows that no file has a value there
//  (table/seek/seek_decision.h). So each file has a list of its stretches.
//
//  A stretch is a range of keys [begin, end) in which the file has deletions
//  and nothing else: no value, merge operand or entity, in any version of any
//  key. Both ends are as short as the neighboring keys allow. The file's last
//  key is in none, since its older versions may be in the next file.
//
//  The list is a property of the file. Short stretches are left out. Where
//  there are many, the longest ones are kept: about a byte for eight entries.
//
//    varint    number of stretches
//              for each: a varint with the number of deleted keys, and begin
//              and end, each after its length, a varint

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "filter_policy/range_filter.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// The property of an SST file that has its stretches.
inline constexpr char kDeletionStretchesProperty[] =
    "protean.deletion_stretches";

struct DeletionStretch {
  Slice begin;
  Slice end;
  uint64_t deletions = 0;  // deleted keys
};

// The stretches of a file, in the order of keys. Immutable, and so thread safe.
class DeletionStretches {
 public:
  // Reads what DeletionStretchesBuilder has written; none if that is damaged.
  explicit DeletionStretches(const Slice& encoded);
  DeletionStretches(const DeletionStretches&) = delete;
  DeletionStretches& operator=(const DeletionStretches&) = delete;

  size_t size() const { return stretches_.size(); }
  const DeletionStretch& operator[](size_t i) const { return stretches_[i]; }
  const DeletionStretch* begin() const { return stretches_.data(); }
  const DeletionStretch* end() const { return begin() + size(); }

  // The first stretch that ends above `key`, or nullptr.
  const DeletionStretch* EndingAbove(const Slice& key) const;
  bool Contain(const Slice& key) const {
    const DeletionStretch* const stretch = EndingAbove(key);
    return stretch != nullptr && stretch->begin.compare(key) <= 0;
  }

 private:
  bool Parse(Slice input);

  const std::string encoded_;
  std::vector<DeletionStretch> stretches_;  // which refer to encoded_
};

// Collects the stretches of a file from its entries. Not thread safe.
class DeletionStretchesBuilder {
 public:
  // Minimum number of deletions of a stretch. A scan that stops at one reads
  // the file's index for it, which costs about as much as a few deletions.
  static constexpr uint64_t kMinDeletions = 4;
  // Maximum bytes of the list: kMinMaxBytes, or one byte for kEntriesPerByte
  // entries if that is more.
  static constexpr size_t kMinMaxBytes = 4096;
  static constexpr uint64_t kEntriesPerByte = 8;

  // Adds a version of a key. Keys come in bytewise order, the versions of one
  // key one after the other.
  void Add(const Slice& key, bool is_deletion) {
    entries_++;
    if (is_deletion) {
      AddDeletion(key);
    } else {
      if (deletions_ > 0) EndStretch(key);
      last_value_.Assign(key);
      has_value_ = true;
    }
  }
  // The list; empty if there are no stretches.
  std::string Finish();
  // The maximum size of the list, if no more entries come.
  size_t MaxBytes() const {
    return bytes_ + begin_.size() + last_.slice().size() + 32;
  }

 private:
  struct Kept {
    std::string begin;
    std::string end;
    uint64_t deletions;

    size_t bytes() const { return begin.size() + end.size() + 6; }
  };

  void AddDeletion(const Slice& key);
  // Ends the present stretch at the value `key`, and keeps it if it is long
  // enough.
  void EndStretch(const Slice& key);
  // Keeps the longest stretches, in half of the bytes.
  void DropShort();

  uint64_t entries_ = 0;
  KeyCopy last_value_;
  bool has_value_ = false;
  // The present stretch: where it begins, its last key, and the number of keys.
  std::string begin_;
  KeyCopy last_;
  uint64_t deletions_ = 0;

  uint64_t min_deletions_ = kMinDeletions;
  std::vector<Kept> kept_;
  size_t bytes_ = 0;  // of kept_
};

}  // namespace ROCKSDB_NAMESPACE::protean
