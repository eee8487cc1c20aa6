//  Opens filter blocks that may be damaged, and asks them.

#include <array>

#include "filter_policy/filter_block.h"
#include "filter_policy/surf/surf.h"
#include "tests/fuzz/block_mutator.h"
#include "tests/fuzz/block_seeds.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMostQueries = 8;

class Questions {
 public:
  explicit Questions(const FilterBlock& block) : block_(block) {}

  void AskKeys(std::vector<std::string>* keys) const {
    // Enough of them for a batch.
    std::array<Slice, 12> slices;
    std::array<Slice*, 12> pointers;
    std::array<bool, 12> answers;
    for (size_t i = 0; i < slices.size(); i++) {
      slices[i] = (*keys)[i % keys->size()];
      pointers[i] = &slices[i];
    }
    block_.KeysMayMatch(slices.size(), pointers.data(), answers.data());
    for (size_t i = 0; i < keys->size(); i++) {
      Check(answers[i] == block_.KeyMayMatch((*keys)[i]),
            "a key has one answer, alone or among others");
      block_.PrefixMayMatch((*keys)[i]);
      block_.HasKeyAtOrAbove((*keys)[i]);
      block_.HasKeyBelow((*keys)[i]);
      block_.MayHaveKeyAtOrAbove((*keys)[i]);
    }
  }

  void AskRange(const Slice& lo, const Slice& hi) const {
    for (const bool inclusive : {false, true}) {
      const bool may_match = block_.RangeMayMatch(lo, hi, inclusive);
      if (IsInverted(lo, hi, inclusive)) {
        Check(!may_match || !block_.CanFilter(),
              "a range that can hold nothing is empty");
      }
      RangeCount count;
      if (!block_.CountRange(lo, hi, inclusive, &count)) continue;
      Check(count.low_shared <= lo.size() && count.high_shared <= hi.size(),
            "a key shares no more with a bound than the bound has");
    }
  }

  // As a search goes from key to key. So some questions are about what is
  // stored, whatever that is.
  void Walk(const std::string& target) const {
    std::string at = target;
    std::string bound;
    for (int steps = 0; steps < 4; steps++) {
      if (!block_.LowerBound(at, &bound)) return;
      Check(bound >= at, "a search never goes back");
      block_.KeyMayMatch(bound);
      AskRange(at, bound);
      at = bound + '\0';
      AskRange(bound, at);
    }
  }

 private:
  static bool IsInverted(const Slice& lo, const Slice& hi, bool inclusive) {
    const int order = lo.compare(hi);
    return order > 0 || (order == 0 && !inclusive);
  }

  const FilterBlock& block_;
};

void Iterate(const Surf& surf, const std::string& target) {
  Surf::Iterator it(&surf);
  it.Seek(target);
  for (int step = 0; step < 6 && it.Valid(); step++) {
    it.key_prefix();
    it.real_suffix();
    step % 3 == 2 ? it.Prev() : it.Next();
  }
  it.SeekToLast();
  for (int step = 0; step < 3 && it.Valid(); step++) it.Prev();
}

void Open(const uint8_t* data, size_t size) {
  FuzzInput input(data, size);
  const Slice query_bytes = input.Bytes(input.Number16());
  const FilterBlock block(input.rest());
  if (!block.status().ok()) {
    Check(block.filter() == nullptr && block.KeyMayMatch("a") &&
              block.RangeMayMatch("a", "b", true),
          "a block that is refused lets all queries through");
    return;
  }
  FuzzInput query_input(reinterpret_cast<const uint8_t*>(query_bytes.data()),
                        query_bytes.size());
  std::vector<std::string> queries;
  while (queries.size() < kMostQueries && !query_input.empty()) {
    queries.push_back(query_input.String());
  }
  queries.push_back(block.header().smallest.ToString());

  const Questions questions(block);
  questions.AskKeys(&queries);
  for (size_t i = 0; i < queries.size(); i++) {
    questions.AskRange(queries[i], queries[(i + 1) % queries.size()]);
  }
  questions.Walk(queries[queries.size() / 2]);
  if (block.header().kind == kSurfKind) {
    Iterate(static_cast<const Surf&>(*block.filter()), queries.front());
  }
}

template <BlockCare kCare>
size_t Mutate(uint8_t* data, size_t size, size_t max_size, FuzzRandom* random,
              GenericMutator generic) {
  return MutateBlockInput(data, size, max_size, kCare, random, generic);
}

}  // namespace

const FuzzTarget kSurfTarget = {"surf", Open, Mutate<BlockCare::kPayload>,
                                CrossBlockInputs, SurfSeeds};
const FuzzTarget kProteusTarget = {"proteus", Open, Mutate<BlockCare::kPayload>,
                                   CrossBlockInputs, ProteusSeeds};
const FuzzTarget kEnvelopeTarget = {"envelope", Open,
                                    Mutate<BlockCare::kEnvelope>,
                                    CrossBlockInputs, EnvelopeSeeds};

}  // namespace ROCKSDB_NAMESPACE::protean
