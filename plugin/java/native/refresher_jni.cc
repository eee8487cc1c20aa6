// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava.FilterRefresher. A handle is a pointer
//  to a Refresher, which Java owns.

#include <memory>
#include <mutex>

#include "plugin/java/native/jni_util.h"
#include "plugin/refresh_filters.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Refreshes, and keeps the latest result.
class Refresher {
 public:
  Refresher(DB* db, ColumnFamilyHandle* column_family,
            const RefreshOptions& options, uint64_t period_seconds,
            const std::string& socket)
      : refresher_(
            db, column_family, options, period_seconds,
            [this](const Status& s, const RefreshResult& result) {
              const std::lock_guard<std::mutex> lock(mutex_);
              runs_++;
              status_ = s;
              result_ = result;
            },
            socket) {}

  Status socket_status() const { return refresher_.socket_status(); }

  // What FilterRefresher.java reads: the number of runs, and then, if there is
  // one, the latest one's status and result.
  std::string Latest() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    Encoder out;
    out.Put(runs_);
    if (runs_ == 0) return out.bytes();
    Encode(status_, result_, &out);
    return out.bytes();
  }

 private:
  mutable std::mutex mutex_;
  uint64_t runs_ = 0;
  Status status_;
  RefreshResult result_;
  FilterRefresher refresher_;  // ends before the members that it reports to
};

Refresher* AsRefresher(jlong handle) {
  return reinterpret_cast<Refresher*>(handle);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

extern "C" {

// Returns a handle.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_Native_openFilterRefresher(
    JNIEnv* env, jclass native, jlong db_handle, jlong column_family,
    jbyteArray options_text, jlong period_seconds, jbyteArray socket_bytes) {
  return Guarded(env, [&]() -> jlong {
    RefreshOptions options;
    std::string socket;
    if (!ParseRefreshOptions(env, native, options_text, &options) ||
        !CopyBytes(env, socket_bytes, &socket)) {
      return 0;
    }
    DB* const db = AsDB(db_handle);
    auto refresher = std::make_unique<Refresher>(
        db, AsColumnFamily(db, column_family), options,
        static_cast<uint64_t>(period_seconds), socket);
    const Status s = refresher->socket_status();
    if (!s.ok()) {
      ThrowStatus(env, native, s);
      return 0;
    }
    return reinterpret_cast<jlong>(refresher.release());
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_Native_closeFilterRefresher(
    JNIEnv* env, jclass /*native*/, jlong handle) {
  Guarded(env, [&] { delete AsRefresher(handle); });
}

JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_latestRefresh(
    JNIEnv* env, jclass /*native*/, jlong handle) {
  return Guarded(env, [&]() -> jbyteArray {
    return ToBytes(env, AsRefresher(handle)->Latest());
  });
}

}  // extern "C"
