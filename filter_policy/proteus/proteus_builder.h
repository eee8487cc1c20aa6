// SPDX-License-Identifier: Apache-2.0

//  Builds the parts of a filter that are designed together: those of a file,
//  unless its keys take too much memory (a *group*). The keys are kept until
//  all have come, then they are cut into parts, the design that suits the keys
//  and the sample queries is chosen, and built for each part. A part of a few
//  thousand keys would be designed badly by itself, and each design takes time.

#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "filter_policy/filter_block.h"
#include "filter_policy/open_db/file_budget.h"
#include "filter_policy/proteus/design_memory.h"
#include "filter_policy/proteus/prior/prior.h"
#include "filter_policy/proteus/proteus_part.h"
#include "filter_policy/proteus/search/design_search.h"

namespace ROCKSDB_NAMESPACE::protean {

struct ProteusSettings {
  // Not inline: GCC 12 takes the list of kinds for uninitialized where it is.
  ProteusSettings();

  DesignSpace space = DesignSpace::kProteus;
  // The size of the whole filter, its envelope included.
  double bits_per_key = 12;
  // If set, gives the bits per key instead, 0 for no filter, when all keys of
  // the group have come.
  std::shared_ptr<FileBits> bits_of_file;
  // The maximum of what `bits_of_file` gives; larger numbers are cut down.
  double max_bits_of_file = 64;
  // The kinds of sets that may be chosen.
  std::vector<AmqKind> kinds = {kBloomAmq, kRibbonAmq};
  // Whether point queries ask a set of the whole keys alone. Not with
  // kTwoPrefixFilters; without effect where keys stand for prefixes.
  bool keys_alone = false;
  FilterDemand demand;
  // If set, gives the queries for each key of the group instead, once the
  // number of keys is known.
  std::function<double(uint64_t num_keys)> queries_per_key;
  // If set, the design to build for any queries, and whether its parts have two
  // units where they may.
  std::optional<ProteusDesign> forced;
  bool forced_units = false;
  // If set, remembers the designs of files, or of the groups of one file, for
  // the next ones.
  std::shared_ptr<DesignMemory> memory;
  bool memory_is_shared = false;  // by several files
  // The keys of a group take this much memory at most. Some 60 MB of records of
  // 100 bytes, which is one file of RocksDB's default size, has one design.
  size_t max_key_memory = 16 << 20;
};

class ProteusBuilder : public RangeFilterBuilder {
 public:
  // Gives QueryQueue::SnapshotFor, when all keys have come.
  using Samples = std::function<SamplesOfFile(
      const Slice& smallest, const Slice& largest, size_t most)>;
  ProteusBuilder(ProteusSettings settings, Samples samples,
                 const FilterTask& task = {})
      : RangeFilterBuilder(task),
        settings_(std::move(settings)),
        samples_(std::move(samples)) {
    report_.demand = settings_.demand;
  }

  void Write(size_t part, char* payload) override {
    parts_[part].Write(/*second=*/false, salt(), payload);
  }
  void WriteSecond(size_t part, char* payload) override {
    parts_[part].Write(/*second=*/true, salt(), payload);
  }
  bool IsFull() const override {
    return keys_.MemoryUsage() >= settings_.max_key_memory;
  }
  bool CutsParts() const override { return true; }
  double ApproximateBitsPerKey() const override {
    return settings_.bits_per_key;
  }
  uint64_t MaxSize() const override;
  FilterReport Report() const override {
    return header_.design.ReportOf(report_);
  }

 protected:
  void Add(const Slice& key, size_t, size_t) final {
    keys_.Append(key, shared_bits());
  }
  Status Plan(const KeysEnd& end, std::vector<PlannedPart>* parts) override;
  size_t Memory() const override;

  // Cuts the keys into about that number of parts. Stores how many keys each
  // part has, and where it begins (FilterPart).
  void Cut(uint64_t num_parts, std::vector<PlannedPart>* parts) const;
  // Chooses the design of the parts, of which Cut has told the keys, and whose
  // payloads may take `bytes` bytes. Completes their plan. If `prefixes_only`
  // is true, they will be asked whether a key starts with a string. If
  // `in_units`, they may have two units. NotSupported if there are too many
  // keys for one file.
  Status Design(uint64_t bytes, bool prefixes_only, bool in_units,
                std::vector<PlannedPart>* parts);

 private:
  uint64_t SizeAt(double bits_per_key) const {
    return static_cast<uint64_t>(bits_per_key / 8 *
                                 static_cast<double>(num_keys()));
  }
  // The number of parts of a filter of that size.
  uint64_t NumParts(uint64_t size) const {
    const uint64_t part_bytes = task().part_bytes;
    return part_bytes == 0 ? 1 : (size + part_bytes / 2) / part_bytes;
  }

  // About `most` of the samples that the group would be asked.
  SamplesOfFile TakeSamples(size_t most) const;
  DesignSituation SituationOf(const CpfprModel& model,
                              const SamplesOfFile& samples) const;
  bool TakeKept(FilePrior* prior);
  bool Suits(const KeptDesign& kept, const CpfprModel& model,
             DesignRates* rates);
  Status Search(FilePrior* prior);
  double CostInUnits(const CpfprModel& model, const ProteusDesign& design,
                     uint64_t trie_bytes) const;
  void ChooseUnits(const CpfprModel& model, const DesignSearch* search);
  void ReportDesign(const CpfprModel& model, const SamplesOfFile& samples,
                    double predicted);

  bool BuildTries(const ProteusDesign& design);
  void DropTries();
  bool HasDroppedTries() const;
  // Chooses the design of parts whose tries are too large for them.
  void ChooseFallback(const DesignSearch& search) {
    if (HasDroppedTries()) {
      fallback_ = search.Choose(settings_.space, bytes_, /*allow_tries=*/false);
    }
  }
  bool BuildChosen(const CpfprModel& model, const DesignSearch& search);
  bool BuildAfter(const CpfprModel& model);

  const ProteusSettings settings_;
  const Samples samples_;
  KeyStore keys_;
  std::vector<ProteusPart> parts_;
  bool prefixes_only_ = false;
  bool in_units_ = false;
  ProteusHeader header_;  // what the parts have in common
  FilterReport report_;
  // The design of parts whose trie would be too large for them, if there are
  // any.
  ProteusDesign fallback_;
  // The bytes of all parts without headers, and the sizes of all tries.
  uint64_t bytes_ = 0;
  uint64_t tries_size_ = 0;
  std::chrono::nanoseconds trie_time_{0};
};

}  // namespace ROCKSDB_NAMESPACE::protean
