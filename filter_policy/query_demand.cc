// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/query_demand.h"

#include <algorithm>
#include <cmath>

#include "filter_policy/option_types.h"
#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr double kNanosPerMicro = 1000;
constexpr double kNanosPerMilli = 1000 * 1000;

}  // namespace

double PriceOfFalsePositive(const ReadCounts& reads, double file_micros) {
  constexpr double kMinFileMicros = 20;
  constexpr double kMaxFileMicros = 10 * 1000 * 1000;
  if (reads.all() < kMinReadsForPrice) return kUsualPrice;
  const double of_file =
      file_micros > 0 ? kNanosPerMicro * std::clamp(file_micros, kMinFileMicros,
                                                    kMaxFileMicros)
                      : static_cast<double>(kUsualPrice);
  const double share =
      static_cast<double>(reads.from_file) / static_cast<double>(reads.all());
  return share * of_file + (1 - share) * static_cast<double>(kCachedPrice);
}

uint64_t PriceClassOf(double price, uint64_t before) {
  constexpr uint64_t kStep = 10;
  constexpr uint64_t kDearest = 1000 * 1000 * kCachedPrice;
  // Between two classes, and twice as far.
  constexpr double kHalfStep = 3.1623;
  constexpr double kStays = 2 * kHalfStep;
  const auto now = static_cast<double>(before == 0 ? kUsualPrice : before);
  if (price <= kStays * now && now <= kStays * price) {
    return static_cast<uint64_t>(now);
  }
  uint64_t nearest = kCachedPrice;
  while (nearest < kDearest &&
         price > kHalfStep * static_cast<double>(nearest)) {
    nearest *= kStep;
  }
  return nearest;
}

double MaxRateForTime(uint64_t price) {
  constexpr double kUsual = 0.002;
  constexpr double kMost = 0.02;
  return std::min(kMost, kUsual * (static_cast<double>(kUsualPrice) /
                                   static_cast<double>(price)));
}

std::string PriceText(uint64_t price) {
  const auto nanos = static_cast<double>(price);
  const bool is_long = nanos >= kNanosPerMilli;
  std::string text =
      DecimalText(nanos / (is_long ? kNanosPerMilli : kNanosPerMicro),
                  /*digits=*/is_long ? 6 : 3);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + (is_long ? "ms" : "us");
}

bool ParsePrice(const std::string& text, uint64_t* price) {
  const bool is_long = Slice(text).ends_with("ms");
  if (!is_long && !Slice(text).ends_with("us")) return false;
  double number;
  if (!ParseDecimal(text.substr(0, text.size() - 2), &number)) return false;
  const double nanos = number * (is_long ? kNanosPerMilli : kNanosPerMicro);
  // Written so that a NaN is refused, too.
  if (!(nanos >= static_cast<double>(kMinPrice) &&
        nanos <= static_cast<double>(kMaxPrice))) {
    return false;
  }
  *price = static_cast<uint64_t>(std::llround(nanos));
  return true;
}

double DemandCounts::QueriesPerKey(uint64_t queries, uint64_t keys) {
  const double recent =
      std::max(0.0, static_cast<double>(queries) - forgotten_queries_);
  const double per_key =
      (recent + kFirstQueriesPerKey * kFirstKeys) / (keys_ + kFirstKeys);
  keys_ += static_cast<double>(keys);
  if (keys_ > kRecentKeys) {
    keys_ /= 2;
    forgotten_queries_ += recent / 2;
  }
  return std::clamp(per_key, kFewQueriesPerKey, kManyQueriesPerKey);
}

}  // namespace ROCKSDB_NAMESPACE::protean
