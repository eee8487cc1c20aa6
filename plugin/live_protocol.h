// SPDX-License-Identifier: Apache-2.0

//  How an operator talks to a process that has a DB open: by small files in the
//  DB's folder, which RocksDB leaves alone, because it touches no file whose
//  name it does not know. Backups, checkpoints and secondary instances copy and
//  read the files that RocksDB lists, and none of these.
//
//  The one who asks writes PROTEAN_REQUEST. A FilterRefresher
//  (refresh_filters.h) in the process looks for it every second, takes it by
//  deleting it, and writes PROTEAN_ANSWER-ID, in which ID is the request's. The
//  answer to a refresh is replaced every few seconds until the refresh has
//  ended; a request of kind kStop ends it early. The one who asks deletes the
//  answer, or the request if nothing has taken it in time. So no request waits
//  for a process that comes later, and one that was written long ago is
//  refused.
//
//  Both files are lines NAME=VALUE, whose values are escaped as in URLs. An
//  answer has a body behind an empty line. Files are written with the DB's Env,
//  and are complete when they get their name. In the operating system's own
//  file system, only their owner can read them.

#pragma once

#include <cstdint>
#include <string>

#include "plugin/refresh_filters.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// The paths of the files in the folder of a DB. REQUIRES: the id is valid.
std::string LiveRequestFile(const std::string& db);
std::string LiveAnswerFile(const std::string& db, const std::string& id);
// The beginning of the names of answers.
inline constexpr char kLiveAnswerPrefix[] = "PROTEAN_ANSWER-";

// What is asked. What a request can do is what is listed here.
struct LiveRequest {
  enum class Kind : uint8_t {
    kRefresh,      // RefreshFilters on one column family
    kStatistics,   // FilterStatistics, of one column family or all
    kSaveSamples,  // writes the sample queries to their files, likewise
    kStop,         // ends the refresh that another request asked for
  };
  enum class Format : uint8_t { kText, kJson, kPrometheus };

  static constexpr size_t kMaxBytes = 64 << 10;
  static constexpr int64_t kMaxAgeSeconds = 60;

  std::string id;               // 1 to 64 letters, digits and hyphens
  int64_t written_seconds = 0;  // since 1970
  Kind kind = Kind::kStatistics;
  // Empty for all column families that have a FilterRefresher.
  std::string column_family;
  Format format = Format::kText;  // of statistics
  std::string stopped_id;         // the id of the request that kStop is about
  // Options of a refresh: dry_run, all_files, levels, start, limit, max_bytes,
  // bytes_per_second and min_gain.
  RefreshOptions refresh;
  // Whether a column family without samples is refreshed, too.
  bool without_samples = false;

  std::string ToText() const;
  // Returns InvalidArgument unless `text` is a request. The id is stored
  // whenever there is a valid one, so that the refusal can be answered.
  static Status Parse(const Slice& text, LiveRequest* request);
};

// What the process says.
struct LiveAnswer {
  enum class State : uint8_t {
    kRunning,  // the answer will be replaced
    kDone,
    kFailed,   // what was asked for was tried and went wrong
    kRefused,  // nothing was done
  };

  static constexpr size_t kMaxBytes = 256 << 20;

  State state = State::kDone;
  std::string message;       // one line for people; may be empty
  RefreshProgress progress;  // of a refresh
  double seconds = 0;        // since the refresh began
  // Statistics in their format; RefreshResult::ToJson; or, when samples were
  // saved, a JSON object with the file of each column family.
  std::string body;

  std::string ToText() const;
  static Status Parse(const Slice& text, LiveAnswer* answer);
};

}  // namespace ROCKSDB_NAMESPACE::protean
