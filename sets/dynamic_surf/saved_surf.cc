// SPDX-License-Identifier: Apache-2.0

#include "sets/dynamic_surf/saved_surf.h"

#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kMagic = 0x6672536e79446e50;  // "PnDynSrf"
constexpr uint32_t kVersion = 1;
// The magic number, the version and the checksum.
constexpr size_t kChecksumOffset = 12;
constexpr size_t kHeaderBytes = 16;

Status Damaged(const char* what) {
  return Status::Corruption("Saved SuRF", what);
}

bool TakeRemoved(Slice* input, uint64_t removed, SurfPart* part) {
  if (removed == 0) return true;
  const uint32_t leaves = part->surf().fst().num_leaves();
  const char* words;
  if (!TakeBytes(input, BitArrayBytes(leaves), &words)) return false;
  for (uint32_t leaf = 0; leaf < leaves; leaf++) {
    if (GetBit(words, leaf)) part->Remove(leaf);
  }
  return part->removed().size() == removed;
}

bool TakeRecords(Slice* input, uint64_t records, Front* front) {
  for (; records > 0; records--) {
    uint32_t size;
    const char* state;
    const char* key;
    if (!GetVarint32(input, &size) || size > Front::kMaxKeySize ||
        !TakeBytes(input, 1, &state) || *state < 0 || *state / 2 > 2 ||
        !TakeBytes(input, size, &key)) {
      return false;
    }
    front->Set(Slice(key, size),
               {(*state & 1) != 0, static_cast<Below>(*state / 2)});
  }
  return true;
}

}  // namespace

std::string EncodeDynamicSurf(const FilterSalt& salt, const SurfPart& part,
                              const Front& front) {
  std::string contents;
  PutFixed64(&contents, kMagic);
  PutFixed32(&contents, kVersion);
  PutFixed32(&contents, 0);
  PutFixed64(&contents, salt.file);
  PutFixed64(&contents, salt.process);
  PutFixed64(&contents, part.payload().size());
  PutFixed64(&contents, part.removed().size());
  PutFixed64(&contents, front.size());
  contents.append(part.payload().data(), part.payload().size());
  contents.append(part.removed().words().data(), part.removed().words().size());
  for (Front::Cursor it(&front); it.Valid(); it.Next()) {
    const FrontRecord record = it.record();
    PutVarint32(&contents, static_cast<uint32_t>(it.key().size()));
    contents.push_back(static_cast<char>((record.is_present ? 1 : 0) +
                                         2 * static_cast<int>(record.below)));
    contents.append(it.key().data(), it.key().size());
  }
  EncodeFixed32(&contents[kChecksumOffset],
                crc32c::Mask(crc32c::Value(contents.data() + kHeaderBytes,
                                           contents.size() - kHeaderBytes)));
  return contents;
}

Status DecodeDynamicSurf(Slice contents, FilterSalt* salt,
                         std::unique_ptr<SurfPart>* part, Front* front) {
  uint64_t magic;
  uint32_t version;
  uint32_t checksum;
  if (!GetFixed64(&contents, &magic) || magic != kMagic) {
    return Damaged("it is none");
  }
  if (!GetFixed32(&contents, &version) || version != kVersion) {
    return Damaged("its version is unknown");
  }
  if (!GetFixed32(&contents, &checksum) ||
      checksum !=
          crc32c::Mask(crc32c::Value(contents.data(), contents.size()))) {
    return Damaged("its checksum is wrong");
  }
  uint64_t size;
  uint64_t removed;
  uint64_t records;
  const char* payload;
  if (!GetFixed64(&contents, &salt->file) ||
      !GetFixed64(&contents, &salt->process) || !GetFixed64(&contents, &size) ||
      !GetFixed64(&contents, &removed) || !GetFixed64(&contents, &records) ||
      !TakeBytes(&contents, size, &payload)) {
    return Damaged("it is cut short");
  }
  // A string that grows may get twice the room that it needs.
  std::string padded(size + kReadPadding, '\0');
  padded.replace(0, size, payload, size);
  const Status s = SurfPart::Create(std::move(padded), size, *salt, part);
  if (!s.ok()) return s;
  if (!TakeRemoved(&contents, removed, part->get())) {
    return Damaged("its tombstones are wrong");
  }
  if (!TakeRecords(&contents, records, front) || !contents.empty() ||
      front->size() != records) {
    return Damaged("its records are wrong");
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
