// SPDX-License-Identifier: Apache-2.0

#include "sets/dynamic_surf/surf_merge.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sets/dynamic_surf/surf_rebuilder.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class SurfMerger {
 public:
  SurfMerger(const SurfPart& part, const FilterSalt& salt, const Front& front,
             Iterator* source, SurfMergeCounts* counts)
      : part_(part),
        salt_(salt),
        source_(source),
        counts_(counts),
        leaf_(&part.surf()),
        record_(&front),
        builder_(part.surf().suffix(), salt) {}

  Status Run(const std::atomic<bool>& is_cancelled);
  SurfRebuilder* builder() { return &builder_; }

 private:
  struct NewKey {
    std::string key;
    FrontRecord record;
  };

  // The value of the leaf.
  uint64_t value() const {
    return part_.surf().fst().values().Get(leaf_number_);
  }

  void TakeRecord() {
    if (record_.record().is_present) builder_.AddWhole(record_.key());
    record_.Next();
  }
  void TakeLeaf(const Slice& path) {
    if (leaf_.IsWholeKey()) {
      builder_.AddWhole(path);
    } else {
      builder_.AddLeaf(path, value());
    }
  }
  // Takes the leaf, which is no whole key, and all records whose keys begin
  // with its path. There is one at least.
  Status TakeGroup(const Slice& path);
  // Returns true if the leaf may be that of `key`, which begins with its path.
  bool HasValueOf(const Slice& key, size_t depth) const {
    const Surf& surf = part_.surf();
    return SurfLeaf(surf.suffix(), salt_, value())
        .MayBeKey(surf.AtLeaf(key, depth));
  }
  // Adds to `keys` those of the source that may be the key of the leaf, and are
  // not among the records.
  Status Seek(const Slice& path, const std::vector<NewKey>& records,
              std::vector<std::string>* keys);

  const SurfPart& part_;
  const FilterSalt salt_;
  Iterator* const source_;
  SurfMergeCounts* const counts_;
  Surf::Iterator leaf_;
  uint32_t leaf_number_ = 0;
  Front::Cursor record_;
  SurfRebuilder builder_;
};

Status SurfMerger::Run(const std::atomic<bool>& is_cancelled) {
  leaf_.SeekToFirst();
  while (leaf_.Valid() || record_.Valid()) {
    if (is_cancelled.load(std::memory_order_relaxed)) {
      return Status::ShutdownInProgress();
    }
    if (!leaf_.Valid()) {
      TakeRecord();
      continue;
    }
    leaf_number_ = leaf_.leaf();
    if (part_.removed().Has(leaf_number_)) {
      leaf_.Next();
      continue;
    }
    const Slice path = leaf_.key_prefix();
    const int order = record_.Valid() ? record_.key().compare(path) : 1;
    if (order < 0) {
      TakeRecord();
      continue;
    }
    if (leaf_.IsWholeKey()) {
      // The record of a key decides, if it has one.
      if (order > 0) TakeLeaf(path);
    } else if (record_.Valid() && record_.key().starts_with(path)) {
      const Status s = TakeGroup(path);
      if (!s.ok()) return s;
    } else {
      TakeLeaf(path);
    }
    leaf_.Next();
  }
  return Status::OK();
}

Status SurfMerger::TakeGroup(const Slice& path) {
  std::vector<NewKey> records;
  bool is_known = false;  // whether the leaf's key has a record
  bool matters = false;   // whether a record says anything of the leaf
  for (; record_.Valid() && record_.key().starts_with(path); record_.Next()) {
    const FrontRecord record = record_.record();
    is_known |= record.below == Below::kCertainly;
    matters |= record.is_present || HasValueOf(record_.key(), path.size());
    records.push_back({record_.key().ToString(), record});
  }
  if (!is_known && !matters) {
    TakeLeaf(path);
    return Status::OK();
  }
  std::vector<std::string> keys;
  if (!is_known) {
    const Status s = Seek(path, records, &keys);
    if (!s.ok()) return s;
    counts_->sought++;
    if (keys.size() > 1) counts_->extra += keys.size() - 1;
    // The leaf may be that of a record.
    counts_->not_found +=
        keys.empty() &&
        std::none_of(records.begin(), records.end(), [](const NewKey& key) {
          return key.record.below == Below::kMaybe;
        });
  }
  for (const NewKey& key : records) {
    if (key.record.is_present) keys.push_back(key.key);
  }
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) builder_.AddWhole(key);
  return Status::OK();
}

Status SurfMerger::Seek(const Slice& path, const std::vector<NewKey>& records,
                        std::vector<std::string>* keys) {
  for (source_->Seek(path); source_->Valid(); source_->Next()) {
    const Slice key = source_->key();
    if (!key.starts_with(path)) break;
    const auto record = std::lower_bound(records.begin(), records.end(), key,
                                         [](const NewKey& a, const Slice& b) {
                                           return Slice(a.key).compare(b) < 0;
                                         });
    const bool has_record = record != records.end() && key == record->key;
    if (!has_record && HasValueOf(key, path.size())) {
      keys->push_back(key.ToString());
    }
  }
  return source_->status();
}

}  // namespace

Status MergeSurf(const SurfPart& part, const FilterSalt& salt,
                 const Front& front, Iterator* source,
                 const std::atomic<bool>& is_cancelled,
                 std::unique_ptr<SurfPart>* merged, SurfMergeCounts* counts) {
  SurfMerger merger(part, salt, front, source, counts);
  Status s = merger.Run(is_cancelled);
  std::string payload;
  uint64_t size = 0;
  if (s.ok()) s = merger.builder()->FinishPayload(&payload, &size);
  if (s.ok()) s = SurfPart::Create(std::move(payload), size, salt, merged);
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
