// SPDX-License-Identifier: Apache-2.0

//  Helpers of the native functions of protean-rocksjava: bytes and errors
//  between C++ and Java. Text is passed as UTF-8 bytes.

#pragma once

#include <jni.h>

#include <exception>
#include <limits>
#include <new>
#include <string>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Throws a Java exception of the given class, such as
// java/lang/RuntimeException, unless an exception is pending.
inline void Throw(JNIEnv* env, const char* exception, const char* message) {
  if (env->ExceptionCheck()) return;
  const jclass type = env->FindClass(exception);
  if (type != nullptr) env->ThrowNew(type, message);
}

// The bytes of an array that is not null.
inline std::string BytesOf(JNIEnv* env, jbyteArray bytes) {
  const jsize size = env->GetArrayLength(bytes);
  std::string text(static_cast<size_t>(size), '\0');
  env->GetByteArrayRegion(bytes, 0, size, reinterpret_cast<jbyte*>(&text[0]));
  return text;
}

// Returns null if an exception is pending.
inline jbyteArray ToBytes(JNIEnv* env, const std::string& text) {
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

// Throws the RocksDBException that Native.exception makes from a Status, unless
// an exception is pending. `native` is the class protean.rocksjava.Native.
inline void ThrowStatus(JNIEnv* env, jclass native, const Status& status) {
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

// Calls the body of a native function, which stores the function's result and
// returns a Status. Throws that Status if it is not OK, and turns C++
// exceptions, which may not leave a native function, into Java exceptions. The
// result has no meaning if an exception is pending.
template <typename Result, typename Body>
Result Call(JNIEnv* env, jclass native, const Body& body) {
  Result result{};
  try {
    const Status s = body(&result);
    if (!s.ok()) ThrowStatus(env, native, s);
  } catch (const std::bad_alloc&) {
    Throw(env, "java/lang/OutOfMemoryError", "Protean: out of native memory");
  } catch (const std::exception& e) {
    Throw(env, "java/lang/RuntimeException", e.what());
  } catch (...) {
    Throw(env, "java/lang/RuntimeException", "Protean: a C++ exception");
  }
  return result;
}

}  // namespace ROCKSDB_NAMESPACE::protean
