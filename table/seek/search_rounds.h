// SPDX-License-Identifier: Apache-2.0

//  The rounds of a search. Within a round, each file is sought at most once,
//  and all for one key. (A search that goes on behind a range deletion does so
//  in another round.)

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "rocksdb/slice.h"
#include "table/seek/open_run.h"

namespace ROCKSDB_NAMESPACE::protean {

class SearchRounds {
 public:
  uint64_t current() const { return round_; }

  // Whether a seek of `run`, for the key `target` or, if that is nullptr, for
  // the first or last key of `file`, begins another round: if the run was
  // sought in this one. A new run, as there is where a search comes to another
  // file of each level, tells by its target, which all runs are sought for.
  bool IsNext(const OpenRun& run, const void* file, const Slice* target) const {
    return run.round == round_ ||
           (run.round == 0 && target != nullptr && first_file_ != nullptr &&
            (first_file_ == file || *target != first_target_));
  }
  void BeginNext() {
    round_++;
    first_file_ = nullptr;
  }
  // `run`, over `file`, is sought in this round.
  void Enter(const void* file, const Slice* target, OpenRun* run) {
    if (target != nullptr && first_file_ == nullptr) {
      first_file_ = file;
      SetFirstTarget(*target);
    }
    run->round = round_;
  }

  // Whether `run`, over `file`, was the first one of this round, sought for a
  // key, and no marker has been passed. If it is sought again, alone, it may
  // begin another round by Repeat, as by BeginNext and Enter.
  bool CanRepeat(const OpenRun& run, const void* file) const {
    return run.round == round_ && first_file_ == file && passed_.empty();
  }
  void Repeat(const Slice& target, OpenRun* run) {
    run->round = ++round_;
    SetFirstTarget(target);
  }

  // The search has passed a marker at this user key. RocksDB's iterator may
  // respond to several markers at one key by another seek there
  // (DBIter::FindNextUserEntry). Then no file may move its marker right behind
  // the target, which is the target with one more zero: that would go on for
  // ever.
  void Pass(const Slice& key) { passed_.assign(key.data(), key.size()); }
  // Whether `target` is such a key, with any number of zeros behind it.
  bool HasPassed(const Slice& target) const {
    return !passed_.empty() && target.starts_with(passed_) &&
           std::all_of(target.data() + passed_.size(),
                       target.data() + target.size(),
                       [](char c) { return c == '\0'; });
  }

 private:
  // Copies short keys of one length without a call.
  void SetFirstTarget(const Slice& target) {
    const size_t size = target.size();
    if (first_target_.size() != size) first_target_.resize(size);
    const char* const from = target.data();
    char* const to = first_target_.data();
    if (size < 8 || size > 16) {
      std::copy_n(from, size, to);
    } else {
      uint64_t first, last;
      memcpy(&first, from, 8);
      memcpy(&last, from + size - 8, 8);
      memcpy(to, &first, 8);
      memcpy(to + size - 8, &last, 8);
    }
  }

  uint64_t round_ = 1;
  // The first file that is sought by key in this round, and the key.
  const void* first_file_ = nullptr;
  std::string first_target_;
  std::string passed_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
