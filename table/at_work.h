// SPDX-License-Identifier: Apache-2.0

//  What tables do in place of reading. While an object is at work in a thread,
//  RocksDB walks through memtables and files as ever, and the tables of Protean
//  tell the object what they know from their filters, and turn out empty
//  (range_counter.h, existence_check.h).

#pragma once

#include <new>
#include <utility>

#include "memory/arena.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// Makes an object the one of its class at work in this thread, for a scope.
template <typename T>
class AtWork {
 public:
  explicit AtWork(T* object) : before_(current_) { current_ = object; }
  ~AtWork() { current_ = before_; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  // The object at work in this thread, or nullptr.
  static T* Current() { return current_; }

 private:
  inline static thread_local T* current_ = nullptr;

  T* const before_;
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
};

// ---- New in ----

// Makes an iterator as TableReader::NewIterator does: in `arena`, whose owner
// destroys it, or on the heap if that is nullptr.
template <typename Iterator, typename... Arguments>
Iterator* NewIn(Arena* arena, Arguments&&... arguments) {
  if (arena == nullptr) {
    return new Iterator(std::forward<Arguments>(arguments)...);
  }
  return new (arena->AllocateAligned(sizeof(Iterator)))
      Iterator(std::forward<Arguments>(arguments)...);
}

}  // namespace ROCKSDB_NAMESPACE::protean
