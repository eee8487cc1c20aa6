// SPDX-License-Identifier: Apache-2.0

#include "sets/dynamic_surf/surf_part.h"

namespace ROCKSDB_NAMESPACE::protean {

Status SurfPart::Create(std::string payload, uint64_t size,
                        const FilterSalt& salt,
                        std::unique_ptr<SurfPart>* part) {
  std::unique_ptr<SurfPart> created(new SurfPart(std::move(payload), size));
  const Status s = Surf::Open(created->payload(), salt, &created->filter_);
  if (!s.ok()) return s;
  if (created->surf().IsCoded() || created->surf().suffix().prefix_bits > 0) {
    return Status::Corruption("SuRF: its keys cannot be told from its leaves");
  }
  created->removed_ = LeafSet(created->surf().fst().num_leaves());
  *part = std::move(created);
  return s;
}

bool SurfPart::FindLeaf(const Slice& key, uint32_t* leaf) const {
  if (!surf().KeyMayMatch(key)) return false;
  // The leaf that may be that of the key is the first one at or above it.
  Surf::Iterator it(&surf());
  it.Seek(key);
  *leaf = it.leaf();
  return !removed_.Has(*leaf);
}

bool SurfPart::LowerBound(const Slice& target, std::string* bound) const {
  Surf::Iterator it(&surf());
  const bool may_be_below = it.Seek(target);
  if (may_be_below && !removed_.Has(it.leaf())) {
    bound->assign(target.data(), target.size());
    return true;
  }
  if (removed_.size() > 0) {
    for (int steps = 0; it.Valid() && steps < kMaxSteps; steps++) {
      if (!removed_.Has(it.leaf())) break;
      it.Next();
    }
  }
  if (!it.Valid()) return false;
  const Slice prefix = it.key_prefix();
  bound->assign(prefix.data(), prefix.size());
  if (!it.IsWholeKey()) {
    surf().suffix().AppendReal(it.real_suffix(), bound);
  }
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
