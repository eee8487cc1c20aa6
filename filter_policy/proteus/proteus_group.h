// SPDX-License-Identifier: Apache-2.0

//  The filter blocks of proteus.h that are designed together: the one block of
//  a file, or consecutive parts of a partitioned filter. The keys are kept
//  until all have come, then the design that suits the keys and the sample
//  queries is chosen, and built for each part. A part of a few thousand keys
//  would be designed badly by itself, and each design takes time.

#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "filter_policy/proteus/design_memory.h"
#include "filter_policy/proteus/prior/prior.h"
#include "filter_policy/proteus/proteus_part.h"
#include "filter_policy/proteus/search/design_search.h"

namespace ROCKSDB_NAMESPACE::protean {

struct ProteusSettings {
  DesignSpace space = DesignSpace::kProteus;
  // The size of the whole filter, its envelope included.
  double bits_per_key = 12;
  // If set, gives the bits per key instead, when all keys have come, or at the
  // end of each part: for the number of keys of the group so far, and for the
  // smallest and the largest key of the part. 0 for no filter. At the end of a
  // part, more keys may follow, and `is_part` is true.
  std::function<double(uint64_t num_keys, bool is_part, const Slice& smallest,
                       const Slice& largest)>
      bits_of_file;
  // The maximum of what `bits_of_file` gives; larger numbers are cut down.
  double max_bits_of_file = 64;
  // Whether the range of the file's keys is kept among its properties.
  bool keeps_range = false;
  // The kinds of sets that may be chosen.
  std::vector<AmqKind> kinds = {kBloomAmq, kRibbonAmq};
  // Whether point queries ask a set of the whole keys alone. Not with
  // kTwoPrefixFilters; without effect where keys stand for prefixes.
  bool keys_alone = false;
  // The price of a false positive (false_positive_price.h).
  uint64_t price = kUsualPrice;
  // If set, the design to build for any queries.
  std::optional<ProteusDesign> forced;
  // If set, remembers the designs of files, or of the groups of one file, for
  // the next ones.
  std::shared_ptr<DesignMemory> memory;
  bool memory_is_shared = false;  // by several files
  // The keys of a group take this much memory at most. Some 60 MB of records of
  // 100 bytes, which is one file of RocksDB's default size, has one design.
  size_t max_key_memory = 16 << 20;
};

// Not thread safe.
class ProteusGroup {
 public:
  // Gives QueryQueue::SnapshotFor, when all keys have come.
  using Samples = std::function<SamplesOfFile(
      const Slice& smallest, const Slice& largest, size_t most)>;
  ProteusGroup(ProteusSettings settings, Samples samples)
      : settings_(std::move(settings)), samples_(std::move(samples)) {
    header_.report.price = settings_.price;
  }
  ProteusGroup(const ProteusGroup&) = delete;
  ProteusGroup& operator=(const ProteusGroup&) = delete;

  const ProteusSettings& settings() const { return settings_; }
  // The maximum of BitsPerKey.
  double MaxBitsPerKey() const {
    return settings_.bits_of_file == nullptr ? settings_.bits_per_key
                                             : settings_.max_bits_of_file;
  }
  // The bits per key at the end of a part with this range.
  double BitsPerKey(bool is_part, const Slice& smallest,
                    const Slice& largest) const {
    if (settings_.bits_of_file == nullptr) return settings_.bits_per_key;
    return std::min(
        settings_.max_bits_of_file,
        settings_.bits_of_file(keys_.size(), is_part, smallest, largest));
  }

  // Begins a part. AddKey and EndPart then refer to it.
  void BeginPart() { parts_.emplace_back(keys_, keys_.size()); }
  // Adds a key, which shares `shared` bits with the last one, if that is known.
  void AddKey(const Slice& key, size_t shared = kUnknownBits) {
    keys_.Append(key, shared);
  }
  // The payload may take `bytes` bytes. `is_part` tells whether it is that of a
  // part of a partitioned filter. If `prefixes_only` is true for any part, all
  // are designed to be asked whether a key starts with a string.
  void EndPart(uint64_t bytes, bool is_part, bool prefixes_only) {
    parts_.back().EndAt(keys_.size(), bytes);
    header_.is_part = is_part;
    prefixes_only_ = prefixes_only_ || prefixes_only;
  }
  // The share of `overhead` bytes, which a part of `keys` keys has, that its
  // filter has to save. Small parts alternate with large ones where RocksDB
  // cuts its index in between, and the parts bear the overhead of all by their
  // keys: else the small ones would be left with few bits.
  uint64_t ShareOfOverhead(uint64_t keys, uint64_t overhead) {
    overhead_ += overhead;
    return overhead_ * keys / std::max<uint64_t>(keys_.size(), 1);
  }

  size_t num_parts() const { return parts_.size(); }
  // Whether the group has all the keys that it may keep, and is to be built.
  bool IsFull() const {
    return keys_.MemoryUsage() >= settings_.max_key_memory;
  }

  // Chooses the design of all parts, once. NotSupported if there are too many
  // keys for one file.
  Status Design();
  bool is_designed() const { return is_designed_; }
  // The header of all parts, after Design, without what differs.
  const ProteusHeader& header() const { return header_; }

  const ProteusPart& part(size_t index) const { return parts_[index]; }
  // Writes a part with the header that it shares with the others, but for the
  // first 8 bytes of its smallest and its largest key, and returns that header.
  ProteusHeader WritePart(size_t index, uint64_t smallest, uint64_t largest,
                          const FilterSalt& salt, char* payload);

  size_t MemoryUsage() const;

 private:
  uint64_t SetBytes() const { return bytes_ - std::min(bytes_, tries_size_); }
  // About `most` of the samples that the group would be asked.
  SamplesOfFile TakeSamples(size_t most) const;
  DesignSituation SituationOf(const CpfprModel& model,
                              const SamplesOfFile& samples,
                              const KeyStatistics& statistics) const;
  bool TakeKept(const KeyStatistics& statistics, FilePrior* prior);
  bool Suits(const KeptDesign& kept, const CpfprModel& model,
             const KeyStatistics& statistics, DesignRates* rates);
  Status Search(const KeyStatistics& statistics, FilePrior* prior);
  void ReportDesign(const CpfprModel& model, const SamplesOfFile& samples,
                    double predicted);

  bool BuildTries(const ProteusDesign& design);
  void DropTries();
  bool HasDroppedTries() const;
  void AcceptTries(DesignSearch* search);
  bool BuildChosen(const CpfprModel& model, const KeyStatistics& statistics);

  const ProteusSettings settings_;
  const Samples samples_;
  KeyStore keys_;
  std::vector<ProteusPart> parts_;
  bool prefixes_only_ = false;
  bool is_designed_ = false;
  ProteusHeader header_;
  // The design of parts whose trie would be too large for them, if there are
  // any.
  ProteusDesign fallback_;
  uint64_t overhead_ = 0;
  // The bytes of all parts without headers, and the sizes of all tries.
  uint64_t bytes_ = 0;
  uint64_t tries_size_ = 0;
  std::chrono::nanoseconds trie_time_{0};
};

}  // namespace ROCKSDB_NAMESPACE::protean
