// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/surf/surf.h"

#include <algorithm>

#include "filter_policy/filter_block.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {
constexpr size_t kSuffixHeaderSize = 8;
// Marks a trie of digits in the byte of the hash bits, where a version without
// such tries finds too many of them.
constexpr uint8_t kCoded = 0x80;
}  // namespace

Status Surf::Open(const Slice& payload, const FilterSalt& salt,
                  std::unique_ptr<RangeFilter>* filter) {
  std::unique_ptr<Surf> surf(new Surf);
  Slice input = payload;
  const char* header;
  if (!TakeBytes(&input, kSuffixHeaderSize, &header)) {
    return Status::Corruption("SuRF: header is cut short");
  }
  surf->salt_ = salt;
  surf->is_coded_ = (static_cast<uint8_t>(header[0]) & kCoded) != 0;
  SurfSuffix& suffix = surf->suffix_;
  suffix.hash_bits = static_cast<uint8_t>(header[0]) & ~kCoded;
  suffix.real_bits = static_cast<uint8_t>(header[1]);
  suffix.prefix_bits = static_cast<uint8_t>(header[2]);
  if (suffix.prefix_bits > 0) {
    suffix.prefix_step = static_cast<uint8_t>(header[3]);
  }
  if (suffix.hash_bits > SurfSuffix::kMaxHashBits ||
      suffix.real_bits > SurfSuffix::kMaxRealBits ||
      suffix.prefix_bits > SurfSuffix::kMaxPrefixBits) {
    return Status::Corruption("SuRF: too many suffix bits");
  }
  if (suffix.prefix_step == 0 ||
      PrefixReach(suffix.prefix_bits, suffix.prefix_step) > kMaxPrefixReach) {
    return Status::Corruption("SuRF: prefix bits have a wrong step");
  }
  if (surf->is_coded_ &&
      ((suffix.real_bits > 0 && suffix.real_bits != CodedKey::kDigitBits) ||
       !surf->code_.Open(&input))) {
    return Status::Corruption("SuRF: code of keys is damaged");
  }
  Status s = surf->fst_.Open(&input);
  if (!s.ok()) return s;
  // A trie of digits has nodes, of which the search does not ask.
  if (surf->is_coded_ &&
      (surf->fst_.num_nodes() == 0 || !surf->fst_.HoldsDigits())) {
    return Status::Corruption("SuRF: trie is none of digits");
  }
  if (surf->fst_.values().bits() != suffix.bits() || !input.empty()) {
    return Status::Corruption("SuRF: suffixes have the wrong length");
  }
  *filter = std::move(surf);
  return Status::OK();
}

namespace {

constexpr size_t kMaxBatch = 32;  // as large as RocksDB's

// Searches in a trie. A Key is a Slice or, if the trie is one of digits, a
// CodedKey.
template <typename Key>
class Search {
 public:
  explicit Search(const Surf& surf) : surf_(surf), fst_(surf.fst()) {}

  bool HasKey(const Key& key) const {
    Fst::Node node = fst_.Root();
    size_t depth = 0;
    bool found;
    while (StepDown(key, &node, &depth, &found)) {
    }
    return found;
  }

  // All lookups go down together, a level at a time, so that the cache misses
  // of a level overlap.
  void HaveKeys(size_t num_keys, const Key* const* keys, bool* found) const {
    Fst::Node nodes[kMaxBatch];
    size_t depths[kMaxBatch];
    size_t active[kMaxBatch];
    for (size_t i = 0; i < num_keys; i++) {
      nodes[i] = fst_.Root();
      depths[i] = 0;
      active[i] = i;
    }
    for (size_t left = num_keys; left > 0;) {
      size_t remaining = 0;
      for (size_t j = 0; j < left; j++) {
        const size_t i = active[j];
        const Key& key = *keys[i];
        if (!StepDown(key, &nodes[i], &depths[i], &found[i])) continue;
        if (depths[i] < key.size()) {
          fst_.Prefetch(nodes[i], fst_.SymbolAt(key, depths[i]));
        }
        active[remaining++] = i;
      }
      left = remaining;
    }
  }

  bool HasKeyBetween(const Key& lo, const Key& hi, bool hi_inclusive) const {
    // Where the search for keys from lo on, and up to hi, goes on.
    Branch low;
    Branch high;
    Fst::Node node = fst_.Root();
    size_t depth = 0;
    for (uint32_t level = 0;; level++) {
      if (level == fst_.height()) return true;  // the trie is damaged
      // The path so far is a prefix of both bounds. The run may put all keys
      // below on one side of a bound.
      const size_t above_run = depth;
      size_t hi_depth = depth;
      const int run_to_lo = fst_.CompareRun(node, lo, &depth);
      const int run_to_hi = fst_.CompareRun(node, hi, &hi_depth);
      if (run_to_lo < 0 || run_to_hi > 0) return false;
      if (run_to_lo > 0 && run_to_hi < 0) return true;
      // If lo ends here, all keys below are at least lo; hi cannot end before
      // lo does.
      if (run_to_lo > 0 || (run_to_hi == 0 && depth == lo.size())) {
        high = {Branch::kNode, node, {}, above_run};
        break;
      }
      if (run_to_hi < 0) {
        low = {Branch::kNode, node, {}, above_run};
        break;
      }
      const int lo_symbol = fst_.SymbolAt(lo, depth);
      Fst::Edge edge;
      if (lo[depth] == hi[depth]) {
        if (!fst_.Find(node, lo_symbol, &edge)) return false;
        depth++;
        if (!fst_.Follow(node, edge, &node)) {
          return surf_.LeafOf(node, edge)
              .MayLieBetween(surf_.AtLeaf(lo, depth), surf_.AtLeaf(hi, depth),
                             hi_inclusive);
        }
        continue;
      }

      // The bounds differ here. Keys between them are in the range; keys on the
      // path of one bound must be compared with that bound only.
      const int hi_symbol = fst_.SymbolAt(hi, depth);
      depth++;
      if (!fst_.LowerBound(node, lo_symbol, &edge)) return false;
      if (edge.Symbol() == lo_symbol) {
        low = {Branch::kEdge, node, edge, depth};
        if (!fst_.Next(node, &edge)) break;
      }
      if (edge.Symbol() < hi_symbol) return true;
      if (edge.Symbol() == hi_symbol) high = {Branch::kEdge, node, edge, depth};
      break;
    }
    return (low.from != Branch::kNothing && HasKeyFrom<true>(low, lo)) ||
           (high.from != Branch::kNothing &&
            HasKeyFrom<false>(high, hi, hi_inclusive));
  }

 private:
  // Keys whose paths begin with the first `depth` bytes of a bound: all below a
  // node, whose run is not part of that path, or at an edge of it.
  struct Branch {
    enum From { kNothing, kNode, kEdge };
    From from = kNothing;
    Fst::Node node;
    Fst::Edge edge;
    size_t depth = 0;
  };

  // Goes one level down from `*node`, whose path, without its run, is the first
  // `*depth` bytes of `key`. Returns false if that decides the lookup; the
  // answer is then in `*found`.
  bool StepDown(const Key& key, Fst::Node* node, size_t* depth,
                bool* found) const {
    *found = false;
    if (fst_.CompareRun(*node, key, depth) != 0) return false;
    if (*depth == key.size()) {
      // A terminator stands for exactly this key, so its suffix adds nothing.
      *found = fst_.HasTerminator(*node);
      return false;
    }
    Fst::Edge edge;
    if (!fst_.Find(*node, fst_.SymbolAt(key, (*depth)++), &edge)) return false;
    Fst::Node child;
    if (fst_.Follow(*node, edge, &child)) {
      *node = child;
      return true;
    }
    const SurfSuffix& suffix = surf_.suffix();
    *found = suffix.bits() == 0 ||
             SurfLeaf(suffix, surf_.salt(),
                      fst_.values().Get(fst_.Leaf(*node, edge)))
                 .MayBeKey(surf_.AtLeaf(key, *depth));
    return false;
  }

  // Returns true if a branch may have a key at or above its bound (kUpwards),
  // or within an upper bound. Only the outermost edge of each node matters.
  template <bool kUpwards>
  bool HasKeyFrom(const Branch& branch, const Key& bound,
                  bool inclusive = true) const {
    Fst::Node node = branch.node;
    Fst::Edge edge = branch.edge;
    size_t depth = branch.depth;
    bool at_edge = branch.from == Branch::kEdge;
    // A node and its edges, and then the leaves of the last level.
    for (uint32_t level = 0; level <= fst_.height(); level++) {
      if (at_edge && !fst_.Follow(node, edge, &node)) {
        const SurfLeaf leaf = surf_.LeafOf(node, edge);
        const LeafBound at = surf_.AtLeaf(bound, depth);
        return kUpwards ? leaf.MayReach(at) : leaf.MayStayWithin(at, inclusive);
      }
      at_edge = true;
      const int run = fst_.CompareRun(node, bound, &depth);
      if (run != 0) return (run > 0) == kUpwards;
      if (kUpwards && depth == bound.size()) return true;
      if (!(kUpwards ? fst_.Last(node, &edge) : fst_.First(node, &edge))) {
        return true;
      }
      if (!kUpwards) {
        if (edge.is_terminator) return depth < bound.size() || inclusive;
        if (depth == bound.size()) return false;
      }
      const int wanted = fst_.SymbolAt(bound, depth++);
      if (edge.Symbol() != wanted) return (edge.Symbol() > wanted) == kUpwards;
    }
    return true;
  }

  const Surf& surf_;
  const Fst& fst_;
};

// The cloned functions are called from virtual ones, since a clone cannot be
// virtual.

PROTEAN_CLONED bool HasKey(const Surf& surf, const Slice& key) {
  return Search<Slice>(surf).HasKey(key);
}

PROTEAN_CLONED bool HasCodedKey(const Surf& surf, const Slice& key) {
  CodedKey coded;
  surf.code().Encode(key, &coded);
  return Search<CodedKey>(surf).HasKey(coded);
}

PROTEAN_CLONED void HaveKeys(const Surf& surf, size_t num_keys, Slice** keys,
                             bool* found) {
  Search<Slice>(surf).HaveKeys(num_keys, keys, found);
}

PROTEAN_CLONED void HaveCodedKeys(const Surf& surf, size_t num_keys,
                                  Slice** keys, bool* found) {
  CodedKey coded[kMaxBatch];
  const CodedKey* pointers[kMaxBatch];
  for (size_t i = 0; i < num_keys; i++) {
    surf.code().Encode(*keys[i], &coded[i]);
    pointers[i] = &coded[i];
  }
  Search<CodedKey>(surf).HaveKeys(num_keys, pointers, found);
}

PROTEAN_CLONED bool HasKeyBetween(const Surf& surf, const Slice& lo,
                                  const SurfUpperBound& end) {
  return Search<Slice>(surf).HasKeyBetween(lo, end.hi, end.inclusive);
}

PROTEAN_CLONED bool HasCodedKeyBetween(const Surf& surf, const Slice& lo,
                                       const SurfUpperBound& end) {
  CodedKey coded_lo;
  CodedKey coded_hi;
  surf.code().Encode(lo, end.hi, &coded_lo, &coded_hi);
  return Search<CodedKey>(surf).HasKeyBetween(coded_lo, coded_hi,
                                              end.inclusive);
}

}  // namespace

FilterReport Surf::Report() const {
  FilterReport report;
  report.design = suffix_.Describe() + " (" + (is_coded_ ? "digits, " : "") +
                  fst_.Describe() + ")";
  return report;
}

bool Surf::KeyMayMatch(const Slice& key) const {
  // A trie of digits has nodes.
  if (is_coded_) return HasCodedKey(*this, key);
  return fst_.num_nodes() == 0 ? fst_.num_leaves() > 0 && key.empty()
                               : HasKey(*this, key);
}

void Surf::KeysMayMatch(size_t num_keys, Slice** keys, bool* may_match) const {
  if (fst_.num_nodes() == 0) {
    return RangeFilter::KeysMayMatch(num_keys, keys, may_match);
  }
  const auto have_keys = is_coded_ ? HaveCodedKeys : HaveKeys;
  for (size_t i = 0; i < num_keys; i += kMaxBatch) {
    have_keys(*this, std::min(num_keys - i, kMaxBatch), keys + i,
              may_match + i);
  }
}

bool Surf::RangeMayMatch(const Slice& lo, const Slice& hi,
                         bool hi_inclusive) const {
  const SurfUpperBound end(hi, hi_inclusive);
  const int order = lo.compare(end.hi);
  if (order > 0 || (order == 0 && !end.inclusive)) return false;
  if (is_coded_) return HasCodedKeyBetween(*this, lo, end);
  return fst_.num_nodes() == 0 ? fst_.num_leaves() > 0 && lo.empty()
                               : HasKeyBetween(*this, lo, end);
}

Slice Surf::Iterator::key_prefix() const {
  if (!surf_->is_coded_) return path();
  surf_->code_.Decode(path(), Slice(), /*to_first=*/false, &key_prefix_);
  return key_prefix_;
}

bool Surf::Iterator::Seek(const Slice& target) {
  const auto seek = [this](const auto& key) {
    FstIterator::Seek(key);
    if (!IsPrefixOfTarget()) return false;
    const SurfLeaf found = surf_->LeafOf(leaf());
    const LeafBound bound = surf_->AtLeaf(key, prefix_length());
    if (found.MayReach(bound)) return found.MayBeBelow(bound);
    Next();
    return false;
  };
  if (!surf_->is_coded_) return seek(target);
  CodedKey coded;
  surf_->code_.Encode(target, &coded);
  return seek(coded);
}

bool Surf::LowerBound(const Slice& target, std::string* bound) const {
  Iterator it(this);
  if (it.Seek(target)) {
    bound->assign(target.data(), target.size());
    return true;
  }
  if (!it.Valid()) return false;
  if (is_coded_) {
    std::string digits = it.path().ToString();
    if (suffix_.real_bits > 0) {
      digits.push_back(static_cast<char>(it.real_suffix()));
    }
    code_.Decode(digits, target, /*to_first=*/true, bound);
    return true;
  }
  const Slice prefix = it.key_prefix();
  bound->assign(prefix.data(), prefix.size());
  if (!it.IsWholeKey()) suffix_.AppendReal(it.real_suffix(), bound);
  return true;
}

uint64_t Surf::Iterator::real_suffix() const {
  if (surf_->suffix_.real_bits == 0) return 0;
  return surf_->suffix_.RealOfValue(surf_->fst_.values().Get(leaf()));
}

SurfBuilder::SurfBuilder(const SurfSuffix& suffix, const FstOptions& options,
                         const FilterTask& task)
    : RangeFilterBuilder(task),
      suffix_(suffix),
      drafts_(suffix.prefix_bits),
      step_(suffix.prefix_bits),
      fst_(suffix.bits(), Allowed(suffix, options),
           {suffix.hash_bits + suffix.real_bits, drafts_.bits(),
            suffix.prefix_bits > 0 ? CodedKey::kDigitBits : 0}) {}

template <bool kIsLast>
inline void SurfBuilder::AddToTrie(const Slice& key, size_t shared,
                                   size_t next_shared) {
  key_bytes_ += key.size();
  const size_t depth = Depth(key, shared, next_shared);
  const uint64_t value =
      suffix_.WithoutPrefix(key, suffix_.Real(key, depth), salt());
  const uint64_t draft =
      suffix_.prefix_bits == 0 ? 0 : drafts_.Of(key, depth, salt());
  if (kIsLast) {
    fst_.AddLast(key, shared, value, draft);
  } else {
    fst_.Add(key, shared, next_shared, value, draft);
  }
  if (suffix_.prefix_bits > 0) step_.Add(key.size(), shared, next_shared);
}

void SurfBuilder::Add(const Slice& key, size_t shared, size_t next_shared) {
  AddToTrie</*kIsLast=*/false>(key, shared, next_shared);
}

void SurfBuilder::AddLast(const Slice& key, size_t shared) {
  AddToTrie</*kIsLast=*/true>(key, shared, /*next_shared=*/0);
}

Status SurfBuilder::PlanTrie(uint64_t* size) {
  if (!fst_.Prepare(size)) {
    return Status::NotSupported("SuRF: too many keys for one file");
  }
  if (fst_.UsesDigits() && suffix_.prefix_bits > 0) {
    suffix_.real_bits = CodedKey::kDigitBits;
  }
  suffix_.prefix_step = step_.Step();
  *size += kSuffixHeaderSize;
  return Status::OK();
}

uint64_t SurfBuilder::MaxSize() const {
  return FilterDirectory::kUnitOverhead + FilterDirectory::kMaxEntrySize +
         first_key().size() +
         std::min(kSuffixHeaderSize + fst_.MaxSize(last_key()),
                  AllowedSize(key_bytes_ + last_key().size()));
}

Status SurfBuilder::Plan(const KeysEnd& /*end*/,
                         std::vector<PlannedPart>* parts) {
  uint64_t size = 0;
  const Status s = PlanTrie(&size);
  if (!s.ok()) return s;
  if (size > AllowedSize(key_bytes_)) {
    return Status::NotSupported(
        "SuRF: it would take " + std::to_string(size / num_keys()) +
        " bytes per key, for keys of " +
        std::to_string(key_bytes_ / num_keys()) +
        " bytes that differ late; allowed: " + std::to_string(kMaxBytesPerKey) +
        ", or a third of the keys");
  }
  parts->resize(1);
  parts->front().num_keys = num_keys();
  parts->front().payload_size = size;
  return Status::OK();
}

void SurfBuilder::Write(size_t /*part*/, char* payload) {
  payload[0] =
      static_cast<char>(suffix_.hash_bits | (fst_.UsesDigits() ? kCoded : 0u));
  payload[1] = static_cast<char>(suffix_.real_bits);
  char* const trie = payload + kSuffixHeaderSize;
  if (suffix_.prefix_bits == 0) {
    fst_.Write(trie);
    return;
  }
  payload[2] = static_cast<char>(suffix_.prefix_bits);
  payload[3] = static_cast<char>(suffix_.prefix_step);
  const PrefixBitDrafts::Places places = drafts_.PlacesOf(suffix_.prefix_step);
  fst_.Write(trie, [&](uint64_t value, uint64_t draft, uint64_t digit) {
    return suffix_.WithPrefix(value | digit << suffix_.hash_bits,
                              drafts_.Choose(draft, places));
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
