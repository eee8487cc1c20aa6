// SPDX-License-Identifier: Apache-2.0

//  What plugin/refresh_filters.h declares. How the files are chosen is in
//  redesign.cc and refresh_run.cc.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <thread>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/refresh_filters.h"
#include "plugin/refresh_run.h"
#include "plugin/request_server.h"
#include "table/protean_table_factory.h"

namespace ROCKSDB_NAMESPACE::protean {

const char* ToString(RefreshOutcome outcome) {
  // In the order of the outcomes.
  constexpr const char* kNames[] = {"rewritten",       "would be rewritten",
                                    "not asked",       "too little gain",
                                    "unfiltered",      "limit reached",
                                    "being compacted", "gone",
                                    "damaged",         "failed",
                                    "not reached",     "has RocksDB's filter",
                                    "not selected"};
  const auto i = static_cast<size_t>(outcome);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

Status RefreshFilters(DB* db, ColumnFamilyHandle* column_family,
                      const RefreshOptions& options, RefreshResult* result) {
  *result = RefreshResult();
  const Status valid = options.Validate();
  if (!valid.ok()) return valid;
  RefreshRun run(db, column_family, options, result);
  Status s = RequireProteanTable(
      "RefreshFilters", "the column family " + column_family->GetName(),
      run.family_options().table_factory.get());
  if (s.ok()) {
    s = OwnPolicyOf(run.family_options()) != nullptr ? RedesignFilters(&run)
                                                     : ReplaceFilters(&run);
  }
  return run.Record(s);
}

// Refreshes in one thread: after each period, and when a request asks.
class FilterRefresher::Thread {
 public:
  // A limit long enough for everyone, and far from where nanoseconds overflow.
  static constexpr uint64_t kMaxSeconds = uint64_t{100} * 365 * 24 * 60 * 60;

  Thread(DB* db, ColumnFamilyHandle* column_family,
         const RefreshOptions& options, uint64_t period_seconds, Report report,
         const std::string& socket)
      : db_(db),
        served_{column_family, options,
                [this](const RefreshOptions& asked, const Report& ended) {
                  return Begin(asked, ended);
                }},
        report_(std::move(report)),
        period_(std::clamp<uint64_t>(period_seconds, 1, kMaxSeconds)),
        socket_status_(socket.empty() ? Status::OK()
                                      : Serve(db, socket, &served_, &server_)),
        thread_([this] { Loop(); }) {}

  ~Thread() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
    if (server_ != nullptr) EndServing(&served_, &server_);
  }

  Status socket_status() const { return socket_status_; }

 private:
  // A refresh that was asked for.
  struct Asked {
    RefreshOptions options;
    Report ended;
  };

  bool Begin(const RefreshOptions& options, const Report& ended) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (refreshing_ || asked_.has_value() || ending_) return false;
      asked_.emplace(Asked{options, ended});
    }
    wake_.notify_all();
    return true;
  }

  void Loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!ending_ || asked_.has_value()) {
      wake_.wait_for(lock, std::chrono::seconds(period_),
                     [this] { return ending_ || asked_.has_value(); });
      if (ending_ && !asked_.has_value()) return;
      const Asked now = asked_.value_or(Asked{served_.options, nullptr});
      asked_.reset();
      refreshing_ = true;
      lock.unlock();
      Refresh(now);
      lock.lock();
      refreshing_ = false;
    }
  }

  void Refresh(const Asked& asked) {
    RefreshOptions options = asked.options;
    options.progress = [this, &asked](const RefreshProgress& progress) {
      return !ending_ &&
             (!asked.options.progress || asked.options.progress(progress)) &&
             (!asked.ended || !served_.options.progress ||
              served_.options.progress(progress));
    };
    RefreshResult result;
    const Status s =
        RefreshFilters(db_, served_.column_family, options, &result);
    if (asked.ended) asked.ended(s, result);
    if (report_) report_(s, result);
  }

  DB* const db_;
  const ServedFamily served_;
  const Report report_;
  const uint64_t period_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> ending_{false};
  bool refreshing_ = false;
  std::optional<Asked> asked_;
  std::shared_ptr<RequestServer> server_;  // nullptr for none
  const Status socket_status_;
  std::thread thread_;  // last, so that all else is there when it begins
};

FilterRefresher::FilterRefresher(DB* db, ColumnFamilyHandle* column_family,
                                 const RefreshOptions& options,
                                 uint64_t period_seconds, Report report,
                                 const std::string& socket)
    : thread_(std::make_unique<Thread>(db, column_family, options,
                                       period_seconds, std::move(report),
                                       socket)) {}

FilterRefresher::~FilterRefresher() = default;

Status FilterRefresher::socket_status() const {
  return thread_->socket_status();
}

}  // namespace ROCKSDB_NAMESPACE::protean
