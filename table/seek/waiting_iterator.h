// SPDX-License-Identifier: Apache-2.0

//  What RocksDB's iterators see of the iterator over a file: a key of the file,
//  a marker at which the iterator waits without having read the file, or
//  nothing. Where the iterator goes is decided by the class that derives from
//  this one (protean_table_iterator.h).

#pragma once

#include <string>
#include <utility>

#include "table/rocksdb_internals/file_iterator.h"
#include "table/seek/seek_decision.h"

namespace ROCKSDB_NAMESPACE::protean {

class WaitingIterator : public InternalIterator {
 public:
  // What is asked for each key looks first whether the file is being read by
  // RocksDB's usual iterator: shown() is that iterator only in State::kReading.

  bool Valid() const final {
    if (const auto* shown = inner_.shown()) {
      return shown->BlockBasedTableIterator::Valid();
    }
    return state_ == State::kReading ? inner_.Valid() : IsWaiting();
  }

  // These require Valid().

  Slice key() const final {
    if (const auto* shown = inner_.shown()) {
      return shown->BlockBasedTableIterator::key();
    }
    return state_ == State::kReading ? inner_.key() : marker_->key();
  }
  Slice user_key() const final {
    return state_ == State::kReading ? inner_.user_key() : marker_->user_key();
  }
  // RocksDB asks for no value of a write that is too new to be seen.
  Slice value() const final {
    if (const auto* shown = inner_.shown()) {
      return shown->BlockBasedTableIterator::value();
    }
    return state_ == State::kReading ? inner_.value() : Slice();
  }
  bool PrepareValue() final {
    if (auto* shown = inner_.shown()) {
      return shown->BlockBasedTableIterator::PrepareValue();
    }
    return state_ != State::kReading || inner_.PrepareValue();
  }
  uint64_t write_unix_time() const final {
    if (const auto* shown = inner_.shown()) {
      return shown->BlockBasedTableIterator::write_unix_time();
    }
    return state_ == State::kReading ? inner_.write_unix_time()
                                     : InternalIterator::write_unix_time();
  }
  bool MayBeOutOfLowerBound() final {
    return state_ != State::kReading || inner_.MayBeOutOfLowerBound();
  }
  bool IsKeyPinned() const final {
    return state_ == State::kReading && inner_.IsKeyPinned();
  }
  bool IsValuePinned() const final {
    return state_ == State::kReading && inner_.IsValuePinned();
  }

  Status status() const final {
    if (const auto* shown = inner_.shown()) {
      return shown->BlockBasedTableIterator::status();
    }
    return state_ == State::kReading ? inner_.status() : Status::OK();
  }
  IterBoundCheck UpperBoundCheckResult() final {
    return state_ == State::kReading ? inner_.UpperBoundCheckResult()
                                     : bound_check_;
  }
  Status GetProperty(std::string name, std::string* value) final {
    return inner_.Get()->GetProperty(std::move(name), value);
  }
  void GetReadaheadState(ReadaheadFileInfo* info) final {
    inner_.GetReadaheadState(info);
  }
  void SetReadaheadState(ReadaheadFileInfo* info) final {
    inner_.SetReadaheadState(info);
  }

 protected:
  WaitingIterator(const BlockBasedFile& file, const ReadOptions& read_options,
                  const FileIterator::Arguments& arguments)
      : inner_(file, read_options, arguments) {}

  bool IsReading() const { return state_ == State::kReading; }
  bool IsWaiting() const { return state_ == State::kWaiting; }
  // Returns true if the iterator waits at a marker from which the search may go
  // on.
  bool WaitsForSearch() const { return IsWaiting() && !marker_->IsEnd(); }

  // The iterator is where inner() is.
  void SetReading() {
    if (IsReading()) return;
    state_ = State::kReading;
    inner_.Show();
  }
  // The iterator is invalid, because the file has nothing for the seek.
  void SetEmpty(IterBoundCheck bound_check) {
    state_ = State::kEmpty;
    inner_.Hide();
    bound_check_ = bound_check;
  }
  // The iterator is valid, at marker().
  void SetWaiting() {
    state_ = State::kWaiting;
    inner_.Hide();
    bound_check_ = IterBoundCheck::kUnknown;
  }

  // The result of NextAndGetResult for where the iterator is now.
  bool GetResult(IterateResult* result) {
    if (state_ == State::kReading) return inner_.GetResult(result);
    if (state_ == State::kEmpty) return false;
    result->key = marker_->key();
    result->bound_check_result = IterBoundCheck::kUnknown;
    result->value_prepared = true;
    return true;
  }

  FileIterator& inner() { return inner_; }
  const FileIterator& inner() const { return inner_; }
  // The marker, which must be set before the iterator waits, and outlive it.
  Marker& marker() { return *marker_; }
  const Marker& marker() const { return *marker_; }
  void set_marker(Marker* marker) { marker_ = marker; }

 private:
  enum class State : uint8_t { kReading, kEmpty, kWaiting };

  State state_ = State::kReading;
  IterBoundCheck bound_check_ = IterBoundCheck::kUnknown;  // unless kReading
  FileIterator inner_;
  Marker* marker_ = nullptr;
};

}  // namespace ROCKSDB_NAMESPACE::protean
