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

std::string BytesOf(JNIEnv* env, jbyteArray bytes) {
  const jsize size = env->GetArrayLength(bytes);
  std::string text(static_cast<size_t>(size), '\0');
  env->GetByteArrayRegion(bytes, 0, size, reinterpret_cast<jbyte*>(&text[0]));
  return text;
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
