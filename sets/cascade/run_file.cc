// SPDX-License-Identifier: Apache-2.0

#include "sets/cascade/run_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "rocksdb/advanced_cache.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The footer, in the last 4 KiB of the file. The checksums are of the fences,
// and of the bytes of the footer before its own.
constexpr uint64_t kMagic = 0x6e75527361436e50;  // "PnCasRun"
constexpr uint32_t kVersion = 1;
constexpr size_t kMagicAt = 0;
constexpr size_t kVersionAt = 8;
constexpr size_t kFingerprintBitsAt = 12;
constexpr size_t kIdAt = 16;
constexpr size_t kEntriesAt = 24;
constexpr size_t kPagesAt = 32;
constexpr size_t kFencesChecksumAt = 36;
constexpr size_t kFooterChecksumAt = 40;

// What is read or written at once when a whole run is.
constexpr size_t kChunkPages = 64;

uint64_t InPages(uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes;
}

// A buffer for `pages` pages that direct I/O can fill, with kReadPadding bytes
// behind it.
AlignedBuffer NewPages(size_t pages) {
  AlignedBuffer buffer;
  buffer.Alignment(kPageBytes);
  buffer.AllocateNewBuffer(pages * kPageBytes + kReadPadding);
  return buffer;
}

// Reads pages to `buffer`. Returns Corruption if the file is too short.
IOStatus ReadPages(FSRandomAccessFile* file, uint64_t first, size_t pages,
                   char* buffer) {
  const size_t wanted = pages * kPageBytes;
  Slice read;
  IOStatus s = file->Read(first * kPageBytes, wanted, IOOptions(), &read,
                          buffer, /*dbg=*/nullptr);
  if (!s.ok()) return s;
  if (read.size() != wanted) return IOStatus::Corruption("file is too short");
  // A file system that maps files into memory returns its own bytes.
  if (read.data() != buffer) memcpy(buffer, read.data(), wanted);
  return s;
}

void DeletePage(Cache::ObjectPtr page, MemoryAllocator* /*allocator*/) {
  delete[] static_cast<char*>(page);
}
const Cache::CacheItemHelper kPageHelper(CacheEntryRole::kMisc, &DeletePage);

}  // namespace

// ---- RunWriter ----

Status RunWriter::Create(const RunFiles& files, const std::string& file,
                         uint64_t id, uint64_t entries,
                         std::unique_ptr<RunWriter>* writer) {
  std::unique_ptr<FSWritableFile> writable;
  Status s = files.fs->NewWritableFile(file, files.options, &writable,
                                       /*dbg=*/nullptr);
  if (!s.ok()) return s;
  // About one quotient for each entry; 57 bits of remainder are the most.
  const unsigned quotient_bits =
      std::max(BitsFor(entries),
               files.fingerprint_bits > 57 ? files.fingerprint_bits - 57 : 0);
  const unsigned remainder_bits = files.fingerprint_bits > quotient_bits
                                      ? files.fingerprint_bits - quotient_bits
                                      : 1;
  writer->reset(new RunWriter(std::move(writable), id, files.fingerprint_bits,
                              remainder_bits));
  return Status::OK();
}

RunWriter::RunWriter(std::unique_ptr<FSWritableFile> file, uint64_t id,
                     unsigned fingerprint_bits, unsigned remainder_bits)
    : file_(std::move(file)),
      id_(id),
      fingerprint_bits_(fingerprint_bits),
      page_(remainder_bits),
      buffer_(NewPages(kChunkPages)) {}

Status RunWriter::Add(const Entry& entry) {
  entries_++;
  if (page_.Add(entry)) return Status::OK();
  Status s = FinishPage();
  // Any entry fits into an empty page.
  if (s.ok()) page_.Add(entry);
  return s;
}

Status RunWriter::FinishPage() {
  const PageId id{id_, static_cast<uint32_t>(fences_.size())};
  fences_.push_back(page_.FirstFingerprint());
  page_.Finish(id, NextPage());
  return buffer_.CurrentSize() == kChunkPages * kPageBytes ? WriteBuffer()
                                                           : Status::OK();
}

char* RunWriter::NextPage() {
  const size_t size = buffer_.CurrentSize();
  buffer_.Size(size + kPageBytes);
  return buffer_.BufferStart() + size;
}

Status RunWriter::WriteBuffer() {
  const Slice pages(buffer_.BufferStart(), buffer_.CurrentSize());
  // Direct I/O needs to be told where.
  const IOStatus s = file_->use_direct_io()
                         ? file_->PositionedAppend(pages, written_, IOOptions(),
                                                   /*dbg=*/nullptr)
                         : file_->Append(pages, IOOptions(), /*dbg=*/nullptr);
  written_ += pages.size();
  buffer_.Size(0);
  return s;
}

Status RunWriter::Finish() {
  Status s = page_.IsEmpty() ? Status::OK() : FinishPage();
  std::string fences;
  for (uint64_t fence : fences_) PutFixed64(&fences, fence);
  const uint32_t fences_checksum =
      crc32c::Mask(crc32c::Value(fences.data(), fences.size()));
  fences.resize(InPages(fences.size()) * kPageBytes);
  for (size_t at = 0; at < fences.size() && s.ok(); at += kPageBytes) {
    if (buffer_.CurrentSize() == kChunkPages * kPageBytes) s = WriteBuffer();
    memcpy(NextPage(), fences.data() + at, kPageBytes);
  }
  if (s.ok() && buffer_.CurrentSize() == kChunkPages * kPageBytes) {
    s = WriteBuffer();
  }
  if (!s.ok()) return s;
  char* footer = NextPage();
  memset(footer, 0, kPageBytes);
  EncodeFixed64(footer + kMagicAt, kMagic);
  EncodeFixed32(footer + kVersionAt, kVersion);
  EncodeFixed32(footer + kFingerprintBitsAt, fingerprint_bits_);
  EncodeFixed64(footer + kIdAt, id_);
  EncodeFixed64(footer + kEntriesAt, entries_);
  EncodeFixed32(footer + kPagesAt, static_cast<uint32_t>(fences_.size()));
  EncodeFixed32(footer + kFencesChecksumAt, fences_checksum);
  EncodeFixed32(footer + kFooterChecksumAt,
                crc32c::Mask(crc32c::Value(footer, kFooterChecksumAt)));
  s = WriteBuffer();
  if (s.ok()) s = file_->Fsync(IOOptions(), /*dbg=*/nullptr);
  if (s.ok()) s = file_->Close(IOOptions(), /*dbg=*/nullptr);
  return s;
}

// ---- FlashRun ----

FlashRun::FlashRun(const RunFiles& files, const std::string& file,
                   uint64_t file_number, uint64_t id,
                   std::shared_ptr<Cache> cache)
    : files_(files),
      file_name_(file),
      file_number_(file_number),
      id_(id),
      cache_(std::move(cache)),
      cache_key_(file, std::to_string(id), /*file_number=*/1) {}

Status FlashRun::Open(const RunFiles& files, const std::string& file,
                      uint64_t file_number, uint64_t id,
                      std::shared_ptr<Cache> cache,
                      std::shared_ptr<FlashRun>* run) {
  run->reset(new FlashRun(files, file, file_number, id, std::move(cache)));
  Status s = (*run)->ReadFooterAndFences();
  if (!s.ok()) run->reset();
  return s;
}

FlashRun::~FlashRun() {
  if (!is_obsolete_.load()) return;
  file_.reset();
  files_.fs->DeleteFile(file_name_, IOOptions(), /*dbg=*/nullptr)
      .PermitUncheckedError();
}

Status FlashRun::ReadFooterAndFences() {
  Status s = files_.fs->NewRandomAccessFile(file_name_, files_.options, &file_,
                                            /*dbg=*/nullptr);
  if (s.ok()) {
    s = files_.fs->GetFileSize(file_name_, IOOptions(), &file_bytes_,
                               /*dbg=*/nullptr);
  }
  if (!s.ok()) return s;
  const Status damaged =
      Status::Corruption(file_name_,
                         "is not a run of this cascade filter, or "
                         "is cut off, or its end is damaged");
  if (file_bytes_ < kPageBytes || file_bytes_ % kPageBytes != 0) return damaged;
  AlignedBuffer page = NewPages(1);
  const uint64_t file_pages = file_bytes_ / kPageBytes;
  s = ReadPages(file_.get(), file_pages - 1, 1, page.BufferStart());
  if (!s.ok()) return s;
  const char* footer = page.BufferStart();
  const uint64_t pages = DecodeFixed32(footer + kPagesAt);
  const uint64_t fence_bytes = pages * sizeof(uint64_t);
  if (DecodeFixed64(footer + kMagicAt) != kMagic ||
      DecodeFixed32(footer + kVersionAt) != kVersion ||
      DecodeFixed32(footer + kFingerprintBitsAt) != files_.fingerprint_bits ||
      DecodeFixed64(footer + kIdAt) != id_ ||
      DecodeFixed32(footer + kFooterChecksumAt) !=
          crc32c::Mask(crc32c::Value(footer, kFooterChecksumAt)) ||
      pages + InPages(fence_bytes) + 1 != file_pages) {
    return damaged;
  }
  entries_ = DecodeFixed64(footer + kEntriesAt);
  const uint32_t checksum = DecodeFixed32(footer + kFencesChecksumAt);
  AlignedBuffer fences = NewPages(InPages(fence_bytes));
  s = pages == 0 ? Status::OK()
                 : Status(ReadPages(file_.get(), pages, InPages(fence_bytes),
                                    fences.BufferStart()));
  if (!s.ok()) return s;
  if (checksum !=
      crc32c::Mask(crc32c::Value(fences.BufferStart(), fence_bytes))) {
    return damaged;
  }
  fences_.resize(pages);
  for (size_t i = 0; i < pages; i++) {
    fences_[i] = DecodeFixed64(fences.BufferStart() + i * sizeof(uint64_t));
  }
  return std::is_sorted(fences_.begin(), fences_.end()) ? Status::OK()
                                                        : damaged;
}

bool FlashRun::PageOf(uint64_t fingerprint, uint32_t* page) const {
  const auto after =
      std::upper_bound(fences_.begin(), fences_.end(), fingerprint);
  if (after == fences_.begin()) return false;
  *page = static_cast<uint32_t>(after - fences_.begin() - 1);
  return true;
}

bool FlashRun::FindInCache(const CacheKey& key, uint64_t fingerprint,
                           RunReadCounts* counts, Entry* entry,
                           Found* found) const {
  if (cache_ == nullptr) return false;
  Cache::Handle* handle = cache_->BasicLookup(key.AsSlice(), nullptr);
  if (handle == nullptr) return false;
  counts->pages_in_cache.fetch_add(1, std::memory_order_relaxed);
  PageView view;
  view.Reopen(static_cast<const char*>(cache_->Value(handle)));
  *found = view.Find(fingerprint, entry) ? Found::kEntry : Found::kNothing;
  cache_->Release(handle);
  return true;
}

void FlashRun::PutInCache(const CacheKey& key, const char* page) const {
  if (cache_ == nullptr) return;
  auto copy = std::make_unique<char[]>(kPageBytes + kReadPadding);
  memcpy(copy.get(), page, kPageBytes);
  // The cache deletes the page if it does not keep it.
  cache_
      ->Insert(key.AsSlice(), copy.release(), &kPageHelper,
               kPageBytes + kReadPadding)
      .PermitUncheckedError();
}

FlashRun::Found FlashRun::Find(uint64_t fingerprint, RunReadCounts* counts,
                               Entry* entry) const {
  uint32_t number;
  if (!PageOf(fingerprint, &number)) return Found::kNothing;
  const CacheKey key = cache_key_.WithOffset(number);
  Found found;
  if (FindInCache(key, fingerprint, counts, entry, &found)) return found;
  thread_local AlignedBuffer buffer = NewPages(1);
  counts->pages_read.fetch_add(1, std::memory_order_relaxed);
  char* page = buffer.BufferStart();
  PageView view;
  if (!ReadPages(file_.get(), number, 1, page).ok() ||
      !view.Open(page, {id_, number})) {
    counts->unreadable_pages.fetch_add(1, std::memory_order_relaxed);
    return Found::kUnreadable;
  }
  PutInCache(key, page);
  return view.Find(fingerprint, entry) ? Found::kEntry : Found::kNothing;
}

class FlashRun::Stream : public EntryStream {
 public:
  explicit Stream(const FlashRun& run)
      : run_(run),
        buffer_(NewPages(std::min(kChunkPages, run.fences_.size()))) {}

  size_t Read(Entry* entries, size_t capacity) override {
    size_t read = 0;
    while (read < capacity) {
      if (cursor_.Next(&entries[read])) {
        read++;
      } else if (!OpenNextPage()) {
        break;
      }
    }
    return read;
  }

  Status status() const override { return status_; }

 private:
  // False at the end, or if the page cannot be read.
  bool OpenNextPage() {
    if (!status_.ok() || next_page_ == run_.fences_.size()) return false;
    const size_t in_chunk = next_page_ % kChunkPages;
    if (in_chunk == 0) {
      const size_t pages =
          std::min(kChunkPages, run_.fences_.size() - next_page_);
      const IOStatus s =
          ReadPages(run_.file_.get(), next_page_, pages, buffer_.BufferStart());
      if (!s.ok()) return Fail(s.ToString());
    }
    // The cursor stays at the end of the page before if this one is damaged.
    PageView page;
    if (!page.Open(buffer_.BufferStart() + in_chunk * kPageBytes,
                   {run_.id_, next_page_})) {
      return Fail("page " + std::to_string(next_page_) +
                  " is damaged, or belongs somewhere else");
    }
    page_ = page;
    cursor_ = PageView::Cursor(page_);
    next_page_++;
    return true;
  }

  // A page that cannot be read is lost as one that is damaged. Returns false.
  bool Fail(const std::string& why) {
    run_.is_damaged_ = true;
    status_ = Status::Corruption(run_.file_name_, why);
    return false;
  }

  const FlashRun& run_;
  AlignedBuffer buffer_;
  PageView page_;
  PageView::Cursor cursor_;
  uint32_t next_page_ = 0;
  Status status_;
};

std::unique_ptr<EntryStream> FlashRun::NewStream() const {
  return std::make_unique<Stream>(*this);
}

}  // namespace ROCKSDB_NAMESPACE::protean
