#include "filter_policy/surf/surf.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {
constexpr size_t kSuffixHeaderSize = 8;
}  // namespace

Status Surf::Open(const Slice& payload, std::unique_ptr<RangeFilter>* filter) {
  std::unique_ptr<Surf> surf(new Surf);
  Slice input = payload;
  const char* header;
  if (!TakeBytes(&input, kSuffixHeaderSize, &header)) {
    return Status::Corruption("SuRF: header is cut short");
  }
  surf->suffix_.hash_bits = static_cast<uint8_t>(header[0]);
  surf->suffix_.real_bits = static_cast<uint8_t>(header[1]);
  if (surf->suffix_.hash_bits > SurfSuffix::kMaxHashBits ||
      surf->suffix_.real_bits > SurfSuffix::kMaxRealBits) {
    return Status::Corruption("SuRF: too many suffix bits");
  }
  Status s = surf->fst_.Open(&input);
  if (!s.ok()) return s;
  if (!surf->values_.Open(&input, surf->fst_.num_leaves(),
                          surf->suffix_.bits()) ||
      !input.empty()) {
    return Status::Corruption("SuRF: leaf values have the wrong length");
  }
  *filter = std::move(surf);
  return Status::OK();
}

PROTEAN_CLONED bool Surf::HasKey(const Slice& key) const {
  if (fst_.num_nodes() == 0) return fst_.num_leaves() > 0 && key.empty();
  Fst::Node node = fst_.NodeAt(Fst::kRoot);
  for (size_t depth = 0; depth < fst_.height(); depth++) {
    // A terminator stands for exactly this key: its suffix can add nothing.
    if (depth == key.size()) return fst_.HasTerminator(node);
    Fst::Edge edge;
    if (!fst_.Find(node, static_cast<uint8_t>(key[depth]), &edge)) return false;
    if (!fst_.HasChild(node, edge)) {
      return suffix_.bits() == 0 || values_.Get(fst_.Leaf(node, edge)) ==
                                        suffix_.Value(key, depth + 1);
    }
    node = fst_.NodeAt(fst_.Child(node, edge));
  }
  return true;
}

// Whether the key of a leaf that shares its first `depth` bytes with `lo`, may
// be lo or above.
bool Surf::LeafMayReach(uint32_t leaf, size_t depth, const Slice& lo) const {
  return suffix_.real_bits == 0 ||
         suffix_.RealOfValue(values_.Get(leaf)) >= suffix_.Real(lo, depth);
}

// Whether the key of a leaf that shares its first `depth` bytes with `hi`, may
// be below hi, or hi itself if that belongs to the range.
bool Surf::LeafMayStayWithin(uint32_t leaf, size_t depth, const Slice& hi,
                             bool hi_inclusive) const {
  if (suffix_.real_bits > 0) {
    const uint64_t stored = suffix_.RealOfValue(values_.Get(leaf));
    const uint64_t wanted = suffix_.Real(hi, depth);
    if (stored != wanted) return stored < wanted;
  }
  return hi_inclusive || !suffix_.RealIsWhole(hi, depth);
}

// Whether a key may be at or above `lo` in the subtrie of a node whose path is
// the first `depth` bytes of `lo`. Only the last edge of each node matters.
bool Surf::HasKeyFrom(Fst::Node node, size_t depth, const Slice& lo) const {
  for (; depth < fst_.height() && depth < lo.size(); depth++) {
    Fst::Edge edge;
    if (!fst_.Last(node, &edge)) return true;
    const auto wanted = static_cast<uint8_t>(lo[depth]);
    if (edge.label != wanted) return edge.label > wanted;
    if (!fst_.HasChild(node, edge)) {
      return LeafMayReach(fst_.Leaf(node, edge), depth + 1, lo);
    }
    node = fst_.NodeAt(fst_.Child(node, edge));
  }
  return true;
}

// The same for the other bound: only the first edge of each node matters.
bool Surf::HasKeyUpTo(Fst::Node node, size_t depth, const Slice& hi,
                      bool hi_inclusive) const {
  for (; depth < fst_.height(); depth++) {
    Fst::Edge edge;
    if (!fst_.First(node, &edge)) return true;
    if (edge.IsTerminator()) return depth < hi.size() || hi_inclusive;
    if (depth == hi.size()) return false;
    const auto wanted = static_cast<uint8_t>(hi[depth]);
    if (edge.label != wanted) return edge.label < wanted;
    if (!fst_.HasChild(node, edge)) {
      return LeafMayStayWithin(fst_.Leaf(node, edge), depth + 1, hi,
                               hi_inclusive);
    }
    node = fst_.NodeAt(fst_.Child(node, edge));
  }
  return true;
}

PROTEAN_CLONED bool Surf::HasKeyBetween(const Slice& lo, const Slice& hi,
                                        bool hi_inclusive) const {
  const int order = lo.compare(hi);
  if (order > 0 || (order == 0 && !hi_inclusive)) return false;
  if (fst_.num_nodes() == 0) return fst_.num_leaves() > 0 && lo.empty();

  Fst::Node node = fst_.NodeAt(Fst::kRoot);
  for (size_t depth = 0; depth < fst_.height(); depth++) {
    // The path so far is a prefix of both bounds. If lo ends here, all keys
    // below are at least lo; hi cannot end before lo does.
    if (depth == lo.size()) return HasKeyUpTo(node, depth, hi, hi_inclusive);
    const auto lo_label = static_cast<uint8_t>(lo[depth]);
    const auto hi_label = static_cast<uint8_t>(hi[depth]);
    Fst::Edge edge;
    if (lo_label == hi_label) {
      if (!fst_.Find(node, lo_label, &edge)) return false;
      if (!fst_.HasChild(node, edge)) {
        const uint32_t leaf = fst_.Leaf(node, edge);
        return LeafMayReach(leaf, depth + 1, lo) &&
               LeafMayStayWithin(leaf, depth + 1, hi, hi_inclusive);
      }
      node = fst_.NodeAt(fst_.Child(node, edge));
      continue;
    }

    // The bounds part here. What is between them is in the range; what lies on
    // the path of one bound must be compared with this one only.
    if (!fst_.LowerBound(node, lo_label, &edge)) return false;
    if (edge.label == lo_label) {
      const bool found =
          fst_.HasChild(node, edge)
              ? HasKeyFrom(fst_.NodeAt(fst_.Child(node, edge)), depth + 1, lo)
              : LeafMayReach(fst_.Leaf(node, edge), depth + 1, lo);
      if (found) return true;
      if (!fst_.Next(node, &edge)) return false;
    }
    if (edge.label != hi_label) return edge.label < hi_label;
    return fst_.HasChild(node, edge)
               ? HasKeyUpTo(fst_.NodeAt(fst_.Child(node, edge)), depth + 1, hi,
                            hi_inclusive)
               : LeafMayStayWithin(fst_.Leaf(node, edge), depth + 1, hi,
                                   hi_inclusive);
  }
  return true;
}

bool Surf::KeyMayMatch(const Slice& key) const { return HasKey(key); }

bool Surf::RangeMayMatch(const Slice& lo, const Slice& hi,
                         bool hi_inclusive) const {
  return HasKeyBetween(lo, hi, hi_inclusive);
}

bool Surf::Iterator::Seek(const Slice& target) {
  it_.Seek(target);
  if (!it_.IsPrefixOfTarget()) return false;
  const uint64_t wanted = surf_->suffix_.Real(target, it_.path().size());
  const uint64_t stored = real_suffix();
  const bool same = stored == wanted &&
                    !surf_->suffix_.RealIsWhole(target, it_.path().size());
  if (stored < wanted) it_.Next();
  return same;
}

uint64_t Surf::Iterator::real_suffix() const {
  return surf_->suffix_.RealOfValue(surf_->values_.Get(it_.leaf()));
}

Surf::CountResult Surf::Count(const Slice& lo, const Slice& hi) const {
  CountResult result;
  if (lo.compare(hi) > 0) return result;
  Iterator low(this);
  Iterator high(this);
  result.low_ambiguous = low.Seek(lo);
  high.Seek(hi);
  // The key where `high` stands is counted if it is hi, or may be: if nothing
  // that is stored of it says that it lies above.
  if (high.Valid() && hi.starts_with(high.key_prefix())) {
    result.high_ambiguous =
        !high.IsWholeKey() &&
        high.real_suffix() == suffix_.Real(hi, high.key_prefix().size());
    if (high.IsWholeKey() || result.high_ambiguous) high.Next();
  }
  result.count = FstIterator::CountBetween(low.it_, high.it_);
  return result;
}

void SurfBuilder::AddKey(const Slice& key) {
  size_t shared = 0;
  if (has_last_) {
    shared = SharedPrefix(key.data(), last_.data(),
                          std::min(key.size(), last_.size()));
    AddLast(shared, true);
  }
  last_.assign(key.data(), key.size());
  last_shared_ = shared;
  has_last_ = true;
}

void SurfBuilder::AddLast(size_t shared_with_next, bool has_next) {
  const Slice key(last_);
  // One byte past what it shares with its neighbours. The only key that ends
  // before that is a prefix of the next one, or the empty key alone.
  size_t depth = std::max(last_shared_, shared_with_next) + 1;
  if (!has_next && key.empty()) depth = 0;
  const uint32_t level = fst_.Add(key, last_shared_, depth);
  if (suffix_.bits() == 0) return;
  if (values_.size() <= level) values_.resize(level + 1);
  values_[level].Append(suffix_.Value(key, std::min(depth, key.size())),
                        suffix_.bits());
}

Status SurfBuilder::Finish(std::string* out) {
  if (has_last_) AddLast(0, false);
  out->push_back(static_cast<char>(suffix_.hash_bits));
  out->push_back(static_cast<char>(suffix_.real_bits));
  out->append(kSuffixHeaderSize - 2, '\0');
  if (!fst_.Finish(out)) {
    return Status::NotSupported("SuRF: too many keys for one file");
  }
  BitBuffer values;
  for (const BitBuffer& level : values_) values.Append(level);
  values.SerializeTo(out);
  return Status::OK();
}

size_t SurfBuilder::MemoryUsage() const {
  size_t bytes = fst_.MemoryUsage() + values_.capacity() * sizeof(BitBuffer) +
                 last_.capacity();
  for (const BitBuffer& level : values_) bytes += level.MemoryUsage();
  return bytes;
}

}  // namespace ROCKSDB_NAMESPACE::protean
