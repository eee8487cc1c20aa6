// SPDX-License-Identifier: Apache-2.0

//  The truth about a DB under concurrent writes.
//
//  Its possible keys are numbered in order. Each key either always exists, or
//  comes and goes, or is never written. Each key that comes and goes belongs to
//  one writer, in interleaved stripes. So a thread can check much of an answer
//  without knowing the state of the writers: which keys must be there, and
//  which must not. A thread that stops the writers while it takes a snapshot
//  knows everything that the snapshot must show.

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

// Number of possible keys.
constexpr size_t kNumKeys = 3000;

// A slot is a place in the order of all strings: slot 2i is key i, and slot 2i
// + 1 is a string between key i and the next one. These functions return
// strings at a slot.
constexpr size_t kSlots = 2 * kNumKeys;
std::string StringAt(size_t slot);
inline std::string KeyAt(size_t key) { return StringAt(2 * key); }
// The first key at or after a slot; kNumKeys if there is none.
constexpr size_t FirstKeyAt(size_t slot) { return (slot + 1) / 2; }

enum class KeyKind { kAlways, kSometimes, kNever };
KeyKind KindOf(size_t key);

// The only writer of a key, among `writers`.
inline size_t OwnerOf(size_t key, size_t writers) { return key % writers; }

// The version that a write gives to a key, a number from 1 on.
using Version = uint32_t;
// The version of each key; 0 for a key that does not exist.
using Versions = std::vector<Version>;

std::string ValueOf(size_t key, Version version);
// Whether the value belongs to some version of this key.
bool IsValueOf(size_t key, const Slice& value);

// The versions that the DB holds. Thread safe.
class Truth {
 public:
  Truth() : versions_(kNumKeys, 0) {}

  // Calls `write`, which writes to the DB and to the versions of keys that no
  // other thread writes.
  template <typename Write>
  void Change(const Write& write) {
    // Gives threads that wait for exclusive access their turn.
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
