// SPDX-License-Identifier: Apache-2.0

//  A DB that many threads use for a while, each in its own way and all at once,
//  and the truth about it.
//
//  Its possible keys are numbered in order. Each key either always exists, or
//  comes and goes, or is never written. Each key that comes and goes belongs to
//  one writer, in interleaved stripes. So a thread can check much of an answer
//  without knowing the state of the writers: which keys must be there, and
//  which must not. A thread that stops the writers while it takes a snapshot
//  knows everything that the snapshot must show.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr size_t kNumKeys = 3000;

inline uint64_t Mix(uint64_t number) {
  number = (number ^ number >> 31) * 0x9e3779b97f4a7c15;
  return number ^ number >> 29;
}

// The two bytes by which all keys differ.
constexpr size_t kStep = 20;
static_assert(kStep * kNumKeys < 0xffff);

inline std::string TwoBytes(size_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}

inline std::string PossibleKey(size_t key) {
  if (key == 0) return "";
  if (key == kNumKeys - 1) return "\xff\xff\xff";
  std::string tail = "/user/" + std::to_string(Mix(key));
  tail.resize(Mix(key + 1) % tail.size());
  return TwoBytes(kStep * key) + tail;
}

// A slot is a place in the order of all strings: slot 2i is key i, and slot 2i
// + 1 is a string between key i and the next one. These functions return
// strings at a slot.
constexpr size_t kSlots = 2 * kNumKeys;
inline std::string StringAt(size_t slot) {
  const size_t key = slot / 2;
  if (slot % 2 == 0) return PossibleKey(key);
  // A string close to the key, or anywhere before the next one.
  if (key == 0 || key == kNumKeys - 1 || Mix(slot) % 2 == 0) {
    return PossibleKey(key) + '\0';
  }
  return TwoBytes(kStep * key + 1 + Mix(slot) % (kStep - 1));
}
inline std::string KeyAt(size_t key) { return StringAt(2 * key); }
// The first key at or after a slot; kNumKeys if there is none.
constexpr size_t FirstKeyAt(size_t slot) { return (slot + 1) / 2; }

enum class KeyKind { kAlways, kSometimes, kNever };
inline KeyKind KindOf(size_t key) {
  // Keys of some stripes never exist, so that whole ranges are empty.
  if (key / 16 % 3 == 0 && key > 0 && key + 1 < kNumKeys)
    return KeyKind::kNever;
  const uint64_t chance = Mix(key) % 8;
  return chance < 2   ? KeyKind::kAlways
         : chance < 5 ? KeyKind::kSometimes
                      : KeyKind::kNever;
}

// The only writer of a key, among `writers`.
inline size_t OwnerOf(size_t key, size_t writers) { return key % writers; }

// The version that a write gives to a key, a number from 1 on.
using Version = uint32_t;
// The version of each key; 0 for a key that does not exist.
using Versions = std::vector<Version>;

inline std::string ValueOf(size_t key, Version version) {
  std::string value = std::to_string(key) + ":" + std::to_string(version);
  return value + std::string(Mix(version) % 100, '.');
}
inline bool IsValueOf(size_t key, const Slice& value) {
  const std::string text = value.ToString();
  const size_t colon = text.find(':');
  return colon != std::string::npos &&
         text == ValueOf(key, static_cast<Version>(strtoul(
                                  text.c_str() + colon + 1, nullptr, 10)));
}

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

// The state that outlives a round.
struct Persistent {
  std::string path;  // a folder for DBs and files
  Truth truth;
  Version last_version = 0;
};

// Opens the DB as the previous rounds have left it, with random options; runs
// all threads for the given time, or until the first failure; then compares the
// contents of the DB, and closes it.
void RunRound(Persistent* persistent, uint64_t seed,
              std::chrono::milliseconds duration);

}  // namespace ROCKSDB_NAMESPACE::protean
