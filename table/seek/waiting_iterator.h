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
  bool Valid() const final {
    return IsReading() ? inner_->Valid() : IsWaiting();
  }
  Status status() const final {
    return IsReading() ? inner_->status() : Status::OK();
  }
  IterBoundCheck UpperBoundCheckResult() final {
    return IsReading() ? inner_->UpperBoundCheckResult() : bound_check_;
  }

  // These require Valid().

  Slice key() const final {
    return IsReading() ? inner_->key() : marker_->key();
  }
  Slice user_key() const final {
    return IsReading() ? inner_->user_key() : marker_->user_key();
  }
  // RocksDB asks for no value of a write that is too new to be seen.
  Slice value() const final { return IsReading() ? inner_->value() : Slice(); }
  bool PrepareValue() final { return !IsReading() || inner_->PrepareValue(); }
  uint64_t write_unix_time() const final {
    return IsReading() ? inner_->write_unix_time()
                       : InternalIterator::write_unix_time();
  }

  bool MayBeOutOfLowerBound() final {
    return !IsReading() || inner_->MayBeOutOfLowerBound();
  }
  bool IsKeyPinned() const final {
    return IsReading() && inner_->Valid() && inner_->IsKeyPinned();
  }
  bool IsValuePinned() const final {
    return IsReading() && inner_->Valid() && inner_->IsValuePinned();
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

  // The iterator is where RocksDB's iterator over the file is, which is
  // returned to be positioned.
  InternalIterator* Read() {
    state_ = State::kReading;
    return inner_.Get();
  }
  // The iterator is invalid, because the file has nothing for the seek.
  void SetEmpty(IterBoundCheck bound_check) {
    state_ = State::kEmpty;
    bound_check_ = bound_check;
  }
  // The iterator is valid, at marker().
  void SetWaiting() {
    state_ = State::kWaiting;
    bound_check_ = IterBoundCheck::kUnknown;
  }

  // The result of NextAndGetResult for where the iterator is now.
  bool GetResult(IterateResult* result) {
    if (!Valid()) return false;
    result->key = key();
    result->bound_check_result = UpperBoundCheckResult();
    result->value_prepared = !IsReading();
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

  State state_ = State::kEmpty;
  IterBoundCheck bound_check_ = IterBoundCheck::kUnknown;  // unless kReading
  FileIterator inner_;                                     // made if kReading
  Marker* marker_ = nullptr;
};

}  // namespace ROCKSDB_NAMESPACE::protean
