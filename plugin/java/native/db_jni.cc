// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava that ask an open DB: counts,
//  existence, statistics, options of the table, refreshing; and those of SST
//  files of no DB, and of the bounds of a thread.

#include <string>
#include <vector>

#include "plugin/approximate_count.h"
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

// The handle 0 stands for the default options.
ReadOptions AsReadOptions(jlong handle) {
  return handle == 0 ? ReadOptions() : *reinterpret_cast<ReadOptions*>(handle);
}

Status SetTableOption(DB* db, ColumnFamilyHandle* column_family,
                      const std::string& name, const std::string& value) {
  const auto table = db->GetOptions(column_family).table_factory;
  if (!table->IsInstanceOf("ProteanTable")) {
    return Status::InvalidArgument(
        std::string("the table is not ProteanTable, but ") + table->Name());
  }
  return db->SetOptions(column_family, {{"table_factory." + name, value}});
}

const SstFileFilter* AsFilter(jlong handle) {
  return reinterpret_cast<const SstFileFilter*>(handle);
}

}  // namespace

void Encode(const Record& record, Encoder* out) {
  // A value is a number (1), a text (2), or unknown (0).
  out->Put(uint64_t{record.values().size()});
  for (const auto& [name, value] : record.values()) {
    out->Put(name);
    if (const std::optional<double> number = NumberOf(value)) {
      out->Put(uint64_t{1});
      out->Put(*number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      out->Put(uint64_t{2});
      out->Put(*text);
    } else {
      out->Put(uint64_t{0});
    }
  }
  for (const char* list : {"levels", "files"}) {
    out->Put(uint64_t{record.List(list).size()});
    for (const Record& element : record.List(list)) Encode(element, out);
  }
}

void Encode(const Status& status, const RefreshResult& result, Encoder* out) {
  out->Put(uint64_t{status.code()});
  out->Put(uint64_t{status.subcode()});
  out->Put(std::string(status.ok()                    ? ""
                       : status.getState() == nullptr ? status.ToString()
                                                      : status.getState()));
  Encode(RecordOf(result), out);
  out->Put(result.ToJson());
}

bool ParseRefreshOptions(JNIEnv* env, jclass native, jbyteArray bytes,
                         RefreshOptions* options) {
  std::string text;
  if (!CopyBytes(env, bytes, &text)) return false;
  const Status s = options->Parse(text);
  if (!s.ok()) ThrowStatus(env, native, s);
  return s.ok();
}

}  // namespace ROCKSDB_NAMESPACE::protean

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

extern "C" {

// Returns an answer for each key, or null if it throws.
JNIEXPORT jbooleanArray JNICALL Java_protean_rocksjava_Native_keysMayExist(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jlong read_options, jobjectArray key_arrays) {
  return Guarded(env, [&]() -> jbooleanArray {
    Keys keys;
    if (!keys.Copy(env, key_arrays)) return nullptr;
    Answers may_exist(keys.size());
    const Status s = KeysMayExist(AsDB(db), AsReadOptions(read_options),
                                  AsColumnFamily(AsDB(db), column_family),
                                  keys.size(), keys.data(), may_exist.data());
    if (s.ok()) return may_exist.ToBooleans(env);
    ThrowStatus(env, native, s);
    return nullptr;
  });
}

// Returns an answer for each range, or null if it throws.
JNIEXPORT jbooleanArray JNICALL Java_protean_rocksjava_Native_rangesMayExist(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jlong read_options, jobjectArray start_arrays, jobjectArray limit_arrays) {
  return Guarded(env, [&]() -> jbooleanArray {
    Keys starts;
    Keys limits;
    if (!starts.Copy(env, start_arrays) || !limits.Copy(env, limit_arrays)) {
      return nullptr;
    }
    std::vector<RangePtr> ranges;
    for (size_t i = 0; i < starts.size(); i++) {
      ranges.emplace_back(starts.at(i), limits.at(i));
    }
    Answers may_exist(ranges.size());
    const Status s =
        RangesMayExist(AsDB(db), AsReadOptions(read_options),
                       AsColumnFamily(AsDB(db), column_family), ranges.size(),
                       ranges.data(), may_exist.data());
    if (s.ok()) return may_exist.ToBooleans(env);
    ThrowStatus(env, native, s);
    return nullptr;
  });
}

// Returns the record of a CountResult, or null if it throws.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_approximateCount(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jlong read_options, jbyteArray start_bytes, jbyteArray limit_bytes) {
  return Guarded(env, [&]() -> jbyteArray {
    OptionalKey start;
    OptionalKey limit;
    if (!start.Copy(env, start_bytes) || !limit.Copy(env, limit_bytes)) {
      return nullptr;
    }
    CountResult result;
    const Status s = ApproximateCount(AsDB(db), AsReadOptions(read_options),
                                      AsColumnFamily(AsDB(db), column_family),
                                      {start.get(), limit.get()}, &result);
    if (!s.ok()) {
      ThrowStatus(env, native, s);
      return nullptr;
    }
    Encoder out;
    Encode(RecordOf(result), &out);
    return ToBytes(env, out.bytes());
  });
}

JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_filterStatistics(
    JNIEnv* env, jclass native, jlong db, jlong column_family) {
  return Guarded(env, [&]() -> jbyteArray {
    FilterStatistics statistics;
    const Status s = GetFilterStatistics(
        AsDB(db), AsColumnFamily(AsDB(db), column_family), &statistics);
    if (!s.ok()) {
      ThrowStatus(env, native, s);
      return nullptr;
    }
    Encoder out;
    Encode(RecordOf(statistics), &out);
    out.Put(statistics.ToString());
    out.Put(statistics.ToJson());
    out.Put(ToPrometheus({statistics}));
    return ToBytes(env, out.bytes());
  });
}

JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_filterSums(
    JNIEnv* env, jclass /*native*/, jbyteArray folder_bytes) {
  return Guarded(env, [&]() -> jbyteArray {
    std::string folder;
    if (!CopyBytes(env, folder_bytes, &folder)) return nullptr;
    Encoder out;
    Encode(RecordOf(GetFilterSums(folder)), &out);
    return ToBytes(env, out.bytes());
  });
}

// The statistics of the column families in two arrays of equal length.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_prometheus(
    JNIEnv* env, jclass native, jlongArray dbs, jlongArray column_families) {
  return Guarded(env, [&]() -> jbyteArray {
    const jsize size = env->GetArrayLength(dbs);
    std::vector<jlong> db_handles(static_cast<size_t>(size));
    std::vector<jlong> family_handles(static_cast<size_t>(size));
    env->GetLongArrayRegion(dbs, 0, size, db_handles.data());
    if (env->ExceptionCheck()) return nullptr;
    env->GetLongArrayRegion(column_families, 0, size, family_handles.data());
    if (env->ExceptionCheck()) return nullptr;
    std::vector<FilterStatistics> statistics(db_handles.size());
    for (size_t i = 0; i < statistics.size(); i++) {
      DB* const db = AsDB(db_handles[i]);
      const Status s = GetFilterStatistics(
          db, AsColumnFamily(db, family_handles[i]), &statistics[i]);
      if (!s.ok()) {
        ThrowStatus(env, native, s);
        return nullptr;
      }
    }
    return ToBytes(env, ToPrometheus(statistics));
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_Native_setTableOption(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jbyteArray name_bytes, jbyteArray value_bytes) {
  Guarded(env, [&] {
    std::string name;
    std::string value;
    if (!CopyBytes(env, name_bytes, &name) ||
        !CopyBytes(env, value_bytes, &value)) {
      return;
    }
    const Status s = SetTableOption(
        AsDB(db), AsColumnFamily(AsDB(db), column_family), name, value);
    if (!s.ok()) ThrowStatus(env, native, s);
  });
}

// Returns the text of options after one of them has been set, or null if it
// throws.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_setRefreshOption(
    JNIEnv* env, jclass native, jbyteArray options_text, jbyteArray name_bytes,
    jbyteArray value_bytes) {
  return Guarded(env, [&]() -> jbyteArray {
    RefreshOptions options;
    std::string name;
    std::string value;
    if (!ParseRefreshOptions(env, native, options_text, &options) ||
        !CopyBytes(env, name_bytes, &name) ||
        !CopyBytes(env, value_bytes, &value)) {
      return nullptr;
    }
    const Status s = options.Set(name, value);
    if (s.ok()) return ToBytes(env, options.ToString());
    ThrowStatus(env, native, s);
    return nullptr;
  });
}

// `watched`, a RefreshOptions, is told the progress unless it is null. An
// exception that it throws ends refreshing, and is passed on to the caller. The
// result begins with the status.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_refreshFilters(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jbyteArray options_text, jobject watched) {
  return Guarded(env, [&]() -> jbyteArray {
    RefreshOptions options;
    if (!ParseRefreshOptions(env, native, options_text, &options)) {
      return nullptr;
    }
    if (watched != nullptr) {
      const jmethodID report =
          env->GetMethodID(env->GetObjectClass(watched), "report", "([B)Z");
      if (report == nullptr) return nullptr;
      // RefreshFilters calls this from the current thread.
      options.progress = [env, watched, report](const RefreshProgress& at) {
        Encoder out;
        Encode(RecordOf(at), &out);
        const jbyteArray bytes = ToBytes(env, out.bytes());
        if (bytes == nullptr) return false;
        const jboolean goes_on = env->CallBooleanMethod(watched, report, bytes);
        env->DeleteLocalRef(bytes);
        return !env->ExceptionCheck() && goes_on == JNI_TRUE;
      };
    }
    RefreshResult result;
    const Status s = RefreshFilters(
        AsDB(db), AsColumnFamily(AsDB(db), column_family), options, &result);
    if (env->ExceptionCheck()) return nullptr;
    Encoder out;
    Encode(s, result, &out);
    return ToBytes(env, out.bytes());
  });
}

// ---- The filter of an SST file of no DB, which Java owns ----

// Returns a handle, or 0 if it throws.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_Native_openSstFileFilter(
    JNIEnv* env, jclass native, jlong options, jbyteArray path_bytes) {
  return Guarded(env, [&]() -> jlong {
    std::string path;
    if (!CopyBytes(env, path_bytes, &path)) return 0;
    std::unique_ptr<SstFileFilter> filter;
    const Status s = SstFileFilter::Open(
        *reinterpret_cast<const Options*>(options), path, &filter);
    if (s.ok()) return reinterpret_cast<jlong>(filter.release());
    ThrowStatus(env, native, s);
    return 0;
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_Native_closeSstFileFilter(
    JNIEnv* /*env*/, jclass /*native*/, jlong filter) {
  delete AsFilter(filter);
}

// Returns an answer for each key, or null if it throws.
JNIEXPORT jbooleanArray JNICALL
Java_protean_rocksjava_Native_keysMayExistInSstFile(JNIEnv* env,
                                                    jclass /*native*/,
                                                    jlong filter,
                                                    jobjectArray key_arrays) {
  return Guarded(env, [&]() -> jbooleanArray {
    Keys keys;
    if (!keys.Copy(env, key_arrays)) return nullptr;
    Answers may_exist(keys.size());
    for (size_t i = 0; i < keys.size(); i++) {
      may_exist.data()[i] = AsFilter(filter)->KeyMayExist(keys.data()[i]);
    }
    return may_exist.ToBooleans(env);
  });
}

// Returns an answer for each range, or null if it throws.
JNIEXPORT jbooleanArray JNICALL
Java_protean_rocksjava_Native_rangesMayExistInSstFile(
    JNIEnv* env, jclass /*native*/, jlong filter, jobjectArray start_arrays,
    jobjectArray limit_arrays) {
  return Guarded(env, [&]() -> jbooleanArray {
    Keys starts;
    Keys limits;
    if (!starts.Copy(env, start_arrays) || !limits.Copy(env, limit_arrays)) {
      return nullptr;
    }
    Answers may_exist(starts.size());
    for (size_t i = 0; i < starts.size(); i++) {
      may_exist.data()[i] =
          AsFilter(filter)->RangeMayExist({starts.at(i), limits.at(i)});
    }
    return may_exist.ToBooleans(env);
  });
}

// ---- Bounds of a thread ----

// Returns what closeScope takes.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_SearchBounds_openScope(
    JNIEnv* env, jclass /*search_bounds*/, jbyteArray lower, jbyteArray upper) {
  return Guarded(env, [&]() -> jlong {
    OptionalKey from;
    OptionalKey to;
    if (!from.Copy(env, lower) || !to.Copy(env, upper)) return 0;
    return reinterpret_cast<jlong>(new SearchBoundsScope(from.get(), to.get()));
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_SearchBounds_closeScope(
    JNIEnv* env, jclass /*search_bounds*/, jlong scope) {
  Guarded(env, [&] { delete reinterpret_cast<SearchBoundsScope*>(scope); });
}

}  // extern "C"
