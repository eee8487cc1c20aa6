// SPDX-License-Identifier: Apache-2.0

//  Reads a page of a cascade filter whose checksum is right and whose contents
//  are not.

#include <algorithm>
#include <cstring>

#include "filter_policy/cascade/page.h"
#include "tests/fuzz/fuzz_targets.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr PageId kId{0x1122334455667788, 3};
// Where the checksum, the number of the page and the run end.
constexpr size_t kChecksumBytes = 4;
constexpr size_t kIdBytes = 16;

// The input without the bytes of the checksum and the id, which are made right.
std::string PageOf(const Slice& input) {
  std::string page(kIdBytes, '\0');
  EncodeFixed32(page.data() + kChecksumBytes, kId.page);
  EncodeFixed64(page.data() + 8, kId.run);
  page.append(input.data(), std::min(input.size(), kPageBytes - kIdBytes));
  page.resize(kPageBytes);
  EncodeFixed32(page.data(),
                crc32c::Mask(crc32c::Value(page.data() + kChecksumBytes,
                                           kPageBytes - kChecksumBytes)));
  return page;
}

void Run(const uint8_t* data, size_t size) {
  std::string page = PageOf(Slice(reinterpret_cast<const char*>(data), size));
  page.resize(kPageBytes + kReadPadding);
  PageView view;
  if (!view.Open(page.data(), kId)) return;
  PageView::Cursor cursor(view);
  uint32_t entries = 0;
  for (Entry entry; cursor.Next(&entry); entries++) {
    for (const uint64_t asked : {entry.fingerprint - 1, entry.fingerprint,
                                 entry.fingerprint + 1, ~entry.fingerprint}) {
      Entry found;
      if (entries % 16 == 0 && view.Find(asked, &found)) {
        Check(found.fingerprint == asked, "the fingerprint is the one asked");
      }
    }
  }
  Check(entries == view.size(), "a page has the entries that it says");
}

size_t Mutate(uint8_t* data, size_t size, size_t max_size,
              FuzzRandom* /*random*/, GenericMutator generic) {
  return generic(data, size, max_size);
}

// The beginning of one page and the end of another.
size_t Cross(const Slice& a, const Slice& b, uint8_t* out, size_t max_size,
             FuzzRandom* random) {
  const size_t size = std::min({a.size(), b.size(), max_size});
  if (size == 0) return 0;
  const size_t cut = random->Next() % size;
  memcpy(out, a.data(), cut);
  memcpy(out + cut, b.data() + cut, size - cut);
  return size;
}

std::string SeedOf(unsigned remainder_bits, uint64_t step, unsigned kinds) {
  PageBuilder builder(remainder_bits);
  uint64_t fingerprint = step;
  for (uint32_t i = 0;; i++) {
    Entry entry{fingerprint, 0, 1};
    if (kinds > 1 && i % 3 == 0) entry = {fingerprint, 1, 0};
    if (kinds > 2 && i % 7 == 0) entry = {fingerprint, i, 5};
    if (!builder.Add(entry)) break;
    fingerprint += 1 + i * step % (2 * step);
  }
  std::string page(kPageBytes, '\0');
  builder.Finish(kId, page.data());
  return page.substr(kIdBytes);
}

std::vector<std::string> Seeds() {
  return {SeedOf(1, 2, 1), SeedOf(12, 4096, 2),
          SeedOf(40, uint64_t{1} << 39, 3), SeedOf(57, 1000, 3)};
}

}  // namespace

const FuzzTarget kCascadeTarget = {"cascade", Run, Mutate, Cross, Seeds};

}  // namespace ROCKSDB_NAMESPACE::protean
