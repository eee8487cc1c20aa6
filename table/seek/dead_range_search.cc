// SPDX-License-Identifier: Apache-2.0

#include "table/seek/dead_range_search.h"

#include <utility>
#include <vector>

#include "db/dbformat.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

void DeadRangeSearch::OnSeek(const Slice& user_key, uint64_t footer,
                             bool begins) {
  level_goes_on_ = false;
  ValueType type;
  SequenceNumber sequence;
  UnPackSequenceAndType(footer, &sequence, &type);
  // So a user's iterator seeks. Where a range deletion ends, and behind many
  // versions of a key, RocksDB's iterators seek in other ways.
  const bool is_users = type == kValueTypeForSeek && sequence > 0 &&
                        sequence < kMaxSequenceNumber;
  if (is_users) sequence_ = sequence;
  if (skipped_ != nullptr &&
      (user_key.compare(from_) < 0 || sequence_ < skipped_->sequence)) {
    skipped_.reset();
  }
  if (begins) {
    footer_ = footer;
    is_ready_ = is_users && !is_forbidden_;
  } else if (footer != footer_) {
    // Some runs go on at another key.
    Stop();
  }
}

void DeadRangeSearch::OnSeekToFirst(bool is_new) {
  if (!level_goes_on_ || !is_new) {
    // The user's iterator begins anew, perhaps with another snapshot.
    Stop();
    sequence_ = 0;
    skipped_.reset();
  }
  level_goes_on_ = false;
}

bool DeadRangeSearch::Pass(const Slice& internal_key, const Slice& user_key,
                           SequenceNumber largest, const Slice& target,
                           OpenRun* run) {
  ValueType type;
  SequenceNumber sequence;
  UnPackSequenceAndType(ExtractInternalKeyFooter(internal_key), &sequence,
                        &type);
  const bool is_deletion = IsDeletion(type);
  if (is_ready_) {
    is_ready_ = false;
    if (!is_deletion) return true;
    finder_.Begin(target, /*inclusive=*/true);
  }
  const uint64_t file = run->DeadRangeFile();
  const bool sees_all =
      footer_ >= PackSequenceAndType(largest, kValueTypeForSeek);
  return file != 0 &&
         finder_.Pass(file, user_key, is_deletion, sequence, sees_all);
}

void DeadRangeSearch::OnSkip(const Slice& from, bool dead,
                             const Slice& target) {
  if (is_ready_) finder_.Begin(target, /*inclusive=*/true);
  is_ready_ = false;
  if (finder_.IsOn()) finder_.Skip(from, dead ? skipped_.get() : nullptr);
}

void DeadRangeSearch::Finish(const Slice& end, const OpenRuns& runs,
                             OpenRun* run) {
  DeadRange range;
  if (!finder_.Finish(end, &range)) return;
  for (size_t i = 0; i < runs.size(); i++) {
    if (range.HasFile(runs[i]->DeadRangeFile())) runs[i]->NoteDeadRange();
  }
  run->KeepDeadRange(std::move(range));
}

bool DeadRangeSearch::Skip(std::shared_ptr<const DeadRange> range,
                           const Slice& from, const OpenRuns& runs,
                           std::string* to) {
  if (!Sees(*range) || (IsSkipping() && from.compare(to_) < 0)) return false;
  std::string end = range->end;
  std::vector<OpenRun*> members;
  for (size_t i = 0; i < runs.size(); i++) {
    if (!range->HasFile(runs[i]->DeadRangeFile())) continue;
    // A run may have gone ahead of the search.
    const SearchPosition position = runs[i]->Position();
    if (position.kind == SearchPosition::Kind::kMarker &&
        position.user_key.compare(from) < 0) {
      return false;
    }
    members.push_back(runs[i]);
    runs[i]->LimitToFile(&end);
  }
  if (members.size() != range->files.size()) return false;
  std::string next;
  for (size_t i = 0; i < runs.size() && from.compare(end) < 0; i++) {
    const Slice limit(end);
    if (!range->HasFile(runs[i]->DeadRangeFile()) &&
        runs[i]->FindNextValue(from, &limit, &next)) {
      end = next;
    }
  }
  if (from.compare(end) >= 0) return false;
  for (OpenRun* const run : members) {
    if (run->IsAtValue(from, end)) return false;
  }
  for (OpenRun* const run : members) run->NoteDeadRange();
  skipped_ = std::move(range);
  from_.assign(from.data(), from.size());
  to_ = *to = end;
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
