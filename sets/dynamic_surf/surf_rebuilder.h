// SPDX-License-Identifier: Apache-2.0

//  Builds a SuRF of keys of which some are known only as far as the leaf of
//  another SuRF tells. The result is, bit for bit, the SuRF that SurfBuilder
//  builds of the whole keys, if that may be no trie of digits.
//
//  A leaf tells the first bytes of its key, and the real and the hash bits. If
//  no new key begins with these bytes, they are all that the trie needs: a key
//  gets no more of them by new neighbors, and fewer when neighbors are gone.
//  In the latter case, what is cut off comes in front of the real bits.

#pragma once

#include <cstdint>
#include <string>

#include "filter_policy/surf/surf.h"

namespace ROCKSDB_NAMESPACE::protean {

class SurfRebuilder : public SurfBuilder {
 public:
  // `suffix` has no prefix bits, since these depend on all neighbors.
  SurfRebuilder(const SurfSuffix& suffix, const FilterSalt& salt)
      : SurfBuilder(suffix, TrieOfBytes(), FilterTask{salt, 0}) {}

  // Add keys in ascending order.
  void AddWhole(const Slice& key) {
    AddKey(key);
    last_is_whole_ = true;
  }
  // Adds the key of a leaf, which goes on after `path` or ends there, and is
  // not only known as a whole by its leaf (Surf::Iterator::IsWholeKey). No
  // other key begins with `path`. `value` is the value of the leaf.
  void AddLeaf(const Slice& path, uint64_t value) {
    AddKey(path);
    last_is_whole_ = false;
    last_value_ = value;
  }

  // Writes the payload of the SuRF, and the padding that it needs, which
  // `*size` does not count. Called once. Returns NotSupported if there are too
  // many keys.
  Status FinishPayload(std::string* payload, uint64_t* size);

 protected:
  void Add(const Slice& key, size_t shared, size_t next_shared) override {
    fst()->Add(key, shared, next_shared,
               ValueOfLast(key, Depth(key, shared, next_shared)));
  }
  void AddLast(const Slice& key, size_t shared) override {
    fst()->AddLast(key, shared, ValueOfLast(key, Depth(key, shared, 0)));
  }
  Status Plan(const KeysEnd& /*end*/,
              std::vector<PlannedPart>* parts) override {
    parts->resize(1);
    return PlanTrie(&parts->front().payload_size);
  }

 private:
  static FstOptions TrieOfBytes() {
    FstOptions options;
    options.digits = FstOptions::kNever;
    return options;
  }
  // The value of the last key that was added, if the trie has its first `depth`
  // bytes.
  uint64_t ValueOfLast(const Slice& key, size_t depth) const;

  bool last_is_whole_ = true;
  uint64_t last_value_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
