// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_group.h"

#include <algorithm>

#include "filter_policy/proteus/prior.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// What a trie has to leave, of `most` bytes, to the set that points ask alone.
uint64_t BytesOfPoints(const ProteusDesign& design, uint64_t num_keys,
                       uint64_t most) {
  return design.key_rate == 0
             ? 0
             : LeastBytes(design.amq, num_keys, design.key_rate, most);
}

}  // namespace

// Builds the tries of all parts. Returns false if a part has too many keys. A
// trie that is too large for its part of a partitioned filter is dropped.
bool ProteusGroup::BuildTries(const ProteusDesign& design) {
  const auto start = std::chrono::steady_clock::now();
  tries_size_ = 0;
  bool fits = true;
  for (ProteusPart& part : parts_) {
    fits = fits && part.BuildTrie(design);
    tries_size_ += part.trie_size();
    if (header_.is_part &&
        part.trie_size() + ProteusHeader::kMaxPartSize +
                BytesOfPoints(design, part.num_keys(), part.bytes()) >
            part.bytes()) {
      part.DropTrie();
    }
  }
  trie_time_ += std::chrono::steady_clock::now() - start;
  return fits;
}

bool ProteusGroup::HasDroppedTries() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const ProteusPart& part) {
    return part.trie_size() == 0;
  });
}

void ProteusGroup::DropTries() {
  for (ProteusPart& part : parts_) part.DropTrie();
  tries_size_ = 0;
}

// Chooses a design and builds its tries, if it has one. Tries may turn out
// larger than their estimate, but the size of the filter is a promise. If that
// costs too many false positives, the design is chosen again with less memory.
bool ProteusGroup::BuildChosen(const CpfprModel& model,
                               const KeyStatistics& statistics) {
  // The built design may have kFactor times the false positives of the chosen
  // one, and kMore more.
  constexpr double kFactor = 1.1;
  constexpr double kMore = 0.005;
  constexpr uint64_t kMinReserve = 64;
  DesignSearch search(model, statistics, settings_.kinds);
  // A set of whole keys does not answer for prefixes.
  if (prefixes_only_) {
    search.ForbidKeySets();
  } else if (settings_.keys_alone) {
    search.AskKeysForPoints(bytes_);
  }
  ProteusDesign& design = header_.design;
  // The best design so far of parts, whose tries may all be larger than the
  // estimate, and its rate.
  ProteusDesign best;
  double best_rate = 1;
  uint64_t reserve = 0;
  for (int tries = 3; tries > 0 && reserve < bytes_; tries--) {
    design = search.Choose(settings_.space, bytes_ - reserve);
    if (design.trie_bits == 0) return true;
    if (!BuildTries(design)) return false;
    const uint64_t estimate =
        std::min(bytes_, statistics.SizeOfTrie(design.trie_bits, bytes_).bytes);
    const bool fits =
        tries_size_ + BytesOfPoints(design, statistics.num_keys(), bytes_) <=
        bytes_;
    const double rate = fits ? model.Evaluate(design, bytes_ - tries_size_) : 1;
    if (fits &&
        rate <= kFactor * model.Evaluate(design, bytes_ - estimate) + kMore) {
      AcceptTries(&search);
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
  if (!header_.is_part) {
    design = search.Choose(DesignSpace::kOnePrefixFilter, bytes_);
    return true;
  }
  DesignSearch without_tries = search;
  without_tries.ForbidTries();
  design = without_tries.Choose(settings_.space, bytes_);
  if (best_rate >= model.Evaluate(design, bytes_)) return true;
  design = best;
  if (!BuildTries(design)) return false;
  AcceptTries(&search);
  return true;
}

// Completes a design whose tries have been built.
void ProteusGroup::AcceptTries(DesignSearch* search) {
  ProteusDesign& design = header_.design;
  if (design.prefix_bits == 0 && !design.key_set) {
    search->AddSecondLayer(bytes_ - tries_size_, &design);
  }
  if (HasDroppedTries()) {
    search->ForbidTries();
    fallback_ = search->Choose(settings_.space, bytes_);
  }
}

DesignSituation ProteusGroup::SituationOf(
    const CpfprModel& model, size_t samples_per_look,
    const KeyStatistics& statistics) const {
  DesignSituation situation;
  situation.num_keys = statistics.num_keys();
  situation.bits_per_key =
      8 * static_cast<double>(bytes_) /
      static_cast<double>(std::max<uint64_t>(situation.num_keys, 1));
  situation.prefixes_only = prefixes_only_;
  situation.num_looked_at = model.num_samples();
  situation.num_samples = samples_per_look * model.num_samples();
  situation.shape = SampleShape(model);
  return situation;
}

// Stores what is known of the design, if the model has looked at one of
// `samples_per_look` samples.
void ProteusGroup::ReportDesign(const CpfprModel& model,
                                size_t samples_per_look,
                                const CpfprModel::Rates& rates) {
  DesignReport& report = header_.report;
  report.outside = static_cast<uint32_t>(samples_per_look * model.outside());
  report.samples =
      static_cast<uint32_t>(samples_per_look * model.num_samples());
  if (!model.queries().empty()) {
    report.predicted_fpr = static_cast<float>(rates.all);
  }
}

// Takes the design that the group before had, and builds its tries, if it suits
// this one.
bool ProteusGroup::TakeKept(const KeptDesign& kept,
                            const KeyStatistics& statistics,
                            const std::vector<SampleQuery>& samples) {
  const size_t per_look =
      std::max<size_t>(1, samples.size() / DesignMemory::kSamplesLookedAt);
  std::vector<SampleQuery> looked_at;
  for (size_t i = 0; i < samples.size(); i += per_look) {
    looked_at.push_back(samples[i]);
  }
  const CpfprModel model(
      keys_, statistics, looked_at,
      MakePrior(keys_, statistics, looked_at.size(), prefixes_only_),
      prefixes_only_);
  if (!AreAlike(kept.situation, SituationOf(model, per_look, statistics))) {
    return false;
  }
  if (kept.design.trie_bits > 0 &&
      (!BuildTries(kept.design) ||
       tries_size_ + BytesOfPoints(kept.design, statistics.num_keys(), bytes_) >
           bytes_)) {
    DropTries();
    return false;
  }
  const CpfprModel::Rates rates = model.Average(
      kept.design, PlanPrefixSets(kept.design, statistics, SetBytes()), 1);
  const bool needs_fallback = kept.design.trie_bits > 0 && HasDroppedTries();
  const bool has_fallback = kept.fallback.prefix_bits > 0;
  if (!IsAsGood(rates, kept.rates) || (needs_fallback && !has_fallback)) {
    DropTries();
    return false;
  }
  header_.design = kept.design;
  fallback_ = kept.fallback;
  ReportDesign(model, per_look, rates);
  return true;
}

// Searches the best design, or takes the one that is forced, and builds its
// tries.
Status ProteusGroup::Search(const KeyStatistics& statistics,
                            const std::vector<SampleQuery>& samples) {
  std::vector<CpfprModel::Query> prior;
  if (!settings_.forced.has_value()) {
    prior = MakePrior(keys_, statistics, samples.size(), prefixes_only_);
  }
  const CpfprModel model(keys_, statistics, samples, prior, prefixes_only_);
  ProteusDesign& design = header_.design;
  bool built = true;
  if (settings_.forced.has_value()) {
    design = *settings_.forced;
    // The key store keeps no more of a key.
    design.trie_bits = std::min(design.trie_bits, kMaxPrefixBits);
    design.prefix_bits = std::min(design.prefix_bits, kMaxPrefixBits);
    if (design.prefix_bits <= design.first_bits()) design.prefix_bits = 0;
    if (design.trie_bits > 0) built = BuildTries(design);
  } else {
    built = BuildChosen(model, statistics);
  }
  if (!built) {
    return Status::NotSupported("Proteus: too many keys for one file");
  }
  const CpfprModel::Rates rates =
      model.Average(design, PlanPrefixSets(design, statistics, SetBytes()), 1);
  ReportDesign(model, 1, rates);
  if (settings_.memory != nullptr && !model.queries().empty()) {
    settings_.memory->Keep(
        {design, fallback_, rates, SituationOf(model, 1, statistics)});
  }
  return Status::OK();
}

Status ProteusGroup::Design() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  is_designed_ = true;
  const size_t header_size =
      header_.is_part ? ProteusHeader::kMaxPartSize : ProteusHeader::kSize;
  for (const ProteusPart& part : parts_) {
    bytes_ += part.bytes() - std::min(part.bytes(), header_size);
  }
  const KeyStatistics statistics(keys_);
  const std::vector<SampleQuery> samples =
      samples_ == nullptr ? std::vector<SampleQuery>() : samples_();
  header_.shortest_key = static_cast<uint32_t>(
      std::min<size_t>(statistics.shortest_key(), ~uint32_t{0}));
  header_.neighbour_bits = statistics.NeighbourBits();
  const std::optional<KeptDesign> kept =
      settings_.memory == nullptr ? std::nullopt : settings_.memory->Recall();
  if (!kept.has_value() || !TakeKept(*kept, statistics, samples)) {
    const Status s = Search(statistics, samples);
    if (!s.ok()) return s;
  }
  if (!header_.is_part) {
    parts_[0].PlanSets(header_, statistics);
    // WritePart needs the keys for the sets only.
    if (!header_.HasFirstSet() && !header_.HasSecondSet()) keys_.Clear();
  }
  const auto spent = Clock::now() - start - trie_time_;
  header_.report.model_micros = static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(spent).count());
  return Status::OK();
}

ProteusHeader ProteusGroup::WritePart(size_t index, uint64_t smallest,
                                      uint64_t largest, const FilterSalt& salt,
                                      char* payload) {
  ProteusPart& part = parts_[index];
  ProteusHeader header = header_;
  header.smallest = smallest;
  header.largest = largest;
  if (header.design.trie_bits > 0 && part.trie_size() == 0) {
    header.design = fallback_;
  }
  if (header.is_part) part.PlanSets(header, part.Statistics());
  part.Write(header, salt, payload);
  // The time of modelling is told once.
  header_.report.model_micros = 0;
  return header;
}

size_t ProteusGroup::MemoryUsage() const {
  size_t sum = keys_.MemoryUsage();
  for (const ProteusPart& part : parts_) sum += part.MemoryUsage();
  return sum;
}

}  // namespace ROCKSDB_NAMESPACE::protean
