// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/rosetta.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <vector>

#include "db_bench_ext/number_filter.h"
#include "util/coding.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr FilterKind kRosettaKind{254};
constexpr int kMaxLevels = 64;
// The maximum number of prefixes that a query asks for. Even at 18 bits per
// key, most of such queries are false positives.
constexpr int kMaxProbes = 1 << 14;
const double kLn2 = std::log(2.0);

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

class Rosetta : public NumberFilter {
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

  FilterReport Report() const override {
    FilterReport report;
    report.design = "levels 0 to " + std::to_string(levels_.size() - 1);
    return report;
  }

 protected:
  bool NumbersMayMatch(const NumberSpan& range) const override {
    int probes = 0;
    return VisitNodes(range.first, range.second,
                      [&](int level, uint64_t prefix) {
                        return Doubt(level, prefix, &probes);
                      });
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

class RosettaBuilder : public NumberFilterBuilder {
 public:
  using NumberFilterBuilder::NumberFilterBuilder;

  void Write(size_t /*part*/, char* payload) override {
    EncodeFixed64(payload, levels_.size());
    char* bits = payload + 8 + 16 * levels_.size();
    for (size_t r = 0; r < levels_.size(); r++) {
      EncodeFixed64(payload + 8 + 16 * r, levels_[r].bits);
      EncodeFixed64(payload + 16 + 16 * r, levels_[r].probes);
      for (const uint64_t key : keys()) {
        levels_[r].ForBits(r, key >> r, [bits](uint64_t bit) {
          bits[bit / 8] = static_cast<char>(bits[bit / 8] | 1 << (bit % 8));
          return true;
        });
      }
      bits += levels_[r].bytes();
    }
  }
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
  uint64_t PlanPayload() override {
    Choose();
    uint64_t size = 8 + 16 * levels_.size();
    for (const Level& level : levels_) size += level.bytes();
    return size;
  }

 private:
  void Choose() {
    // The nodes of each sample query by level. The samples find nothing, so no
    // node of theirs has a key, and chance alone decides.
    std::vector<std::array<uint8_t, kMaxLevels>> nodes;
    for (const auto& [first, last] : EmptySamples(10000)) {
      nodes.push_back({});
      VisitNodes(first, last, [&](int level, uint64_t) {
        return ++nodes.back()[level] == 0;
      });
    }
    std::vector<Level> levels(1);
    for (double left = Bits(); left > 0 && levels.size() < kMaxLevels;) {
      levels[0].bits = static_cast<uint64_t>(std::ceil(left));
      const double per_key = left / static_cast<double>(keys().size());
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
      for (size_t i = 1; i < keys().size(); i++) {
        prefixes += keys()[i] >> levels.size() != keys()[i - 1] >> levels.size()
                        ? 1
                        : 0;
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

  std::vector<Level> levels_;
  double predicted_ = -1;
};

}  // namespace

void RegisterRosetta() {
  static std::once_flag once;
  std::call_once(once, [] {
    RegisterNumberFilter({kRosettaKind, "protean.Rosetta", "rosetta",
                          Rosetta::Open,
                          MakeNumberFilterBuilder<RosettaBuilder>});
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
