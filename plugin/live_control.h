// SPDX-License-Identifier: Apache-2.0

//  Answers the requests of operators (live_protocol.h) about the column
//  families of a DB that have a FilterRefresher. All FilterRefreshers of a DB
//  share one of these, so a request is taken once.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugin/live_protocol.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/db.h"

namespace ROCKSDB_NAMESPACE::protean {

// A refresh that an operator asked for. Thread safe, but for the members that
// are constant.
class LiveRefresh {
 public:
  LiveRefresh(std::string request_id, const RefreshOptions& limits)
      : id(std::move(request_id)), options(limits) {}

  // For the thread that refreshes. Progress returns false if the refresh is to
  // end.
  bool Progress(const RefreshProgress& progress);
  void End(const Status& status, const RefreshResult& result);

  // For the thread that answers.
  void Stop() { stopped_ = true; }
  LiveAnswer Answer() const;

  const std::string id;
  const RefreshOptions options;

 private:
  const std::chrono::steady_clock::time_point began_ =
      std::chrono::steady_clock::now();
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  LiveAnswer answer_{LiveAnswer::State::kRunning, "", {}, 0, ""};
};

// What a FilterRefresher does for an operator. Functions are thread safe.
class LiveFamily {
 public:
  virtual ~LiveFamily() = default;

  virtual ColumnFamilyHandle* column_family() const = 0;
  // The options of the application, whose limits hold for an operator, too.
  virtual const RefreshOptions& options() const = 0;
  // Begins a refresh in another thread, which calls End in any case. Returns
  // false, and begins nothing, if a refresh is running.
  virtual bool Begin(const std::shared_ptr<LiveRefresh>& refresh) = 0;
};

// Thread safe.
class LiveControl {
 public:
  // The control of an open DB, made if there is none.
  static std::shared_ptr<LiveControl> Of(DB* db);

  explicit LiveControl(DB* db);
  ~LiveControl();

  LiveControl(const LiveControl&) = delete;
  LiveControl& operator=(const LiveControl&) = delete;

  // `family` must be removed before it is destroyed, and after its refreshes
  // have ended.
  void Add(LiveFamily* family);
  void Remove(LiveFamily* family);

 private:
  void Loop();
  // Looks for a request. Requires mutex_, like all functions below.
  void Poll();
  LiveAnswer Handle(const LiveRequest& request);
  LiveAnswer BeginRefresh(const LiveRequest& request);
  // The families that a request is about; empty if there are none.
  std::vector<LiveFamily*> Chosen(const LiveRequest& request) const;
  // The answer if Chosen is empty.
  LiveAnswer NoFamily(const LiveRequest& request) const;
  // Writes how far refreshes are; forgets those that have ended.
  void AnswerRefreshes();
  void Write(const std::string& id, const LiveAnswer& answer);
  void DeleteAbandonedAnswers();
  // Writes a line to the log, unless it repeats the last one.
  void LogOnce(const std::string& line);

  DB* const db_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ends_ = false;
  uint64_t polls_ = 0;
  std::string logged_;
  std::map<std::string, LiveFamily*> families_;  // by name
  std::vector<std::shared_ptr<LiveRefresh>> refreshes_;
  std::thread thread_;  // last, so that all else is there when it begins
};

}  // namespace ROCKSDB_NAMESPACE::protean
