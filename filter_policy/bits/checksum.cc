// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/bits/checksum.h"

#include <mutex>
#include <optional>
#include <utility>

#include "env/unique_id_gen.h"
#include "util/coding_lean.h"
#include "util/crc32c.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace ROCKSDB_NAMESPACE::protean {

// ---- Filter salt ----

namespace {

// RocksDB's generator of ids that cannot be predicted from earlier ones: never
// fails, and makes no system call once it exists.
uint64_t DrawNumber() {
  static auto* const source = new UnpredictableUniqueIdGen;
  uint64_t number = 0;
  for (uint64_t unused; number == 0;) source->GenerateNext(&unused, &number);
  return number;
}

// The salt that Fix has set, which Draw returns instead of a random one. The
// mutex guards it.
std::mutex fix_mutex;
std::optional<FilterSalt> fixed_salt;

}  // namespace

FilterSalt FilterSalt::Draw() {
  {
    const std::lock_guard<std::mutex> lock(fix_mutex);
    if (fixed_salt.has_value()) return *fixed_salt;
  }
  static const uint64_t process = DrawNumber();
  return {DrawNumber(), process};
}

std::optional<FilterSalt> FilterSalt::Fix(
    const std::optional<FilterSalt>& salt) {
  const std::lock_guard<std::mutex> lock(fix_mutex);
  return std::exchange(fixed_salt, salt);
}

uint64_t HashLong(const char* data, size_t size, uint64_t seed) {
  while (size > kLongestPiece) {
    seed = Hash64(data, kLongestPiece, seed);
    data += kLongestPiece;
    size -= kLongestPiece;
  }
  return Hash64(data, size, seed);
}

// ---- Checksum ----

#if defined(__x86_64__) && !defined(__SSE4_2__)
namespace {

__attribute__((target("sse4.2"))) uint32_t ExtendByInstruction(
    uint32_t before, const Slice& bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  uint64_t crc = ~before;
  for (; end - at >= 8; at += 8) crc = _mm_crc32_u64(crc, DecodeFixed64(at));
  auto rest = static_cast<uint32_t>(crc);
  for (; at < end; at++) {
    rest = _mm_crc32_u8(rest, static_cast<unsigned char>(*at));
  }
  return ~rest;
}

}  // namespace
#endif

uint32_t ExtendCrc32c(uint32_t before, const Slice& bytes) {
#if defined(__x86_64__) && !defined(__SSE4_2__)
  static const bool has_instruction = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") != 0;
  }();
  if (has_instruction) return ExtendByInstruction(before, bytes);
#endif
  return crc32c::Extend(before, bytes.data(), bytes.size());
}

}  // namespace ROCKSDB_NAMESPACE::protean
