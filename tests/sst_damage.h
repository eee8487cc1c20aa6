// SPDX-License-Identifier: Apache-2.0

//  SST files whose blocks are damaged on disk.

#pragma once

#include <functional>

#include "file/random_access_file_reader.h"
#include "table/block_based/block_based_table_builder.h"
#include "table/format.h"
#include "table/meta_blocks.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FilterLocation {
  BlockHandle handle;
  Footer footer;  // with the type of the blocks' checksums
};

constexpr char kProteanFilterBlock[] = "fullfilter.protean.RangeFilter";

inline void FindFilter(const std::string& path, FilterLocation* location,
                       const std::string& block = kProteanFilterBlock) {
  std::unique_ptr<RandomAccessFileReader> file;
  ASSERT_OK(RandomAccessFileReader::Create(FileSystem::Default(), path,
                                           FileOptions(), &file, nullptr));
  uint64_t size = 0;
  ASSERT_OK(Env::Default()->GetFileSize(path, &size));
  ASSERT_OK(
      FindMetaBlockInFile(file.get(), size, kBlockBasedTableMagicNumber,
                          ImmutableOptions(Options()), ReadOptions(), block,
                          &location->handle, /*memory_allocator=*/nullptr,
                          /*prefetch_buffer=*/nullptr, &location->footer));
}

// Where the file's filter block is.
inline BlockHandle FilterHandle(const std::string& path) {
  FilterLocation location;
  FindFilter(path, &location);
  return location.handle;
}

// The bytes of the file's filter block.
inline std::string FilterBytes(const std::string& path) {
  const BlockHandle handle = FilterHandle(path);
  return ContentsOf(path).substr(handle.offset(), handle.size());
}

// Calls `change` with the bytes of a block of an SST file. With
// `right_checksum`, RocksDB's checksum of the block is made right again.
inline void ChangeBlock(const std::string& path, const BlockHandle& handle,
                        const Footer& footer, bool right_checksum,
                        const std::function<void(std::string* bytes)>& change) {
  std::string contents = ContentsOf(path);
  const uint64_t offset = handle.offset();
  const uint64_t size = handle.size();
  std::string bytes = contents.substr(offset, size);
  change(&bytes);
  ASSERT_EQ(size, bytes.size());
  contents.replace(offset, size, bytes);
  if (right_checksum) {
    // The block, one byte for its compression, and the checksum.
    const uint32_t checksum = ComputeBuiltinChecksum(
        footer.checksum_type(), &contents[offset], size + 1);
    EncodeFixed32(&contents[offset + size + 1],
                  checksum + ChecksumModifierForContext(
                                 footer.base_context_checksum(), offset));
  }
  ASSERT_OK(WriteStringToFile(Env::Default(), contents, path));
}

// With `right_checksum`, only Protean's own checksum shows the change.
inline void ChangeFilter(const std::string& path, bool right_checksum,
                         const std::function<void(std::string* bytes)>& change,
                         const std::string& block = kProteanFilterBlock) {
  FilterLocation location;
  ASSERT_NO_FATAL_FAILURE(FindFilter(path, &location, block));
  ASSERT_NO_FATAL_FAILURE(ChangeBlock(path, location.handle, location.footer,
                                      right_checksum, change));
}

// Makes an SST file look as if it had no properties.
inline void HideProperties(const std::string& path) {
  FilterLocation location;
  ASSERT_NO_FATAL_FAILURE(FindFilter(path, &location));
  const auto hide = [](std::string* index) {
    const size_t name = index->find(kPropertiesBlockName);
    ASSERT_NE(std::string::npos, name);
    (*index)[name + kPropertiesBlockName.size() - 1]++;
  };
  ASSERT_NO_FATAL_FAILURE(ChangeBlock(path, location.footer.metaindex_handle(),
                                      location.footer, true, hide));
}

// Flips bits of a byte in the filter block of an SST file.
inline void DamageFilter(const std::string& path, size_t where,
                         bool right_checksum) {
  ChangeFilter(path, right_checksum, [where](std::string* bytes) {
    ASSERT_LT(where, bytes->size());
    (*bytes)[where] ^= 0x15;
  });
}

// Flips bits of a byte of a file.
inline void FlipByte(const std::string& path, size_t where) {
  std::string contents = ContentsOf(path);
  ASSERT_LT(where, contents.size());
  contents[where] ^= 0x15;
  ASSERT_OK(WriteStringToFile(Env::Default(), contents, path));
}

}  // namespace ROCKSDB_NAMESPACE::protean
