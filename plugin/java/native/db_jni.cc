// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava that ask an open DB: counts,
//  existence, statistics, options of the table, refreshing; and those of SST
//  files of no DB, and of the bounds of a thread.

#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plugin/approximate_count.h"
#include "plugin/facts.h"
#include "plugin/filter_statistics.h"
#include "plugin/java/native/jni_util.h"
#include "plugin/may_exist.h"
#include "plugin/refresh_filters.h"
#include "plugin/search_bounds.h"
#include "plugin/sst_file_filter.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

DB* AsDB(jlong handle) { return reinterpret_cast<DB*>(handle); }

// The handle 0 stands for the default column family.
ColumnFamilyHandle* AsColumnFamily(jlong db, jlong handle) {
  return handle == 0 ? AsDB(db)->DefaultColumnFamily()
                     : reinterpret_cast<ColumnFamilyHandle*>(handle);
}

// The handle 0 stands for the default options.
ReadOptions AsReadOptions(jlong handle) {
  return handle == 0 ? ReadOptions() : *reinterpret_cast<ReadOptions*>(handle);
}

const SstFileFilter* AsFilter(jlong handle) {
  return reinterpret_cast<const SstFileFilter*>(handle);
}

// ---- Keys and answers ----

// The keys of an array of arrays, each of which may be null, as may be the
// array of none.
class Keys {
 public:
  Keys(JNIEnv* env, jobjectArray arrays) {
    const jsize size = arrays == nullptr ? 0 : env->GetArrayLength(arrays);
    for (jsize i = 0; i < size; i++) {
      const auto bytes =
          static_cast<jbyteArray>(env->GetObjectArrayElement(arrays, i));
      Add(env, bytes);
      // A call may have more arrays than the VM keeps references for.
      env->DeleteLocalRef(bytes);
    }
  }
  // One key.
  Keys(JNIEnv* env, jbyteArray bytes) { Add(env, bytes); }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  size_t size() const { return slices_.size(); }
  const Slice* data() const { return slices_.data(); }
  // nullptr for null.
  const Slice* at(size_t i) const {
    return slices_[i].data() == nullptr ? nullptr : &slices_[i];
  }

 private:
  void Add(JNIEnv* env, jbyteArray bytes) {
    slices_.push_back(bytes == nullptr
                          ? Slice(nullptr, 0)
                          : Slice(bytes_.emplace_back(BytesOf(env, bytes))));
  }

  std::deque<std::string> bytes_;  // which stay where they are
  std::vector<Slice> slices_;
};

// Stores what `ask` answers for each of `size` questions. `ask` fills an array.
template <typename Ask>
Status Answer(JNIEnv* env, size_t size, jbooleanArray* array, const Ask& ask) {
  static_assert(sizeof(jboolean) == sizeof(bool));
  const std::unique_ptr<bool[]> answers(new bool[size]);
  const Status s = ask(answers.get());
  *array = env->NewBooleanArray(static_cast<jsize>(size));
  if (*array != nullptr) {
    env->SetBooleanArrayRegion(*array, 0, static_cast<jsize>(size),
                               reinterpret_cast<jboolean*>(answers.get()));
  }
  return s;
}

// ---- Records ----

// Encodes numbers and texts for the Java class Decoder: numbers as 8 bytes in
// big-endian order, texts after their size.
class Encoder {
 public:
  void Put(uint64_t number) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      bytes_ += static_cast<char>(number >> shift);
    }
  }
  void Put(double number) {
    uint64_t bits;
    static_assert(sizeof(bits) == sizeof(number));
    memcpy(&bits, &number, sizeof(bits));
    Put(bits);
  }
  void Put(const std::string& text) {
    Put(uint64_t{text.size()});
    bytes_ += text;
  }
  // What Facts.java reads. A value is a number (1), a text (2), or unknown (0).
  void Put(const Record& record) {
    Put(uint64_t{record.values().size()});
    for (const auto& [name, value] : record.values()) {
      Put(name);
      if (const std::optional<double> number = NumberOf(value)) {
        Put(uint64_t{1});
        Put(*number);
      } else if (const auto* text = std::get_if<std::string>(&value)) {
        Put(uint64_t{2});
        Put(*text);
      } else {
        Put(uint64_t{0});
      }
    }
    for (const char* list : {"levels", "files"}) {
      Put(uint64_t{record.List(list).size()});
      for (const Record& element : record.List(list)) Put(element);
    }
  }
  // What RefreshResult.java reads.
  void Put(const Status& status, const RefreshResult& result) {
    Put(uint64_t{status.code()});
    Put(uint64_t{status.subcode()});
    Put(std::string(status.ok()                    ? ""
                    : status.getState() == nullptr ? status.ToString()
                                                   : status.getState()));
    Put(RecordOf(result));
    Put(result.ToJson());
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

jbyteArray EncodedRecord(JNIEnv* env, const Record& record) {
  Encoder out;
  out.Put(record);
  return ToBytes(env, out.bytes());
}

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
              latest_ = Encoder();
              latest_.Put(s, result);
            },
            socket) {}

  Status socket_status() const { return refresher_.socket_status(); }

  // What FilterRefresher.java reads: the number of runs, and then, if there is
  // one, the latest one's status and result.
  std::string Latest() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    Encoder runs;
    runs.Put(runs_);
    return runs.bytes() + latest_.bytes();
  }

 private:
  mutable std::mutex mutex_;
  uint64_t runs_ = 0;
  Encoder latest_;
  FilterRefresher refresher_;  // ends before the members that it reports to
};

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

extern "C" {

// ---- Existence and counts ----

// Asks about keys, or about ranges if there are limits.
JNIEXPORT jbooleanArray JNICALL Java_protean_rocksjava_Native_mayExist(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jlong read_options, jobjectArray start_arrays, jobjectArray limit_arrays) {
  return Call<jbooleanArray>(env, native, [&](jbooleanArray* result) {
    const Keys starts(env, start_arrays);
    const Keys limits(env, limit_arrays);
    return Answer(env, starts.size(), result, [&](bool* may_exist) {
      const ReadOptions options = AsReadOptions(read_options);
      ColumnFamilyHandle* const family = AsColumnFamily(db, column_family);
      if (limit_arrays == nullptr) {
        return KeysMayExist(AsDB(db), options, family, starts.size(),
                            starts.data(), may_exist);
      }
      std::vector<RangePtr> ranges;
      for (size_t i = 0; i < starts.size(); i++) {
        ranges.emplace_back(starts.at(i), limits.at(i));
      }
      return RangesMayExist(AsDB(db), options, family, ranges.size(),
                            ranges.data(), may_exist);
    });
  });
}

// Returns the record of a CountResult.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_approximateCount(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jlong read_options, jbyteArray start_bytes, jbyteArray limit_bytes) {
  return Call<jbyteArray>(env, native, [&](jbyteArray* result) {
    const Keys start(env, start_bytes);
    const Keys limit(env, limit_bytes);
    CountResult count;
    const Status s = ApproximateCount(AsDB(db), AsReadOptions(read_options),
                                      AsColumnFamily(db, column_family),
                                      {start.at(0), limit.at(0)}, &count);
    *result = EncodedRecord(env, RecordOf(count));
    return s;
  });
}

// ---- Statistics and options ----

JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_filterStatistics(
    JNIEnv* env, jclass native, jlong db, jlong column_family) {
  return Call<jbyteArray>(env, native, [&](jbyteArray* result) {
    FilterStatistics statistics;
    const Status s = GetFilterStatistics(
        AsDB(db), AsColumnFamily(db, column_family), &statistics);
    Encoder out;
    out.Put(RecordOf(statistics));
    out.Put(statistics.ToString());
    out.Put(statistics.ToJson());
    *result = ToBytes(env, out.bytes());
    return s;
  });
}

JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_filterSums(
    JNIEnv* env, jclass native, jbyteArray folder) {
  return Call<jbyteArray>(env, native, [&](jbyteArray* result) {
    *result = EncodedRecord(env, RecordOf(GetFilterSums(BytesOf(env, folder))));
    return Status::OK();
  });
}

// The statistics of the column families in two arrays of equal length.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_prometheus(
    JNIEnv* env, jclass native, jlongArray dbs, jlongArray column_families) {
  return Call<jbyteArray>(env, native, [&](jbyteArray* result) {
    const jsize size = env->GetArrayLength(dbs);
    std::vector<jlong> db_handles(static_cast<size_t>(size));
    std::vector<jlong> family_handles(static_cast<size_t>(size));
    env->GetLongArrayRegion(dbs, 0, size, db_handles.data());
    env->GetLongArrayRegion(column_families, 0, size, family_handles.data());
    std::vector<FilterStatistics> statistics(db_handles.size());
    Status s;
    for (size_t i = 0; s.ok() && i < statistics.size(); i++) {
      s = GetFilterStatistics(AsDB(db_handles[i]),
                              AsColumnFamily(db_handles[i], family_handles[i]),
                              &statistics[i]);
    }
    *result = ToBytes(env, ToPrometheus(statistics));
    return s;
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_Native_setTableOption(
    JNIEnv* env, jclass native, jlong db, jlong column_family, jbyteArray name,
    jbyteArray value) {
  Call<int>(env, native, [&](int* /*result*/) {
    ColumnFamilyHandle* const family = AsColumnFamily(db, column_family);
    const auto table = AsDB(db)->GetOptions(family).table_factory;
    if (!table->IsInstanceOf("ProteanTable")) {
      return Status::InvalidArgument(
          std::string("the table is not ProteanTable, but ") + table->Name());
    }
    return AsDB(db)->SetOptions(
        family, {{"table_factory." + BytesOf(env, name), BytesOf(env, value)}});
  });
}

// ---- Refreshing ----

// Returns the text of options after one of them has been set.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_setRefreshOption(
    JNIEnv* env, jclass native, jbyteArray options_text, jbyteArray name,
    jbyteArray value) {
  return Call<jbyteArray>(env, native, [&](jbyteArray* result) {
    RefreshOptions options;
    Status s = options.Parse(BytesOf(env, options_text));
    if (s.ok()) s = options.Set(BytesOf(env, name), BytesOf(env, value));
    *result = ToBytes(env, options.ToString());
    return s;
  });
}

// `watched`, a RefreshOptions, is told the progress unless it is null. An
// exception that it throws ends refreshing, and is passed on to the caller. The
// result begins with the status.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_refreshFilters(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jbyteArray options_text, jobject watched) {
  return Call<jbyteArray>(env, native, [&](jbyteArray* result) {
    RefreshOptions options;
    const Status parsed = options.Parse(BytesOf(env, options_text));
    if (!parsed.ok()) return parsed;
    if (watched != nullptr) {
      const jmethodID report =
          env->GetMethodID(env->GetObjectClass(watched), "report", "([B)Z");
      // RefreshFilters calls this from the current thread.
      options.progress = [env, watched, report](const RefreshProgress& at) {
        if (env->ExceptionCheck()) return false;
        const jbyteArray bytes = EncodedRecord(env, RecordOf(at));
        if (bytes == nullptr) return false;
        const jboolean goes_on = env->CallBooleanMethod(watched, report, bytes);
        env->DeleteLocalRef(bytes);
        return !env->ExceptionCheck() && goes_on == JNI_TRUE;
      };
    }
    RefreshResult refreshed;
    const Status s = RefreshFilters(AsDB(db), AsColumnFamily(db, column_family),
                                    options, &refreshed);
    if (env->ExceptionCheck()) return s;
    Encoder out;
    out.Put(s, refreshed);
    *result = ToBytes(env, out.bytes());
    return Status::OK();
  });
}

// Returns a pointer to a Refresher, which Java owns.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_Native_openFilterRefresher(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jbyteArray options_text, jlong period_seconds, jbyteArray socket) {
  return Call<jlong>(env, native, [&](jlong* result) {
    RefreshOptions options;
    Status s = options.Parse(BytesOf(env, options_text));
    if (!s.ok()) return s;
    auto refresher = std::make_unique<Refresher>(
        AsDB(db), AsColumnFamily(db, column_family), options,
        static_cast<uint64_t>(period_seconds), BytesOf(env, socket));
    s = refresher->socket_status();
    if (s.ok()) *result = reinterpret_cast<jlong>(refresher.release());
    return s;
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_Native_closeFilterRefresher(
    JNIEnv* /*env*/, jclass /*native*/, jlong refresher) {
  delete reinterpret_cast<Refresher*>(refresher);
}

JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_latestRefresh(
    JNIEnv* env, jclass native, jlong refresher) {
  return Call<jbyteArray>(env, native, [&](jbyteArray* result) {
    *result = ToBytes(env, reinterpret_cast<Refresher*>(refresher)->Latest());
    return Status::OK();
  });
}

// ---- The filter of an SST file of no DB, which Java owns ----

JNIEXPORT jlong JNICALL Java_protean_rocksjava_Native_openSstFileFilter(
    JNIEnv* env, jclass native, jlong options, jbyteArray path) {
  return Call<jlong>(env, native, [&](jlong* result) {
    std::unique_ptr<SstFileFilter> filter;
    const Status s =
        SstFileFilter::Open(*reinterpret_cast<const Options*>(options),
                            BytesOf(env, path), &filter);
    *result = reinterpret_cast<jlong>(filter.release());
    return s;
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_Native_closeSstFileFilter(
    JNIEnv* /*env*/, jclass /*native*/, jlong filter) {
  delete AsFilter(filter);
}

// Asks about keys, or about ranges if there are limits.
JNIEXPORT jbooleanArray JNICALL Java_protean_rocksjava_Native_mayExistInSstFile(
    JNIEnv* env, jclass native, jlong filter, jobjectArray start_arrays,
    jobjectArray limit_arrays) {
  return Call<jbooleanArray>(env, native, [&](jbooleanArray* result) {
    const Keys starts(env, start_arrays);
    const Keys limits(env, limit_arrays);
    return Answer(env, starts.size(), result, [&](bool* may_exist) {
      for (size_t i = 0; i < starts.size(); i++) {
        may_exist[i] =
            limit_arrays == nullptr
                ? AsFilter(filter)->KeyMayExist(starts.data()[i])
                : AsFilter(filter)->RangeMayExist({starts.at(i), limits.at(i)});
      }
      return Status::OK();
    });
  });
}

// ---- Bounds of a thread ----

// Returns what closeScope takes.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_SearchBounds_openScope(
    JNIEnv* env, jclass search_bounds, jbyteArray lower, jbyteArray upper) {
  return Call<jlong>(env, search_bounds, [&](jlong* result) {
    const Keys from(env, lower);
    const Keys to(env, upper);
    *result =
        reinterpret_cast<jlong>(new SearchBoundsScope(from.at(0), to.at(0)));
    return Status::OK();
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_SearchBounds_closeScope(
    JNIEnv* /*env*/, jclass /*search_bounds*/, jlong scope) {
  delete reinterpret_cast<SearchBoundsScope*>(scope);
}

}  // extern "C"
