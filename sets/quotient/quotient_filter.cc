// SPDX-License-Identifier: Apache-2.0

//  The public quotient filter: keys are hashed, and a QuotientMultiset holds
//  the hashes.

#include "sets/experimental/quotient_filter.h"

#include <algorithm>
#include <utility>

#include "sets/quotient/quotient_cursor.h"
#include "sets/quotient/quotient_merge.h"
#include "sets/quotient/saved_quotient.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The smallest number of quotient bits whose slots hold that many hashes.
// `shape` has the bits of a remainder, or, if `fingerprint_bits` is not 0, gets
// what these leave. The shape may be one that no filter can have.
QuotientShape ShapeFor(uint64_t capacity, unsigned remainder_bits,
                       unsigned fingerprint_bits) {
  QuotientShape shape;
  shape.quotient_bits = 1;
  while (shape.quotient_bits < 63 && shape.capacity() < capacity) {
    shape.quotient_bits++;
  }
  shape.remainder_bits = fingerprint_bits == 0
                             ? remainder_bits
                             : fingerprint_bits - shape.quotient_bits;
  return shape;
}

class Filter : public QuotientFilter {
 public:
  explicit Filter(std::unique_ptr<QuotientMultiset> hashes)
      : hashes_(std::move(hashes)) {}

  Status Resize(uint64_t capacity,
                std::unique_ptr<QuotientFilter>* resized) const override;

  bool Insert(const Slice& key) override { return hashes_->Insert(Hash(key)); }
  bool Delete(const Slice& key) override { return hashes_->Delete(Hash(key)); }
  bool MayContain(const Slice& key) const override {
    return hashes_->Contains(Hash(key));
  }
  uint64_t Count(const Slice& key) const override {
    return hashes_->Count(Hash(key));
  }

  size_t InsertEach(const Slice* keys, size_t num_keys) override {
    size_t inserted = 0;
    InChunks(keys, num_keys, [&](const uint64_t* hashes, size_t count) {
      const size_t added = hashes_->InsertBatch(hashes, count);
      inserted += added;
      return added == count;
    });
    return inserted;
  }
  void MayContainEach(const Slice* keys, size_t num_keys,
                      bool* may_contain) const override {
    InChunks(keys, num_keys, [&](const uint64_t* hashes, size_t count) {
      hashes_->ContainsBatch(hashes, count, may_contain);
      may_contain += count;
      return true;
    });
  }

  void ForEach(
      const std::function<void(uint64_t, uint64_t)>& visit) const override {
    QuotientCursor cursor(hashes_->blocks());
    while (cursor.Valid()) {
      const uint64_t fingerprint = cursor.Fingerprint();
      uint64_t copies = 0;
      do {
        copies++;
        cursor.Next();
      } while (cursor.Valid() && cursor.Fingerprint() == fingerprint);
      visit(fingerprint, copies);
    }
  }

  void Save(std::string* bytes) const override {
    SaveQuotientMultiset(*hashes_, bytes);
  }

  uint64_t size() const override { return hashes_->size(); }
  uint64_t capacity() const override { return hashes_->capacity(); }
  uint32_t fingerprint_bits() const override {
    return hashes_->shape().fingerprint_bits();
  }
  size_t MemoryUsage() const override { return hashes_->MemoryUsage(); }

  const QuotientMultiset& hashes() const { return *hashes_; }

 private:
  uint64_t Hash(const Slice& key) const {
    return HashBytes(key.data(), key.size(),
                     0x8ebc6af09c88c6e3u ^ hashes_->salt().file);
  }

  // Hashes the keys a chunk at a time, and calls `work` for each chunk until it
  // returns false.
  template <class Work>
  void InChunks(const Slice* keys, size_t num_keys, const Work& work) const {
    constexpr size_t kChunk = 256;
    uint64_t hashes[kChunk];
    for (size_t begin = 0; begin < num_keys; begin += kChunk) {
      const size_t count = std::min(kChunk, num_keys - begin);
      for (size_t i = 0; i < count; i++) hashes[i] = Hash(keys[begin + i]);
      if (!work(hashes, count)) return;
    }
  }

  const std::unique_ptr<QuotientMultiset> hashes_;
};

// Makes the public filter of a multiset that was made if `s` is OK.
Status Wrap(const Status& s, std::unique_ptr<QuotientMultiset> hashes,
            std::unique_ptr<QuotientFilter>* filter) {
  filter->reset();
  if (s.ok()) *filter = std::make_unique<Filter>(std::move(hashes));
  return s;
}

Status Filter::Resize(uint64_t capacity,
                      std::unique_ptr<QuotientFilter>* resized) const {
  const QuotientShape shape = ShapeFor(capacity, 0, fingerprint_bits());
  std::unique_ptr<QuotientMultiset> hashes;
  const Status s =
      ResizeQuotientMultiset(*hashes_, shape.quotient_bits, &hashes);
  return Wrap(s, std::move(hashes), resized);
}

}  // namespace

Status QuotientFilter::Create(const QuotientFilterOptions& options,
                              std::unique_ptr<QuotientFilter>* filter) {
  if (options.capacity == 0) {
    return Status::InvalidArgument(
        "QuotientFilterOptions: capacity=0 is not allowed; allowed: from 1");
  }
  std::unique_ptr<QuotientMultiset> hashes;
  const Status s = QuotientMultiset::Create(
      ShapeFor(options.capacity, options.remainder_bits, 0),
      FilterSalt{options.seed, 0}, &hashes);
  return Wrap(s, std::move(hashes), filter);
}

Status QuotientFilter::Load(const Slice& bytes,
                            std::unique_ptr<QuotientFilter>* filter) {
  std::unique_ptr<QuotientMultiset> hashes;
  const Status s = LoadQuotientMultiset(bytes, &hashes);
  return Wrap(s, std::move(hashes), filter);
}

Status QuotientFilter::Merge(const std::vector<const QuotientFilter*>& filters,
                             std::unique_ptr<QuotientFilter>* merged) {
  std::vector<const QuotientMultiset*> parts;
  for (const QuotientFilter* filter : filters) {
    parts.push_back(&static_cast<const Filter*>(filter)->hashes());
  }
  std::unique_ptr<QuotientMultiset> hashes;
  const Status s = MergeQuotientMultisets(parts, &hashes);
  return Wrap(s, std::move(hashes), merged);
}

}  // namespace ROCKSDB_NAMESPACE::protean
