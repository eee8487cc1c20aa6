// SPDX-License-Identifier: Apache-2.0

//  Questions that filters answer instead of a read. While an AtWork exists in a
//  thread, RocksDB walks through memtables and files as usual, but the tables
//  of Protean look empty: the object asks their filters what it wants to know.
//  That answers whether a key may exist (plugin/ask_filters.cc), and how many
//  keys a range has (plugin/approximate_count.cc).

#pragma once

#include "rocksdb/options.h"
#include "table/filtered_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// At work as long as it exists, in the thread that made it.
class AtWork {
 public:
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  // A search comes to a file, and goes on there from `*lo`, a user key, or from
  // the first key if that is nullptr. kOutOfBound keeps it from going on to the
  // next file of the run. `*status` is the status of the iterator over the
  // file.
  virtual IterBoundCheck Ask(const FilteredFile& file,
                             const ReadOptions& read_options, const Slice* lo,
                             Status* status) = 0;

  // The object at work in this thread, or nullptr.
  static inline thread_local AtWork* current = nullptr;
  // True if Get asks the filters alone, too, and not only iterators do.
  const bool asks_in_gets;

 protected:
  explicit AtWork(bool in_gets) : asks_in_gets(in_gets), before_(current) {
    current = this;
  }
  ~AtWork() { current = before_; }

 private:
  AtWork* const before_;
};

// The iterator over a file that finds no key, and hands each search to an
// AtWork. All arguments must outlive it.
class AskedFileIterator final : public InternalIterator {
 public:
  AskedFileIterator(AtWork* at_work, const FilteredFile& file,
                    const ReadOptions& read_options)
      : at_work_(at_work), file_(file), read_options_(read_options) {}

  void Seek(const Slice& target) override {
    const Slice lo = file_.UserKey(target);
    bound_check_ = at_work_->Ask(file_, read_options_, &lo, &status_);
  }
  void SeekToFirst() override {
    bound_check_ = at_work_->Ask(file_, read_options_, nullptr, &status_);
  }
  IterBoundCheck UpperBoundCheckResult() override { return bound_check_; }
  Status status() const override { return status_; }

  void SeekForPrev(const Slice& /*target*/) override {}
  void SeekToLast() override {}
  bool Valid() const override { return false; }
  void Next() override {}
  void Prev() override {}
  Slice key() const override { return Slice(); }
  Slice value() const override { return Slice(); }

 private:
  AtWork* const at_work_;
  const FilteredFile& file_;
  const ReadOptions& read_options_;
  IterBoundCheck bound_check_ = IterBoundCheck::kUnknown;
  Status status_;
};

// For iterators that may go to any key.
inline ReadOptions WithoutBounds(const ReadOptions& read_options) {
  ReadOptions options = read_options;
  options.iterate_lower_bound = nullptr;
  options.iterate_upper_bound = nullptr;
  options.total_order_seek = true;
  options.prefix_same_as_start = false;
  options.auto_prefix_mode = false;
  options.async_io = false;
  options.tailing = false;
  return options;
}

}  // namespace ROCKSDB_NAMESPACE::protean
