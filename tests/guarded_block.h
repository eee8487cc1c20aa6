// SPDX-License-Identifier: Apache-2.0

//  Bytes that end where readable memory does: a read beyond them crashes.

#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "rocksdb/slice.h"

#if defined(__SANITIZE_ADDRESS__)
#define PROTEAN_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PROTEAN_TEST_ASAN 1
#endif
#endif
#ifdef PROTEAN_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace ROCKSDB_NAMESPACE::protean {

// Readable pages between two that are not. AddressSanitizer is told that
// nothing in the readable pages but the bytes placed there last may be read.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t capacity)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        size_((capacity / page_ + 1) * page_) {
    void* const pages = mmap(nullptr, size_ + 2 * page_, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) abort();
    begin_ = static_cast<char*>(pages) + page_;
    if (mprotect(begin_, size_, PROT_READ | PROT_WRITE) != 0) abort();
  }
  ~GuardedMemory() {
    Permit(begin_, size_);
    munmap(begin_ - page_, size_ + 2 * page_);
  }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  // Copies bytes to the end of the readable pages, or up to 7 bytes before it,
  // so that they begin `misalignment` bytes past a multiple of 8. Without a
  // sanitizer, a read of these 7 bytes goes unnoticed.
  Slice PlaceAtEnd(const Slice& bytes) { return Place(bytes, Room(bytes)); }
  Slice PlaceAtEnd(const Slice& bytes, size_t misalignment) {
    const size_t room = Room(bytes);
    return Place(bytes, room - (room - misalignment) % 8);
  }
  // Copies bytes to the beginning of the readable pages.
  Slice PlaceAtBegin(const Slice& bytes) { return Place(bytes, 0); }

 private:
  size_t Room(const Slice& bytes) const {
    if (bytes.size() + 8 > size_) abort();
    return size_ - bytes.size();
  }
  Slice Place(const Slice& bytes, size_t offset) {
    Permit(begin_, size_);
    // A read outside of the bytes finds something else in each place.
    memset(begin_, static_cast<int>(offset % 255 + 1), size_);
    if (!bytes.empty()) memcpy(begin_ + offset, bytes.data(), bytes.size());
    Forbid(begin_, offset);
    Forbid(begin_ + offset + bytes.size(), size_ - offset - bytes.size());
    return Slice(begin_ + offset, bytes.size());
  }

#ifdef PROTEAN_TEST_ASAN
  static void Permit(const char* begin, size_t size) {
    ASAN_UNPOISON_MEMORY_REGION(begin, size);
  }
  static void Forbid(const char* begin, size_t size) {
    ASAN_POISON_MEMORY_REGION(begin, size);
  }
#else
  static void Permit(const char*, size_t) {}
  static void Forbid(const char*, size_t) {}
#endif

  const size_t page_;
  const size_t size_;  // of the readable pages
  char* begin_;
};

// A copy of bytes that ends where readable memory does, or up to 7 bytes
// earlier if it is misaligned (PlaceAtEnd).
class GuardedBlock {
 public:
  explicit GuardedBlock(const Slice& bytes)
      : memory_(bytes.size() + 8), slice_(memory_.PlaceAtEnd(bytes)) {}
  GuardedBlock(const Slice& bytes, size_t misalignment)
      : memory_(bytes.size() + 8),
        slice_(memory_.PlaceAtEnd(bytes, misalignment % 8)) {}

  const Slice& slice() const { return slice_; }

 private:
  GuardedMemory memory_;
  const Slice slice_;
};

// Under sanitizers, tests of damage take many times as long: they try every Nth
// damage there, if the variable PROTEAN_DAMAGE_STRIDE is N.
class DamageStride {
 public:
  // Whether the next damage is to be tried.
  bool TryNext() { return count_++ % stride_ == 0; }
  int stride() const { return stride_; }

 private:
  static int Chosen() {
    const char* const chosen = getenv("PROTEAN_DAMAGE_STRIDE");
    return chosen == nullptr || atoi(chosen) < 1 ? 1 : atoi(chosen);
  }

  const int stride_ = Chosen();
  int count_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
