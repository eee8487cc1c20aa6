// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/block_mutator.h"

#include <iterator>

#include "tests/filter_blocks.h"
#include "tests/fuzz/block_layout.h"
#include "tests/fuzz/block_repair.h"
#include "tests/fuzz/string_input.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kMaxQueryBytes = 512;

// ---- Pieces ----

// Some bytes of a block, which are cut into pieces: a directory, a payload, or
// what follows one.
struct Chunk {
  std::string* bytes;
  std::vector<BlockPiece> pieces;
};

Chunk DirectoryOf(SplitBlock* block) {
  return {&block->directory, DirectoryLayout(block->directory).pieces()};
}

Chunk PayloadOf(SplitBlock* block, size_t index) {
  const DirectoryLayout directory(block->directory);
  SplitBlock::Unit& unit = block->units[index];
  const DirectoryLayout::Entry entry = unit.entry < directory.entries().size()
                                           ? directory.entries()[unit.entry]
                                           : DirectoryLayout::Entry();
  return {&unit.payload, PayloadLayout(unit.payload, entry.kind,
                                       directory.DesignOf(entry, unit.second))
                             .pieces()};
}

Chunk EndOf(SplitBlock* block, size_t unit) {
  std::string& end = block->units[unit].end;
  return {&end, PartEndLayout(end).pieces()};
}

// A random chunk.
Chunk PickChunk(SplitBlock* block, BlockCare care, Dice* random) {
  const bool any = care == BlockCare::kEnvelope;
  if (block->units.empty() || random->OneIn(any ? 2 : 6)) {
    return DirectoryOf(block);
  }
  const size_t unit = random->Below(block->units.size());
  return any && random->OneIn(8) ? EndOf(block, unit) : PayloadOf(block, unit);
}

class ChunkMutator {
 public:
  ChunkMutator(const Chunk& chunk, Dice* random, GenericMutator generic)
      : bytes_(*chunk.bytes),
        pieces_(chunk.pieces),
        random_(*random),
        generic_(generic) {}

  // Makes one change. The pieces are those of the unchanged chunk.
  void Mutate() {
    using Mutation = void (ChunkMutator::*)();
    // Mutations that keep sizes come more often.
    static constexpr Mutation kMutations[] = {
        &ChunkMutator::ChangeNumber,     &ChunkMutator::ChangeNumber,
        &ChunkMutator::ChangeNumber,     &ChunkMutator::FlipBits,
        &ChunkMutator::FlipBits,         &ChunkMutator::FlipBits,
        &ChunkMutator::MoveBit,          &ChunkMutator::MoveBit,
        &ChunkMutator::MoveBit,          &ChunkMutator::FillBytes,
        &ChunkMutator::CopyBytes,        &ChunkMutator::CopyPiece,
        &ChunkMutator::MoveBoundary,     &ChunkMutator::ChangeGenerically,
        &ChunkMutator::ChangeTwoNumbers,
    };
    (this->*kMutations[random_.Below(std::size(kMutations))])();
  }

 private:
  // A random piece of those for which `matches` is true; nullptr if there is
  // none.
  template <typename Matches>
  const BlockPiece* PickOf(const Matches& matches) {
    const BlockPiece* picked = nullptr;
    uint64_t seen = 0;
    for (const BlockPiece& piece : pieces_) {
      if (matches(piece) && random_.OneIn(++seen)) picked = &piece;
    }
    return picked;
  }
  const BlockPiece* Pick(BlockPiece::Kind kind) {
    return PickOf(
        [kind](const BlockPiece& piece) { return piece.kind == kind; });
  }
  const BlockPiece* PickNumber() {
    return PickOf([](const BlockPiece& piece) { return piece.IsNumber(); });
  }
  // Mostly bits, if there are any.
  const BlockPiece* PickData() {
    const BlockPiece* bits = Pick(BlockPiece::kBits);
    return bits == nullptr || random_.OneIn(6) ? Pick(BlockPiece::kBytes)
                                               : bits;
  }
  char* At(size_t offset) { return &bytes_[offset]; }

  uint64_t Load(const BlockPiece& piece) {
    uint64_t number = 0;
    if (piece.kind == BlockPiece::kVarint) {
      Slice input(At(piece.offset), piece.size);
      GetVarint64(&input, &number);
    } else {
      memcpy(&number, At(piece.offset), std::min(piece.size, sizeof(number)));
    }
    return number;
  }
  // The pieces behind a varint may move.
  void Store(const BlockPiece& piece, uint64_t number) {
    if (piece.kind == BlockPiece::kVarint) {
      std::string varint;
      PutVarint32(&varint, static_cast<uint32_t>(number));
      bytes_.replace(piece.offset, piece.size, varint);
    } else {
      memcpy(At(piece.offset), &number, std::min(piece.size, sizeof(number)));
    }
  }

  // Changes a number to a border value, a neighbor of its own value, or the
  // value of another field.
  void ChangeNumber() {
    const BlockPiece* piece = PickNumber();
    if (piece == nullptr) return;
    const uint64_t old = Load(*piece);
    const size_t size = piece->kind == BlockPiece::kVarint ? 4 : piece->size;
    const uint64_t max =
        size >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * size) - 1;
    const uint64_t other = Load(*PickNumber());
    const uint64_t bit = random_.Below(8 * size);
    Store(*piece, random_.Of<uint64_t>({0, 1, max, max / 2, max / 2 + 1,
                                        old + 1, old - 1, old + 8, old - 8,
                                        2 * old, old ^ uint64_t{1} << bit,
                                        other - 1 + random_.Below(3),
                                        random_.Next() >> random_.Below(64)}));
  }

  // Adds to one number and subtracts from another, as if a node had an edge
  // more and the next node an edge less, or a part a key.
  void ChangeTwoNumbers() {
    const BlockPiece* a = PickNumber();
    const BlockPiece* b = PickNumber();
    if (a == b) return;
    // Storing the first one may move the second one.
    if (a->offset < b->offset) std::swap(a, b);
    const uint64_t by =
        random_.OneIn(2) ? 1 + random_.Below(3) : 0 - (1 + random_.Below(3));
    Store(*a, Load(*a) + by);
    Store(*b, Load(*b) - by);
  }

  void FlipBits() {
    const BlockPiece* piece = PickData();
    if (piece == nullptr) return;
    for (uint64_t left = 1 + random_.Below(4); left > 0; left--) {
      *At(piece->offset + random_.Below(piece->size)) ^=
          static_cast<char>(1u << random_.Below(8));
    }
  }

  // Swaps two bits, which keeps the number of ones.
  void MoveBit() {
    const BlockPiece* piece = PickData();
    if (piece == nullptr) return;
    const uint64_t bits = 8 * piece->size;
    const uint64_t from = random_.Below(bits);
    // Half of the time, the other bit is nearby.
    const uint64_t to = random_.OneIn(2) ? random_.Below(bits)
                                         : (from + 1 + random_.Below(8)) % bits;
    const auto get = [&](uint64_t pos) {
      return static_cast<uint8_t>(*At(piece->offset + pos / 8)) >> pos % 8 & 1;
    };
    if (get(from) == get(to)) return;
    for (const uint64_t pos : {from, to}) {
      *At(piece->offset + pos / 8) ^= static_cast<char>(1u << pos % 8);
    }
  }

  // Overwrites bytes with one repeated byte, or with random bytes.
  void FillBytes() {
    const BlockPiece* piece = PickData();
    if (piece == nullptr) return;
    const size_t begin = random_.Below(piece->size);
    const size_t size = 1 + random_.Below(piece->size - begin);
    const char byte =
        random_.Of({'\0', '\xff', '\x01', '\x80', random_.Byte()});
    const bool any = random_.OneIn(3);
    for (size_t i = begin; i < begin + size; i++) {
      *At(piece->offset + i) = any ? random_.Byte() : byte;
    }
  }

  // Overwrites bytes with other bytes of the chunk.
  void CopyBytes() {
    const BlockPiece* to = PickData();
    const BlockPiece* from = PickData();
    if (to == nullptr || from == nullptr) return;
    const size_t to_begin = random_.Below(to->size);
    const size_t from_begin = random_.Below(from->size);
    const size_t size = 1 + random_.Below(std::min(to->size - to_begin,
                                                   from->size - from_begin));
    memmove(At(to->offset + to_begin), At(from->offset + from_begin), size);
  }

  // Replaces one piece with another, of any size.
  void CopyPiece() {
    const BlockPiece* to = PickData();
    const BlockPiece* from = PickData();
    if (to == nullptr || from == nullptr) return;
    const std::string copy = bytes_.substr(from->offset, from->size);
    bytes_.replace(to->offset, to->size, copy);
  }

  // Inserts or removes bytes where a piece begins, as a wrong size would.
  void MoveBoundary() {
    if (pieces_.empty()) return;
    const BlockPiece& piece = pieces_[random_.Below(pieces_.size())];
    const size_t size =
        random_.OneIn(3) ? 1 + random_.Below(16) : 8 * (1 + random_.Below(8));
    if (random_.OneIn(2)) {
      bytes_.insert(piece.offset, size, random_.OneIn(2) ? '\0' : '\xff');
    } else {
      bytes_.erase(piece.offset, size);
    }
  }

  void ChangeGenerically() {
    const BlockPiece* piece = PickData();
    if (piece == nullptr) return;
    std::string changed = MutateGenerically(
        Slice(At(piece->offset), piece->size), piece->size, generic_);
    changed.resize(piece->size);
    bytes_.replace(piece->offset, piece->size, changed);
  }

  std::string& bytes_;
  const std::vector<BlockPiece> pieces_;
  Dice& random_;
  const GenericMutator generic_;
};

// ---- Blocks ----

// Swaps two units, leaves one out, or repeats one. The directory, which is left
// alone, then tells lies.
void MutateUnits(std::vector<SplitBlock::Unit>* units, Dice* random) {
  const size_t a = random->Below(units->size());
  const auto at = units->begin() + static_cast<ptrdiff_t>(a);
  switch (random->Below(3)) {
    case 0:
      std::swap((*units)[a], (*units)[random->Below(units->size())]);
      break;
    case 1:
      units->erase(at);
      break;
    default: {
      const SplitBlock::Unit copy = *at;
      units->insert(at, copy);
    }
  }
}

void MutateBlock(SplitBlock* block, BlockCare care, Dice* random,
                 GenericMutator generic) {
  if (!block->units.empty() && random->OneIn(16)) {
    MutateUnits(&block->units, random);
  } else {
    ChunkMutator(PickChunk(block, care, random), random, generic).Mutate();
  }
}

// Whatever the directory says of them, the units end where they did.
std::string Repair(SplitBlock block, BlockCare care, Dice* random) {
  const uint64_t lot = random->Below(16);
  std::string repaired;
  if (lot < (care == BlockCare::kPayload ? 14 : 3)) {
    RepairBlock(block, random, &repaired);
    return repaired;
  }
  if (lot < 6 || random->OneIn(2)) RepairSums(&block);
  repaired = block.Join();
  if (care == BlockCare::kPayload || lot < 8) RepairChecksums(&repaired);
  return repaired;
}

char KindOf(const std::string& block) {
  return block.size() > kKindOffset ? block[kKindOffset] : '\0';
}
void SetKind(char kind, std::string* block) {
  if (block->size() > kKindOffset) (*block)[kKindOffset] = kind;
}

// ---- Queries ----

void MutateQueries(BlockInput* input, Dice* random, GenericMutator generic) {
  Strings queries = ParseStrings(FuzzInput(input->queries));
  if (random->OneIn(4) && !input->block.empty()) {
    // The first bytes contain keys.
    const size_t begin = random->Below(
        std::min<size_t>(input->block.size(), 4 * FilterDirectory::kFixedSize));
    queries.insert(queries.begin(),
                   input->block.substr(begin, random->Below(24)));
  } else if (random->OneIn(32)) {
    const size_t repeats = 1 + random->Below(255 - FuzzInput::kMaxLength);
    queries.insert(
        queries.begin(),
        std::string(repeats * FuzzInput::kRepeatUnit, random->Byte()));
  } else {
    MutateStrings(&queries, random, generic);
  }
  input->queries = StoreStrings(queries, kMaxQueryBytes);
}

}  // namespace

BlockInput BlockInput::Parse(const Slice& input) {
  FuzzInput pieces(input);
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

std::string MutateBlockInput(const Slice& bytes, size_t max_size,
                             BlockCare care, Dice* random,
                             GenericMutator generic) {
  const BlockInput original = BlockInput::Parse(bytes);
  // A mutation may be too large.
  for (int tries = 0; tries < 4; tries++) {
    BlockInput input = original;
    if (random->OneIn(4)) {
      MutateQueries(&input, random, generic);
    }
    if (!random->OneIn(6)) {
      SplitBlock block(input.block);
      for (uint64_t left = 1 + random->Below(3); left > 0; left--) {
        MutateBlock(&block, care, random, generic);
      }
      if (care == BlockCare::kPayload) {
        SetKind(KindOf(original.block), &block.directory);
      }
      input.block = Repair(std::move(block), care, random);
    }
    const std::string joined = input.Join();
    if (joined.size() <= max_size) return joined;
  }
  return bytes.ToString();
}

namespace {

// Replaces consecutive pieces with those of the same names in another chunk.
void CrossChunks(const Chunk& here, const Chunk& there, Dice* random) {
  const std::vector<BlockPiece>& pieces = here.pieces;
  const std::vector<BlockPiece>& others = there.pieces;
  if (pieces.empty()) return;
  const size_t first = random->Below(pieces.size());
  const size_t last = std::min(
      pieces.size() - 1, first + random->Below(random->OneIn(2) ? 2 : 12));
  const auto named = [&](const char* name) {
    uint64_t seen = 0;
    size_t found = others.size();
    for (size_t i = 0; i < others.size(); i++) {
      if (strcmp(others[i].name, name) == 0 && random->OneIn(++seen)) found = i;
    }
    return found;
  };
  const size_t from = named(pieces[first].name);
  const size_t to = named(pieces[last].name);
  if (from >= others.size() || to >= others.size() || from > to) return;
  const size_t end = pieces[last].offset + pieces[last].size;
  const size_t other_end = others[to].offset + others[to].size;
  here.bytes->replace(pieces[first].offset, end - pieces[first].offset,
                      *there.bytes, others[from].offset,
                      other_end - others[from].offset);
}

}  // namespace

std::string CrossBlockInputs(const Slice& a, const Slice& b, size_t max_size,
                             Dice* random) {
  BlockInput input = BlockInput::Parse(a);
  const BlockInput other = BlockInput::Parse(b);
  if (random->OneIn(3)) input.queries = other.queries;
  if (input.block.empty()) return "";
  SplitBlock here(input.block);
  SplitBlock there(other.block);
  if (here.units.empty() || there.units.empty() || random->OneIn(4)) {
    CrossChunks(DirectoryOf(&here), DirectoryOf(&there), random);
  } else {
    CrossChunks(PayloadOf(&here, random->Below(here.units.size())),
                PayloadOf(&there, random->Below(there.units.size())), random);
  }
  SetKind(KindOf(input.block), &here.directory);
  input.block = Repair(std::move(here), BlockCare::kPayload, random);
  const std::string joined = input.Join();
  return joined.size() <= max_size ? joined : "";
}

}  // namespace ROCKSDB_NAMESPACE::protean
