// SPDX-License-Identifier: Apache-2.0

//  The bounds of an iterator's latest seek: those of its ReadOptions and, where
//  these have none, those of the thread (thread_bounds.h).
//
//  RocksDB's iterators enforce the bounds of ReadOptions. They do not know the
//  bounds of the thread, so the table iterator has to stop at these itself.

#pragma once

#include <memory>

#include "filter_policy/open_db/seek_counts.h"
#include "rocksdb/options.h"
#include "table/seek/thread_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

class SeekBounds {
 public:
  // Takes the bounds of `read_options` alone, as they are now: the keys behind
  // the pointers may change between seeks.
  void Take(const ReadOptions& read_options) {
    upper_ = read_options.iterate_upper_bound;
    lower_ = read_options.iterate_lower_bound;
    stops_at_upper_ = false;
    stops_at_lower_ = false;
  }
  // Adds the bounds of the thread, or none if that is nullptr, where Take found
  // none.
  void Add(std::shared_ptr<const ThreadBounds> thread) {
    thread_ = std::move(thread);
    if (thread_ == nullptr) return;
    if (upper_ == nullptr) {
      upper_ = thread_->upper();
      stops_at_upper_ = upper_ != nullptr;
    }
    if (lower_ == nullptr) {
      lower_ = thread_->lower();
      stops_at_lower_ = lower_ != nullptr;
    }
  }

  // User keys, or nullptr for no bound. The upper bound is exclusive.
  const Slice* upper() const { return upper_; }
  const Slice* lower() const { return lower_; }

  SeekKind ForwardKind() const {
    return upper_ != nullptr ? SeekKind::kClosed : SeekKind::kOpen;
  }

  // Whether the table iterator itself must stop at the bound, which is the
  // thread's.
  bool stops_at_upper() const { return stops_at_upper_; }
  bool stops_at_lower() const { return stops_at_lower_; }
  // Lets the seek go below the thread's lower bound.
  void WaiveLower() { stops_at_lower_ = false; }

  bool IsAtOrAboveUpper(const Slice& user_key) const {
    return user_key.compare(*upper_) >= 0;
  }
  bool IsBelowLower(const Slice& user_key) const {
    return user_key.compare(*lower_) < 0;
  }

 private:
  const Slice* upper_ = nullptr;
  const Slice* lower_ = nullptr;
  bool stops_at_upper_ = false;
  bool stops_at_lower_ = false;
  std::shared_ptr<const ThreadBounds> thread_;  // keeps its keys
};

}  // namespace ROCKSDB_NAMESPACE::protean
