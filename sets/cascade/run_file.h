// SPDX-License-Identifier: Apache-2.0

//  A run: a file of pages that is written once, front to back, and then read a
//  page for a lookup, or from one end to the other for a merge.
//
//  The first fingerprint of each page, its fence, is kept in memory, 8 bytes
//  for 4 KiB, so that a lookup reads the one page in which the fingerprint can
//  be. The fences follow the pages in the file, and the last 4 KiB of the file
//  say how much there is of each (docs/internals/file_format.md).

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cache/cache_key.h"
#include "rocksdb/cache.h"
#include "rocksdb/file_system.h"
#include "sets/cascade/entry_stream.h"
#include "sets/cascade/page.h"
#include "util/aligned_buffer.h"

namespace ROCKSDB_NAMESPACE::protean {

// The file system of the runs, and how they are opened.
struct RunFiles {
  std::shared_ptr<FileSystem> fs;
  FileOptions options;
  // The bits of all fingerprints.
  unsigned fingerprint_bits = 0;
};

// Writes a run.
class RunWriter {
 public:
  // `id` is drawn at random. About `entries` entries will come, which decides
  // how fingerprints are split into quotients and remainders. Returns an error
  // of the file system.
  static Status Create(const RunFiles& files, const std::string& file,
                       uint64_t id, uint64_t entries,
                       std::unique_ptr<RunWriter>* writer);

  // Entries come in ascending order.
  Status Add(const Entry& entry);

  // Writes the rest, and syncs and closes the file.
  Status Finish();

  uint64_t entries() const { return entries_; }
  uint64_t file_bytes() const { return written_; }

 private:
  RunWriter(std::unique_ptr<FSWritableFile> file, uint64_t id,
            unsigned fingerprint_bits, unsigned remainder_bits);
  Status FinishPage();
  // Returns where the next 4 KiB go.
  char* NextPage();
  Status WriteBuffer();

  const std::unique_ptr<FSWritableFile> file_;
  const uint64_t id_;
  const unsigned fingerprint_bits_;
  PageBuilder page_;
  std::vector<uint64_t> fences_;
  AlignedBuffer buffer_;
  uint64_t entries_ = 0;
  uint64_t written_ = 0;
};

// What lookups did. Thread safe.
struct RunReadCounts {
  std::atomic<uint64_t> pages_read{0};
  std::atomic<uint64_t> pages_in_cache{0};
  // Pages that are damaged or could not be read: any fingerprint may be there.
  std::atomic<uint64_t> unreadable_pages{0};
};

// A finished run. Thread safe.
class FlashRun {
 public:
  // `file_number` is kept for the caller. Returns Corruption if the file is not
  // a run of this id with these bits, or its fences are damaged; else an error
  // of the file system. Pages are checked
  // when they are read. Lookups use `cache` if it is not nullptr.
  static Status Open(const RunFiles& files, const std::string& file,
                     uint64_t file_number, uint64_t id,
                     std::shared_ptr<Cache> cache,
                     std::shared_ptr<FlashRun>* run);

  FlashRun(const FlashRun&) = delete;
  FlashRun& operator=(const FlashRun&) = delete;
  // Deletes the file if it is obsolete.
  ~FlashRun();

  enum class Found { kNothing, kEntry, kUnreadable };

  // Stores what the run says of a fingerprint. Reads one page at most.
  Found Find(uint64_t fingerprint, RunReadCounts* counts, Entry* entry) const;

  // All entries. The run must outlive the stream. If the stream fails with
  // Corruption, is_damaged() is true from then on.
  std::unique_ptr<EntryStream> NewStream() const;

  // The file is deleted when the last user of the run is gone.
  void MakeObsolete() { is_obsolete_.store(true); }

  bool is_damaged() const { return is_damaged_.load(); }

  uint64_t file_number() const { return file_number_; }
  uint64_t id() const { return id_; }
  uint64_t entries() const { return entries_; }
  uint64_t file_bytes() const { return file_bytes_; }
  size_t MemoryUsage() const {
    return sizeof(*this) + fences_.capacity() * sizeof(fences_[0]);
  }

 private:
  class Stream;
  FlashRun(const RunFiles& files, const std::string& file, uint64_t file_number,
           uint64_t id, std::shared_ptr<Cache> cache);
  Status ReadFooterAndFences();
  // Stores the number of the page where the fingerprint is if it is anywhere.
  bool PageOf(uint64_t fingerprint, uint32_t* page) const;
  // Stores what the page of that key says of a fingerprint if the page is in
  // the cache. False if not.
  bool FindInCache(const CacheKey& key, uint64_t fingerprint,
                   RunReadCounts* counts, Entry* entry, Found* found) const;
  // Keeps a copy of a page that has been checked.
  void PutInCache(const CacheKey& key, const char* page) const;

  const RunFiles files_;
  const std::string file_name_;
  const uint64_t file_number_;
  const uint64_t id_;
  const std::shared_ptr<Cache> cache_;
  const OffsetableCacheKey cache_key_;
  std::unique_ptr<FSRandomAccessFile> file_;
  std::vector<uint64_t> fences_;
  uint64_t entries_ = 0;
  uint64_t file_bytes_ = 0;
  std::atomic<bool> is_obsolete_{false};
  mutable std::atomic<bool> is_damaged_{false};
};

}  // namespace ROCKSDB_NAMESPACE::protean
