// SPDX-License-Identifier: Apache-2.0

//  Opens filter blocks that may be damaged, and asks them.

#include "filter_policy/parted_filter.h"
#include "tests/fuzz/block_contracts.h"
#include "tests/fuzz/block_mutator.h"
#include "tests/fuzz/block_seeds.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMaxQueries = 8;

void Open(const uint8_t* data, size_t size) {
  FuzzInput input(data, size);
  const Slice query_bytes = input.Bytes(input.Number16());
  const Slice contents = input.rest();
  const FilterBlock block(contents);
  FuzzInput query_input(reinterpret_cast<const uint8_t*>(query_bytes.data()),
                        query_bytes.size());
  std::vector<std::string> queries;
  while (queries.size() < kMaxQueries && !query_input.empty()) {
    queries.push_back(query_input.String());
  }
  // Stored strings, if there are any.
  queries.push_back(block.header().smallest.ToString());
  const std::vector<FilterPart>& parts = block.directory().parts();
  if (parts.size() > 1) queries.push_back(parts.back().begin.ToString());
  for (const BlockExam& exam :
       {Examine(block, queries), ExamineParts(block, contents, queries)}) {
    Check(exam.broken == nullptr, exam.broken);
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
