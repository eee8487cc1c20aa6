// SPDX-License-Identifier: Apache-2.0

//  An open SST file. Its table reader registers it with the DB, and thereby
//  uses everything that files of a DB share: the queue of sample queries, the
//  tree by which new filters are planned, what iterators over the level have
//  learned, the counts of seeks, and the log.

#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "filter_policy/open_db/db_session.h"
#include "filter_policy/open_db/tree_filters.h"
#include "filter_policy/open_db/unit_heat.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanFilterPolicy;

// Thread safe.
class OpenFile {
 public:
  // `policy` is the column family's, whose samples are taken from reads of the
  // file and, if the file's filter is used, whose tree the file belongs to.
  // Nullptr if it can build no filter for the file that ranges are asked of.
  OpenFile(const std::string& db_session_id, FileDescription description,
           FilterUse use, const ProteanFilterPolicy* policy);
  ~OpenFile();

  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // The queue for queries that found nothing in this file, or nullptr.
  QueryQueue* queue() const {
    return samples_ == nullptr ? nullptr : samples_->queue();
  }

  // The level's counter of Gets (get_tally.h).
  size_t first_get_counter() const { return file_.level->gets.first_counter(); }

  // A new iterator's backoff state. Iterators share the state by sorted run:
  // the level, or the file if it is on level 0. All iterators over the level
  // share what they know of how cheap reads are.
  SeekBackoff NewBackoff() {
    return SeekBackoff(
        file_.description.level > 0 ? &file_.level->backoff : &file_backoff_,
        &file_.level->cached_reads);
  }

  // Adds an iterator's tally, which sums up to `events`.
  void Add(const SeekTally& seeks, uint32_t events) {
    file_.counts.Add(seeks, events);
    // Concurrent calls may lose steps, which does not matter.
    const uint32_t steps = 1 + hand_overs_.load(std::memory_order_relaxed);
    hand_overs_.store(steps, std::memory_order_relaxed);
    if (steps % kHandOversPerLook == 0) db_->families()->LogIfDue(file_);
  }

  // Returns how many of the queries that filters let through have read the file
  // and found nothing, as a share: of Gets in the level, or of closed seeks in
  // this file. 1 if nothing is known.
  double ShareReadInVain(AskedFor asked_for) const;

  // Called with what is found out only when the filter is read.
  void SetUse(FilterUse use) {
    if (file_.use.load(std::memory_order_relaxed) != use) {
      file_.use.store(use, std::memory_order_relaxed);
    }
  }

  // The filter or a part of it is damaged, or cannot be read this time. Only
  // the first call about damage, and the first one about failure, is logged.
  // Returns whether this is the first.
  bool ReportDamage(const Status& status) {
    SetUse(FilterUse::kDamaged);
    return LogDamage("its filter", status);
  }
  bool ReportDamagedPart(const Status& status) {
    return LogDamage("a part of its filter", status);
  }
  void ReportFailure(const Status& status) { LogFailure("its filter", status); }
  void ReportFailedPart(const Status& status) {
    LogFailure("a part of its filter", status);
  }

 private:
  bool LogDamage(const char* what, const Status& status);
  void LogFailure(const char* what, const Status& status);

  // Calls of Add between two looks at the clock.
  static constexpr uint32_t kHandOversPerLook = 64;

  const std::shared_ptr<DBSession> db_;
  OpenFamilies::File file_;
  std::atomic<uint32_t> hand_overs_{0};
  SeekBackoff::Shared file_backoff_{0};
  std::atomic<bool> damage_reported_{false};
  std::atomic<bool> failure_reported_{false};
  std::shared_ptr<SampleSession> samples_;
  std::optional<TreeEntry> tree_entry_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
