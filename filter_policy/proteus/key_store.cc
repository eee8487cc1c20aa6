// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/key_store.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "filter_policy/proteus/uniform_trie.h"

namespace ROCKSDB_NAMESPACE::protean {

void KeyStore::AppendOther(Slice key, size_t shared) {
  if (key.size() > kMaxKeyBytes) key = Slice(key.data(), kMaxKeyBytes);
  const size_t place = size_ % kChunkKeys;
  if (place == 0) {
    const size_t expected = chunks_.empty() ? 0 : chunks_.back().bytes.size();
    full_bytes_ += OpenBytes();
    Chunk& next = chunks_.emplace_back();
    next.shared.reset(new uint8_t[kChunkKeys]);
    next.key_size = key.size();
    // Reserves the size of the previous chunk, and a little for longer keys.
    next.bytes.Grow(expected + expected / 16);
  }
  Chunk& chunk = chunks_.back();
  chunk.SetShared(place, shared);
  if (key.size() != chunk.key_size && chunk.ends.empty()) {
    // All keys before it have one length.
    chunk.ends.reserve(kChunkKeys);
    for (size_t i = 1; i <= place; i++) {
      chunk.ends.push_back(static_cast<uint32_t>(i * chunk.key_size));
    }
  }
  if (!chunk.ends.empty()) {
    chunk.ends.push_back(
        static_cast<uint32_t>(chunk.bytes.size() + key.size()));
  }
  if (!chunk.bytes.AppendShort(key)) chunk.bytes.Append(key);
  size_++;
}

namespace {

// The number of keys from which the alphabets are taken, roughly.
constexpr size_t kAlphabetKeys = 4096;
// Further places have no alphabets of their own.
constexpr size_t kAlphabetPlaces = 256;

// The bytes that some of the keys have, place by place.
class SeenBytes {
 public:
  void Add(const Slice& key) {
    const size_t places = std::min(key.size(), kAlphabetPlaces);
    if (places > seen_.size()) seen_.resize(places);
    for (size_t i = 0; i < key.size(); i++) {
      occurs_[static_cast<uint8_t>(key[i])] = true;
      if (i < places) seen_[i][static_cast<uint8_t>(key[i])] = true;
    }
    shortest_ = std::min(shortest_, places);
    // An empty key has zeros everywhere.
    if (places == 0) occurs_[0] = true;
  }

  // The number of different bytes; zeros that end a key count as one.
  size_t Symbols() const { return occurs_.count() + (occurs_[0] ? 0 : 1); }

  ByteAlphabets Alphabets() const {
    for (unsigned c = 0; c < occurs_.size(); c++) {
      if (occurs_[c] && (c < ' ' || c > '~')) return ByteAlphabets();
    }
    // Zeros stand behind the end of a key.
    std::string codes;
    for (size_t i = 0; i < std::min(seen_.size(), shortest_); i++) {
      codes.push_back(AlphabetCodeOf(seen_[i]));
    }
    return ByteAlphabets(0, std::move(codes));
  }

 private:
  BytesSeen occurs_;
  std::vector<BytesSeen> seen_;
  size_t shortest_ = kAlphabetPlaces;  // of the keys
};

// What the keys of a pass share with each other.
struct SharedCounts {
  // Counts any key. The one before had `last_size` bytes, and shared
  // `last_shared` bits with the one before it; `alike` keys have come since the
  // last call, that one's key included, and all have `last_size` bytes. Returns
  // the bits that the next key finds shared.
  [[gnu::noinline]] uint32_t AddOther(const Slice& key, uint32_t shared,
                                      size_t last_size, uint32_t last_shared,
                                      uint64_t alike) {
    if (key.size() > longest) SetLongest(key.size());
    shortest = std::min(shortest, key.size());
    if (alike == 0) {
      // The first key.
      long_changes[1]++;
      return 0;
    }
    const uint32_t last_bits = BitsOf(last_size);
    long_changes[last_bits + 1] -= alike;
    if (shared == kAllBits) {
      // The key has the bits of the last key, followed by zeros.
      long_changes[last_bits + 1]++;
      equal++;
      return last_shared;
    }
    shared = std::min(shared, KeyStatistics::kMaxBits);
    before[shared]++;
    most_shared[std::max(last_shared, shared)]++;
    // What is shared may be zeros behind the end of a key.
    long_changes[shared + 1]--;
    long_changes[std::min({shared, BitsOf(key.size()), last_bits}) + 1]++;
    return shared;
  }
  // Counts the last key, which is given as in AddOther. Called once, at the
  // end.
  void Finish(size_t last_size, uint32_t last_shared, uint64_t alike) {
    if (alike == 0) {
      shortest = 0;
      return;
    }
    most_shared[last_shared]++;
    long_changes[BitsOf(last_size) + 1] -= alike;
    for (size_t i = 0; i < before.size(); i++) long_changes[i + 1] += before[i];
  }

  static uint32_t BitsOf(size_t bytes) {
    return static_cast<uint32_t>(
        8 * std::min<size_t>(bytes, KeyStatistics::kMaxBits / 8));
  }
  void SetLongest(size_t size) {
    longest = size;
    const size_t bits = BitsOf(size);
    if (bits < before.size()) return;
    before.resize(bits + 1);
    most_shared.resize(bits + 1);
    long_changes.resize(bits + 2);
  }

  size_t shortest = std::numeric_limits<size_t>::max();  // bytes
  size_t longest = 0;
  uint64_t equal = 0;  // keys with the bits of the one before
  // For each number of bits, how many keys share just these with the previous
  // key, and with the nearer of their neighbors.
  std::vector<uint64_t> before = std::vector<uint64_t>(65);
  std::vector<uint64_t> most_shared = std::vector<uint64_t>(65);
  // Changes of the number of prefixes of long keys from one length to the next;
  // they wrap around. Until Finish, those that `before` tells are left out.
  std::vector<uint64_t> long_changes = std::vector<uint64_t>(66);
};

// Turns each entry of a histogram into the sum of all entries up to it.
void Accumulate(std::vector<uint64_t>* counts) {
  std::partial_sum(counts->begin(), counts->end(), counts->begin());
}

// The average number of levels that a query for a random prefix looks at: the
// levels that are not full, as far down as there are nodes.
double LevelsVisited(const std::vector<FstLevelCounts>& levels, uint32_t lead) {
  double visited = 1;
  for (size_t i = 1; i < levels.size(); i++) {
    const double all = std::ldexp(1.0, static_cast<int>(8 * i - lead));
    visited = levels[i].nodes == all ? 1 : visited + levels[i].nodes / all;
  }
  return visited;
}

}  // namespace

KeyStatistics::KeyStatistics(const KeyStore& keys, size_t begin, size_t end)
    : num_keys_(end - begin) {
  SharedCounts counts;
  SeenBytes seen;
  // The last key's size, and the bits that it shares with the one before it.
  size_t last_size = std::numeric_limits<size_t>::max();
  uint32_t last_shared = 0;
  // Most keys are as long as the one before, which is faster to count.
  uint64_t alike = 0;
  // The step is odd, since the last bytes of counters recur with powers of two.
  const size_t step = num_keys_ / kAlphabetKeys | 1;
  size_t skip = 0;
  keys.ForEach(begin, end, [&](const Slice& key, uint32_t shared) {
    if (skip-- == 0) {
      skip = step - 1;
      seen.Add(key);
    }
    const uint32_t most = std::max(last_shared, shared);
    if (key.size() == last_size && most < counts.before.size()) {
      counts.before[shared]++;
      counts.most_shared[most]++;
      last_shared = shared;
      alike++;
    } else {
      last_shared = counts.AddOther(key, shared, last_size, last_shared, alike);
      last_size = key.size();
      alike = 1;
    }
  });
  counts.Finish(last_size, last_shared, alike);
  shortest_key_ = counts.shortest;
  longest_key_ = counts.longest;
  max_bits_ = static_cast<uint32_t>(counts.before.size() - 1);
  distinct_ = num_keys_ - counts.equal;

  // A key adds a prefix of every length above what it shares.
  prefixes_ = std::move(counts.before);
  prefixes_.insert(prefixes_.begin(), distinct_ > 0 ? 1 : 0);
  prefixes_.pop_back();
  Accumulate(&prefixes_);
  long_prefixes_ = std::move(counts.long_changes);
  Accumulate(&long_prefixes_);
  long_prefixes_.pop_back();
  unique_ = std::move(counts.most_shared);
  unique_.insert(unique_.begin(), 0);
  Accumulate(&unique_);

  alphabets_ = seen.Alphabets();
  const auto symbols = static_cast<unsigned>(seen.Symbols());
  code_bits_ = symbols <= 2 ? 1 : BitsFor(symbols - 1);
}

std::array<uint32_t, 3> KeyStatistics::SharedByShare() const {
  std::array<uint32_t, 3> bits = {};
  constexpr double kShares[] = {0.1, 0.5, 0.9};
  for (size_t i = 0; i < bits.size(); i++) {
    // unique_ has the keys that share less.
    const auto less = static_cast<uint64_t>((1 - kShares[i]) *
                                            static_cast<double>(distinct_));
    bits[i] = static_cast<uint32_t>(
        std::upper_bound(unique_.begin(), unique_.end(), less) -
        unique_.begin() - 1);
  }
  return bits;
}

uint32_t KeyStatistics::NeighbourBits() const {
  return static_cast<uint32_t>(
      std::lower_bound(prefixes_.begin(), prefixes_.end(), num_keys_ / 2) -
      prefixes_.begin());
}

uint64_t KeyStatistics::PrefixesOfSeries(uint32_t first_bits,
                                         uint32_t stride_bits) const {
  uint64_t sum = Prefixes(first_bits);
  if (stride_bits == 0) return sum;
  for (uint64_t bits = uint64_t{first_bits} + stride_bits; bits <= max_bits_;
       bits += stride_bits) {
    sum += PrefixesOfLongKeys(static_cast<uint32_t>(bits));
  }
  return sum;
}

std::vector<FstLevelCounts> KeyStatistics::TrieLevels(uint32_t bits,
                                                      uint32_t lead) const {
  std::vector<FstLevelCounts> levels(BytesForBits(bits + lead));
  // The number of keys that are alone with their prefix of a length.
  const auto alone = [this](uint32_t length) {
    return distinct_ - KeysSharing(length);
  };
  // The bits of a level's byte are [begin, end).
  uint32_t begin = 0;
  for (size_t i = 0; i < levels.size(); i++) {
    const uint32_t end =
        std::min(static_cast<uint32_t>(8 * i + 8) - lead, bits);
    FstLevelCounts& level = levels[i];
    // Keys that are alone above this level end there.
    const uint64_t ended = i == 0 ? 0 : alone(begin);
    level.nodes = static_cast<uint32_t>(Prefixes(begin) - ended);
    level.edges = static_cast<uint32_t>(Prefixes(end) - ended);
    if (i + 1 < levels.size()) {
      level.children = static_cast<uint32_t>(Prefixes(end) - alone(end));
    }
    if (level.nodes == 0) {
      levels.resize(i);
      break;
    }
    begin = end;
  }
  return levels;
}

KeyStatistics::TrieSize KeyStatistics::SizeOfTrie(uint32_t bits,
                                                  uint64_t max_bytes) const {
  // To be faster, a trie may be larger by one part in this ratio.
  constexpr uint64_t kSizeRatio = 64;
  struct Choice {
    TrieSize size;
    double visited;
  };
  std::vector<Choice> choices;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (uint32_t lead = 0; lead == 0 || (lead < 8 && bits + lead <= 64);
       lead++) {
    const std::vector<FstLevelCounts> levels = TrieLevels(bits, lead);
    // With a lead, bytes are no symbols of the keys.
    const uint64_t bytes =
        EstimateUniformTrie(bits + lead, levels, lead == 0 ? code_bits_ : 8);
    choices.push_back({{bytes, lead}, LevelsVisited(levels, lead)});
    least = std::min(least, bytes);
  }
  const uint64_t limit =
      std::max(least, std::min(least + least / kSizeRatio, max_bytes));
  const Choice* best = nullptr;
  for (const Choice& choice : choices) {
    if (choice.size.bytes <= limit &&
        (best == nullptr || choice.visited < best->visited)) {
      best = &choice;
    }
  }
  return best->size;
}

}  // namespace ROCKSDB_NAMESPACE::protean
