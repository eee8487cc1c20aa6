// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_builder.h"

#include <algorithm>
#include <chrono>

#include "filter_policy/filter_block.h"
#include "filter_policy/proteus/prior.h"

namespace ROCKSDB_NAMESPACE::protean {

// False if the trie is too large.
bool ProteusBuilder::BuildTrie() {
  const auto start = std::chrono::steady_clock::now();
  const uint32_t bits = header_.design.trie_bits;
  const uint32_t lead = header_.design.trie_lead;
  trie_ = std::make_unique<UniformTrieBuilder>(bits + lead);
  std::string prefix(TriePrefixBytes(header_.design), '\0');
  size_t shared = 0;
  bool first = true;
  Slice last;
  keys_.ForEach([&](const Slice& key) {
    if (first) {
      CopyTriePrefix(key, header_.design, prefix.data());
      first = false;
    } else {
      const uint32_t next_shared_bits = SharedBits(last, key);
      if (next_shared_bits < bits) {
        const size_t next_shared = (next_shared_bits + lead) / 8;
        trie_->Add(prefix.data(), shared, next_shared);
        CopyTriePrefix(key, header_.design, prefix.data());
        shared = next_shared;
      }
    }
    last = key;
  });
  trie_->AddLast(prefix.data(), shared);
  const bool fits = trie_->Prepare(&trie_size_);
  trie_time_ += std::chrono::steady_clock::now() - start;
  return fits;
}

// Chooses a design and builds its trie, if it has one. A trie may turn out
// larger than its estimate, but the size of the filter is a promise. If that
// costs too many false positives, the design is chosen again with less memory.
bool ProteusBuilder::BuildChosen(const CpfprModel& model,
                                 const KeyStatistics& statistics,
                                 uint64_t bytes) {
  // The built design may have kFactor times the false positives of the chosen
  // one, and kMore more.
  constexpr double kFactor = 1.1;
  constexpr double kMore = 0.005;
  constexpr uint64_t kMinReserve = 64;
  DesignSearch search(model, statistics, settings_.kinds);
  // A set of whole keys does not answer for prefixes.
  if (prefixes_only()) search.ForbidKeySets();
  ProteusDesign& design = header_.design;
  uint64_t reserve = 0;
  for (int tries = 3; tries > 0 && reserve < bytes; tries--) {
    design = search.Choose(settings_.space, bytes - reserve);
    if (design.trie_bits == 0) return true;
    if (!BuildTrie()) return false;
    const uint64_t estimate =
        std::min(bytes, statistics.SizeOfTrie(design.trie_bits, bytes).bytes);
    if (trie_size_ <= bytes &&
        model.Evaluate(design, bytes - trie_size_) <=
            kFactor * model.Evaluate(design, bytes - estimate) + kMore) {
      if (design.prefix_bits == 0 && !design.key_set) {
        search.AddSecondLayer(bytes - trie_size_, &design);
      }
      return true;
    }
    reserve += std::max(trie_size_, estimate) - estimate + kMinReserve;
    trie_.reset();
    trie_size_ = 0;
  }
  design = search.Choose(DesignSpace::kOnePrefixFilter, bytes);
  return true;
}

// Decides on the design, builds its trie and plans its sets.
Status ProteusBuilder::Design(uint64_t bytes) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const KeyStatistics statistics(keys_);
  const std::vector<SampleQuery> samples =
      samples_ == nullptr ? std::vector<SampleQuery>() : samples_();
  std::vector<CpfprModel::Query> prior;
  if (!settings_.forced.has_value()) {
    prior = MakePrior(keys_, statistics, samples.size(), prefixes_only());
  }
  const CpfprModel model(keys_, statistics, samples, prior, prefixes_only());
  header_.shortest_key = static_cast<uint32_t>(
      std::min<size_t>(statistics.shortest_key(), ~uint32_t{0}));
  header_.neighbour_bits = statistics.NeighbourBits();
  ProteusDesign& design = header_.design;
  bool built = true;
  if (settings_.forced.has_value()) {
    design = *settings_.forced;
    // The key store keeps no more of a key.
    design.trie_bits = std::min(design.trie_bits, kMaxPrefixBits);
    design.prefix_bits = std::min(design.prefix_bits, kMaxPrefixBits);
    if (design.prefix_bits <= design.first_bits()) design.prefix_bits = 0;
    if (design.trie_bits > 0) built = BuildTrie();
  } else {
    built = BuildChosen(model, statistics, bytes);
  }
  if (!built) {
    return Status::NotSupported("Proteus: too many keys for one file");
  }
  const uint64_t set_bytes = bytes - std::min(bytes, trie_size_);
  sets_ = PlanPrefixSets(design, statistics, set_bytes);
  DesignReport& report = header_.report;
  report.outside = model.outside();
  report.samples = static_cast<uint32_t>(model.num_samples());
  if (!model.queries().empty()) {
    report.predicted_fpr =
        static_cast<float>(model.Evaluate(design, set_bytes));
  }
  const auto spent = Clock::now() - start - trie_time_;
  report.model_micros = static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
  // Write needs the keys for the sets only.
  if (design.prefix_bits == 0 && !design.key_set) keys_.Clear();
  return Status::OK();
}

Status ProteusBuilder::Prepare(uint64_t* payload_size) {
  if (num_keys() == 0) {
    // No key lies between smallest and largest.
    header_.smallest = ~uint64_t{0};
    *payload_size = ProteusHeader::kSize;
    return Status::OK();
  }
  header_.smallest = LoadBits64(first_key(), 0);
  header_.largest = LoadBits64(last_key(), 0);
  FilterBlockHeader envelope;
  envelope.salt = salt();
  envelope.smallest = first_key();
  envelope.largest = last_key();
  const uint64_t overhead = FilterBlockSize(envelope, ProteusHeader::kSize);
  const double bits_per_key = settings_.bits_of_file == nullptr
                                  ? settings_.bits_per_key
                                  : settings_.bits_of_file(num_keys());
  const auto all =
      static_cast<uint64_t>(bits_per_key / 8 * static_cast<double>(num_keys()));
  // A filter of a few keys may take more than its share.
  constexpr uint64_t kMinBytes = 64;
  const uint64_t bytes =
      std::max(all - std::min(all, overhead), std::max(kMinBytes, all / 2));
  const Status s = Design(bytes);
  *payload_size = ProteusHeader::kSize + trie_size_ + sets_.first.bytes +
                  sets_.second.bytes;
  return s;
}

// Adds the prefixes of all keys.
void ProteusBuilder::AddPrefixes(uint32_t bits, AmqBuilder* set) const {
  const PrefixLength length(bits, salt());
  if (bits <= 64) {
    const unsigned unused = 64 - bits;
    bool first = true;
    uint64_t last = 0;
    keys_.ForEach([&](const Slice& key) {
      const uint64_t prefix = LoadBits64(key, 0) >> unused;
      if (prefix == last && !first) return;
      set->Add(HashWordPrefix(prefix << unused, length));
      last = prefix;
      first = false;
    });
    return;
  }
  Slice last;
  bool first = true;
  keys_.ForEach([&](const Slice& key) {
    if (first || SharedBits(last, key) < bits) {
      set->Add(HashPrefix(key, length));
    }
    last = key;
    first = false;
  });
}

// Adds the prefixes of the series but for the first one: those that a key has
// and the previous key has not. One pass over the keys adds them, so that a
// single long key costs no more than its own prefixes.
void ProteusBuilder::AddSeries(AmqBuilder* set) const {
  const uint32_t stride = header_.design.stride_bits;
  const uint32_t begin = header_.design.prefix_bits + stride;
  std::vector<PrefixLength> lengths;
  Slice last;
  keys_.ForEach([&](const Slice& key) {
    const auto longest =
        static_cast<uint32_t>(std::min<size_t>(8 * key.size(), kMaxSeriesBits));
    const auto shared = static_cast<uint32_t>(
        std::min<size_t>(8 * key.difference_offset(last), kMaxSeriesBits));
    last = key;
    size_t i = shared < begin ? 0 : (shared - begin) / stride + 1;
    for (uint32_t bits = begin + static_cast<uint32_t>(i) * stride;
         bits <= longest; bits += stride, i++) {
      while (i >= lengths.size()) {
        const auto next = static_cast<uint32_t>(lengths.size());
        lengths.emplace_back(begin + next * stride, salt());
      }
      set->Add(HashPrefix(key, lengths[i]));
    }
  });
}

void ProteusBuilder::Write(char* payload) {
  header_.EncodeTo(payload);
  char* out = payload + ProteusHeader::kSize;
  if (trie_ != nullptr) {
    trie_->Write(out);
    out += trie_size_;
    trie_.reset();
  }
  const ProteusDesign& design = header_.design;
  if (num_keys() > 0 && (design.key_set || design.first_prefix_bits > 0)) {
    AmqBuilder set(sets_.first, payload + ProteusHeader::kFirstSetOffset, out);
    if (design.key_set) {
      keys_.ForEach([&](const Slice& key) { set.Add(HashKey(key, salt())); });
    } else {
      AddPrefixes(design.first_prefix_bits, &set);
    }
    set.Finish();
    out += sets_.first.bytes;
  }
  if (design.prefix_bits == 0 || num_keys() == 0) return;
  AmqBuilder set(sets_.second, payload + ProteusHeader::kSecondSetOffset, out);
  AddPrefixes(design.prefix_bits, &set);
  if (design.stride_bits > 0) AddSeries(&set);
  set.Finish();
}

size_t ProteusBuilder::Memory() const {
  return keys_.MemoryUsage() + (trie_ == nullptr ? 0 : trie_->MemoryUsage()) +
         std::max(AmqBuilder::MemoryUsage(sets_.first),
                  AmqBuilder::MemoryUsage(sets_.second));
}

}  // namespace ROCKSDB_NAMESPACE::protean
