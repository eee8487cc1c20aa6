// SPDX-License-Identifier: Apache-2.0

//  The filter block of an SST file: a directory, and the parts of the filter.
//  Each part has a contiguous range of the file's keys, and can be loaded by
//  itself. docs/internals/file_format.md has the format, byte by byte. A block
//  is read in place, at any alignment:
//
//    directory   fixed fields, the ends of the keys, the designs that parts
//    have
//                in common, and for each part its sizes, the number of its
//                keys, its design, and where it begins: a string that is not
//                above its keys, and above those before (empty for the first
//                part)
//    units       payloads, each with a checksum, the numbers of its part and of
//                the unit, and zeros
//
//  A part may have its bits in two *units*. The first one is a filter by
//  itself. The second one, over the same keys, is asked about what the first
//  one lets through; without it, there are more false positives. The first
//  units of all parts come first, then the second ones.
//
//  A reader loads a payload together with the 16 bytes that follow it: queries
//  read whole words, and the last word may end behind the payload. RocksDB
//  takes the last 5 bytes for a block's trailer, which says that it is not
//  compressed.
//
//  A block whose keys no filter can hold has no parts and the kind 0.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/filter_kinds.h"
#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FilterBlockHeader {
  enum Flags : uint16_t {
    // Readers may ask for prefixes of keys as well as for keys, because the
    // file was written with a prefix extractor.
    kAskedForPrefixes = 1 << 0,
    // The extracted prefixes are not literal prefixes of the keys, so the
    // filter cannot answer for them.
    kPrefixesUnknown = 1 << 1,
  };

  FilterKind kind = FilterKind::kAlwaysTrue;
  uint16_t flags = 0;
  uint64_t num_keys = 0;
  // The smallest and largest key, or the first kMaxStoredKey bytes of them.
  Slice smallest;
  Slice largest;
  uint32_t key_lengths = 0;  // a LengthBit for each key; 0 if unknown
  FilterSalt salt;

  static uint32_t LengthBit(const Slice& key) {
    return uint32_t{1} << (key.size() % 32);
  }

  static constexpr size_t kMaxStoredKey = 64;
};

// Bytes that are loaded by themselves.
struct FilterUnit {
  uint64_t offset = 0;  // of the payload in the block
  uint32_t payload_size = 0;

  // The bytes that are loaded.
  uint64_t size() const { return uint64_t{payload_size} + kReadPadding; }
};

// A part, as the directory describes it.
struct FilterPart {
  FilterUnit first;
  FilterUnit second;  // without payload if the part has one unit
  uint64_t num_keys = 0;
  uint64_t keys_before = 0;  // in the parts before
  Slice design;
  Slice begin;

  bool HasSecond() const { return second.payload_size > 0; }
};

// Tells the units of a block apart.
struct UnitName {
  size_t part = ~size_t{0};
  bool second = false;

  bool operator==(const UnitName& other) const {
    return part == other.part && second == other.second;
  }
};

// A directory that has been read. Immutable, and so thread safe.
class FilterDirectory {
 public:
  static constexpr size_t kFixedSize = 48;
  static constexpr size_t kUnitTrailer = 5;
  // The bytes of a unit besides its payload.
  static constexpr size_t kUnitOverhead = kReadPadding + kUnitTrailer;
  // The maximum that a part has in the directory besides its beginning.
  static constexpr size_t kMaxEntrySize = 5 + 5 + 5 + 1 + 5 + 5;

  // Stores the size of the directory of a block, of which `front` has the first
  // kFixedSize bytes. Corruption, or NotSupported for another version.
  static Status ReadSize(const Slice& front, uint64_t* size);
  // Reads the directory at the front of a block of `block_size` bytes. The
  // bytes must outlive this object.
  Status Read(const Slice& directory, uint64_t block_size);

  const FilterBlockHeader& header() const { return header_; }
  const std::vector<FilterPart>& parts() const { return parts_; }
  // The index of the part that has the key if the file has it. REQUIRES: there
  // is a part.
  size_t Find(const Slice& key) const;
  // Returns true if a range may end beyond the keys of a part.
  bool GoesBeyond(size_t part, const Slice& hi, bool hi_inclusive) const {
    if (part + 1 >= parts_.size() ||
        LoadBigEndian(hi.data(), hi.size()) < heads_[part + 1]) {
      return false;
    }
    const int order = hi.compare(parts_[part + 1].begin);
    return order > 0 || (order == 0 && hi_inclusive);
  }

  // REQUIRES: there is such a unit
  const FilterUnit& UnitOf(const UnitName& name) const {
    const FilterPart& part = parts_[name.part];
    return name.second ? part.second : part.first;
  }
  // Opens a unit in place: FilterUnit::size() bytes that must outlive the
  // result. Its checksum is verified.
  Status OpenUnit(const UnitName& name, const Slice& bytes,
                  std::unique_ptr<RangeFilter>* filter) const;
  // Opens both units of a part as one filter: bytes that must outlive the
  // result, and that OpenUnit has accepted.
  Status OpenBoth(size_t part, const Slice& first, const Slice& second,
                  std::unique_ptr<RangeFilter>* filter) const;
  // The unit that the bytes say they are of, if the block has it; else one of
  // the part ~0.
  UnitName NameOf(const Slice& bytes) const;

  size_t MemoryUsage() const {
    return parts_.capacity() * (sizeof(FilterPart) + sizeof(uint64_t));
  }

 private:
  PartContents ContentsOf(const UnitName& name, const Slice& bytes) const;
  // Reads all from the number of keys on; false if lengths do not fit.
  bool ReadEntries(Slice input, uint64_t offset, uint64_t block_size);

  FilterBlockHeader header_;
  std::vector<FilterPart> parts_;
  // The first 8 bytes of where each part begins, as numbers.
  std::vector<uint64_t> heads_;
};

// Puts a block together of parts in the order of their keys. Not thread safe.
class FilterBlockWriter {
 public:
  // Adds a part, and returns where the payload of its first unit belongs:
  // `payload_size` zero bytes, followed by kReadPadding zero bytes.
  char* AddPart(uint64_t num_keys, const Slice& begin, const Slice& design,
                uint64_t payload_size);
  // Adds the part's second unit, and returns where its payload belongs.
  char* AddSecondUnit(uint64_t payload_size);

  size_t num_parts() const { return parts_.size(); }
  // The bytes of all units so far.
  uint64_t part_bytes() const { return part_bytes_; }
  uint64_t Size(const FilterBlockHeader& header) const {
    return Directory(header).size() + part_bytes_;
  }
  uint64_t MaxDirectorySize() const {
    return FilterDirectory::kFixedSize + kMaxKeysSize + entries_bytes_;
  }
  // Writes the block to Size() bytes, and frees the parts. REQUIRES: there are
  // none if the kind is kAlwaysTrue.
  void Write(const FilterBlockHeader& header, char* block);

 private:
  struct Part {
    uint64_t num_keys;
    std::string begin;
    size_t design;
    std::string units[2];  // empty if there is no such unit
  };
  // The maximum size of the smallest and the largest key, and of the number of
  // designs.
  static constexpr uint64_t kMaxKeysSize =
      2 * (1 + FilterBlockHeader::kMaxStoredKey) + 5;

  char* Add(uint64_t payload_size, std::string* unit);
  std::string Directory(const FilterBlockHeader& header) const;

  std::vector<Part> parts_;
  std::vector<std::string> designs_;
  uint64_t part_bytes_ = 0;
  uint64_t entries_bytes_ = 0;  // maximum size of entries and designs
};

// Stores the shortest string that is not above `key`, and above the `last` key
// before it, of both of which perhaps only the first bytes are known. False if
// these do not tell the two apart.
bool ShortestBegin(const Slice& last, const Slice& key, std::string* begin);

}  // namespace ROCKSDB_NAMESPACE::protean
