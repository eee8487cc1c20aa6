// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava.SstFileFilter: what may exist in an
//  SST file of no DB. A handle is a pointer to a SstFileFilter, which Java
//  owns.

#include <memory>
#include <string>
#include <vector>

#include "plugin/java/native/jni_util.h"
#include "plugin/sst_file_filter.h"
#include "rocksdb/options.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const SstFileFilter* AsFilter(jlong handle) {
  return reinterpret_cast<const SstFileFilter*>(handle);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

extern "C" {

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

}  // extern "C"
