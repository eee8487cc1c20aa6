// SPDX-License-Identifier: Apache-2.0

//  Word-level primitives of the succinct structures: unaligned loads,
//  population count, select in a word, and the search of a label in a run of
//  bytes. All of them read bytes in place, at any alignment. And copies of
//  keys, and a binary search.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#include <arm_neon.h>
#endif

#include "rocksdb/slice.h"
#include "util/coding_lean.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

// Marks a hot function, into which all its calls are inlined. A portable binary
// has two copies of such a function: one for all CPUs, and one for x86-64-v3
// (Intel since 2013, AMD since 2015), which can count bits. The loader picks
// one. If the compiler cannot make two copies, or the build is for such a CPU
// anyway, there is one copy. With sanitizers there is one too, because the
// loader would call them before they are set up.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PROTEAN_CLONED
#elif defined(__x86_64__) && defined(__gnu_linux__) && !defined(__BMI2__) && \
    !defined(__clang__) && __GNUC__ >= 12
#define PROTEAN_CLONED \
  __attribute__((target_clones("arch=x86-64-v3", "default"), flatten))
#else
#define PROTEAN_CLONED __attribute__((flatten))
#endif

// The filters read whole words past the end of what they need. Every filter
// block ends with this many zero bytes, so that no such load leaves the block.
constexpr size_t kReadPadding = 16;

// The index-th little-endian word of an array at any alignment.
inline uint64_t LoadWord(const char* words, uint64_t index) {
  return DecodeFixed64(words + 8 * index);
}

inline void Prefetch(const char* address) { __builtin_prefetch(address); }

inline int PopCount(uint64_t word) {
#if defined(__POPCNT__) || !defined(__x86_64__)
  return __builtin_popcountll(word);
#else
  // The baseline of x86-64 has no such instruction, and the compiler would call
  // a function instead. This code is inlined.
  word -= (word >> 1) & 0x5555555555555555;
  word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<int>((word * 0x0101010101010101) >> 56);
#endif
}

// A word whose lowest `count` bits are set; `count` < 64.
inline uint64_t LowBits(unsigned count) { return (uint64_t{1} << count) - 1; }

// The smallest number of bits that can hold every number up to `max`.
inline unsigned BitsFor(uint64_t max) {
  return max == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(max));
}

#if defined(__x86_64__)
// Whether the CPU runs PDEP and PEXT in hardware: the first two generations of
// AMD's Zen take hundreds of cycles for them. This is decided at run time, so
// that portable binaries profit too.
inline const bool kHasFastPdep = [] {
  __builtin_cpu_init();
  return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") &&
         !__builtin_cpu_is("znver2");
}();
#endif

// The position of the set bit of `word` that has `rank` set bits below it;
// `rank` < PopCount(word). Runs on any CPU.
inline unsigned PortableSelectInWord(uint64_t word, unsigned rank) {
  // Counts the bits of all bytes at once, as PopCount does; byte i of `sums`
  // gets the number of bits in the bytes 0 to i (Vigna, "Broadword
  // Implementation of Rank/Select Queries", WEA 2008).
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = 0x8080808080808080;
  uint64_t sums = word - ((word >> 1) & 0x5555555555555555);
  sums = (sums & 0x3333333333333333) + ((sums >> 2) & 0x3333333333333333);
  sums = ((sums + (sums >> 4)) & 0x0f0f0f0f0f0f0f0f) * kOnes;
  // Skips the bytes whose sum is not above the rank, then clears the lower bits
  // of the next byte.
  const uint64_t skipped = ((rank * kOnes | kHighs) - sums) & kHighs;
  const auto shift = 8 * static_cast<unsigned>((skipped >> 7) * kOnes >> 56);
  rank -= static_cast<unsigned>((sums << 8) >> shift & 0xff);
  uint64_t rest = word >> shift;
  while (rank-- > 0) rest &= rest - 1;
  return shift + static_cast<unsigned>(__builtin_ctzll(rest));
}

// PortableSelectInWord, as fast as this CPU can compute it.
inline unsigned SelectInWord(uint64_t word, unsigned rank) {
#if defined(__x86_64__)
  if (__builtin_expect(kHasFastPdep, true)) {
    uint64_t bit = uint64_t{1} << rank;
    // Only code that is compiled for such CPUs may use the intrinsic.
    asm("pdep %1, %0, %0" : "+r"(bit) : "r"(word));
    return __builtin_ctzll(bit);
  }
#endif
  return PortableSelectInWord(word, rank);
}

// The bits of `word` where `mask` has ones, moved together at the lowest bits,
// as fast as this CPU can do that.
inline uint64_t ExtractBits(uint64_t word, uint64_t mask) {
#if defined(__x86_64__)
  if (__builtin_expect(kHasFastPdep, true)) {
    asm("pext %1, %0, %0" : "+r"(word) : "r"(mask));
    return word;
  }
#endif
  uint64_t bits = 0;
  for (unsigned i = 0; mask != 0; i++, mask &= mask - 1) {
    bits |= (word >> __builtin_ctzll(mask) & 1) << i;
  }
  return bits;
}

// The position in [begin, end) of the first label that is at least `label`, or
// `end`. The labels in the range ascend. Loads 16 labels at a time (SuRF paper,
// section 2.6), so up to 15 bytes past `end` are read and ignored.
inline uint32_t LowerBoundLabel(const char* labels, uint32_t begin,
                                uint32_t end, uint8_t label) {
#if defined(__SSE2__) || (defined(__aarch64__) && !defined(__AARCH64EB__))
  for (uint64_t pos = begin; pos < end; pos += 16) {
    // Tests labels >= label, unsigned, byte by byte.
#if defined(__SSE2__)
    constexpr unsigned kMaskBits = 1;  // for each label
    const __m128i chunk =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(labels + pos));
    const __m128i wanted = _mm_set1_epi8(static_cast<char>(label));
    const auto mask = static_cast<unsigned>(
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(chunk, wanted), chunk)));
#else
    constexpr unsigned kMaskBits = 4;
    const uint8x16_t chunk =
        vld1q_u8(reinterpret_cast<const uint8_t*>(labels + pos));
    const uint8x16_t wanted = vdupq_n_u8(label);
    const uint64_t mask =
        vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(
                          vreinterpretq_u16_u8(vcgeq_u8(chunk, wanted)), 4)),
                      0);
#endif
    if (mask != 0) {
      const auto found = static_cast<uint32_t>(
          pos + static_cast<unsigned>(__builtin_ctzll(mask)) / kMaskBits);
      return found < end ? found : end;
    }
  }
  return end;
#else
  while (begin < end && static_cast<uint8_t>(labels[begin]) < label) begin++;
  return begin;
#endif
}

// The first 8 of `size` bytes as a number that orders as they do; missing bytes
// count as 0.
inline uint64_t LoadBigEndian(const char* data, size_t size) {
  if (size >= 8) return EndianSwapValue(DecodeFixed64(data));
  uint64_t number = 0;
  for (size_t i = 0; i < size; i++) {
    number |= uint64_t{static_cast<uint8_t>(data[i])} << (56 - 8 * i);
  }
  return number;
}

// Copies 8 to 16 bytes as two words, which may overlap.
inline void CopyTwoWords(const char* from, size_t size, char* to) {
  const uint64_t head = DecodeFixed64(from);
  const uint64_t tail = DecodeFixed64(from + size - 8);
  EncodeFixed64(to, head);
  EncodeFixed64(to + size - 8, tail);
}

// The bytes of keys that are copied. A std::string would do, but the calls that
// its changes take cost as much as all else that is done with a short key.
class KeyBytes {
 public:
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  const char* data() const { return bytes_.get(); }

  [[gnu::noinline]] void Grow(size_t capacity) {
    std::unique_ptr<char[]> grown(new char[capacity]);
    if (size_ > 0) memcpy(grown.get(), bytes_.get(), size_);
    bytes_ = std::move(grown);
    capacity_ = capacity;
  }

 protected:
  std::unique_ptr<char[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// The first number in [begin, end) for which `holds` is true, as it is for all
// later ones; or `end`.
template <typename Holds>
uint64_t FirstWhere(uint64_t begin, uint64_t end, const Holds& holds) {
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (holds(middle)) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

// Stands for a number of shared bits that is not known.
constexpr size_t kUnknownBits = std::numeric_limits<size_t>::max();

// How many of their first bytes two strings of `size` bytes share, if it is
// known that they share `from` of them.
inline size_t SharedBytes(const char* a, const char* b, size_t size,
                          size_t from = 0) {
  size_t i = from;
  if (size < 8) {
    while (i < size && a[i] == b[i]) i++;
    return i;
  }
  for (; i < size; i += 8) {
    // Some bytes of the last word may have been compared.
    if (i > size - 8) i = size - 8;
    const uint64_t difference = DecodeFixed64(a + i) ^ DecodeFixed64(b + i);
    if (difference != 0) {
      return i + static_cast<unsigned>(__builtin_ctzll(difference)) / 8;
    }
  }
  return size;
}
inline size_t SharedBytes(const Slice& a, const Slice& b) {
  return SharedBytes(a.data(), b.data(),
                     a.size() < b.size() ? a.size() : b.size());
}

}  // namespace ROCKSDB_NAMESPACE::protean
