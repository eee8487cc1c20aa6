// SPDX-License-Identifier: Apache-2.0

//  Helpers of the native functions of protean-rocksjava: bytes and errors
//  between C++ and Java. Text is passed as UTF-8 bytes.

#pragma once

#include <jni.h>

#include <exception>
#include <new>
#include <string>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Throws a Java exception of the given class, such as
// java/lang/RuntimeException, unless an exception is pending.
void Throw(JNIEnv* env, const char* exception, const char* message);

// Throws the RocksDBException that Native.exception makes from a Status, unless
// an exception is pending. `native` is the class protean.rocksjava.Native.
void ThrowStatus(JNIEnv* env, jclass native, const Status& status);

// The bytes of an array that is not null.
std::string BytesOf(JNIEnv* env, jbyteArray bytes);

// Returns null if an exception is pending.
jbyteArray ToBytes(JNIEnv* env, const std::string& text);

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
