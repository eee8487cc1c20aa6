// SPDX-License-Identifier: Apache-2.0

//  What plugin/refresh_filters.h declares. The choice of the files is
//  redesign_filters.h's or replace_filters.h's.

#include <algorithm>
#include <atomic>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/redesign_filters.h"
#include "plugin/refresh_filters.h"
#include "plugin/refresh_run.h"
#include "plugin/replace_filters.h"
#include "rocksdb/system_clock.h"
#include "table/protean_table_factory.h"
#include "util/repeatable_thread.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Outcome = RefreshOutcome;

}  // namespace

const char* ToString(RefreshOutcome outcome) {
  switch (outcome) {
    case Outcome::kRewritten:
      return "rewritten";
    case Outcome::kWouldRewrite:
      return "would be rewritten";
    case Outcome::kNotAsked:
      return "not asked";
    case Outcome::kTooLittleGain:
      return "too little gain";
    case Outcome::kUnfiltered:
      return "unfiltered";
    case Outcome::kLimitReached:
      return "limit reached";
    case Outcome::kBeingCompacted:
      return "being compacted";
    case Outcome::kGone:
      return "gone";
    case Outcome::kDamaged:
      return "damaged";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kNotReached:
      return "not reached";
    case Outcome::kHasFilter:
      return "has RocksDB's filter";
    case Outcome::kNotSelected:
      return "not selected";
  }
  return "unknown";
}

Status RefreshFilters(DB* db, ColumnFamilyHandle* column_family,
                      const RefreshOptions& options, RefreshResult* result) {
  *result = RefreshResult();
  RefreshRun run(db, column_family, options, result);
  const TableFactory& factory = *run.family_options().table_factory;
  if (!factory.IsInstanceOf(ProteanTableFactory::kClassName())) {
    return Status::InvalidArgument(
        "RefreshFilters needs the table factory ProteanTable, not " +
        std::string(factory.Name()) + ", in column family " +
        column_family->GetName());
  }
  return AsProteanFilterPolicy(run.table().filter_policy.get()) != nullptr
             ? RedesignFilters(&run)
             : ReplaceFilters(&run);
}

class FilterRefresher::Thread {
 public:
  // A limit long enough for everyone, and far from where microseconds overflow.
  static constexpr uint64_t kMaxSeconds = uint64_t{100} * 365 * 24 * 60 * 60;

  Thread(DB* db, ColumnFamilyHandle* column_family,
         const RefreshOptions& options, uint64_t period_seconds, Report report)
      : db_(db),
        column_family_(column_family),
        options_(options),
        report_(std::move(report)),
        thread_([this] { Refresh(); }, "protean", SystemClock::Default().get(),
                Microseconds(period_seconds), Microseconds(period_seconds)) {}

  ~Thread() { ending_ = true; }

 private:
  static uint64_t Microseconds(uint64_t seconds) {
    return std::clamp<uint64_t>(seconds, 1, kMaxSeconds) * 1000 * 1000;
  }

  void Refresh() {
    RefreshOptions options = options_;
    options.progress = [this](const RefreshProgress& progress) {
      return !ending_ && (!options_.progress || options_.progress(progress));
    };
    RefreshResult result;
    const Status s = RefreshFilters(db_, column_family_, options, &result);
    if (report_) report_(s, result);
  }

  DB* const db_;
  ColumnFamilyHandle* const column_family_;
  const RefreshOptions options_;
  const Report report_;
  std::atomic<bool> ending_{false};
  RepeatableThread thread_;  // last, so that it is destroyed first
};

FilterRefresher::FilterRefresher(DB* db, ColumnFamilyHandle* column_family,
                                 const RefreshOptions& options,
                                 uint64_t period_seconds, Report report)
    : thread_(std::make_unique<Thread>(db, column_family, options,
                                       period_seconds, std::move(report))) {}

FilterRefresher::~FilterRefresher() = default;

}  // namespace ROCKSDB_NAMESPACE::protean
