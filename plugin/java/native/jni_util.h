// SPDX-License-Identifier: Apache-2.0

//  Helpers of the native functions of protean-rocksjava: bytes and errors
//  between C++ and Java. Text is passed as UTF-8 bytes.

#pragma once

#include <jni.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "plugin/facts.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/db.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Throws a Java exception of the given class, such as
// java/lang/RuntimeException.
void Throw(JNIEnv* env, const char* exception, const char* message);

// Throws the RocksDBException that Native.exception makes from a Status.
// `native` is the class protean.rocksjava.Native.
void ThrowStatus(JNIEnv* env, jclass native, const Status& status);

// Stores the bytes of an array that is not null. Returns false if an exception
// is pending.
bool CopyBytes(JNIEnv* env, jbyteArray bytes, std::string* text);

// The key of an array, which may be null.
class OptionalKey {
 public:
  OptionalKey() = default;
  OptionalKey(const OptionalKey&) = delete;
  OptionalKey& operator=(const OptionalKey&) = delete;

  // Returns false if an exception is pending.
  bool Copy(JNIEnv* env, jbyteArray bytes);

  // nullptr for null.
  const Slice* get() const { return bytes_ ? &slice_ : nullptr; }

 private:
  std::optional<std::string> bytes_;
  Slice slice_;
};

// The keys of an array of arrays, each of which may be null.
class Keys {
 public:
  // Returns false if an exception is pending.
  bool Copy(JNIEnv* env, jobjectArray arrays);

  size_t size() const { return slices_.size(); }
  const Slice* data() const { return slices_.data(); }
  // nullptr for null.
  const Slice* at(size_t i) const { return bytes_[i] ? &slices_[i] : nullptr; }

 private:
  std::vector<std::optional<std::string>> bytes_;
  std::vector<Slice> slices_;
};

// Room for answers.
class Answers {
 public:
  explicit Answers(size_t size) : size_(size), values_(new bool[size]) {}

  bool* data() { return values_.get(); }
  // Returns null if an exception is pending.
  jbooleanArray ToBooleans(JNIEnv* env) const;

 private:
  const size_t size_;
  const std::unique_ptr<bool[]> values_;
};

// Returns null if an exception is pending.
jbyteArray ToBytes(JNIEnv* env, const std::string& text);

// Calls the body of a native function, and turns C++ exceptions into Java
// exceptions: no C++ exception may leave a native function.
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

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// ---- Objects of RocksDB, and records ----

inline DB* AsDB(jlong handle) { return reinterpret_cast<DB*>(handle); }

// The handle 0 stands for the default column family.
inline ColumnFamilyHandle* AsColumnFamily(DB* db, jlong handle) {
  return handle == 0 ? db->DefaultColumnFamily()
                     : reinterpret_cast<ColumnFamilyHandle*>(handle);
}

// Encodes a record as Facts.java reads it.
void Encode(const Record& record, Encoder* out);

// Encodes a status and the result of a refresh, as RefreshResult.java reads
// them.
void Encode(const Status& status, const RefreshResult& result, Encoder* out);

// Parses a text of RefreshOptions. Returns false if an exception is pending.
bool ParseRefreshOptions(JNIEnv* env, jclass native, jbyteArray bytes,
                         RefreshOptions* options);

}  // namespace ROCKSDB_NAMESPACE::protean
