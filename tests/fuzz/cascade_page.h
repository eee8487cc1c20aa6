// SPDX-License-Identifier: Apache-2.0

//  Pages of a cascade filter with any contents, and what makes them whole.

#pragma once

#include <string>

#include "sets/cascade/page.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

// Where the checksum of a page ends, and where its number and its run do.
constexpr size_t kPageChecksumBytes = 4;
constexpr size_t kPageIdBytes = 16;

inline void SetChecksum(const Slice& of, char* checksum) {
  EncodeFixed32(checksum, crc32c::Mask(crc32c::Value(of.data(), of.size())));
}

// The page of these contents, whose checksum and id are right. Contents that
// are too short end with zeros.
inline std::string PageOf(const Slice& contents, const PageId& id) {
  std::string page(kPageIdBytes, '\0');
  EncodeFixed32(page.data() + kPageChecksumBytes, id.page);
  EncodeFixed64(page.data() + 8, id.run);
  page.append(contents.data(),
              std::min(contents.size(), kPageBytes - kPageIdBytes));
  page.resize(kPageBytes);
  SetChecksum(
      Slice(page.data() + kPageChecksumBytes, kPageBytes - kPageChecksumBytes),
      page.data());
  return page;
}

}  // namespace ROCKSDB_NAMESPACE::protean
