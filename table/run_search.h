//  What the files of one search know of each other.
//
//  A search of the user's iterator seeks one file of each sorted run, and ends
//  at the first key that any of them has, or at a later one if the application
//  goes on. Only all files together tell where that is. So the iterators over
//  the files of one search know each other, for two reasons:
//
//  - A file that waits (protean_table_iterator.h) until the search comes by
//    asks how far the search can come at all: to the nearest key of the other
//    files. That makes a closed seek of an open one.
//  - A file whose next key lies behind the end of the search has been asked in
//    vain: it has no key from the target to there, and its filter should have
//    known. When the next search begins, or the first of the iterators goes,
//    those that are *watched* are looked at, and sampled.
//
//  An answer from a memtable is not seen: then the search seems to have gone on
//  to the first key of the files, and so it does if a file makes room for the
//  next one of its level before all runs have sought. What is sampled is empty
//  all the same.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/options.h"
#include "rocksdb/slice.h"
#include "table/search_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableIterator;

// Not thread safe, as the user's iterator is not.
class RunSearch {
 public:
  RunSearch(const RunSearch&) = delete;
  RunSearch& operator=(const RunSearch&) = delete;
  ~RunSearch();

  // The search of the user's iterator that has these ReadOptions, which each
  // has for itself: that of its other files, or a new one. Thread safe.
  static std::shared_ptr<RunSearch> Of(const ReadOptions& read_options);

  // What an iterator over a file keeps of its part in the search.
  struct Part {
    uint64_t round = 0;   // the latest that it has sought in
    bool listed = false;  // among the runs
  };

  // An iterator over `file` is about to seek, for the key `target` or, if that
  // is nullptr, for its first or last one, and takes part from now on. That
  // begins a new round if it has sought in this one before. An iterator that is
  // new, as they are where searches come to another file of each level, tells
  // by its target, which all runs are sought for.
  void BeginSeek(ProteanTableIterator* run, const void* file,
                 const Slice* target, Part* part) {
    if (part->round == round_ || (part->round == 0 && target != nullptr &&
                                  IsAnotherRound(file, *target))) {
      BeginRound();
    }
    if (!has_begun_) {
      has_begun_ = true;
      if (SearchBounds::AreUsed()) bounds_ = SearchBounds::OfThread();
    }
    if (target != nullptr && first_file_ == nullptr) {
      first_file_ = file;
      first_target_.assign(target->data(), target->size());
    }
    part->round = round_;
    if (part->listed) return;
    runs_.push_back(run);
    part->listed = true;
  }
  // It goes.
  void Leave(ProteanTableIterator* run);

  // Iterators that take part.
  size_t runs() const { return runs_.size(); }

  // A file is about to be sought, for the key `target` or, if that is nullptr,
  // for its first or last one. Returns the thread's bounds (search_bounds.h) if
  // the search is under them, or nullptr. A seek to a key outside of them is
  // not, nor is what follows in its round. And a file that is sought without a
  // target may be the one to which an iterator comes that is only stepped: then
  // they must be the same as when the search was begun.
  const std::shared_ptr<const SearchBounds>& TakeThreadBounds(
      const Slice* target, bool backwards);

  // Whether a file may be left out because all of its keys are below the
  // thread's lower bound. RocksDB's iterators then go on to the file before,
  // and so on, which costs more in the end than to read a block.
  bool MayLeaveOut() { return left_out_++ < kMostLeftOut; }

  // Where a file that waits at `marker` might go on to wait: behind the key
  // where the search ends at the latest, since another file is at it; if none
  // is at a key, at the next marker of another one.
  struct Stop {
    enum Kind { kNone, kKey, kMarker } kind = kNone;
    Slice user_key;  // the other iterator's, until it moves
  };
  Stop NextStop(const ProteanTableIterator* run, const Slice& marker) const;

  // The search has come by a marker at this user key. When RocksDB's iterator
  // comes by several at one key, it may at once seek there again
  // (DBIter::FindNextUserEntry). Then no file may move its marker right behind
  // the target, which is a zero more, since that would go on for ever.
  void PassBy(const Slice& key) { passed_.assign(key.data(), key.size()); }
  bool HasPassedBy(const Slice& target) const;

  // Samples the seek of `run`, which has found a key or waits before one, if it
  // turns out to be in vain.
  void Watch(ProteanTableIterator* run, const Slice& target, bool backwards,
             bool inclusive);
  // A watched iterator that has waited is at a key now, or at none.
  void Move(ProteanTableIterator* run);

 private:
  struct WatchedSeek {
    ProteanTableIterator* run;
    std::string target;
    std::string landing;  // where the seek has ended
    bool backwards;
    bool inclusive;  // whether the target belongs to the range, backwards
  };

  // So many rounds, a file may be at a key while others seek: the search goes
  // from one range deletion to the next of the levels below it.
  static constexpr uint64_t kIdleRounds = 16;
  static constexpr size_t kLeastMostRuns = 32;
  static constexpr uint32_t kMostLeftOut = 8;  // in a round

  class Registry;
  static Registry& AllSearches();

  explicit RunSearch(const ReadOptions* read_options)
      : read_options_(read_options) {}

  // Within a round, no file is sought twice, and all for one key. (Where a
  // search goes on behind a range deletion, that is one more round.)
  bool IsAnotherRound(const void* file, const Slice& target) const {
    return first_file_ != nullptr &&
           (first_file_ == file || target != first_target_);
  }
  void BeginRound() {
    if (!watches_.empty()) Finish();
    round_++;
    has_begun_ = false;
    first_file_ = nullptr;
    bounds_.reset();
    is_outside_bounds_ = false;
    left_out_ = 0;
    if (runs_.size() >= most_runs_) SetAsideIdle();
  }
  // Files that have not been sought for a while take part again when they are.
  // With ReadOptions::pin_data, RocksDB keeps the iterator over each file of a
  // level that it has left, and does not tell it.
  void SetAsideIdle();

  void Finish();
  // Where the search has come to, as far as the other runs tell. False if they
  // do not.
  bool FindEnd(const WatchedSeek& watch, Slice* end) const;

  const ReadOptions* const read_options_;
  uint64_t round_ = 1;
  bool has_begun_ = false;  // the round
  // That it has sought for a key, if any, and that key.
  const void* first_file_ = nullptr;
  std::string first_target_;
  // The thread's, as they were then, or at the last seek for a key.
  std::shared_ptr<const SearchBounds> bounds_;
  bool is_outside_bounds_ = false;
  uint32_t left_out_ = 0;
  std::vector<ProteanTableIterator*> runs_;
  size_t most_runs_ = kLeastMostRuns;  // before any are set aside
  std::vector<WatchedSeek> watches_;
  std::string passed_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
