// SPDX-License-Identifier: Apache-2.0

#include "plugin/java/native/jni_util.h"

#include <limits>

namespace ROCKSDB_NAMESPACE::protean {

void Throw(JNIEnv* env, const char* exception, const char* message) {
  if (env->ExceptionCheck()) return;
  const jclass type = env->FindClass(exception);
  if (type != nullptr) env->ThrowNew(type, message);
}

void ThrowStatus(JNIEnv* env, jclass native, const Status& status) {
  if (env->ExceptionCheck()) return;
  const jmethodID make = env->GetStaticMethodID(
      native, "exception", "(II[B)Lorg/rocksdb/RocksDBException;");
  if (make == nullptr) return;
  const jbyteArray state =
      ToBytes(env, status.getState() == nullptr ? status.ToString()
                                                : status.getState());
  if (state == nullptr) return;
  const auto exception = static_cast<jthrowable>(env->CallStaticObjectMethod(
      native, make, static_cast<jint>(status.code()),
      static_cast<jint>(status.subcode()), state));
  if (!env->ExceptionCheck() && exception != nullptr) env->Throw(exception);
}

bool CopyBytes(JNIEnv* env, jbyteArray bytes, std::string* text) {
  const jsize size = env->GetArrayLength(bytes);
  text->resize(static_cast<size_t>(size));
  env->GetByteArrayRegion(bytes, 0, size,
                          reinterpret_cast<jbyte*>(&(*text)[0]));
  return !env->ExceptionCheck();
}

bool OptionalKey::Copy(JNIEnv* env, jbyteArray bytes) {
  if (bytes == nullptr) return true;
  if (!CopyBytes(env, bytes, &bytes_.emplace())) return false;
  slice_ = *bytes_;
  return true;
}

bool Keys::Copy(JNIEnv* env, jobjectArray arrays) {
  const jsize size = env->GetArrayLength(arrays);
  bytes_.resize(static_cast<size_t>(size));
  for (jsize i = 0; i < size; i++) {
    const auto bytes =
        static_cast<jbyteArray>(env->GetObjectArrayElement(arrays, i));
    std::optional<std::string>& key = bytes_[static_cast<size_t>(i)];
    if (bytes != nullptr && !CopyBytes(env, bytes, &key.emplace())) {
      return false;
    }
    // A call may have more arrays than the VM keeps references for.
    env->DeleteLocalRef(bytes);
    slices_.push_back(key ? Slice(*key) : Slice());
  }
  return true;
}

jbooleanArray Answers::ToBooleans(JNIEnv* env) const {
  static_assert(sizeof(jboolean) == sizeof(bool));
  const auto size = static_cast<jsize>(size_);
  const jbooleanArray array = env->NewBooleanArray(size);
  if (array == nullptr) return nullptr;
  env->SetBooleanArrayRegion(array, 0, size,
                             reinterpret_cast<const jboolean*>(&values_[0]));
  return array;
}

jbyteArray ToBytes(JNIEnv* env, const std::string& text) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<jsize>::max())) {
    Throw(env, "java/lang/OutOfMemoryError",
          "Protean: more bytes than a Java array holds");
    return nullptr;
  }
  const auto size = static_cast<jsize>(text.size());
  const jbyteArray bytes = env->NewByteArray(size);
  if (bytes == nullptr) return nullptr;
  env->SetByteArrayRegion(bytes, 0, size,
                          reinterpret_cast<const jbyte*>(text.data()));
  return bytes;
}

}  // namespace ROCKSDB_NAMESPACE::protean
