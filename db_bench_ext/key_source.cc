#include "db_bench_ext/key_source.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A number that `next` draws, which has the leading 53 bits of it only: the
// others are random. Draws again what does not fit 64 bits.
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
  // The same place each time that the id is drawn.
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

Status Refuse(const KeySourceOptions& options, const std::string& allowed) {
  return Status::InvalidArgument(
      "--key_dist=" + options.distribution + " is unknown for " +
      (options.strings ? "strings" : "ranges") + "; allowed: " + allowed);
}

Status MakeNumbers(const KeySourceOptions& options, KeySource* source) {
  uint64_t (*number)(Rng*) = nullptr;
  if (options.distribution == "uniform") number = Uniform;
  if (options.distribution == "normal") number = Normal;
  if (options.distribution == "books") number = Books;
  if (options.distribution == "facebook") number = Facebook;
  if (number == nullptr) {
    return Refuse(options, "uniform, normal, books, facebook");
  }
  *source = {NumberMaker(number, 8), 8};
  return Status::OK();
}

Status MakeStrings(const KeySourceOptions& options, KeySource* source) {
  if (options.distribution == "domain") {
    *source = {MakerOf(KeyType::kDomain, nullptr), 0};
  } else if (options.distribution == "text") {
    *source = {MakerOf(KeyType::kText, nullptr), 0};
  } else if (options.distribution != "uniform" &&
             options.distribution != "normal") {
    return Refuse(options, "uniform, normal, domain, text");
  } else if (options.key_bytes < 8 || options.key_bytes > 4096) {
    return Status::InvalidArgument("--key_bytes must be from 8 to 4096");
  } else {
    *source = {NumberMaker(options.distribution == "normal" ? Normal : Uniform,
                           options.key_bytes),
               options.key_bytes};
  }
  return Status::OK();
}

Status ReadSource(const KeySourceOptions& options, KeySource* source) {
  const auto keys = std::make_shared<std::vector<std::string>>();
  const Status s = ReadKeys(options.file, options.strings, keys.get());
  if (!s.ok()) return s;
  if (keys->empty()) {
    return Status::InvalidArgument(options.file, "holds no keys");
  }
  source->key_bytes = options.strings ? 0 : 8;
  source->draw = [keys](Rng* rng) {
    return (*keys)[std::uniform_int_distribution<size_t>(
        0, keys->size() - 1)(*rng)];
  };
  return s;
}

}  // namespace

Status MakeKeySource(const KeySourceOptions& options, KeySource* source) {
  if (!options.file.empty()) return ReadSource(options, source);
  return options.strings ? MakeStrings(options, source)
                         : MakeNumbers(options, source);
}

Status DrawKeys(const KeySource& source, uint64_t num, Rng* rng,
                std::vector<std::string>* keys) {
  constexpr int kRounds = 100;
  std::vector<std::string> drawn;
  drawn.reserve(num);
  for (int round = 0; round < kRounds && drawn.size() < num; round++) {
    const auto old = static_cast<std::ptrdiff_t>(drawn.size());
    while (drawn.size() < num) drawn.push_back(source.draw(rng));
    std::sort(drawn.begin() + old, drawn.end());
    std::inplace_merge(drawn.begin(), drawn.begin() + old, drawn.end());
    drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  }
  if (drawn.size() < num) {
    return Status::InvalidArgument("--num=" + std::to_string(num) + ": only " +
                                   std::to_string(drawn.size()) +
                                   " distinct keys could be drawn");
  }
  // Copied, since the drawn ones lie scattered.
  *keys = std::vector<std::string>(drawn);
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
