// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/rosetta.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <vector>

#include "db_bench_ext/key_arithmetic.h"
#include "filter_policy/protean_filter_policy.h"
#include "util/coding.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr FilterKind kRosettaKind{254};
constexpr char kUsage[] = "rosetta:BITS_PER_KEY";
constexpr int kMaxLevels = 64;
// The maximum number of prefixes that a query asks for. Even at 18 bits per
// key, most of such queries are false positives.
constexpr int kMaxProbes = 1 << 14;
const double kLn2 = std::log(2.0);

uint64_t HeadOf(const Slice& key) {
  std::string bytes(key.data(), std::min<size_t>(key.size(), 8));
  bytes.resize(8, '\0');
  return LeadingNumber(bytes);
}

// The keys of 8 bytes in a range, both ends included. Returns false if there is
// none.
bool ToNumbers(const Slice& lo, const Slice& hi, bool hi_inclusive,
               uint64_t* first, uint64_t* last) {
  *first = HeadOf(lo);
  *last = HeadOf(hi);
  // A shorter bound is below its own bytes followed by zeros, so an upper bound
  // of fewer than 8 bytes is excluded.
  const bool excluded = hi.size() < 8 || (hi.size() == 8 && !hi_inclusive);
  if (excluded && *last == 0) return false;
  *last -= excluded ? 1 : 0;
  return *first <= *last;
}

// Calls visit(level, prefix) for the dyadic nodes of [first, last] in order,
// until it returns true. Returns whether it did.
template <typename Visit>
bool VisitNodes(uint64_t first, uint64_t last, const Visit& visit) {
  for (;;) {
    int level = first == 0 ? kMaxLevels - 1 : __builtin_ctzll(first);
    while (last - first < (uint64_t{1} << level) - 1) level--;
    if (visit(level, first >> level)) return true;
    first += uint64_t{1} << level;
    if (first == 0 || first > last) return false;
  }
}

// A level's Bloom filter. In a payload, the number of levels comes first, then
// the bits and probes of each, then their bytes.
struct Level {
  uint64_t bits = 0;
  uint64_t probes = 1;
  const char* data = nullptr;

  uint64_t bytes() const { return (bits + 7) / 8; }
  // Returns false as soon as each(bit) does for a bit of the prefix.
  template <typename Each>
  bool ForBits(size_t level, uint64_t prefix, const Each& each) const {
    uint64_t hash = Hash64(reinterpret_cast<const char*>(&prefix), 8, level);
    for (uint64_t i = 0; i < probes; i++, hash *= 0x9fb21c651e98df25u) {
      if (!each(FastRange64(hash, bits))) return false;
    }
    return true;
  }
};

class Rosetta : public RangeFilter {
 public:
  static Status Open(const PartContents& part,
                     std::unique_ptr<RangeFilter>* filter) {
    auto rosetta = std::make_unique<Rosetta>();
    Slice in = part.payload;
    uint64_t levels = 0;
    bool good = GetFixed64(&in, &levels) && levels <= kMaxLevels;
    rosetta->levels_.resize(good ? levels : 0);
    for (Level& level : rosetta->levels_) {
      good = good && GetFixed64(&in, &level.bits) && level.bits > 0 &&
             GetFixed64(&in, &level.probes);
    }
    for (Level& level : rosetta->levels_) {
      good = good && level.bits <= 8 * in.size();
      if (!good) break;
      level.data = in.data();
      in.remove_prefix(level.bytes());
    }
    if (!good) return Status::Corruption("rosetta: cut off");
    *filter = std::move(rosetta);
    return Status::OK();
  }

  bool KeyMayMatch(const Slice& key) const override {
    return RangeMayMatch(key, key, /*hi_inclusive=*/true);
  }
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override {
    uint64_t first = 0;
    uint64_t last = 0;
    int probes = 0;
    return ToNumbers(lo, hi, hi_inclusive, &first, &last) &&
           VisitNodes(first, last, [&](int level, uint64_t prefix) {
             return Doubt(level, prefix, &probes);
           });
  }
  FilterReport Report() const override {
    FilterReport report;
    report.design = "levels 0 to " + std::to_string(levels_.size() - 1);
    return report;
  }

 private:
  bool Doubt(size_t level, uint64_t prefix, int* probes) const {
    if (++*probes > kMaxProbes) return true;
    if (level < levels_.size()) {
      const char* data = levels_[level].data;
      const auto is_set = [data](uint64_t bit) {
        return (static_cast<uint8_t>(data[bit / 8]) >> (bit % 8) & 1) != 0;
      };
      if (!levels_[level].ForBits(level, prefix, is_set)) return false;
    }
    return level == 0 || Doubt(level - 1, 2 * prefix, probes) ||
           Doubt(level - 1, 2 * prefix + 1, probes);
  }

  std::vector<Level> levels_;
};

class RosettaBuilder : public RangeFilterBuilder {
 public:
  RosettaBuilder(double bits_per_key, std::shared_ptr<QueryQueue> samples,
                 const FilterTask& task)
      : RangeFilterBuilder(task),
        bits_per_key_(bits_per_key),
        samples_(std::move(samples)) {}

  void Write(size_t /*part*/, char* payload) override {
    EncodeFixed64(payload, levels_.size());
    char* bits = payload + 8 + 16 * levels_.size();
    for (size_t r = 0; r < levels_.size(); r++) {
      EncodeFixed64(payload + 8 + 16 * r, levels_[r].bits);
      EncodeFixed64(payload + 16 + 16 * r, levels_[r].probes);
      for (const uint64_t key : keys_) {
        levels_[r].ForBits(r, key >> r, [bits](uint64_t bit) {
          bits[bit / 8] = static_cast<char>(bits[bit / 8] | 1 << (bit % 8));
          return true;
        });
      }
      bits += levels_[r].bytes();
    }
  }
  double ApproximateBitsPerKey() const override { return bits_per_key_; }
  uint64_t MaxSize() const override {
    return static_cast<uint64_t>(Bits()) / 8 + 32 * kMaxLevels;
  }
  FilterReport Report() const override {
    FilterReport report;
    report.basis = "samples";
    report.predicted_fpr = predicted_;
    return report;
  }

 protected:
  void Add(const Slice& key, size_t, size_t) override {
    fits_ = fits_ && key.size() == 8;
    keys_.push_back(HeadOf(key));
  }
  Status Plan(const KeysEnd&, std::vector<PlannedPart>* parts) override {
    if (!fits_) return Status::NotSupported("rosetta: keys have 8 bytes here");
    Choose();
    parts->resize(1);
    parts->front().num_keys = num_keys();
    parts->front().payload_size = 8 + 16 * levels_.size();
    for (const Level& level : levels_) {
      parts->front().payload_size += level.bytes();
    }
    return Status::OK();
  }
  size_t Memory() const override { return keys_.capacity() * sizeof(uint64_t); }

 private:
  double Bits() const {
    return std::max(64.0, bits_per_key_ * static_cast<double>(num_keys()));
  }

  void Choose() {
    // The nodes of each sample query by level. The samples find nothing, so no
    // node of theirs has a key, and chance alone decides.
    std::vector<std::array<uint8_t, kMaxLevels>> nodes;
    const auto samples = samples_->SnapshotFor(first_key(), last_key(), 10000);
    for (const SampleQuery& query : samples.queries) {
      uint64_t lo = 0;
      uint64_t hi = 0;
      if (!ToNumbers(query.lo, query.hi, query.hi_inclusive, &lo, &hi) ||
          std::lower_bound(keys_.begin(), keys_.end(), lo) !=
              std::upper_bound(keys_.begin(), keys_.end(), hi)) {
        continue;
      }
      nodes.push_back({});
      VisitNodes(lo, hi, [&](int level, uint64_t) {
        return ++nodes.back()[level] == 0;
      });
    }
    std::vector<Level> levels(1);
    for (double left = Bits(); left > 0 && levels.size() < kMaxLevels;) {
      levels[0].bits = static_cast<uint64_t>(std::ceil(left));
      const double per_key = left / static_cast<double>(keys_.size());
      levels[0].probes = std::max(1L, std::lround(per_key * kLn2));
      const double predicted =
          Predict(nodes, levels.size(), std::exp(-per_key * kLn2 * kLn2));
      if (levels_.empty() || predicted < predicted_) {
        levels_ = levels;
        predicted_ = predicted;
      }
      if (nodes.empty()) return;
      // Half of the bits are set where there are 1 / ln 2 for each prefix.
      uint64_t prefixes = 1;
      for (size_t i = 1; i < keys_.size(); i++) {
        prefixes +=
            keys_[i] >> levels.size() != keys_[i - 1] >> levels.size() ? 1 : 0;
      }
      levels.emplace_back();
      levels.back().bits = static_cast<uint64_t>(
          std::ceil(static_cast<double>(prefixes) / kLn2));
      left -= static_cast<double>(levels.back().bits);
    }
  }

  // The rate of false positives of the samples, or a negative number if there
  // are none, if level 0 has this rate and the other levels 1/2.
  static double Predict(
      const std::vector<std::array<uint8_t, kMaxLevels>>& nodes, size_t levels,
      double rate) {
    std::array<double, kMaxLevels> held;  // logarithms: no false positive
    for (size_t r = 0; r < kMaxLevels; r++) {
      held[r] = std::log1p(-std::min(rate, 1 - 1e-15));
      rate = (r + 1 < levels ? 0.5 : 1) * (1 - (1 - rate) * (1 - rate));
    }
    double sum = 0;
    for (const auto& query : nodes) {
      double none = 0;
      for (size_t r = 0; r < kMaxLevels; r++) none += query[r] * held[r];
      sum -= std::expm1(none);
    }
    return nodes.empty() ? -1 : sum / static_cast<double>(nodes.size());
  }

  const double bits_per_key_;
  const std::shared_ptr<QueryQueue> samples_;
  std::vector<uint64_t> keys_;
  bool fits_ = true;
  std::vector<Level> levels_;
  double predicted_ = -1;
};

class RosettaPolicy : public ProteanFilterPolicy {
 public:
  explicit RosettaPolicy(double bits_per_key) : bits_per_key_(bits_per_key) {}
  static const char* kClassName() { return "protean.Rosetta"; }
  const char* Name() const override { return kClassName(); }
  FileBuilders NewFileBuilders(const FilterBuildingContext& context, Env* env,
                               uint64_t /*price*/) const override {
    return {
        kRosettaKind,
        [this, queue = samples_->Queue(ColumnFamilyOf(context), env, nullptr)](
            const FilterTask& task) {
          return std::make_unique<RosettaBuilder>(bits_per_key_, queue, task);
        }};
  }
  std::shared_ptr<SampleStore> Samples() const override { return samples_; }

 private:
  const double bits_per_key_;
  const std::shared_ptr<SampleStore> samples_ =
      std::make_shared<SampleStore>(SampleStoreOptions());
};

}  // namespace

void RegisterRosetta() {
  static const auto parse = [](const std::string& spec,
                               std::unique_ptr<const FilterPolicy>* policy) {
    char* end = nullptr;
    const size_t colon = spec.find(':');
    const double bits =
        colon == std::string::npos ? 0 : strtod(&spec[colon + 1], &end);
    if (!(bits >= 1 && bits <= 100) || *end != '\0') {
      return Status::InvalidArgument("filter_policy=" + spec +
                                     " is not allowed; allowed: " + kUsage);
    }
    *policy = std::make_unique<RosettaPolicy>(bits);
    return Status::OK();
  };
  static const FilterType type = {
      kRosettaKind,
      "rosetta",
      Rosetta::Open,
      {{RosettaPolicy::kClassName(), "rosetta", kUsage,
        [] { return std::make_unique<RosettaPolicy>(12); }, parse}}};
  static std::once_flag once;
  std::call_once(once, [] { RegisterFilterType(&type); });
}

}  // namespace ROCKSDB_NAMESPACE::protean
