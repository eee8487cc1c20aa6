// SPDX-License-Identifier: Apache-2.0

#include "table/seek/dead_range_search.h"

#include <utility>
#include <vector>

#include "db/dbformat.h"
#include "table/rocksdb_internals/block_based_file.h"

namespace ROCKSDB_NAMESPACE::protean {

void DeadRangeSearch::BeginRound(uint64_t footer) {
  ValueType type;
  SequenceNumber sequence;
  UnPackSequenceAndType(footer, &sequence, &type);
  footer_ = footer;
  // So a user's iterator seeks. Where a range deletion ends, and behind many
  // versions of a key, RocksDB's iterators seek in other ways.
  const bool is_users =
      type == kValueTypeForSeek && sequence < kMaxSequenceNumber;
  sequence_ = is_users ? sequence : 0;
  finding_ = Finding::kOff;
  if (sequence_ == 0) return;
  skipped_.reset();
  if (!is_forbidden_) finding_ = Finding::kReady;
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

void DeadRangeSearch::Begin(const Slice& target, bool inclusive) {
  if (finder_ == nullptr) finder_ = std::make_unique<DeadRangeFinder>();
  finder_->Begin(target, inclusive);
  finding_ = Finding::kBegun;
}

bool DeadRangeSearch::Pass(const Slice& internal_key, const Slice& user_key,
                           const Slice& target, OpenRun* run) {
  ValueType type;
  SequenceNumber sequence;
  UnPackSequenceAndType(ExtractInternalKeyFooter(internal_key), &sequence,
                        &type);
  const bool is_deletion = IsDeletion(type);
  if (finding_ == Finding::kReady) {
    finding_ = Finding::kPaused;
    if (!is_deletion) return true;
    Begin(target, /*inclusive=*/true);
  }
  const uint64_t file = run->dead_range_file;
  return file != 0 && finder_->Pass(file, user_key, is_deletion, sequence,
                                    run->SeesAllVersions(footer_));
}

void DeadRangeSearch::OnSkip(const Slice& from, bool dead,
                             const Slice& target) {
  if (finding_ == Finding::kReady) Begin(target, /*inclusive=*/true);
  if (!HasBegun()) return;
  if (dead) {
    finder_->Skip(from, skipped_->range.get(), skipped_->sees_all);
  } else {
    finder_->Skip(from, /*range=*/nullptr, /*sees_all=*/true);
  }
}

void DeadRangeSearch::Finish(const Slice& end, const OpenRuns& runs,
                             OpenRun* run) {
  finding_ = Finding::kPaused;
  DeadRange range;
  if (!finder_->Finish(end, &range)) return;
  for (size_t i = 0; i < runs.size(); i++) {
    if (range.HasFile(runs[i]->dead_range_file)) runs[i]->NoteDeadRange();
  }
  run->KeepDeadRange(std::move(range));
}

bool DeadRangeSearch::IsBeforeEnd(const OpenRuns& runs) const {
  if (!IsSkipping()) return false;
  for (size_t i = 0; i < runs.size(); i++) {
    const SearchPosition position = runs[i]->Position();
    if (position.kind != SearchPosition::Kind::kNone &&
        position.user_key.compare(skipped_->to) < 0 &&
        skipped_->range->HasFile(runs[i]->dead_range_file)) {
      return true;
    }
  }
  return false;
}

bool DeadRangeSearch::Skip(std::shared_ptr<const DeadRange> range,
                           const Slice& from, const OpenRuns& runs,
                           std::string* to) {
  if (!Sees(*range) || IsBeforeEnd(runs)) return false;
  std::string end = range->end;
  std::vector<OpenRun*> members;
  for (size_t i = 0; i < runs.size(); i++) {
    if (!range->HasFile(runs[i]->dead_range_file)) continue;
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
    if (!range->HasFile(runs[i]->dead_range_file) &&
        runs[i]->FindNextValue(from, &limit, &next)) {
      end = next;
    }
  }
  if (from.compare(end) >= 0) return false;
  for (OpenRun* const run : members) {
    if (run->IsAtValue(from, end)) return false;
  }
  auto skipped = std::make_unique<Skipped>();
  for (OpenRun* const run : members) {
    run->NoteDeadRange();
    if (!run->SeesAllVersions(footer_)) skipped->sees_all = false;
  }
  skipped->range = std::move(range);
  skipped->from = from.ToString();
  skipped->to = *to = end;
  skipped_ = std::move(skipped);
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
