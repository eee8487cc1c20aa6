// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_builder.h"

#include <cmath>

#include "filter_policy/proteus/search/design_judge.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Few keys deserve little time: a design is checked with less samples, and
// searched with a part of those that predict its rate. A handful deserves
// hardly any: its filter of kMinBytes has room for one set, which is searched
// for the keys alone.
constexpr uint64_t kHandful = 16;
// The set is one of whole keys, without a search, if these have more bytes.
constexpr size_t kMaxSearchedOfHandful = 128;
constexpr uint64_t kFewKeys = 8192;
constexpr size_t kSamplesForFew = 4096;
constexpr size_t kSearchedForFew = 1024;

// The minimum size of sets in two units: what the second one takes besides them
// is a small part of it. Tests force smaller ones.
constexpr uint64_t kMinBytesOfUnits = 2048;
constexpr uint64_t kMinForcedBytesOfUnits = 200;

// The bytes that the trie of a design must leave to the set of whole keys, in a
// filter of `bytes` bytes.
uint64_t BytesOfKeys(const ProteusDesign& design, uint64_t bytes) {
  return design.keys() == nullptr ? 0 : design.keys()->ShareOf(bytes);
}

// A filter of a few keys may take more than its share.
constexpr uint64_t kMinBytes = 64;
// What a part takes in a block besides its payload and the string with which it
// begins, which is short where keys are alike.
constexpr uint64_t kPartAndEntry = FilterDirectory::kUnitOverhead + 9;
constexpr uint64_t kUsualBegin = 64;

// The bytes that payloads may take of `size`, of which `overhead` are spent
// otherwise.
uint64_t PayloadBytes(uint64_t size, uint64_t overhead) {
  return ProteusHeader::kMaxSetHeaders +
         std::max(size - std::min(size, overhead),
                  std::max(kMinBytes, size / 2));
}

}  // namespace

ProteusSettings::ProteusSettings() = default;

// Builds the tries of all parts. Returns false if a part has too many keys. A
// trie that is too large for its part, one of several, is dropped.
bool ProteusBuilder::BuildTries(const ProteusDesign& design) {
  const auto start = std::chrono::steady_clock::now();
  tries_size_ = 0;
  bool fits = true;
  for (ProteusPart& part : parts_) {
    fits = fits && part.BuildTrie(*design.outer());
    tries_size_ += part.trie_size();
    if (parts_.size() > 1 && part.trie_size() + ProteusHeader::kMaxSetHeaders +
                                     BytesOfKeys(design, part.bytes()) >
                                 part.bytes()) {
      part.DropTrie();
    }
  }
  trie_time_ += std::chrono::steady_clock::now() - start;
  return fits;
}

bool ProteusBuilder::HasDroppedTries() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const ProteusPart& part) {
    return part.trie_size() == 0;
  });
}

void ProteusBuilder::DropTries() {
  for (ProteusPart& part : parts_) part.DropTrie();
  tries_size_ = 0;
}

// Chooses a design and builds its tries, if it has one. Tries may turn out
// larger than their estimate, but the size of the filter is a promise. If that
// costs too many false positives, the design is chosen again with less memory.
bool ProteusBuilder::BuildChosen(const CpfprModel& model,
                                 const DesignSearch& search) {
  // The built design may have kMaxRateRatio times the false positives of the
  // chosen one, and kMaxRateExcess more.
  constexpr double kMaxRateRatio = 1.1;
  constexpr double kMaxRateExcess = 0.005;
  constexpr uint64_t kMinReserve = 64;
  const DesignSpace space = keys_.size() <= kHandful
                                ? DesignSpace::kOnePrefixFilter
                                : settings_.space;
  ProteusDesign& design = header_.design;
  // The best design so far of parts, whose tries may all be larger than the
  // estimate, and its rate.
  ProteusDesign best;
  double best_rate = 1;
  uint64_t reserve = 0;
  for (int tries = 3; tries > 0 && reserve < bytes_; tries--) {
    design = search.Choose(space, bytes_ - reserve);
    if (design.trie_bits() == 0) return true;
    if (!BuildTries(design)) return false;
    const uint64_t estimate = std::min(
        bytes_,
        model.statistics().SizeOfTrie(design.trie_bits(), bytes_).bytes);
    const bool fits = tries_size_ + BytesOfKeys(design, bytes_) <= bytes_;
    const double rate = fits ? model.Evaluate(design, bytes_, tries_size_) : 1;
    if (fits &&
        rate <= kMaxRateRatio * model.Evaluate(design, bytes_, estimate) +
                    kMaxRateExcess) {
      ChooseFallback(search);
      return true;
    }
    if (rate < best_rate) {
      best = design;
      best_rate = rate;
    }
    reserve += std::max(tries_size_, estimate) - estimate +
               kMinReserve * parts_.size();
    DropTries();
  }
  if (parts_.size() == 1) {
    design = search.Choose(DesignSpace::kOnePrefixFilter, bytes_);
    return true;
  }
  design = search.Choose(settings_.space, bytes_, /*allow_tries=*/false);
  if (best_rate >= model.Evaluate(design, bytes_, 0)) return true;
  design = best;
  if (!BuildTries(design)) return false;
  ChooseFallback(search);
  return true;
}

SamplesOfFile ProteusBuilder::TakeSamples(size_t most) const {
  if (samples_ == nullptr || keys_.size() == 0 || most == 0) return {};
  return samples_(keys_[0], keys_[keys_.size() - 1], most);
}

DesignSituation ProteusBuilder::SituationOf(
    const CpfprModel& model, const SamplesOfFile& samples) const {
  const KeyStatistics& statistics = model.statistics();
  DesignSituation situation;
  situation.num_keys = statistics.num_keys();
  situation.bits_per_key =
      8 * static_cast<double>(bytes_) /
      static_cast<double>(std::max<uint64_t>(situation.num_keys, 1));
  situation.prefixes_only = prefixes_only_;
  situation.demand = report_.demand;
  if (statistics.shortest_key() == statistics.longest_key()) {
    situation.key_size = statistics.longest_key();
  }
  situation.shared_by_share = statistics.SharedByShare();
  situation.num_looked_at = model.num_samples();
  situation.num_samples = samples.per_query * model.num_samples();
  situation.shape = SampleShape(model);
  return situation;
}

// What a query costs, in reads, if parts have two units: those that the first
// units let through, and those that a cache smaller than all filters misses. It
// misses the less, the fewer bytes are loaded for a query.
double ProteusBuilder::CostInUnits(const CpfprModel& model,
                                   const ProteusDesign& design,
                                   uint64_t trie_bytes) const {
  // What halving the bytes spares at least, in caches of a twentieth to half of
  // all filters.
  constexpr double kPerHalving = 0.1;
  const LayerPlans first =
      UnitOf(PlanLayers(design, model.statistics(), bytes_, trie_bytes), false);
  const uint64_t loaded = trie_bytes + first.bytes();
  return model.Average(design, first, 1).all +
         kPerHalving * std::log2(static_cast<double>(loaded) /
                                 static_cast<double>(bytes_));
}

// Decides whether parts have two units: whether what these cost, in reads, is
// worth more than their overhead. Of a trie, all is in the first one; so a
// design of sets alone may be better, if it is nearly as good when all of it is
// loaded. It is searched if there is a search.
void ProteusBuilder::ChooseUnits(const CpfprModel& model,
                                 const DesignSearch* search) {
  constexpr double kMaxLoss = 0.005;
  constexpr double kMinGain = 0.02;
  const double rate = model.Evaluate(header_.design, bytes_, tries_size_);
  double cost = CostInUnits(model, header_.design, tries_size_);
  if (search != nullptr && header_.design.trie_bits() > 0) {
    const ProteusDesign sets =
        search->Choose(settings_.space, bytes_ / 2, /*allow_tries=*/false);
    const double cost_of_sets = CostInUnits(model, sets, 0);
    if (cost_of_sets < cost &&
        model.Evaluate(sets, bytes_, 0) <= rate + kMaxLoss) {
      DropTries();
      header_.design = sets;
      cost = cost_of_sets;
    }
  }
  in_units_ = cost + kMinGain < rate;
}

// Chooses a design after a model, and builds its tries.
bool ProteusBuilder::BuildAfter(const CpfprModel& model) {
  DesignSearch search(model, settings_.kinds, report_.demand);
  // A set of whole keys does not answer for prefixes.
  if (prefixes_only_) {
    search.ForbidKeySets();
  } else if (settings_.keys_alone) {
    search.AskKeysForPoints(bytes_);
  }
  if (!BuildChosen(model, search)) return false;
  if (in_units_) ChooseUnits(model, &search);
  return true;
}

// Stores what is known of the design, if the model has these samples.
void ProteusBuilder::ReportDesign(const CpfprModel& model,
                                  const SamplesOfFile& samples,
                                  double predicted) {
  report_.samples =
      static_cast<uint32_t>(samples.per_query * model.num_samples());
  if (!model.queries().empty()) {
    report_.predicted_fpr = static_cast<float>(predicted);
  }
}

// Returns true if a design is as good as it was promised to be. Its tries are
// then built.
bool ProteusBuilder::Suits(const KeptDesign& kept, const CpfprModel& model,
                           DesignRates* rates) {
  const KeyStatistics& statistics = model.statistics();
  const double bloom_rate = BloomRate(bytes_, statistics.num_keys());
  const auto is_as_promised = [&](uint64_t tries_size) {
    if (tries_size + BytesOfKeys(kept.design, bytes_) > bytes_) return false;
    *rates = model.Rates(kept.design, bytes_, tries_size);
    return MatchesPrediction(*rates, kept.rates,
                             ChanceOf(kept.rates.all, model), bloom_rate);
  };
  if (kept.design.trie_bits() == 0) return is_as_promised(0);
  // The estimate spares building tries in vain.
  const uint64_t estimate =
      statistics.SizeOfTrie(kept.design.trie_bits(), bytes_).bytes;
  if (!is_as_promised(std::min(estimate, bytes_))) return false;
  if (BuildTries(kept.design) && is_as_promised(tries_size_) &&
      (!HasDroppedTries() || !kept.fallback.empty())) {
    return true;
  }
  DropTries();
  return false;
}

// Takes a design that a file before had, and builds its tries, if there is one
// that suits this group.
bool ProteusBuilder::TakeKept(FilePrior* prior) {
  if (settings_.memory == nullptr || settings_.memory->IsEmpty() ||
      keys_.size() <= kHandful) {
    return false;
  }
  const SamplesOfFile samples =
      TakeSamples(std::clamp<size_t>(keys_.size() / 8, 1024, 2048));
  prior->MakeFor(samples.InQueue());
  const CpfprModel model =
      prior->ModelOf(samples.queries, static_cast<double>(samples.per_query));
  for (const KeptDesign& kept :
       settings_.memory->Recall(SituationOf(model, samples))) {
    DesignRates rates;
    if (!Suits(kept, model, &rates)) continue;
    settings_.memory->CountUse(kept.number);
    header_.design = kept.design;
    fallback_ = kept.fallback;
    report_.origin = settings_.memory_is_shared ? DesignOrigin::kKept
                                                : DesignOrigin::kKeptInFile;
    // The search has looked at more samples.
    const bool may_be_chance =
        std::abs(rates.all - kept.rates.all) <= ChanceOf(kept.rates.all, model);
    ReportDesign(model, samples, may_be_chance ? kept.rates.all : rates.all);
    if (in_units_) ChooseUnits(model, /*search=*/nullptr);
    return true;
  }
  return false;
}

// Searches the best design, or takes the one that is forced, and builds its
// tries.
Status ProteusBuilder::Search(FilePrior* prior) {
  const SamplesOfFile samples =
      TakeSamples(keys_.size() <= kHandful  ? 0
                  : keys_.size() < kFewKeys ? kSamplesForFew
                                            : ~size_t{0});
  if (!settings_.forced.has_value() &&
      (keys_.size() > kHandful ||
       prior->statistics().longest_key() <= kMaxSearchedOfHandful)) {
    prior->MakeFor(samples.InQueue());
  }
  const double weight = static_cast<double>(samples.per_query);
  const CpfprModel model = prior->ModelOf(samples.queries, weight);
  ProteusDesign& design = header_.design;
  bool built = true;
  if (settings_.forced.has_value()) {
    design = *settings_.forced;
    // The key store keeps no more of a key.
    for (Layer& layer : design) {
      layer.bits = std::min(layer.bits, kMaxPrefixBits);
    }
    if (design.trie_bits() > 0) built = BuildTries(design);
    in_units_ = in_units_ && settings_.forced_units;
  } else {
    const size_t all = samples.queries.size();
    if (keys_.size() < kFewKeys && all >= 2 * kSearchedForFew) {
      // Roughly kSearchedForFew of them, evenly spread.
      std::vector<SampleQuery> part;
      for (size_t i = 0; i < all; i += all / kSearchedForFew) {
        part.push_back(samples.queries[i]);
      }
      const double weight_in_part =
          weight * static_cast<double>(all) / static_cast<double>(part.size());
      built = BuildAfter(prior->ModelOf(part, weight_in_part));
    } else {
      built = BuildAfter(model);
    }
  }
  if (!built) {
    return Status::NotSupported("Proteus: too many keys for one file");
  }
  const DesignRates rates = model.Rates(design, bytes_, tries_size_);
  ReportDesign(model, samples, rates.all);
  if (settings_.memory != nullptr && keys_.size() > kHandful &&
      !model.queries().empty()) {
    settings_.memory->Keep(
        {design, fallback_, rates, SituationOf(model, samples)});
  }
  return Status::OK();
}

uint64_t ProteusBuilder::MaxSize() const {
  const uint64_t size =
      SizeAt(settings_.bits_of_file == nullptr ? settings_.bits_per_key
                                               : settings_.max_bits_of_file);
  const uint64_t parts = std::max<uint64_t>(1, NumParts(size));
  return PayloadBytes(size, 0) +
         parts * (FilterDirectory::kUnitOverhead +
                  FilterDirectory::kMaxEntrySize + kUsualBegin);
}

Status ProteusBuilder::Plan(const KeysEnd& end,
                            std::vector<PlannedPart>* parts) {
  parts->clear();
  if (num_keys() == 0) return Status::OK();
  double bits_per_key = settings_.bits_per_key;
  if (settings_.bits_of_file != nullptr) {
    bits_per_key =
        std::min(settings_.max_bits_of_file,
                 settings_.bits_of_file->BitsFor(keys_.size(), end.more_follow,
                                                 first_key(), last_key()));
  }
  if (bits_per_key == 0) {
    return Status::MemoryLimit("filter_budget_bytes is used up");
  }
  const uint64_t size = SizeAt(bits_per_key);
  Cut(NumParts(size), parts);
  uint64_t overhead =
      FilterDirectory::kFixedSize + ProteusHeader::kMaxSetHeaders +
      std::min(first_key().size(), FilterBlockHeader::kMaxStoredKey) +
      std::min(last_key().size(), FilterBlockHeader::kMaxStoredKey) + 12;
  for (const PlannedPart& part : *parts) {
    overhead += kPartAndEntry + part.begin.size();
  }
  return Design(PayloadBytes(size, overhead), end.prefixes_only,
                /*in_units=*/task().part_bytes > 0, parts);
}

void ProteusBuilder::Cut(uint64_t num_parts,
                         std::vector<PlannedPart>* parts) const {
  const uint64_t num_keys = keys_.size();
  const uint64_t wanted = std::max<uint64_t>(1, std::min(num_parts, num_keys));
  parts->assign(1, PlannedPart());
  size_t begin = 0;
  for (size_t at = 0; parts->size() < wanted;) {
    // A part begins behind the next key that the store tells from its
    // predecessor.
    at = std::max<size_t>(at + 1, num_keys * parts->size() / wanted);
    if (at >= num_keys) break;
    PlannedPart next;
    if (!ShortestBegin(keys_[at - 1], keys_[at], &next.begin)) continue;
    parts->back().num_keys = at - begin;
    begin = at;
    parts->push_back(std::move(next));
  }
  parts->back().num_keys = num_keys - begin;
}

Status ProteusBuilder::Design(uint64_t bytes, bool prefixes_only, bool in_units,
                              std::vector<PlannedPart>* parts) {
  const auto start = std::chrono::steady_clock::now();
  prefixes_only_ = prefixes_only;
  in_units_ = in_units;
  // Parts get their share by the keys.
  uint64_t end = 0;
  for (const PlannedPart& plan : *parts) {
    const uint64_t begin = end;
    end += plan.num_keys;
    const uint64_t share =
        bytes * end / keys_.size() - bytes * begin / keys_.size();
    parts_.emplace_back(keys_, begin, end, share);
    bytes_ += share - std::min(share, ProteusHeader::kMaxSetHeaders);
  }
  if (settings_.queries_per_key != nullptr) {
    FilterDemand& demand = report_.demand;
    demand.queries_per_key = settings_.queries_per_key(keys_.size());
    demand.is_measured = true;
  }
  const KeyStatistics statistics(keys_);
  header_.shortest_key = static_cast<uint32_t>(
      std::min<size_t>(statistics.shortest_key(), ~uint32_t{0}));
  header_.neighbour_bits = statistics.NeighbourBits();
  FilePrior prior(keys_, statistics, prefixes_only_);
  if (!TakeKept(&prior)) {
    const Status s = Search(&prior);
    if (!s.ok()) return s;
  }
  const uint64_t min_of_units = !in_units_ ? ~uint64_t{0}
                                : settings_.forced.has_value()
                                    ? kMinForcedBytesOfUnits
                                    : kMinBytesOfUnits;
  for (size_t i = 0; i < parts_.size(); i++) {
    ProteusHeader header = header_;
    if (header.design.trie_bits() > 0 && parts_[i].trie_size() == 0) {
      header.design = fallback_;
    }
    (*parts)[i].design = header.Encode();
    parts_[i].PlanSets(header.design,
                       parts_.size() == 1 ? statistics : parts_[i].Statistics(),
                       min_of_units, &(*parts)[i]);
  }
  // Writing a part needs the keys for the sets only.
  if (header_.design.num_sets() == 0 && parts_.size() == 1) keys_.Clear();
  const auto spent = std::chrono::steady_clock::now() - start - trie_time_;
  report_.model_micros = static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
  return Status::OK();
}

size_t ProteusBuilder::Memory() const {
  size_t sum = keys_.MemoryUsage();
  for (const ProteusPart& part : parts_) sum += part.MemoryUsage();
  return sum;
}

}  // namespace ROCKSDB_NAMESPACE::protean
