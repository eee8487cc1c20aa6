// SPDX-License-Identifier: Apache-2.0

#include "tools/blob_check.h"

#include <memory>
#include <string>

#include "db/blob/blob_log_format.h"
#include "db/blob/blob_log_sequential_reader.h"
#include "file/random_access_file_reader.h"
#include "file/readahead_raf.h"
#include "tools/file_facts.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kReadahead = 2 << 20;

Status Differs(const char* what, uint64_t found, uint64_t expected) {
  return Status::Corruption("it has " + std::to_string(found) + " " + what +
                            ", the MANIFEST says " + std::to_string(expected));
}

// Opens a blob file, and stores its size.
Status OpenBlobs(const TargetFamily& family, const std::string& path,
                 uint64_t* bytes,
                 std::unique_ptr<BlobLogSequentialReader>* reader) {
  const std::shared_ptr<FileSystem>& fs = family.options.env->GetFileSystem();
  Status s = family.options.env->GetFileSize(path, bytes);
  std::unique_ptr<FSRandomAccessFile> file;
  if (s.ok()) {
    s = fs->NewRandomAccessFile(path, FileOptions(), &file, /*dbg=*/nullptr);
  }
  if (!s.ok()) return s;
  *reader = std::make_unique<BlobLogSequentialReader>(
      std::make_unique<RandomAccessFileReader>(
          NewReadaheadRandomAccessFile(std::move(file), kReadahead), path),
      family.options.env->GetSystemClock().get(), /*statistics=*/nullptr);
  return s;
}

// Blob files of a column family know no expiration, unlike those of the stacked
// BlobDB. RocksDB refuses such a header, too.
Status CheckBlobHeader(const TargetFamily& family,
                       const BlobLogHeader& header) {
  if (header.column_family_id != family.id) {
    return Status::Corruption("its header names column family " +
                              std::to_string(header.column_family_id) +
                              ", the MANIFEST " + std::to_string(family.id));
  }
  if (header.has_ttl || header.expiration_range != ExpirationRange(0, 0)) {
    return Status::Corruption("its header has times of expiration");
  }
  return Status::OK();
}

Status ReadBlobs(const TargetFamily& family, const TargetBlobFile& file,
                 BlobCheck* check) {
  std::unique_ptr<BlobLogSequentialReader> reader;
  Status s = OpenBlobs(family, file.path, &check->bytes, &reader);
  BlobLogHeader header;
  if (s.ok()) s = reader->ReadHeader(&header);
  if (s.ok()) s = CheckBlobHeader(family, header);
  if (!s.ok()) return s;
  check->compression = header.compression;
  uint64_t blob_bytes = 0;
  while (reader->GetNextByte() + BlobLogFooter::kSize < check->bytes) {
    const uint64_t offset = reader->GetNextByte();
    BlobLogRecord record;
    s = reader->ReadRecord(&record,
                           BlobLogSequentialReader::kReadHeaderKeyBlob);
    if (!s.ok()) {
      const std::string where = " at offset " + std::to_string(offset);
      return s.IsCorruption() ? Status::Corruption(s.getState() + where) : s;
    }
    check->blobs++;
    blob_bytes += record.record_size();
  }
  BlobLogFooter footer;
  s = reader->ReadFooter(&footer);
  if (!s.ok()) return s;
  if (check->blobs != file.blobs) {
    return Differs("blobs", check->blobs, file.blobs);
  }
  if (blob_bytes != file.blob_bytes) {
    return Differs("bytes of blobs", blob_bytes, file.blob_bytes);
  }
  if (footer.blob_count != check->blobs) {
    return Status::Corruption("its footer counts other blobs than it has");
  }
  return s;
}

}  // namespace

BlobCheck CheckBlobs(const TargetFamily& family, const TargetBlobFile& file) {
  BlobCheck check;
  check.status =
      WithoutExceptions([&] { return ReadBlobs(family, file, &check); });
  return check;
}

Status CheckUse(const BlobCheck& file, const BlobUse& use) {
  if (file.compression != use.compression) {
    return Status::Corruption(
        "its header names another compression than the SST files do");
  }
  if (use.end + BlobLogFooter::kSize > file.bytes) {
    return Status::Corruption("SST files refer to offset " +
                              std::to_string(use.end) +
                              ", which lies behind its blobs");
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
