#include "db_bench_ext/workload.h"

#include <algorithm>
#include <fstream>
#include <random>

#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Rng = std::mt19937_64;

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

// Emails with a skewed choice of hosts and names, as in real sets.
std::string Email(Rng* rng) {
  static const char* const kHosts[] = {
      "com.gmail",  "com.yahoo",      "com.hotmail", "org.acm.mail",
      "edu.cmu.cs", "de.tum.in.mail", "com.hpe.labs"};
  static const char* const kNames[] = {
      "anna", "ben",  "carla", "david", "emma", "felix", "grace", "henry",
      "ines", "jack", "karin", "liam",  "mary", "nils",  "olga",  "paul",
      "rosa", "sam",  "tina",  "uwe",   "vera", "will",  "yara",  "zoe"};
  auto skewed = [rng](size_t size) {
    return std::min(Below(rng, size), Below(rng, size));
  };
  std::string key = kHosts[skewed(std::size(kHosts))];
  if (Below(rng, 4) == 0) key += ".host" + std::to_string(Below(rng, 2000));
  key += "@";
  key += kNames[skewed(std::size(kNames))];
  if (Below(rng, 2) == 0) key += "." + std::string(kNames[skewed(24)]);
  if (Below(rng, 3) == 0) key += static_cast<char>('a' + Below(rng, 26));
  return key + std::to_string(skewed(1000000));
}

Query TextRange(const std::string& key) {
  std::string end = key;
  end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return {key, end};
}

// [K + r, K + 2r], cut off at the largest number.
Query IntegerRange(const std::string& key, uint64_t num_keys) {
  // 50M keys and r = 2^37 in the paper: as many keys a range with fewer keys.
  const auto r =
      static_cast<uint64_t>(0x1p37 * 50e6 / static_cast<double>(num_keys));
  uint64_t number = 0;
  for (char c : key) number = number << 8 | static_cast<uint8_t>(c);
  const uint64_t lo = number + std::min(r, ~number);
  return {BigEndianKey(lo), BigEndianKey(lo + std::min(r, ~lo))};
}

}  // namespace

const char kWorkloadNames[] = "point, range, mixed";

std::string BigEndianKey(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 7; i >= 0; i--, number >>= 8) {
    bytes[i] = static_cast<char>(number & 0xff);
  }
  return bytes;
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

Status Generate(const std::string& workload, bool text, uint64_t num_keys,
                uint64_t num_queries, uint64_t seed, Workload* result) {
  if (workload != "point" && workload != "range" && workload != "mixed") {
    return Status::InvalidArgument(
        "workload " + workload + " is unknown; allowed: ", kWorkloadNames);
  }
  Rng rng(seed);
  std::vector<std::string> all;
  while (all.size() < 2 * num_keys) {
    while (all.size() < 2 * num_keys) {
      all.push_back(text ? Email(&rng) : BigEndianKey(rng()));
    }
    SortUnique(&all);
  }
  std::shuffle(all.begin(), all.end(), rng);
  result->keys.assign(all.begin(), all.begin() + num_keys);
  std::sort(result->keys.begin(), result->keys.end());

  for (uint64_t i = 0; i < num_queries; i++) {
    const std::string& key = all[Below(&rng, all.size())];
    const bool range = workload == "range" || (workload == "mixed" && i % 2);
    result->queries.push_back(!range ? Query{key, key}
                              : text ? TextRange(key)
                                     : IntegerRange(key, num_keys));
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
