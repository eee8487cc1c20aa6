// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/key_source.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>

#include "db_bench_ext/field_keys.h"
#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/sosd_file.h"
#include "db_bench_ext/text_keys.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

uint64_t Below(Rng* rng, uint64_t bound) {
  return std::uniform_int_distribution<uint64_t>(0, bound - 1)(*rng);
}

// ---- Numbers ----

// A number of which `next` draws the leading 53 bits, as a double; the others
// are random. Values that do not fit 64 bits are drawn again.
template <typename Next>
uint64_t Number(Rng* rng, const Next& next) {
  double value = next();
  while (!(value >= 0 && value < 0x1p64)) value = next();
  const auto number = static_cast<uint64_t>(value);
  int exponent = 0;
  std::frexp(value, &exponent);
  if (exponent <= 53) return number;
  return number | ((*rng)() & ((uint64_t{1} << (exponent - 53)) - 1));
}

uint64_t Uniform(Rng* rng) { return (*rng)(); }

uint64_t Normal(Rng* rng) {
  std::normal_distribution<double> normal(0x1p63, 0.01 * 0x1p64);
  return Number(rng, [&] { return normal(*rng); });
}

uint64_t Books(Rng* rng) {
  std::normal_distribution<double> log2(56, 3);
  return Number(rng, [&] { return std::exp2(log2(*rng)); });
}

uint64_t Facebook(Rng* rng) {
  constexpr uint64_t kIds = 200'000'000;
  constexpr uint64_t kNumbersPerId = 384;
  const uint64_t id =
      std::uniform_int_distribution<uint64_t>(0, kIds - 1)(*rng);
  // An id has one place, however often it is drawn.
  const uint64_t place = (id * 0x9e3779b97f4a7c15) >> 32;
  return id * kNumbersPerId + place % kNumbersPerId;
}

KeyMaker NumberMaker(uint64_t (*number)(Rng*), size_t key_bytes) {
  return [number, key_bytes](Rng* rng) {
    std::string key = BigEndianKey(number(rng));
    while (key.size() < key_bytes) key += BigEndianKey((*rng)());
    key.resize(key_bytes);
    return key;
  };
}

KeyMaker DenseKeys() {
  constexpr uint64_t kMaxGap = 15;
  return [number = uint64_t{0}](Rng* rng) mutable {
    // The first number is far from the largest one.
    if (number == 0) number = (*rng)() >> 1;
    number += 1 + Below(rng, kMaxGap);
    return BigEndianKey(number);
  };
}

// The sensors of protean_bench's workload timeseries: each has an event in
// 0.2 s on average.
KeyMaker TimeseriesKeys() {
  constexpr uint64_t kStart = 1'600'000'000'000'000'000;
  constexpr uint64_t kSensors = 500;
  constexpr double kMeanGapNs = 0.2e9 / kSensors;
  return [time = kStart](Rng* rng) mutable {
    std::exponential_distribution<double> gap(1 / kMeanGapNs);
    time += 1 + static_cast<uint64_t>(gap(*rng));
    return BigEndianKey(time) + BigEndianKey(Below(rng, kSensors));
  };
}

// ---- Names ----

// The uses of a kind of keys.
enum Use : unsigned { kDataSet = 1, kNumbers = 2, kStrings = 4 };

struct NamedType {
  const char* name;
  KeyType type;
  unsigned uses;
};

constexpr NamedType kTypes[] = {
    {"u64", KeyType::kU64, kDataSet},
    {"uniform", KeyType::kU64, kNumbers | kStrings},
    {"normal", KeyType::kNormal, kNumbers | kStrings},
    {"books", KeyType::kBooks, kNumbers},
    {"facebook", KeyType::kFacebook, kNumbers},
    {"text", KeyType::kText, kDataSet | kStrings},
    {"dense", KeyType::kDense, kDataSet},
    {"timeseries", KeyType::kTimeseries, kDataSet},
    {"url", KeyType::kUrl, kDataSet},
    {"domain", KeyType::kDomain, kDataSet | kStrings},
    {"name", KeyType::kName, kDataSet | kStrings},
    {"path", KeyType::kPath, kDataSet | kStrings},
    {"host", KeyType::kHost, kDataSet | kStrings},
    {"user_time", KeyType::kUserTime, kDataSet | kStrings},
    {"user_window", KeyType::kUserWindow, kDataSet},
    {"sensor_time", KeyType::kSensorTime, kDataSet},
    {"host_time", KeyType::kHostTime, kDataSet},
    {"session", KeyType::kSession, kDataSet},
    {"tenant_time", KeyType::kTenantTime, kDataSet},
    {"device_time", KeyType::kDeviceTime, kDataSet},
    {"log_time", KeyType::kLogTime, kDataSet},
    {"uuid1", KeyType::kUuid1, kDataSet},
    {"uuid6", KeyType::kUuid6, kDataSet},
    {"uuid7", KeyType::kUuid7, kDataSet},
    {"uuid7_bytes", KeyType::kUuid7Bytes, kDataSet},
    {"ulid", KeyType::kUlid, kDataSet},
    {"edge", KeyType::kEdge, kDataSet},
    {"edge_text", KeyType::kEdgeText, kDataSet},
    {"package", KeyType::kPackage, kDataSet},
    {"project", KeyType::kProject, kDataSet},
    {"order", KeyType::kOrder, kDataSet},
};

// Finds the type called `name`. `refused` begins the message that lists the
// names for this use.
Status Parse(const std::string& name, Use use, const std::string& refused,
             KeyType* type) {
  std::string allowed;
  for (const NamedType& named : kTypes) {
    if ((named.uses & use) == 0) continue;
    if (name == named.name) {
      *type = named.type;
      return Status::OK();
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(named.name);
  }
  return Status::InvalidArgument(refused + "; allowed: " + allowed);
}

// ---- Sources ----

Status ReadSource(const KeySourceOptions& options, KeySource* source) {
  const auto keys = std::make_shared<std::vector<std::string>>();
  const Status s = ReadKeys(options.file, options.strings, keys.get());
  if (!s.ok()) return s;
  if (keys->empty()) {
    return Status::InvalidArgument(options.file, "holds no keys");
  }
  source->key_bytes = options.strings ? 0 : 8;
  source->draw = [keys](Rng* rng) { return (*keys)[Below(rng, keys->size())]; };
  return s;
}

KeySource MakeSource(KeyType type, size_t key_bytes,
                     const WindowLengths& windows = {}) {
  switch (type) {
    case KeyType::kU64:
      return {NumberMaker(Uniform, key_bytes), key_bytes};
    case KeyType::kNormal:
      return {NumberMaker(Normal, key_bytes), key_bytes};
    case KeyType::kBooks:
      return {NumberMaker(Books, key_bytes), key_bytes};
    case KeyType::kFacebook:
      return {NumberMaker(Facebook, key_bytes), key_bytes};
    case KeyType::kDense:
      return {DenseKeys(), 8};
    case KeyType::kTimeseries:
      return {TimeseriesKeys(), 16, /*suffix_bytes=*/8};
    case KeyType::kText:
      return {EmailKey};
    case KeyType::kUrl:
      return {UrlKey};
    case KeyType::kDomain:
      return {DomainKey};
    case KeyType::kName:
      return {NameKey};
    case KeyType::kPath:
      return {PathKey};
    case KeyType::kHost:
      return {HostKey};
    case KeyType::kUserTime:
      return {UserTimeKey};
    default:
      return FieldSourceOf(type, windows);
  }
}

}  // namespace

Status ParseKeyType(const std::string& name, KeyType* type) {
  return Parse(name, kDataSet, "key type " + name + " is unknown", type);
}

KeySource SourceOf(KeyType type, const WindowLengths& windows) {
  return MakeSource(type, 8, windows);
}

bool IsNumeric(KeyType type) {
  switch (type) {
    case KeyType::kU64:
    case KeyType::kNormal:
    case KeyType::kBooks:
    case KeyType::kFacebook:
    case KeyType::kDense:
    case KeyType::kTimeseries:
      return true;
    default:
      return false;
  }
}

Status MakeKeySource(const KeySourceOptions& options, KeySource* source) {
  if (!options.file.empty()) return ReadSource(options, source);
  KeyType type = KeyType::kU64;
  const Status s =
      Parse(options.distribution, options.strings ? kStrings : kNumbers,
            "--key_dist=" + options.distribution + " is unknown for " +
                (options.strings ? "strings" : "ranges"),
            &type);
  if (!s.ok()) return s;
  const size_t key_bytes = options.strings ? options.key_bytes : 8;
  if (IsNumeric(type) && (key_bytes < 8 || key_bytes > 4096)) {
    return Status::InvalidArgument("--key_bytes must be from 8 to 4096");
  }
  *source = MakeSource(type, key_bytes);
  return s;
}

Status ReadKeys(const std::string& file, bool text,
                std::vector<std::string>* keys) {
  if (text) {
    std::ifstream in(file);
    if (!in) return Status::IOError(file, "cannot be read");
    for (std::string line; std::getline(in, line);) keys->push_back(line);
  } else {
    std::vector<uint64_t> numbers;
    const Status s = ReadNumbers(file, 1, &numbers);
    if (!s.ok()) return s;
    for (uint64_t number : numbers) keys->push_back(BigEndianKey(number));
  }
  std::sort(keys->begin(), keys->end());
  keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
  return Status::OK();
}

std::vector<std::string> DrawDistinct(const KeyMaker& draw, uint64_t num,
                                      Rng* rng) {
  constexpr int kRounds = 100;
  std::vector<std::string> drawn;
  drawn.reserve(num);
  for (int round = 0; round < kRounds && drawn.size() < num; round++) {
    const auto old = static_cast<std::ptrdiff_t>(drawn.size());
    while (drawn.size() < num) drawn.push_back(draw(rng));
    std::sort(drawn.begin() + old, drawn.end());
    std::inplace_merge(drawn.begin(), drawn.begin() + old, drawn.end());
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  }
  return drawn;
}

Status DrawKeys(const KeySource& source, uint64_t num, Rng* rng,
                std::vector<std::string>* keys) {
  const std::vector<std::string> drawn = DrawDistinct(source.draw, num, rng);
  if (drawn.size() < num) {
    return Status::InvalidArgument("--num=" + std::to_string(num) + ": only " +
                                   std::to_string(drawn.size()) +
                                   " distinct keys could be drawn");
  }
  *keys = std::vector<std::string>(drawn);
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
