// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "rocksdb/iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

using KeySet = std::set<std::string>;

// Iterates over keys that do not change, forwards only. It fails after some
// steps, and does something before each Seek, if told so.
class SetIterator final : public Iterator {
 public:
  explicit SetIterator(KeySet keys, int steps_to_failure = -1,
                       std::function<void()> before_seek = nullptr)
      : keys_(std::move(keys)),
        it_(keys_.end()),
        steps_(steps_to_failure),
        before_seek_(std::move(before_seek)) {}

  bool Valid() const override { return steps_ != 0 && it_ != keys_.end(); }
  void SeekToFirst() override { MoveTo(keys_.begin()); }
  void Seek(const Slice& target) override {
    if (before_seek_ != nullptr) before_seek_();
    MoveTo(keys_.lower_bound(target.ToString()));
  }
  void Next() override { MoveTo(std::next(it_)); }
  void SeekToLast() override { it_ = keys_.end(); }
  void SeekForPrev(const Slice& /*target*/) override { it_ = keys_.end(); }
  void Prev() override { it_ = keys_.end(); }
  Slice key() const override { return *it_; }
  Slice value() const override { return Slice(); }
  Status status() const override {
    return steps_ != 0 ? Status::OK() : Status::IOError("it was told to fail");
  }

 private:
  void MoveTo(KeySet::const_iterator it) {
    it_ = it;
    if (steps_ > 0) steps_--;
  }

  const KeySet keys_;
  KeySet::const_iterator it_;
  int steps_;
  const std::function<void()> before_seek_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
