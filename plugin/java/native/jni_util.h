//  What the native functions of protean-rocksjava share: bytes and errors
//  between C++ and Java. Text is passed as bytes of UTF-8.

#pragma once

#include <jni.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Throws a Java exception of that class, such as java/lang/RuntimeException.
void Throw(JNIEnv* env, const char* exception, const char* message);

// Throws the RocksDBException that Native.exception makes of a Status. `native`
// is the class protean.rocksjava.Native.
void ThrowStatus(JNIEnv* env, jclass native, const Status& status);

// Stores the bytes of an array that is not null. False if an exception is
// pending.
bool CopyBytes(JNIEnv* env, jbyteArray bytes, std::string* text);

// Null if an exception is pending.
jbyteArray ToBytes(JNIEnv* env, const std::string& text);

// Calls a function that is the body of a native one, and turns what it throws
// into a Java exception: no C++ exception may leave a native function.
template <typename Function>
auto Guarded(JNIEnv* env, const Function& function) -> decltype(function()) {
  using Result = decltype(function());
  try {
    return function();
  } catch (const std::bad_alloc&) {
    Throw(env, "java/lang/OutOfMemoryError", "Protean: out of native memory");
  } catch (const std::exception& e) {
    Throw(env, "java/lang/RuntimeException", e.what());
  } catch (...) {
    Throw(env, "java/lang/RuntimeException", "Protean: a C++ exception");
  }
  return Result();
}

// Numbers and texts in a row, which the Java class Decoder reads: numbers of 8
// bytes in big-endian order, texts after their size.
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

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
