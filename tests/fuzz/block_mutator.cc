// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/block_mutator.h"

#include <iterator>

#include "tests/filter_blocks.h"
#include "tests/fuzz/block_layout.h"
#include "tests/fuzz/block_repair.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMaxQueryBytes = 512;

uint64_t LoadNumber(const char* bytes, size_t size) {
  uint64_t number = 0;
  memcpy(&number, bytes, std::min(size, sizeof(number)));
  return number;
}

void StoreNumber(char* bytes, size_t size, uint64_t number) {
  memcpy(bytes, &number, std::min(size, sizeof(number)));
}

class BlockMutator {
 public:
  BlockMutator(std::string* block, FuzzRandom* random, GenericMutator generic)
      : block_(*block),
        layout_(Slice(*block)),
        random_(*random),
        generic_(generic) {}

  // Makes one change. The layout is that of the unchanged block.
  void Mutate() {
    using Mutation = void (BlockMutator::*)();
    // Mutations that keep sizes come more often.
    static constexpr Mutation kMutations[] = {
        &BlockMutator::ChangeNumber, &BlockMutator::ChangeNumber,
        &BlockMutator::ChangeNumber, &BlockMutator::FlipBits,
        &BlockMutator::FlipBits,     &BlockMutator::FlipBits,
        &BlockMutator::MoveBit,      &BlockMutator::MoveBit,
        &BlockMutator::MoveBit,      &BlockMutator::FillBytes,
        &BlockMutator::CopyBytes,    &BlockMutator::CopyPart,
        &BlockMutator::MoveBoundary, &BlockMutator::ChangeGenerically,
        &BlockMutator::SwapCounts,
    };
    (this->*kMutations[random_.Below(std::size(kMutations))])();
  }

 private:
  // A random part of this kind; nullptr if there is none.
  const BlockPart* Pick(BlockPart::Kind kind) {
    const BlockPart* picked = nullptr;
    uint64_t seen = 0;
    for (const BlockPart& part : layout_.parts()) {
      if (part.kind == kind && random_.OneIn(++seen)) picked = &part;
    }
    return picked;
  }
  const BlockPart* PickData() {
    return Pick(random_.OneIn(6) ? BlockPart::kBytes : BlockPart::kBits);
  }
  char* At(size_t offset) { return &block_[offset]; }

  // Changes a number to a border value, a neighbor of its own value, or the
  // value of another field.
  void ChangeNumber() {
    const BlockPart* part = Pick(BlockPart::kNumber);
    if (part == nullptr) return;
    const uint64_t old = LoadNumber(At(part->offset), part->size);
    const uint64_t max =
        part->size >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * part->size) - 1;
    const BlockPart& like = *Pick(BlockPart::kNumber);
    const uint64_t other = LoadNumber(At(like.offset), like.size);
    const uint64_t bit = random_.Below(8 * part->size);
    const uint64_t values[] = {
        0,
        1,
        max,
        max / 2,
        max / 2 + 1,
        old + 1,
        old - 1,
        old + 8,
        old - 8,
        2 * old,
        old ^ uint64_t{1} << bit,
        other - 1 + random_.Below(3),
        random_.Next() >> random_.Below(64),
    };
    StoreNumber(At(part->offset), part->size,
                values[random_.Below(std::size(values))]);
  }

  // Adds to one count and subtracts from another, as if a node had an edge more
  // and the next node an edge less.
  void SwapCounts() {
    const BlockPart* a = Pick(BlockPart::kNumber);
    const BlockPart* b = Pick(BlockPart::kNumber);
    if (a == nullptr || b == nullptr) return;
    const uint64_t by = 1 + random_.Below(3);
    StoreNumber(At(a->offset), a->size,
                LoadNumber(At(a->offset), a->size) + by);
    StoreNumber(At(b->offset), b->size,
                LoadNumber(At(b->offset), b->size) - by);
  }

  void FlipBits() {
    const BlockPart* part = PickData();
    if (part == nullptr) return;
    for (uint64_t left = 1 + random_.Below(4); left > 0; left--) {
      *At(part->offset + random_.Below(part->size)) ^=
          static_cast<char>(1u << random_.Below(8));
    }
  }

  // Swaps two bits, which keeps the number of ones.
  void MoveBit() {
    const BlockPart* part = Pick(BlockPart::kBits);
    if (part == nullptr) return;
    const uint64_t bits = 8 * part->size;
    const uint64_t from = random_.Below(bits);
    // Half of the time, the other bit is nearby.
    const uint64_t to = random_.OneIn(2) ? random_.Below(bits)
                                         : (from + 1 + random_.Below(8)) % bits;
    const auto get = [&](uint64_t pos) {
      return static_cast<uint8_t>(*At(part->offset + pos / 8)) >> pos % 8 & 1;
    };
    if (get(from) == get(to)) return;
    for (const uint64_t pos : {from, to}) {
      *At(part->offset + pos / 8) ^= static_cast<char>(1u << pos % 8);
    }
  }

  // Overwrites bytes with one repeated byte, or with random bytes.
  void FillBytes() {
    const BlockPart* part = PickData();
    if (part == nullptr) return;
    const size_t begin = random_.Below(part->size);
    const size_t size = 1 + random_.Below(part->size - begin);
    const char bytes[] = {'\0', '\xff', '\x01', '\x80', random_.Byte()};
    const char byte = bytes[random_.Below(std::size(bytes))];
    const bool any = random_.OneIn(3);
    for (size_t i = begin; i < begin + size; i++) {
      *At(part->offset + i) = any ? random_.Byte() : byte;
    }
  }

  // Overwrites bytes with other bytes of the block.
  void CopyBytes() {
    const BlockPart* to = PickData();
    const BlockPart* from = PickData();
    if (to == nullptr || from == nullptr) return;
    const size_t to_begin = random_.Below(to->size);
    const size_t from_begin = random_.Below(from->size);
    const size_t size = 1 + random_.Below(std::min(to->size - to_begin,
                                                   from->size - from_begin));
    memmove(At(to->offset + to_begin), At(from->offset + from_begin), size);
  }

  // Replaces one part with another, of any size.
  void CopyPart() {
    const BlockPart* to = PickData();
    const BlockPart* from = PickData();
    if (to == nullptr || from == nullptr) return;
    const std::string copy = block_.substr(from->offset, from->size);
    block_.replace(to->offset, to->size, copy);
  }

  // Inserts or removes bytes where a part begins, as a wrong size would.
  void MoveBoundary() {
    if (layout_.parts().empty()) return;
    const BlockPart& part =
        layout_.parts()[random_.Below(layout_.parts().size())];
    const size_t size =
        random_.OneIn(3) ? 1 + random_.Below(16) : 8 * (1 + random_.Below(8));
    if (random_.OneIn(2)) {
      block_.insert(part.offset, size, random_.OneIn(2) ? '\0' : '\xff');
    } else {
      block_.erase(part.offset, size);
    }
  }

  void ChangeGenerically() {
    const BlockPart* part = PickData();
    if (part == nullptr) return;
    std::string copy = block_.substr(part->offset, part->size);
    copy.resize(part->size);
    generic_(reinterpret_cast<uint8_t*>(copy.data()), copy.size(), copy.size());
    block_.replace(part->offset, part->size, copy);
  }

  std::string& block_;
  const BlockLayout layout_;
  FuzzRandom& random_;
  const GenericMutator generic_;
};

void Repair(std::string* block, char kind, BlockCare care, FuzzRandom* random) {
  const uint64_t lot = random->Below(16);
  if (care == BlockCare::kPayload && block->size() > kKindOffset) {
    (*block)[kKindOffset] = kind;
  }
  if (care == BlockCare::kEnvelope) {
    if (lot < 8) RepairEnvelope(block);
  } else if (lot < 2) {
    RepairEnvelope(block);
  } else {
    RepairBlock(block, random);
  }
}

char KindOf(const std::string& block) {
  return block.size() > kKindOffset ? block[kKindOffset] : '\0';
}

// ---- Queries ----

std::vector<std::string> ParseQueries(const std::string& bytes) {
  FuzzInput input(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  std::vector<std::string> queries;
  while (!input.empty()) {
    const Slice before = input.rest();
    input.String();
    queries.emplace_back(before.data(), before.size() - input.rest().size());
  }
  return queries;
}

std::string MakeQuery(const std::string& block, FuzzRandom* random) {
  std::string query;
  if (!block.empty() && random->OneIn(2)) {
    // The first bytes contain keys.
    const size_t begin =
        random->Below(std::min<size_t>(block.size(), 2 * kHeaderSize));
    query = block.substr(begin, random->Below(24));
  } else if (random->OneIn(16)) {
    return {static_cast<char>(FuzzInput::kMaxLength + 1 + random->Below(55)),
            random->Byte()};
  } else {
    const char bytes[] = {'\0', '\xff', 'a', random->Byte()};
    for (size_t left = random->Below(12); left > 0; left--) {
      query.push_back(bytes[random->Below(std::size(bytes))]);
    }
  }
  return static_cast<char>(query.size()) + query;
}

void MutateQueries(BlockInput* input, FuzzRandom* random,
                   GenericMutator generic) {
  std::vector<std::string> queries = ParseQueries(input->queries);
  const size_t at = random->Below(queries.size());
  switch (queries.empty() ? 0 : random->Below(5)) {
    case 0:
      queries.insert(queries.begin() + static_cast<ptrdiff_t>(at),
                     MakeQuery(input->block, random));
      break;
    case 1:
      queries.erase(queries.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 2:
      queries.push_back(queries[at]);
      [[fallthrough]];
    case 3: {
      std::string& query = queries.back();
      if (query.size() > 1) {
        query[1 + random->Below(query.size() - 1)] += random->OneIn(2) ? 1 : -1;
      }
      break;
    }
    default: {
      // The length byte stays out of the mutation.
      std::string& query = queries[at];
      std::string text = query.substr(1);
      const size_t size = text.size();
      text.resize(FuzzInput::kMaxLength);
      text.resize(generic(reinterpret_cast<uint8_t*>(text.data()), size,
                          std::min<size_t>(FuzzInput::kMaxLength, size + 16)));
      query = static_cast<char>(text.size()) + text;
    }
  }
  input->queries.clear();
  for (const std::string& query : queries) {
    if (input->queries.size() + query.size() > kMaxQueryBytes) break;
    input->queries += query;
  }
}

size_t Store(const std::string& bytes, uint8_t* out) {
  memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace

BlockInput BlockInput::Parse(const Slice& input) {
  FuzzInput pieces(reinterpret_cast<const uint8_t*>(input.data()),
                   input.size());
  BlockInput result;
  result.queries = pieces.Bytes(pieces.Number16()).ToString();
  result.block = pieces.rest().ToString();
  return result;
}

std::string BlockInput::Join() const {
  std::string input;
  PutFixed16(&input, static_cast<uint16_t>(queries.size()));
  return input + queries + block;
}

size_t MutateBlockInput(uint8_t* data, size_t size, size_t max_size,
                        BlockCare care, FuzzRandom* random,
                        GenericMutator generic) {
  const BlockInput original =
      BlockInput::Parse(Slice(reinterpret_cast<const char*>(data), size));
  // A mutation may be too large.
  for (int tries = 0; tries < 4; tries++) {
    BlockInput input = original;
    if (random->OneIn(4)) {
      MutateQueries(&input, random, generic);
    }
    if (!random->OneIn(6)) {
      for (uint64_t left = 1 + random->Below(3); left > 0; left--) {
        BlockMutator(&input.block, random, generic).Mutate();
      }
      Repair(&input.block, KindOf(original.block), care, random);
    }
    const std::string joined = input.Join();
    if (joined.size() <= max_size) return Store(joined, data);
  }
  return size;
}

size_t CrossBlockInputs(const Slice& a, const Slice& b, uint8_t* out,
                        size_t max_size, FuzzRandom* random) {
  BlockInput input = BlockInput::Parse(a);
  const char kind = KindOf(input.block);
  const BlockInput other = BlockInput::Parse(b);
  if (random->OneIn(3)) input.queries = other.queries;
  const BlockLayout here{Slice(input.block)};
  const BlockLayout there{Slice(other.block)};
  // Consecutive parts replace the parts with the same names.
  const std::vector<BlockPart>& parts = here.parts();
  const std::vector<BlockPart>& others = there.parts();
  if (parts.empty()) return 0;
  const size_t first = random->Below(parts.size());
  const size_t last = std::min(
      parts.size() - 1, first + random->Below(random->OneIn(2) ? 2 : 12));
  const auto named = [&](const char* name) {
    uint64_t seen = 0;
    size_t found = others.size();
    for (size_t i = 0; i < others.size(); i++) {
      if (strcmp(others[i].name, name) == 0 && random->OneIn(++seen)) found = i;
    }
    return found;
  };
  const size_t from = named(parts[first].name);
  const size_t to = named(parts[last].name);
  if (from < others.size() && to < others.size() && from <= to) {
    const size_t end = parts[last].offset + parts[last].size;
    const size_t other_end = others[to].offset + others[to].size;
    input.block.replace(parts[first].offset, end - parts[first].offset,
                        other.block, others[from].offset,
                        other_end - others[from].offset);
  }
  Repair(&input.block, kind, BlockCare::kPayload, random);
  const std::string joined = input.Join();
  return joined.size() <= max_size ? Store(joined, out) : 0;
}

}  // namespace ROCKSDB_NAMESPACE::protean
