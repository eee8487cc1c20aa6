// SPDX-License-Identifier: Apache-2.0

#include "plugin/java/native/refresh_options_jni.h"

#include "plugin/java/native/jni_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The fields of an object of Java. Once one of them is missing, an exception is
// pending, and the others are not looked for.
class Fields {
 public:
  Fields(JNIEnv* env, jobject object)
      : env_(env), object_(object), type_(env->GetObjectClass(object)) {}

  bool Flag(const char* name) const {
    const jfieldID field = Find(name, "Z");
    return field != nullptr &&
           env_->GetBooleanField(object_, field) == JNI_TRUE;
  }
  jint Int(const char* name) const {
    const jfieldID field = Find(name, "I");
    return field == nullptr ? 0 : env_->GetIntField(object_, field);
  }
  jlong Long(const char* name) const {
    const jfieldID field = Find(name, "J");
    return field == nullptr ? 0 : env_->GetLongField(object_, field);
  }
  double Double(const char* name) const {
    const jfieldID field = Find(name, "D");
    return field == nullptr ? 0 : env_->GetDoubleField(object_, field);
  }
  // Null if the field is null.
  template <typename Array>
  Array ArrayOf(const char* name, const char* type) const {
    const jfieldID field = Find(name, type);
    return field == nullptr
               ? nullptr
               : static_cast<Array>(env_->GetObjectField(object_, field));
  }

 private:
  jfieldID Find(const char* name, const char* type) const {
    return env_->ExceptionCheck() ? nullptr
                                  : env_->GetFieldID(type_, name, type);
  }

  JNIEnv* const env_;
  const jobject object_;
  const jclass type_;
};

}  // namespace

bool ReadRefreshOptions(JNIEnv* env, jobject java_options,
                        RefreshOptions* options) {
  const Fields fields(env, java_options);
  options->dry_run = fields.Flag("dryRun");
  options->all_files = fields.Flag("allFiles");
  options->max_parallel_rewrites =
      static_cast<uint32_t>(fields.Int("maxParallelRewrites"));
  options->max_bytes = static_cast<uint64_t>(fields.Long("maxBytes"));
  options->bytes_per_second =
      static_cast<uint64_t>(fields.Long("bytesPerSecond"));
  options->min_gain = fields.Double("minGain");
  options->payback_seconds = fields.Double("paybackSeconds");
  const auto levels = fields.ArrayOf<jintArray>("levels", "[I");
  const auto start = fields.ArrayOf<jbyteArray>("start", "[B");
  const auto limit = fields.ArrayOf<jbyteArray>("limit", "[B");
  if (env->ExceptionCheck()) return false;
  const jsize num_levels = env->GetArrayLength(levels);
  options->levels.resize(static_cast<size_t>(num_levels));
  env->GetIntArrayRegion(levels, 0, num_levels, options->levels.data());
  return !env->ExceptionCheck() &&
         CopyOptionalBytes(env, start, &options->start) &&
         CopyOptionalBytes(env, limit, &options->limit);
}

}  // namespace ROCKSDB_NAMESPACE::protean
