// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/bits/checksum.h"

#include "util/crc32c.h"

#if defined(__x86_64__) && !defined(__SSE4_2__)
#include <nmmintrin.h>

#include "util/coding_lean.h"
#endif

namespace ROCKSDB_NAMESPACE::protean {

#if defined(__x86_64__) && !defined(__SSE4_2__)

namespace {

const bool kHasCrc32Instruction = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") != 0;
}();

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

uint32_t ExtendCrc32c(uint32_t before, const Slice& bytes) {
  return kHasCrc32Instruction
             ? ExtendByInstruction(before, bytes)
             : crc32c::Extend(before, bytes.data(), bytes.size());
}

#else

uint32_t ExtendCrc32c(uint32_t before, const Slice& bytes) {
  return crc32c::Extend(before, bytes.data(), bytes.size());
}

#endif

}  // namespace ROCKSDB_NAMESPACE::protean
