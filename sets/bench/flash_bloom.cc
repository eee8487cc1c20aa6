// SPDX-License-Identifier: Apache-2.0

#include "sets/bench/flash_bloom.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "util/coding_lean.h"
#include "util/fastrange.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kPageBytes = 4096;

Status LastError(const std::string& what) {
  return Status::IOError(what, strerror(errno));
}

}  // namespace

void FlashBloom::Free::operator()(char* memory) const { free(memory); }

Status FlashBloom::Create(const Options& options, const std::string& file,
                          std::unique_ptr<FlashBloom>* filter) {
  const int descriptor =
      open(file.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_DIRECT, 0644);
  if (descriptor < 0) return LastError(file);
  filter->reset(new FlashBloom(options, descriptor));
  FlashBloom& made = **filter;
  // Zeros are written, so that later writes find blocks that are allocated.
  Status s;
  for (uint64_t chunk = 0;
       chunk < options.bits / 8 / options.chunk_bytes && s.ok(); chunk++) {
    s = made.Move(Transfer::kWrite, chunk, options.chunk_bytes);
  }
  if (s.ok() && fsync(descriptor) != 0) s = LastError(file);
  made.bytes_written_ = 0;
  return s;
}

FlashBloom::FlashBloom(const Options& options, int descriptor)
    : options_(options), descriptor_(descriptor) {
  chunk_.reset(
      static_cast<char*>(aligned_alloc(kPageBytes, options.chunk_bytes)));
  memset(chunk_.get(), 0, options.chunk_bytes);
  positions_.reserve(options.buffered_positions);
}

FlashBloom::~FlashBloom() { close(descriptor_); }

uint64_t FlashBloom::Position(uint64_t hash, unsigned probe) const {
  // An odd step visits all positions.
  const uint64_t step = (hash * 0x9e3779b97f4a7c15) | 1;
  return FastRange64(hash + probe * step, options_.bits);
}

Status FlashBloom::Move(Transfer transfer, uint64_t number, size_t bytes) {
  const bool is_write = transfer == Transfer::kWrite;
  const auto offset = static_cast<off_t>(number * bytes);
  const ssize_t moved = is_write
                            ? pwrite(descriptor_, chunk_.get(), bytes, offset)
                            : pread(descriptor_, chunk_.get(), bytes, offset);
  if (moved != static_cast<ssize_t>(bytes)) {
    return LastError(is_write ? "write" : "read");
  }
  if (is_write) bytes_written_ += bytes;
  return Status::OK();
}

Status FlashBloom::Insert(uint64_t hash) {
  for (unsigned probe = 0; probe < options_.probes; probe++) {
    positions_.push_back(Position(hash, probe));
    if (positions_.size() < options_.buffered_positions) continue;
    Status s = Flush();
    if (!s.ok()) return s;
  }
  return Status::OK();
}

Status FlashBloom::Flush() {
  std::sort(positions_.begin(), positions_.end());
  const uint64_t chunk_bits = 8 * uint64_t{options_.chunk_bytes};
  for (size_t i = 0; i < positions_.size();) {
    const uint64_t chunk = positions_[i] / chunk_bits;
    Status s = Move(Transfer::kRead, chunk, options_.chunk_bytes);
    for (; i < positions_.size() && positions_[i] / chunk_bits == chunk; i++) {
      const uint64_t bit = positions_[i] % chunk_bits;
      chunk_.get()[bit / 8] |= static_cast<char>(1 << bit % 8);
    }
    if (s.ok()) s = Move(Transfer::kWrite, chunk, options_.chunk_bytes);
    if (!s.ok()) return s;
  }
  positions_.clear();
  return Status::OK();
}

Status FlashBloom::FillHalf() {
  Random64 random(3);
  const uint64_t written = bytes_written_;
  Status s;
  for (uint64_t chunk = 0;
       chunk < options_.bits / 8 / options_.chunk_bytes && s.ok(); chunk++) {
    s = Move(Transfer::kRead, chunk, options_.chunk_bytes);
    for (size_t at = 0; at < options_.chunk_bytes; at += sizeof(uint64_t)) {
      EncodeFixed64(chunk_.get() + at,
                    DecodeFixed64(chunk_.get() + at) | random.Next());
    }
    if (s.ok()) s = Move(Transfer::kWrite, chunk, options_.chunk_bytes);
  }
  bytes_written_ = written;
  return s;
}

Status FlashBloom::MayContain(uint64_t hash, bool* may_contain,
                              uint64_t* pages_read) {
  constexpr uint64_t kPageBits = 8 * kPageBytes;
  for (unsigned probe = 0; probe < options_.probes; probe++) {
    const uint64_t position = Position(hash, probe);
    Status s = Move(Transfer::kRead, position / kPageBits, kPageBytes);
    if (!s.ok()) return s;
    ++*pages_read;
    const uint64_t bit = position % kPageBits;
    *may_contain = (chunk_.get()[bit / 8] >> bit % 8 & 1) != 0;
    if (!*may_contain) break;
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
