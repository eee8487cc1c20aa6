// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/open_file.h"

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/db.h"

namespace ROCKSDB_NAMESPACE::protean {

OpenFile::OpenFile(const std::string& db_session_id,
                   FileDescription description, FilterUse use,
                   const ProteanFilterPolicy* policy)
    : db_(DBSession::Join(
          DBSession::IdOf(db_session_id, description.info_log))),
      file_(std::move(description), use) {
  const FileDescription& file = file_.description;
  // A file that was written outside of the DB names no column family.
  const std::string& family =
      file.family_name.empty() ? kDefaultColumnFamilyName : file.family_name;
  const auto samples = policy == nullptr ? nullptr : policy->Samples();
  if (samples != nullptr) {
    samples_ = db_->Queue(samples, family, file.env, file.info_log);
  }
  const auto trees = policy == nullptr || use != FilterUse::kUsed
                         ? nullptr
                         : policy->Filters();
  if (trees != nullptr && file.level >= 0) {
    FileFilter filter;
    filter.level = file.level;
    filter.keys = file.properties->num_filter_entries;
    filter.bits = 8 * file.properties->filter_size;
    GetKeyRange(file.properties->user_collected_properties, &filter.smallest,
                &filter.largest);
    tree_entry_.emplace(trees, TreeFilters::Tree{file.info_log, family},
                        filter);
  }
  db_->families()->Add(&file_);
  db_->families()->LogIfDue(file_);
}

OpenFile::~OpenFile() {
  db_->families()->LogIfDue(file_);
  db_->families()->Remove(&file_);
}

double OpenFile::ShareReadInVain(AskedFor asked_for) const {
  uint64_t found = 0;
  uint64_t in_vain = 0;
  if (asked_for == AskedFor::kGet) {
    const GetCounts gets = file_.level->gets.Load();
    found = gets.true_positives;
    in_vain = gets.positives - gets.true_positives;
  } else {
    const SeekCounts seeks = file_.counts.Load();
    found = seeks(SeekKind::kClosed, SeekEvent::kTruePositive);
    in_vain = seeks(SeekKind::kClosed, SeekEvent::kFalsePositive);
  }
  if (found + in_vain == 0) return 1;
  const ReadCounts reads = file_.level->gets.LoadReads();
  const uint64_t all_reads = reads.from_cache + reads.from_file;
  const double from_file = all_reads == 0
                               ? 1
                               : static_cast<double>(reads.from_file) /
                                     static_cast<double>(all_reads);
  return from_file * static_cast<double>(in_vain) /
         static_cast<double>(found + in_vain);
}

bool OpenFile::LogDamage(const char* what, const Status& status) {
  if (damage_reported_.exchange(true)) return false;
  Log(InfoLogLevel::WARN_LEVEL, file_.description.info_log,
      "ProteanTable: %s is read without %s: %s", file_.description.path.c_str(),
      what, status.ToString().c_str());
  return true;
}

void OpenFile::LogFailure(const char* what, const Status& status) {
  if (failure_reported_.exchange(true)) return;
  Log(InfoLogLevel::WARN_LEVEL, file_.description.info_log,
      "ProteanTable: %s is read without %s while that cannot be read: %s",
      file_.description.path.c_str(), what, status.ToString().c_str());
}

}  // namespace ROCKSDB_NAMESPACE::protean
