// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava that ask an open DB: counts,
//  statistics, another filter policy, refreshing.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugin/filter_statistics.h"
#include "plugin/java/native/db_encoding.h"
#include "plugin/java/native/jni_util.h"
#include "plugin/java/native/refresh_options_jni.h"
#include "plugin/may_exist.h"
#include "plugin/protean_db.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The handle 0 stands for the default options.
ReadOptions AsReadOptions(jlong handle) {
  return handle == 0 ? ReadOptions() : *reinterpret_cast<ReadOptions*>(handle);
}

// Encodes the values in the order in which FilterStatistics.java reads them.
void Encode(const FilterSeeks& seeks, Encoder* out) {
  out->Put(seeks.negatives);
  out->Put(seeks.passed);
  out->Put(seeks.true_positives);
  out->Put(seeks.false_positives);
  out->Put(seeks.reached);
}

void Encode(const std::map<std::string, uint64_t>& numbers, Encoder* out) {
  out->Put(uint64_t{numbers.size()});
  for (const auto& [name, number] : numbers) {
    out->Put(name);
    out->Put(number);
  }
}

void Encode(const FilterSums& sums, Encoder* out) {
  out->Put(sums.files);
  out->Put(sums.entries);
  Encode(sums.unused, out);
  out->Put(sums.keys);
  out->Put(sums.filter_bytes);
  out->Put(sums.predicted_fpr);
  Encode(sums.files_by_basis, out);
  out->Put(sums.model_seconds);
  out->Put(sums.filter_blocks_loaded);
  out->Put(sums.filter_bytes_loaded);
  out->Put(sums.filter_loads_failed);
  Encode(sums.closed, out);
  Encode(sums.open, out);
  out->Put(sums.gets.unasked);
  out->Put(sums.gets.negatives);
  out->Put(sums.gets.true_positives);
  out->Put(sums.gets.false_positives);
}

void Encode(const FilterBuilds& builds, Encoder* out) {
  out->Put(builds.filters);
  out->Put(builds.keys);
  out->Put(builds.bytes);
  out->Put(builds.model_seconds);
  out->Put(builds.build_seconds);
}

void Encode(const RefreshStatistics& refresh, Encoder* out) {
  out->Put(refresh.runs);
  out->Put(refresh.failures);
  out->Put(refresh.last_end_seconds);
  out->Put(refresh.files_rewritten);
  out->Put(refresh.bytes_read);
  out->Put(refresh.bytes_rewritten);
  out->Put(uint64_t{refresh.running});
  out->Put(refresh.bytes);
  out->Put(refresh.bytes_decided);
  out->Put(refresh.running_seconds);
  out->Put(refresh.seconds_left);
}

void Encode(const FileFilterStatistics& file, Encoder* out) {
  out->Put(file.path);
  out->Put(static_cast<uint64_t>(file.level));
  out->Put(file.unused);
  out->Put(file.entries);
  out->Put(file.keys);
  out->Put(file.filter_bytes);
  out->Put(file.filter.kind);
  out->Put(file.filter.design);
  out->Put(file.filter.basis);
  out->Put(file.filter.predicted_fpr);
  Encode(file.closed, out);
  Encode(file.open, out);
}

void Encode(const FilterStatistics& statistics, Encoder* out) {
  out->Put(statistics.db);
  out->Put(statistics.column_family);
  out->Put(statistics.live_files);
  Encode(statistics.total, out);
  out->Put(uint64_t{statistics.levels.size()});
  for (const LevelFilterStatistics& level : statistics.levels) {
    out->Put(static_cast<uint64_t>(level.level));
    Encode(level.sums, out);
  }
  out->Put(uint64_t{statistics.files.size()});
  for (const FileFilterStatistics& file : statistics.files) Encode(file, out);
  out->Put(uint64_t{statistics.gets.known});
  out->Put(statistics.gets.negatives);
  out->Put(statistics.gets.positives);
  out->Put(statistics.gets.true_positives);
  Encode(statistics.builds, out);
  const SampleQueueStatistics& samples = statistics.samples;
  out->Put(uint64_t{samples.exists});
  out->Put(samples.held);
  out->Put(samples.capacity);
  out->Put(uint64_t{samples.sample_every});
  out->Put(samples.recorded);
  out->Put(samples.sampled);
  out->Put(samples.dropped);
  out->Put(samples.age_seconds);
  Encode(statistics.refresh, out);
  out->Put(statistics.ToString());
  out->Put(statistics.ToJson());
  out->Put(ToPrometheus({statistics}));
}

// Encodes the values in the order in which RefreshResult.java reads them.
void Encode(const RefreshedFile& file, Encoder* out) {
  out->Put(file.name);
  out->Put(static_cast<uint64_t>(file.level));
  out->Put(file.bytes);
  out->Put(file.entries);
  out->Put(std::string(ToString(file.outcome)));
  out->Put(file.status.ok() ? std::string() : file.status.ToString());
  out->Put(file.queries);
  out->Put(file.old_design);
  out->Put(file.new_design);
  out->Put(file.old_fpr);
  out->Put(file.new_fpr);
  out->Put(file.asked_per_second);
  out->Put(file.saved_reads_per_second);
}

Status SetFilterPolicy(DB* db, ColumnFamilyHandle* column_family,
                       const std::string& policy) {
  const auto table = db->GetOptions(column_family).table_factory;
  if (!table->IsInstanceOf("ProteanTable")) {
    return Status::InvalidArgument(
        std::string("the table is not ProteanTable, but ") + table->Name());
  }
  return db->SetOptions(column_family,
                        {{"table_factory.filter_policy", policy}});
}

}  // namespace

void Encode(const Status& status, const RefreshResult& result, Encoder* out) {
  out->Put(uint64_t{status.ok()});
  out->Put(uint64_t{result.files.size()});
  for (const RefreshedFile& file : result.files) Encode(file, out);
  out->Put(result.samples);
  out->Put(uint64_t{result.rate_known});
  out->Put(result.bytes_read);
  out->Put(result.files_rewritten);
  out->Put(result.bytes_rewritten);
  out->Put(result.saved_reads_per_second);
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
    std::vector<std::string> keys;
    if (!CopyArrays(env, key_arrays, &keys)) return nullptr;
    std::vector<bool> may_exist;
    const Status s = KeysMayExist(AsDB(db), AsReadOptions(read_options),
                                  AsColumnFamily(AsDB(db), column_family),
                                  {keys.begin(), keys.end()}, &may_exist);
    if (s.ok()) return ToBooleans(env, may_exist);
    ThrowStatus(env, native, s);
    return nullptr;
  });
}

// Returns an answer for each range, or null if it throws.
JNIEXPORT jbooleanArray JNICALL Java_protean_rocksjava_Native_rangesMayExist(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jlong read_options, jobjectArray begin_arrays, jobjectArray end_arrays) {
  return Guarded(env, [&]() -> jbooleanArray {
    std::vector<std::string> begins;
    std::vector<std::string> ends;
    if (!CopyArrays(env, begin_arrays, &begins) ||
        !CopyArrays(env, end_arrays, &ends)) {
      return nullptr;
    }
    std::vector<Range> ranges;
    for (size_t i = 0; i < begins.size(); i++) {
      ranges.emplace_back(begins[i], ends[i]);
    }
    std::vector<bool> may_exist;
    const Status s = RangesMayExist(AsDB(db), AsReadOptions(read_options),
                                    AsColumnFamily(AsDB(db), column_family),
                                    ranges, &may_exist);
    if (s.ok()) return ToBooleans(env, may_exist);
    ThrowStatus(env, native, s);
    return nullptr;
  });
}

// Returns the members of a CountResult, in their order, or null if it throws.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_approximateCount(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jlong read_options, jbyteArray begin_bytes, jbyteArray end_bytes) {
  return Guarded(env, [&]() -> jbyteArray {
    std::optional<std::string> begin;
    std::optional<std::string> end;
    if (!CopyOptionalBytes(env, begin_bytes, &begin) ||
        !CopyOptionalBytes(env, end_bytes, &end)) {
      return nullptr;
    }
    const Slice start = begin ? Slice(*begin) : Slice();
    const Slice limit = end ? Slice(*end) : Slice();
    CountResult result;
    const Status s = ApproximateCount(
        AsDB(db), AsReadOptions(read_options),
        AsColumnFamily(AsDB(db), column_family),
        {begin ? &start : nullptr, end ? &limit : nullptr}, &result);
    if (!s.ok()) {
      ThrowStatus(env, native, s);
      return nullptr;
    }
    Encoder out;
    out.Put(result.count);
    out.Put(result.in_memtables);
    out.Put(result.sorted_runs);
    out.Put(result.files);
    out.Put(result.files_scanned);
    out.Put(result.deletions);
    out.Put(uint64_t{result.unsure});
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
    Encode(statistics, &out);
    return ToBytes(env, out.bytes());
  });
}

JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_filterSums(
    JNIEnv* env, jclass /*native*/, jbyteArray folder_bytes) {
  return Guarded(env, [&]() -> jbyteArray {
    std::string folder;
    if (!CopyBytes(env, folder_bytes, &folder)) return nullptr;
    Encoder out;
    Encode(GetFilterSums(folder), &out);
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

// The policy has been checked.
JNIEXPORT void JNICALL Java_protean_rocksjava_Native_setFilterPolicy(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jbyteArray policy_bytes) {
  Guarded(env, [&] {
    std::string policy;
    if (!CopyBytes(env, policy_bytes, &policy)) return;
    const Status s = SetFilterPolicy(
        AsDB(db), AsColumnFamily(AsDB(db), column_family), policy);
    if (!s.ok()) ThrowStatus(env, native, s);
  });
}

// `progress`, a RefreshOptions.Progress, may be null. An exception that it
// throws ends refreshing, and is passed on to the caller. The result begins
// with whether refreshing was complete.
JNIEXPORT jbyteArray JNICALL Java_protean_rocksjava_Native_refreshFilters(
    JNIEnv* env, jclass native, jlong db, jlong column_family,
    jobject java_options, jobject progress) {
  return Guarded(env, [&]() -> jbyteArray {
    RefreshOptions options;
    if (!ReadRefreshOptions(env, java_options, &options)) return nullptr;
    if (progress != nullptr) {
      const jmethodID report =
          env->GetMethodID(env->GetObjectClass(progress), "report", "(JJJJ)Z");
      if (report == nullptr) return nullptr;
      // RefreshFilters calls this from the current thread.
      options.progress = [env, progress, report](const RefreshProgress& at) {
        const jboolean goes_on = env->CallBooleanMethod(
            progress, report, static_cast<jlong>(at.files),
            static_cast<jlong>(at.files_decided),
            static_cast<jlong>(at.bytes_read),
            static_cast<jlong>(at.bytes_rewritten));
        return !env->ExceptionCheck() && goes_on == JNI_TRUE;
      };
    }
    RefreshResult result;
    const Status s = RefreshFilters(
        AsDB(db), AsColumnFamily(AsDB(db), column_family), options, &result);
    if (env->ExceptionCheck()) return nullptr;
    if (!s.ok() && !s.IsIncomplete()) {
      ThrowStatus(env, native, s);
      return nullptr;
    }
    Encoder out;
    Encode(s, result, &out);
    return ToBytes(env, out.bytes());
  });
}

}  // extern "C"
