// SPDX-License-Identifier: Apache-2.0

//  Reads a page of a cascade filter whose checksum is right and whose contents
//  are not.

#include "tests/fuzz/byte_input.h"
#include "tests/fuzz/cascade_page.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr PageId kId{0x1122334455667788, 3};

void Run(const uint8_t* data, size_t size) {
  std::string page =
      PageOf(Slice(reinterpret_cast<const char*>(data), size), kId);
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
  return page.substr(kPageIdBytes);
}

std::vector<std::string> Seeds() {
  return {SeedOf(1, 2, 1), SeedOf(12, 4096, 2),
          SeedOf(40, uint64_t{1} << 39, 3), SeedOf(57, 1000, 3)};
}

}  // namespace

const FuzzTarget kCascadeTarget = {"cascade", Run, MutateBytes, CrossBytes,
                                   Seeds};

}  // namespace ROCKSDB_NAMESPACE::protean
