// SPDX-License-Identifier: Apache-2.0

//  Questions that filters answer instead of a read. While an AtWork exists in a
//  thread, RocksDB walks through memtables and files as usual, but the tables
//  of Protean look empty: they only tell the object what their filters know.
//  That answers whether a key may exist (plugin/ask_filters.cc), and how many
//  keys a range has (plugin/approximate_count.cc).

#pragma once

#include "memory/arena.h"
#include "rocksdb/options.h"
#include "table/filtered_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// At work as long as it exists, in the thread that made it.
class AtWork {
 public:
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  // The iterator over a file that tells the object what the file's filter
  // knows. Made as by NewIn.
  virtual InternalIterator* NewIterator(FilteredFile* file,
                                        const ReadOptions& read_options,
                                        Arena* arena) = 0;

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

// An iterator that finds no key, wherever it goes forward.
class FindsNothing : public InternalIterator {
 public:
  void SeekForPrev(const Slice& /*target*/) final {}
  void SeekToLast() final {}
  bool Valid() const final { return false; }
  void Next() final {}
  void Prev() final {}
  Slice key() const final { return Slice(); }
  Slice value() const final { return Slice(); }
  Status status() const final { return status_; }

 protected:
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
