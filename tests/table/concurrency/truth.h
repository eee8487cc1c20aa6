//  What a DB under concurrent writes must hold.
//
//  Its possible keys are numbered in their order. Each is either always there,
//  or comes and goes, or is never written; those that come and go belong to one
//  writer each, in stripes that lie across each other. So even who knows
//  nothing of the writers can tell much of an answer: which keys it must not
//  leave out, which it must not show. A thread that stops the writers while it
//  takes a snapshot knows all that the snapshot must show.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// Possible keys.
constexpr size_t kKeys = 3000;

// A slot is a place in the order of all strings: slot 2i is that of key i, and
// slot 2i + 1 that of a string between it and the next one. These are strings
// at them.
constexpr size_t kSlots = 2 * kKeys;
std::string StringAt(size_t slot);
inline std::string KeyAt(size_t key) { return StringAt(2 * key); }
// The first key at a slot or behind it; kKeys if there is none.
constexpr size_t FirstKeyAt(size_t slot) { return (slot + 1) / 2; }

enum class KeyKind { kAlways, kSometimes, kNever };
KeyKind KindOf(size_t key);

// The writer who alone writes that key, out of `writers`.
inline size_t OwnerOf(size_t key, size_t writers) { return key % writers; }

// What a writer writes, a number from 1 on.
using Version = uint32_t;
// The version of each key; 0 for a key that is not there.
using Versions = std::vector<Version>;

std::string ValueOf(size_t key, Version version);
// Whether the value is that of some version of this key.
bool IsValueOf(size_t key, const Slice& value);

// The versions that the DB holds. Thread safe.
class Truth {
 public:
  Truth() : versions_(kKeys, 0) {}

  // Calls `write`, which writes to the DB and to the versions of keys that no
  // other thread writes.
  template <typename Write>
  void Change(const Write& write) {
    // So that those who wait to be alone get their turn.
    { const std::lock_guard<std::mutex> turn(turn_); }
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    write(&versions_);
  }

  // Calls `act` while no writer writes.
  template <typename Act>
  void Alone(const Act& act) {
    const std::lock_guard<std::mutex> turn(turn_);
    const std::lock_guard<std::shared_mutex> lock(mutex_);
    act(&versions_);
  }

 private:
  std::mutex turn_;
  std::shared_mutex mutex_;
  Versions versions_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
