#include "db_bench_ext/workload.h"

#include <algorithm>
#include <fstream>
#include <map>

#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

void SortUnique(std::vector<std::string>* keys) {
  std::sort(keys->begin(), keys->end());
  keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
}

uint64_t Below(Rng* rng, uint64_t bound) {
  return std::uniform_int_distribution<uint64_t>(0, bound - 1)(*rng);
}

Status ReadNumbers(const std::string& file, size_t numbers_per_entry,
                   std::vector<uint64_t>* numbers) {
  std::ifstream in(file, std::ios::binary);
  char buffer[8];
  if (!in.read(buffer, 8)) {
    return Status::IOError(file, "cannot be read, or is shorter than a count");
  }
  const uint64_t count = DecodeFixed64(buffer);
  for (uint64_t i = 0; i < count * numbers_per_entry; i++) {
    if (!in.read(buffer, 8)) {
      return Status::Corruption(file,
                                "announces " + std::to_string(count) +
                                    " entries and ends after " +
                                    std::to_string(i / numbers_per_entry));
    }
    numbers->push_back(DecodeFixed64(buffer));
  }
  return Status::OK();
}

// Small values more often than large ones, as in real sets.
uint64_t Skewed(Rng* rng, uint64_t bound) {
  return std::min(Below(rng, bound), Below(rng, bound));
}

template <size_t kSize>
const char* SkewedWord(Rng* rng, const char* const (&words)[kSize]) {
  return words[Skewed(rng, kSize)];
}

constexpr const char* kNames[] = {
    "anna", "ben",  "carla", "david", "emma", "felix", "grace", "henry",
    "ines", "jack", "karin", "liam",  "mary", "nils",  "olga",  "paul",
    "rosa", "sam",  "tina",  "uwe",   "vera", "will",  "yara",  "zoe"};

std::string Email(Rng* rng) {
  static constexpr const char* kHosts[] = {
      "com.gmail",  "com.yahoo",      "com.hotmail", "org.acm.mail",
      "edu.cmu.cs", "de.tum.in.mail", "com.hpe.labs"};
  std::string key = SkewedWord(rng, kHosts);
  if (Below(rng, 4) == 0) key += ".host" + std::to_string(Below(rng, 2000));
  key += "@";
  key += SkewedWord(rng, kNames);
  if (Below(rng, 2) == 0) key += "." + std::string(SkewedWord(rng, kNames));
  if (Below(rng, 3) == 0) key += static_cast<char>('a' + Below(rng, 26));
  return key + std::to_string(Skewed(rng, 1000000));
}

std::string Url(Rng* rng) {
  static constexpr const char* kShops[] = {"books", "market", "shop", "store"};
  static constexpr const char* kTops[] = {".com", ".org", ".de"};
  std::string key = "http://www.";
  key.append(SkewedWord(rng, kNames)).append("-");
  key.append(SkewedWord(rng, kShops)).append(SkewedWord(rng, kTops));
  key += "/products/category-" + std::to_string(Skewed(rng, 200)) + "/item-";
  key += SkewedWord(rng, kNames);
  return key + "-" + std::to_string(Below(rng, 100000)) + ".html";
}

std::string Domain(Rng* rng) {
  static constexpr const char* kTops[] = {"com.", "org.", "net.",
                                          "de.",  "edu.", "io."};
  std::string key = SkewedWord(rng, kTops);
  key += SkewedWord(rng, kNames) + std::to_string(Skewed(rng, 5000));
  key.append(".").append(SkewedWord(rng, kNames));
  key.append("@").append(SkewedWord(rng, kNames));
  return key + std::to_string(Below(rng, 100));
}

KeyMaker DenseKeys(Rng* rng) {
  constexpr uint64_t kLargestGap = 15;
  // Far from the largest number.
  return [number = (*rng)() >> 1](Rng* r) mutable {
    number += 1 + Below(r, kLargestGap);
    return BigEndianKey(number);
  };
}

// As the sensors of protean_bench: an event of each in 0.2 s.
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

// Whether the keys start with a 64-bit number.
bool IsNumeric(KeyType type) {
  return type == KeyType::kU64 || type == KeyType::kDense ||
         type == KeyType::kTimeseries;
}

uint64_t NumberOf(const std::string& key) {
  uint64_t number = 0;
  for (size_t i = 0; i < 8; i++) {
    number = number << 8 | static_cast<uint8_t>(key[i]);
  }
  return number;
}

uint64_t AddUpTo(uint64_t number, uint64_t more, uint64_t largest) {
  return number + std::min(more, largest - number);
}

constexpr uint64_t kLargestNumber = ~uint64_t{0};

}  // namespace

const char kKeyTypeNames[] = "u64, text, dense, timeseries, url, domain";

Status ParseKeyType(const std::string& name, KeyType* type) {
  static const std::map<std::string, KeyType> types = {
      {"u64", KeyType::kU64},     {"text", KeyType::kText},
      {"dense", KeyType::kDense}, {"timeseries", KeyType::kTimeseries},
      {"url", KeyType::kUrl},     {"domain", KeyType::kDomain}};
  const auto found = types.find(name);
  if (found == types.end()) {
    return Status::InvalidArgument("key type " + name +
                                   " is unknown; allowed: " + kKeyTypeNames);
  }
  *type = found->second;
  return Status::OK();
}

KeyMaker MakerOf(KeyType type, Rng* rng) {
  switch (type) {
    case KeyType::kU64:
      return [](Rng* r) { return BigEndianKey((*r)()); };
    case KeyType::kText:
      return Email;
    case KeyType::kDense:
      return DenseKeys(rng);
    case KeyType::kTimeseries:
      return TimeseriesKeys();
    case KeyType::kUrl:
      return Url;
    case KeyType::kDomain:
      return Domain;
  }
  return nullptr;
}

const char kWorkloadNames[] = "point, range, mixed, short_range";

Status ParseWorkloadKind(const std::string& name, KeyType type,
                         WorkloadKind* kind) {
  static const std::map<std::string, WorkloadKind> kinds = {
      {"point", WorkloadKind::kPoint},
      {"range", WorkloadKind::kRange},
      {"mixed", WorkloadKind::kMixed},
      {"short_range", WorkloadKind::kShortRange}};
  const auto found = kinds.find(name);
  if (found == kinds.end()) {
    return Status::InvalidArgument("workload " + name +
                                   " is unknown; allowed: " + kWorkloadNames +
                                   ", ranges, strings");
  }
  if (found->second == WorkloadKind::kShortRange && !IsNumeric(type)) {
    return Status::InvalidArgument(
        "workload short_range is for numbers; allowed key types: u64, dense, "
        "timeseries");
  }
  *kind = found->second;
  return Status::OK();
}

DataSet::DataSet(KeyType type, uint64_t num_keys, uint64_t seed)
    : type_(type), num_keys_(num_keys), rng_(seed) {
  all_.reserve(2 * num_keys);
  const KeyMaker next = MakerOf(type, &rng_);
  while (all_.size() < 2 * num_keys) {
    while (all_.size() < 2 * num_keys) all_.push_back(next(&rng_));
    SortUnique(&all_);
  }
  if (IsNumeric(type)) MeasureNumbers();
  std::shuffle(all_.begin(), all_.end(), rng_);
}

void DataSet::MeasureNumbers() {
  // Stored keys that a range holds on average: the paper's ranges of 2^37 have
  // as many with 50M random keys.
  constexpr double kKeysPerRange = 0x1p37 * 50e6 / 0x1p64;
  double span = 0x1p64;
  largest_ = kLargestNumber;
  if (type_ != KeyType::kU64) {
    smallest_ = NumberOf(all_.front());
    largest_ = NumberOf(all_.back());
    span = static_cast<double>(largest_ - smallest_) + 1;
  }
  range_size_ = std::max<uint64_t>(
      1, static_cast<uint64_t>(span * kKeysPerRange /
                               static_cast<double>(num_keys_)));
}

std::vector<std::string> DataSet::StoredKeys() const {
  std::vector<const std::string*> order;
  order.reserve(num_keys_);
  for (size_t i = 0; i < num_keys_; i++) order.push_back(&all_[i]);
  std::sort(order.begin(), order.end(),
            [](const std::string* a, const std::string* b) { return *a < *b; });
  std::vector<std::string> keys;
  keys.reserve(num_keys_);
  for (const std::string* key : order) keys.push_back(*key);
  return keys;
}

Query DataSet::NumberRange(uint64_t lo, uint64_t hi) const {
  if (type_ != KeyType::kTimeseries) {
    return {BigEndianKey(lo), BigEndianKey(hi)};
  }
  return {BigEndianKey(lo) + BigEndianKey(0),
          BigEndianKey(hi) + BigEndianKey(kLargestNumber)};
}

Query DataSet::RangeBehind(const std::string& key) const {
  if (!IsNumeric(type_)) return TextRange(key);
  const uint64_t lo = AddUpTo(NumberOf(key), range_size_, kLargestNumber);
  return NumberRange(lo, AddUpTo(lo, range_size_, kLargestNumber));
}

Query DataSet::ShortRange() {
  constexpr uint64_t kLongest = 1024;
  const uint64_t lo =
      std::uniform_int_distribution<uint64_t>(smallest_, largest_)(rng_);
  const uint64_t size = 1 + Below(&rng_, kLongest);
  return NumberRange(lo, AddUpTo(lo, size, kLargestNumber));
}

std::vector<Query> DataSet::MakeQueries(WorkloadKind kind,
                                        uint64_t num_queries) {
  std::vector<Query> queries;
  queries.reserve(num_queries);
  for (uint64_t i = 0; i < num_queries; i++) {
    if (kind == WorkloadKind::kShortRange) {
      queries.push_back(ShortRange());
      continue;
    }
    const std::string& key = all_[Below(&rng_, all_.size())];
    const bool range = kind == WorkloadKind::kRange ||
                       (kind == WorkloadKind::kMixed && i % 2 == 1);
    queries.push_back(range ? RangeBehind(key) : Query{key, key});
  }
  return queries;
}

std::string BigEndianKey(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; i--, number >>= 8) {
    bytes[i] = static_cast<char>(number & 0xff);
  }
  return bytes;
}

Query TextRange(const std::string& key) {
  std::string end = key;
  end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return {key, end};
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
  SortUnique(keys);
  return Status::OK();
}

Status ReadQueries(const std::string& file, bool text,
                   std::vector<Query>* queries) {
  if (text) {
    std::ifstream in(file);
    if (!in) return Status::IOError(file, "cannot be read");
    for (std::string line; std::getline(in, line);) {
      const size_t tab = line.find('\t');
      queries->push_back({line.substr(0, tab), tab == std::string::npos
                                                   ? line
                                                   : line.substr(tab + 1)});
    }
  } else {
    std::vector<uint64_t> numbers;
    const Status s = ReadNumbers(file, 2, &numbers);
    if (!s.ok()) return s;
    for (size_t i = 0; i < numbers.size(); i += 2) {
      queries->push_back(
          {BigEndianKey(numbers[i]), BigEndianKey(numbers[i + 1])});
    }
  }
  for (size_t i = 0; i < queries->size(); i++) {
    if ((*queries)[i].hi < (*queries)[i].lo) {
      return Status::InvalidArgument(
          file, "query " + std::to_string(i + 1) + " has hi below lo");
    }
  }
  return Status::OK();
}

Status Generate(const std::string& workload, KeyType type, uint64_t num_keys,
                uint64_t num_queries, uint64_t num_samples, uint64_t seed,
                Workload* result) {
  WorkloadKind kind;
  const Status s = ParseWorkloadKind(workload, type, &kind);
  if (!s.ok()) return s;
  if (num_keys == 0) {
    return Status::InvalidArgument("at least one key must be generated");
  }
  DataSet data(type, num_keys, seed);
  result->keys = data.StoredKeys();
  result->queries = data.MakeQueries(kind, num_queries);
  // Half of the queries find nothing, give or take.
  result->samples =
      SplitByTruth(result->keys, data.MakeQueries(kind, 4 * num_samples)).first;
  result->samples.resize(
      std::min<uint64_t>(result->samples.size(), num_samples));
  return s;
}

bool Holds(const std::vector<std::string>& keys, const Query& query) {
  const auto first = std::lower_bound(keys.begin(), keys.end(), query.lo);
  return first != keys.end() && *first <= query.hi;
}

std::pair<std::vector<Query>, std::vector<Query>> SplitByTruth(
    const std::vector<std::string>& keys, const std::vector<Query>& queries) {
  std::vector<Query> empty;
  std::vector<Query> positive;
  for (const Query& query : queries) {
    (Holds(keys, query) ? positive : empty).push_back(query);
  }
  return {std::move(empty), std::move(positive)};
}

}  // namespace ROCKSDB_NAMESPACE::protean
