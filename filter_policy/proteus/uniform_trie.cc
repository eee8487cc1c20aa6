// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/uniform_trie.h"

#include <algorithm>

#include "filter_policy/bits/bit_array.h"
#include "filter_policy/proteus/prefix_hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kHeaderSize = 8;
// The bits of one number of a suffix.
constexpr unsigned kPieceBits = 56;

uint64_t TableBytes(size_t levels) { return (4 * levels + 7) / 8 * 8; }

// The suffix bits of a leaf on a level.
uint32_t SuffixWidth(uint32_t prefix_bits, size_t level) {
  const uint64_t stored = 8 * (level + 1);
  return prefix_bits > stored ? static_cast<uint32_t>(prefix_bits - stored) : 0;
}

FstOptions OptionsOfTries() {
  FstOptions options;
  options.digits = FstOptions::kNever;
  options.runs = false;
  return options;
}

// Calls visit(piece, width) for the numbers that store the bits of a prefix
// after its first `depth` bytes, until it returns false.
template <typename Visitor>
void VisitPieces(const char* prefix, size_t prefix_bytes, size_t depth,
                 uint32_t width, const Visitor& visit) {
  while (width > 0) {
    const unsigned bits = std::min(width, kPieceBits);
    const uint64_t word = LoadBits64(prefix, prefix_bytes, depth);
    if (!visit(word >> (64 - bits), bits)) return;
    width -= bits;
    depth += kPieceBits / 8;
  }
}

}  // namespace

Status UniformTrie::Open(Slice* input, uint32_t lead) {
  const char* header;
  const char* table;
  if (!TakeBytes(input, kHeaderSize, &header)) {
    return Status::Corruption("uniform trie: header is cut short");
  }
  prefix_bits_ = DecodeFixed32(header);
  prefix_bytes_ = BytesForBits(prefix_bits_);
  const uint32_t num_levels = DecodeFixed32(header + 4);
  if (prefix_bits_ == 0 || num_levels > prefix_bytes_ ||
      !TakeBytes(input, TableBytes(num_levels), &table)) {
    return Status::Corruption("uniform trie: levels are damaged");
  }
  const Status s = fst_.Open(input);
  if (!s.ok()) return s;
  if (fst_.height() != num_levels || fst_.values().bits() != 0 ||
      fst_.num_nodes() == 0) {
    return Status::Corruption("uniform trie: levels do not add up");
  }
  levels_.resize(num_levels);
  for (uint32_t i = 0; i < num_levels; i++) {
    const uint32_t first = DecodeFixed32(table + 4 * i);
    const uint32_t next = i + 1 < num_levels ? DecodeFixed32(table + 4 * i + 4)
                                             : fst_.num_leaves();
    if (first > next || (i == 0 && first != 0)) {
      return Status::Corruption("uniform trie: leaves do not add up");
    }
    levels_[i].first_leaf = first;
    levels_[i].width = SuffixWidth(prefix_bits_, i);
    levels_[i].first_bit = suffix_bits_;
    suffix_bits_ += uint64_t{next - first} * levels_[i].width;
  }
  if (!TakeBytes(input, BitArrayBytes(suffix_bits_), &suffixes_)) {
    return Status::Corruption("uniform trie: suffixes are cut short");
  }
  FindFullLevels(lead);
  return Status::OK();
}

void UniformTrie::FindFullLevels(uint32_t lead) {
  // Each byte must be its own code.
  if (fst_.alphabet().size() < 256) return;
  const std::vector<uint32_t> starts = fst_.LevelStarts();
  constexpr size_t kMaxLevels = 3;
  for (size_t i = 1; i < starts.size() && i <= kMaxLevels; i++) {
    const uint32_t end =
        i + 1 < starts.size() ? starts[i + 1] : fst_.num_nodes();
    if (end - starts[i] != uint32_t{1} << (8 * i - lead)) return;
    full_levels_ = i;
    first_below_ = starts[i];
  }
}

// Compares the suffix of a leaf, whose path is `depth` bytes long, with the
// bits of `prefix` after that many bytes.
inline int UniformTrie::CompareSuffix(uint32_t leaf, size_t depth,
                                      const char* prefix) const {
  uint64_t bit;
  if (!FindSuffix(leaf, depth, &bit)) return 0;
  int order = 0;
  VisitPieces(prefix, prefix_bytes_, depth, levels_[depth - 1].width,
              [&](uint64_t wanted, unsigned bits) {
                const uint64_t stored = GetBits(suffixes_, bit, bits);
                bit += bits;
                if (stored != wanted) order = stored < wanted ? -1 : 1;
                return order == 0;
              });
  return order;
}

// Copies the suffix of a leaf there.
void UniformTrie::CopySuffix(uint32_t leaf, size_t depth, char* prefix) const {
  uint64_t bit;
  if (!FindSuffix(leaf, depth, &bit)) return;
  char* out = prefix + depth;
  for (uint32_t left = levels_[depth - 1].width; left > 0;) {
    const unsigned bits = std::min(left, kPieceBits);
    const uint64_t piece = GetBits(suffixes_, bit, bits) << (64 - bits);
    for (unsigned i = 0; i < bits; i += 8) {
      *out++ = static_cast<char>(piece >> (56 - i));
    }
    bit += bits;
    left -= bits;
  }
}

bool UniformTrie::LowerBound(const char* prefix, char* next) const {
  FstIterator it(&fst_);
  it.Seek(Slice(prefix, levels_.size()));
  if (it.Valid() && it.IsPrefixOfTarget() && it.prefix_length() > 0 &&
      CompareSuffix(it.leaf(), it.prefix_length(), prefix) < 0) {
    it.Next();
  }
  if (!it.Valid()) return false;
  const Slice path = it.path();
  if (path.empty() || path.size() > levels_.size()) {
    // The trie is damaged.
    memcpy(next, prefix, prefix_bytes_);
    return true;
  }
  memset(next, 0, prefix_bytes_);
  memcpy(next, path.data(), path.size());
  CopySuffix(it.leaf(), path.size(), next);
  return true;
}

PROTEAN_CLONED bool UniformTrie::Contains(const char* prefix) const {
  Fst::Node node = Start(prefix);
  Fst::Edge edge;
  for (size_t depth = full_levels_; depth < levels_.size();) {
    if (!fst_.Find(node, Symbol(prefix, depth++), &edge)) return false;
    if (!fst_.Follow(node, edge, &node)) {
      return CompareSuffix(node, edge, depth, prefix) == 0;
    }
  }
  return true;
}

// All lookups go down together, a level at a time, so that the cache misses of
// a level overlap.
PROTEAN_CLONED void UniformTrie::ContainsEach(size_t count,
                                              const ShortPrefix* prefixes,
                                              bool* found) const {
  const size_t num_levels = levels_.size();
  Fst::Node nodes[kMaxBatch];
  size_t active[kMaxBatch];
  for (size_t i = 0; i < count; i++) {
    nodes[i] = Start(prefixes[i]);
    active[i] = i;
    found[i] = true;
    if (full_levels_ < num_levels) {
      fst_.Prefetch(nodes[i], Symbol(prefixes[i], full_levels_));
    }
  }
  for (size_t level = full_levels_; level < num_levels; level++) {
    size_t remaining = 0;
    for (size_t j = 0; j < count; j++) {
      const size_t i = active[j];
      const char* const prefix = prefixes[i];
      Fst::Edge edge;
      if (!fst_.Find(nodes[i], Symbol(prefix, level), &edge)) {
        found[i] = false;
      } else if (!fst_.Follow(nodes[i], edge, &nodes[i])) {
        found[i] = CompareSuffix(nodes[i], edge, level + 1, prefix) == 0;
      } else {
        if (level + 1 < num_levels) {
          fst_.Prefetch(nodes[i], Symbol(prefix, level + 1));
        }
        active[remaining++] = i;
      }
    }
    count = remaining;
  }
}

// Returns true if an edge of the node, whose path is the first `depth` bytes of
// `bound`, leads to a prefix above `bound` (below it, unless kAbove). If not,
// stores whether it leads to `bound` itself.
template <bool kAbove>
inline bool UniformTrie::FindBeyond(Fst::Node node, Fst::Edge edge,
                                    size_t depth, const char* bound,
                                    bool* found) const {
  while (true) {
    if (!fst_.Follow(node, edge, &node)) {
      const int order = CompareSuffix(node, edge, depth, bound);
      *found = order == 0;
      return kAbove ? order > 0 : order < 0;
    }
    if (depth == levels_.size()) break;
    const int wanted = Symbol(bound, depth++);
    // The outermost edge decides.
    if (!(kAbove ? fst_.Last(node, &edge) : fst_.First(node, &edge))) {
      return true;
    }
    if (edge.Symbol() != wanted) return (edge.Symbol() > wanted) == kAbove;
  }
  *found = true;
  return false;
}

PROTEAN_CLONED UniformTrie::Matches UniformTrie::Find(const char* lo,
                                                      const char* hi) const {
  Matches matches;
  Fst::Node node = fst_.Root();
  Fst::Edge edge;
  size_t depth = 0;
  if (memcmp(lo, hi, full_levels_) == 0) {
    node = Start(lo);
    depth = full_levels_;
  }
  while (depth < levels_.size() && lo[depth] == hi[depth]) {
    if (!fst_.Find(node, Symbol(lo, depth++), &edge)) return matches;
    if (!fst_.Follow(node, edge, &node)) {
      const int to_lo = CompareSuffix(node, edge, depth, lo);
      const int to_hi = CompareSuffix(node, edge, depth, hi);
      matches.lo = to_lo == 0;
      matches.hi = to_hi == 0;
      matches.between = to_lo > 0 && to_hi < 0;
      return matches;
    }
  }
  if (depth == levels_.size()) {
    // The trie is damaged: the bounds differ, but there are no more levels.
    matches.between = true;
    return matches;
  }

  // The bounds differ here.
  const int lo_symbol = Symbol(lo, depth);
  const int hi_symbol = Symbol(hi, depth);
  depth++;
  if (!fst_.LowerBound(node, lo_symbol, &edge)) return matches;
  if (edge.Symbol() == lo_symbol) {
    matches.between = FindBeyond<true>(node, edge, depth, lo, &matches.lo);
    if (matches.between || !fst_.Next(node, &edge)) return matches;
  }
  if (edge.Symbol() < hi_symbol) {
    matches.between = true;
  } else if (edge.Symbol() == hi_symbol) {
    matches.between = FindBeyond<false>(node, edge, depth, hi, &matches.hi);
  }
  return matches;
}

UniformTrieBuilder::UniformTrieBuilder(uint32_t prefix_bits)
    : prefix_bits_(prefix_bits),
      prefix_bytes_(BytesForBits(prefix_bits)),
      fst_(/*value_bits=*/0, OptionsOfTries()) {}

inline void UniformTrieBuilder::Level::Append(uint64_t value, unsigned count) {
  const unsigned used = bits % 64;
  if (used == 0) words.push_back(0);
  words.back() |= value << used;
  if (used + count > 64) words.push_back(value >> (64 - used));
  bits += count;
}

void UniformTrieBuilder::AddLevels(size_t height) {
  for (; height_ < height; height_++) {
    levels_.push_back({SuffixWidth(prefix_bits_, height_), 0, 0, {}});
  }
}

inline void UniformTrieBuilder::AddSuffix(const char* prefix, size_t depth) {
  if (height_ < depth) AddLevels(depth);
  Level& level = levels_[depth - 1];
  level.leaves++;
  VisitPieces(prefix, prefix_bytes_, depth, level.width,
              [&level](uint64_t piece, unsigned bits) {
                level.Append(piece, bits);
                return true;
              });
}

void UniformTrieBuilder::Add(const char* prefix, size_t shared,
                             size_t next_shared) {
  fst_.Add(Slice(prefix, prefix_bytes_), shared, next_shared, 0);
  AddSuffix(prefix, std::max(shared, next_shared) + 1);
}

void UniformTrieBuilder::AddLast(const char* prefix, size_t shared) {
  fst_.AddLast(Slice(prefix, prefix_bytes_), shared, 0);
  AddSuffix(prefix, shared + 1);
}

bool UniformTrieBuilder::Prepare(uint64_t* size) {
  if (!fst_.Prepare(&fst_size_)) return false;
  uint64_t bits = 0;
  for (const Level& level : levels_) bits += level.bits;
  *size = kHeaderSize + TableBytes(levels_.size()) + fst_size_ +
          BitArrayBytes(bits);
  return true;
}

void UniformTrieBuilder::Write(char* out) {
  EncodeFixed32(out, prefix_bits_);
  EncodeFixed32(out + 4, static_cast<uint32_t>(levels_.size()));
  out += kHeaderSize;
  uint32_t leaves = 0;
  for (size_t i = 0; i < levels_.size(); i++) {
    EncodeFixed32(out + 4 * i, leaves);
    leaves += levels_[i].leaves;
  }
  out += TableBytes(levels_.size());
  fst_.Write(out);
  out += fst_size_;
  BitWriter writer(out, 0);
  for (const Level& level : levels_) {
    for (uint64_t left = level.bits, i = 0; left > 0; i++) {
      const auto width = static_cast<unsigned>(std::min<uint64_t>(left, 64));
      writer.Write(level.words[i], width);
      left -= width;
    }
  }
}

size_t UniformTrieBuilder::MemoryUsage() const {
  size_t bytes = fst_.MemoryUsage() + levels_.capacity() * sizeof(Level);
  for (const Level& level : levels_) bytes += 8 * level.words.capacity();
  return bytes;
}

uint64_t EstimateUniformTrie(uint32_t prefix_bits,
                             const std::vector<FstLevelCounts>& levels,
                             unsigned code_bits) {
  uint64_t suffix_bits = 0;
  for (size_t i = 0; i < levels.size(); i++) {
    suffix_bits += uint64_t{levels[i].edges - levels[i].children} *
                   SuffixWidth(prefix_bits, i);
  }
  return kHeaderSize + TableBytes(levels.size()) + FstHeader::kSize +
         Alphabet::kSize + BitArrayBytes(suffix_bits) +
         EstimateSections(levels, code_bits, OptionsOfTries());
}

}  // namespace ROCKSDB_NAMESPACE::protean
