#include "tests/fuzz/fuzz_targets.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/proteus/key_bits.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

void Check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "violated: %s\n", what);
  abort();
}

// Reads small pieces off the input.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  uint32_t Byte() {
    if (size_ == 0) return 0;
    size_--;
    return *data_++;
  }
  // A length byte and that many bytes, or fewer at the end.
  std::string String() {
    const size_t length = std::min<size_t>(Byte(), size_);
    std::string result(reinterpret_cast<const char*>(data_), length);
    data_ += length;
    size_ -= length;
    return result;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

void CheckLowerBound(const FilterBlock& block,
                     const std::set<std::string>& keys,
                     const std::string& target) {
  const auto first = keys.lower_bound(target);
  std::string bound;
  if (block.LowerBound(target, &bound)) {
    Check(bound >= target && (first == keys.end() || bound <= *first),
          "no key is skipped");
  } else {
    Check(first == keys.end(), "a key is not overlooked");
  }
}

// Every kind of query about every pair of strings.
void AskEverything(const FilterBlock& block,
                   const std::vector<std::string>& strings) {
  const auto* surf = block.header().kind == kSurfKind
                         ? static_cast<const Surf*>(block.filter())
                         : nullptr;
  for (const std::string& lo : strings) {
    block.KeyMayMatch(lo);
    block.PrefixMayMatch(lo);
    block.HasKeyAtOrAbove(lo);
    std::string bound;
    block.LowerBound(lo, &bound);
    for (const std::string& hi : strings) {
      block.RangeMayMatch(lo, hi, false);
      block.RangeMayMatch(lo, hi, true);
      RangeCount count;
      block.CountRange(lo, hi, true, &count);
    }
    if (surf == nullptr) continue;
    Surf::Iterator it(surf);
    it.Seek(lo);
    for (int step = 0; step < 8 && it.Valid(); step++) {
      it.real_suffix();
      step % 3 == 2 ? it.Prev() : it.Next();
    }
    it.SeekToLast();
    for (int step = 0; step < 4 && it.Valid(); step++) it.Prev();
  }
}

}  // namespace

void FuzzOpen(const uint8_t* data, size_t size) {
  if (size < kCheckedOffset) return;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  bytes.replace(0, 5, std::string("PRTN\x01", 5));
  bytes = WithRightChecksum(std::move(bytes));
  const ExactCopy copy(bytes);
  const FilterBlock block(copy.slice());
  const std::string tail = bytes.substr(bytes.size() - size / 4);
  const std::string part = bytes.substr(size / 2, 8);
  AskEverything(block, {"", "a", tail, tail.substr(tail.size() / 2), part,
                        std::string(3, '\xff')});
}

void FuzzDesign(const uint8_t* data, size_t size) {
  Input input(data, size);
  // Two bytes, so that prefixes longer than any key occur.
  auto bits = [&input] { return input.Byte() + 256 * (input.Byte() % 3); };
  const uint8_t flags = input.Byte();
  const uint32_t first = bits();
  ProteusDesign design;
  design.amq = (flags & 1) != 0 ? kRibbonAmq : kBloomAmq;
  if ((flags & 2) != 0) design.prefix_bits = first + 1 + bits();
  if ((flags & 4) == 0 || design.prefix_bits == 0) {
    design.trie_bits = first;
    const uint32_t lead = input.Byte() % 8;
    if (first > 0 && first + lead <= 64) design.trie_lead = lead;
  } else if (first > 0) {
    design.first_prefix_bits = first;
    design.first_share = input.Byte() / 255.0;
  }
  if ((flags & 8) != 0 && design.prefix_bits > 0) {
    design.prefix_bits = BytesForBits(design.prefix_bits) * 8;
    design.stride_bits = 8 * (1 + input.Byte() % 16);
  }
  ProteusSettings settings;
  settings.bits_per_key = 1 + input.Byte();
  // Else the design is chosen, after the queries.
  if ((flags & 16) == 0) settings.forced = design;
  settings.space = static_cast<DesignSpace>(flags >> 5 & 1);
  if ((flags & 64) != 0) settings.space = DesignSpace::kProteus;
  std::vector<std::string> queries = {""};
  const uint32_t num_queries = input.Byte() % 12;
  while (queries.size() < num_queries) queries.push_back(input.String());
  std::set<std::string> keys;
  while (!input.empty()) keys.insert(input.String());

  std::vector<SampleQuery> samples;
  for (const std::string& lo : queries) {
    for (const std::string& hi : queries) {
      samples.push_back({lo, hi, samples.size() % 2 == 0});
    }
  }
  const std::string bytes = BuildProteusBlock(
      std::vector<std::string>(keys.begin(), keys.end()), settings, samples);
  Check(!bytes.empty(), "the filter can be built");
  const ExactCopy copy(bytes);
  const FilterBlock block(copy.slice());
  Check(block.status().ok(), "what was built can be opened");
  for (const std::string& key : keys) {
    Check(block.KeyMayMatch(key), "a key is found");
    Check(block.RangeMayMatch(key, key, true), "a range of one key is found");
    Check(block.RangeMayMatch("", key + '\0', false), "the key is before");
    Check(block.PrefixMayMatch(key.substr(0, key.size() / 2)),
          "a prefix is found");
  }
  for (const std::string& lo : queries) {
    CheckLowerBound(block, keys, lo);
    for (const std::string& hi : queries) {
      if (hi < lo) continue;
      const auto first_key = keys.lower_bound(lo);
      Check(first_key == keys.upper_bound(hi) ||
                block.RangeMayMatch(lo, hi, true),
            "a closed range is found");
      Check(first_key == keys.lower_bound(hi) ||
                block.RangeMayMatch(lo, hi, false),
            "a half-open range is found");
    }
  }
}

void FuzzBuild(const uint8_t* data, size_t size) {
  Input input(data, size);
  SurfSuffix suffix;
  suffix.hash_bits = input.Byte() % (SurfSuffix::kMaxHashBits + 1);
  suffix.real_bits = input.Byte() % (SurfSuffix::kMaxRealBits + 1);
  FstOptions options;
  const uint8_t flags = input.Byte();
  options.reduce_alphabet = (flags & 1) != 0;
  options.list_exceptions = (flags & 2) != 0;
  options.runs = (flags & 4) != 0;
  for (int i = flags >> 5; i > 0; i--) {
    options.forced.push_back(input.Byte() % 9);
  }
  SurfBuilder builder(suffix, options);
  std::vector<std::string> queries;
  const uint32_t num_queries = input.Byte() % 8;
  while (queries.size() < num_queries) queries.push_back(input.String());
  std::set<std::string> keys;
  while (!input.empty()) keys.insert(input.String());
  for (const std::string& key : keys) builder.AddKey(key);

  std::string bytes;
  Check(FinishBlock(kSurfKind, &builder, &bytes), "the filter can be built");
  const ExactCopy copy(bytes);
  const FilterBlock block(copy.slice());
  Check(block.status().ok(), "what was built can be opened");
  const auto& surf = static_cast<const Surf&>(*block.filter());

  for (const std::string& key : keys) {
    Check(block.KeyMayMatch(key), "a key is found");
    Check(block.RangeMayMatch(key, key, true), "a range of one key is found");
    Check(block.PrefixMayMatch(key.substr(0, key.size() / 2)),
          "a prefix is found");
    Check(block.HasKeyAtOrAbove(key) || key.size() > 64,
          "the largest key is known");
  }
  queries.push_back("");
  for (const std::string& lo : queries) {
    CheckLowerBound(block, keys, lo);
    for (const std::string& hi : queries) {
      if (hi < lo) continue;
      const auto first = keys.lower_bound(lo);
      const auto end = keys.upper_bound(hi);
      const auto exclusive_end = keys.lower_bound(hi);
      Check(first == end || block.RangeMayMatch(lo, hi, true),
            "a closed range is found");
      Check(first == exclusive_end || block.RangeMayMatch(lo, hi, false),
            "a half-open range is found");
      const auto count = static_cast<uint64_t>(std::distance(first, end));
      const RangeCount counted = surf.Count(lo, hi);
      Check(counted.count >= count, "no key is left out of a count");
      Check(counted.count <=
                count + counted.low_ambiguous + counted.high_ambiguous,
            "a count is exact but for its ends");
    }
  }
  Surf::Iterator it(&surf);
  it.SeekToFirst();
  for (const std::string& key : keys) {
    Check(it.Valid() && Slice(key).starts_with(it.key_prefix()),
          "the iterator visits all keys");
    it.Next();
  }
  Check(!it.Valid(), "the iterator ends");
}

}  // namespace ROCKSDB_NAMESPACE::protean
