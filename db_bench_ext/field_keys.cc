// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/field_keys.h"

#include <cmath>
#include <ctime>

#include "db_bench_ext/key_arithmetic.h"
#include "filter_policy/range_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kStartMs = 1'767'225'600'000;  // 2026-01-01
constexpr uint64_t kSpanMs = 30ull * 24 * 3600 * 1000;
constexpr uint64_t kSecondMs = 1000;
constexpr uint64_t kHourMs = 3600 * kSecondMs;
constexpr uint64_t kDayMs = 24 * kHourMs;
constexpr uint64_t kMaxIdsMs = 500;

// Operands and arguments are evaluated in any order. A key that takes several
// draws makes each of them in a statement of its own, so that a seed gives the
// same keys with every compiler, on every CPU.

uint64_t Below(Rng* rng, uint64_t bound) {
  return std::uniform_int_distribution<uint64_t>(0, bound - 1)(*rng);
}
uint64_t Skewed(Rng* rng, uint64_t bound) {
  return std::min(Below(rng, bound), Below(rng, bound));
}
uint64_t AnyMs(Rng* rng) { return kStartMs + Below(rng, kSpanMs); }

// A number in [least, most], all orders of magnitude being equally likely.
uint64_t AnyOrder(Rng* rng, uint64_t least, uint64_t most) {
  std::uniform_real_distribution<double> exponent(
      std::log(static_cast<double>(least)),
      std::log(static_cast<double>(most)));
  return static_cast<uint64_t>(std::exp(exponent(*rng)));
}

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[128];
  const int size = snprintf(text, sizeof(text), format, values...);
  return std::string(text, static_cast<size_t>(size));
}

using Ull = unsigned long long;  // NOLINT: the type of %llu

// The time in the form of ISO 8601, `between` day and hour, and `point` before
// the milliseconds.
std::string Iso(uint64_t ms, char between, char point) {
  const auto seconds = static_cast<time_t>(ms / 1000);
  tm parts;
  gmtime_r(&seconds, &parts);
  return Format("%04d-%02d-%02d%c%02d:%02d:%02d%c%03d", parts.tm_year + 1900,
                parts.tm_mon + 1, parts.tm_mday, between, parts.tm_hour,
                parts.tm_min, parts.tm_sec, point, static_cast<int>(ms % 1000));
}

// ---- Entities and their times ----

// The range of an entity's keys within a window. `print` prints a time.
template <typename Print>
Query WindowOf(const std::string& entity, const WindowLengths& lengths,
               const Print& print, Rng* rng) {
  const uint64_t begin = AnyMs(rng);
  const uint64_t end = begin + AnyOrder(rng, lengths.least_ms, lengths.most_ms);
  return {entity + print(begin), entity + print(end)};
}

std::string UserTime(uint64_t ms) { return Iso(ms, 'T', '.') + "Z"; }
std::string UserKey(Rng* rng) {
  const std::string time = UserTime(AnyMs(rng));
  return Format("user:%06llu|", static_cast<Ull>(Below(rng, 10000))) + time;
}
Query UserWindow(const std::string& key, const WindowLengths& lengths,
                 Rng* rng) {
  return WindowOf(key.substr(0, key.find('|') + 1), lengths, UserTime, rng);
}

std::string Decimal(uint64_t ms) { return std::to_string(ms); }
std::string SensorKey(Rng* rng) {
  const uint64_t site = Below(rng, 40);
  const std::string time = Decimal(AnyMs(rng));
  return Format("site-%llu/sensor-%llu/", static_cast<Ull>(site),
                static_cast<Ull>(Below(rng, 300 - 5 * site))) +
         time;
}
Query SensorWindow(const std::string& key, const WindowLengths& lengths,
                   Rng* rng) {
  return WindowOf(key.substr(0, key.rfind('/') + 1), lengths, Decimal, rng);
}

std::string HostTimeKey(Rng* rng) {
  static constexpr const char* kRoles[] = {"web", "api", "sql", "job"};
  static constexpr const char* kZones[] = {"eu-west-3", "us-east-1",
                                           "us-west-2"};
  const uint64_t host = Below(rng, 3000);
  const std::string time = Iso(AnyMs(rng), ' ', ',');
  return Format("%s-%04llu.%s.example.com ", kRoles[host % 4],
                static_cast<Ull>(host), kZones[host % 3]) +
         time;
}
Query HostWindow(const std::string& key, const WindowLengths& lengths,
                 Rng* rng) {
  const auto print = [](uint64_t ms) { return Iso(ms, ' ', ','); };
  return WindowOf(key.substr(0, key.find(' ') + 1), lengths, print, rng);
}

std::string SessionKey(Rng* rng) {
  static constexpr const char* kTopics[] = {"orders", "clicks", "payments",
                                            "page-views", "audit"};
  const uint64_t session = Below(rng, 20000);
  const std::string time = Decimal(AnyMs(rng));
  const std::string sequence = std::to_string(Skewed(rng, 1000));
  return Format("%s-%08llx-", kTopics[session % 5],
                static_cast<Ull>(session * 0x9e3779b97f4a7c15 >> 32)) +
         time + "-" + sequence;
}
Query SessionWindow(const std::string& key, const WindowLengths& lengths,
                    Rng* rng) {
  const size_t time = key.rfind('-', key.rfind('-') - 1) + 1;
  Query query = WindowOf(key.substr(0, time), lengths, Decimal, rng);
  query.hi += "-:";
  return query;
}

// A tenant of 20 bits and milliseconds of 44 bits, in a number.
std::string TenantKey(Rng* rng) {
  const uint64_t tenant = Below(rng, 5000) * 0x9e3779b1 % (1 << 20);
  return BigEndianKey(tenant << 44 | AnyMs(rng));
}
Query TenantWindow(const std::string& key, const WindowLengths& lengths,
                   Rng* rng) {
  const uint64_t tenant = LeadingNumber(key) >> 44 << 44;
  const auto print = [&](uint64_t ms) { return BigEndianKey(tenant | ms); };
  return WindowOf("", lengths, print, rng);
}

std::string BinaryNs(uint64_t ms) { return BigEndianKey(ms * 1'000'000); }
std::string DeviceKey(Rng* rng) {
  const uint64_t ns = Below(rng, 1'000'000);
  const std::string time = KeyPlus(BinaryNs(AnyMs(rng)), ns);
  return BigEndianKey(Below(rng, 10000)) + time;
}
Query DeviceWindow(const std::string& key, const WindowLengths& lengths,
                   Rng* rng) {
  return WindowOf(key.substr(0, 8), lengths, BinaryNs, rng);
}

std::string LogTime(uint64_t ms) { return Iso(ms, ' ', ','); }
std::string LogKey(Rng* rng) {
  const uint64_t line = Below(rng, 1000000);
  const uint64_t host = Below(rng, 100);
  return LogTime(AnyMs(rng)) + Format(" host-%03llu %06llu",
                                      static_cast<Ull>(host),
                                      static_cast<Ull>(line));
}
Query LogWindow(const std::string& /*key*/, const WindowLengths& lengths,
                Rng* rng) {
  return WindowOf("", lengths, LogTime, rng);
}

// ---- Time-ordered ids ----

// UUIDs are two numbers of 64 bits (RFC 9562). The highest bits of the second
// one are the variant.
constexpr uint64_t kVariant = uint64_t{1} << 63;

std::string UuidText(uint64_t high, uint64_t low) {
  return Format(
      "%08llx-%04llx-%04llx-%04llx-%012llx", static_cast<Ull>(high >> 32),
      static_cast<Ull>(high >> 16 & 0xffff), static_cast<Ull>(high & 0xffff),
      static_cast<Ull>(low >> 48), static_cast<Ull>(low & 0xffffffffffff));
}
uint64_t LowOfRandom(Rng* rng) { return (*rng)() >> 2 | kVariant; }
uint64_t LowOfNode(Rng* rng) {
  const uint64_t node = Below(rng, 8);
  return kVariant | (0x1234 + 77 * node) % 0x4000 << 48 |
         (0x02005e000000 + node * 0x9e3779);
}

// Units of 100 ns since 1582-10-15, with which versions 1 and 6 count.
uint64_t Ticks(uint64_t ms) { return (ms + 12'219'292'800'000) * 10'000; }
uint64_t AnyTicks(Rng* rng) {
  const uint64_t ticks = Ticks(AnyMs(rng));
  return ticks + Below(rng, 10'000);
}
uint64_t HighOf1(uint64_t ticks) {
  return ticks << 32 | (ticks >> 32 & 0xffff) << 16 | 0x1000 | ticks >> 48;
}
uint64_t HighOf6(uint64_t ticks) {
  return ticks >> 12 << 16 | 0x6000 | (ticks & 0xfff);
}
uint64_t HighOf7(uint64_t ms, uint64_t random) {
  return ms << 16 | 0x7000 | random % 0x1000;
}

std::string Uuid1(Rng* rng) {
  const uint64_t low = LowOfNode(rng);
  return UuidText(HighOf1(AnyTicks(rng)), low);
}
Query Uuid1Window(const std::string& /*key*/, Rng* rng) {
  const uint64_t begin = AnyTicks(rng);
  const uint64_t end = begin + AnyOrder(rng, 1, 20);
  // A window does not reach over the end of the low 32 bits.
  return begin >> 32 != end >> 32
             ? Uuid1Window("", rng)
             : Query{UuidText(HighOf1(begin), kVariant),
                     UuidText(HighOf1(end), ~uint64_t{0} >> 2 | kVariant)};
}

std::string Uuid6(Rng* rng) {
  const uint64_t low = LowOfNode(rng);
  return UuidText(HighOf6(AnyTicks(rng)), low);
}
Query Uuid6Window(const std::string& /*key*/, const WindowLengths& lengths,
                  Rng* rng) {
  const uint64_t begin = AnyMs(rng);
  const uint64_t end = begin + AnyOrder(rng, lengths.least_ms, lengths.most_ms);
  return {UuidText(HighOf6(Ticks(begin)), kVariant),
          UuidText(HighOf6(Ticks(end)), ~uint64_t{0} >> 2 | kVariant)};
}

std::string Uuid7(Rng* rng) {
  const uint64_t low = LowOfRandom(rng);
  const uint64_t random = (*rng)();
  return UuidText(HighOf7(AnyMs(rng), random), low);
}
Query Uuid7Window(const std::string& /*key*/, const WindowLengths& lengths,
                  Rng* rng) {
  const uint64_t begin = AnyMs(rng);
  const uint64_t end = begin + AnyOrder(rng, lengths.least_ms, lengths.most_ms);
  return {UuidText(HighOf7(begin, 0), kVariant),
          UuidText(HighOf7(end, 0xfff), ~uint64_t{0} >> 2 | kVariant)};
}

std::string Uuid7Bytes(Rng* rng) {
  const uint64_t low = LowOfRandom(rng);
  const uint64_t random = (*rng)();
  return BigEndianKey(HighOf7(AnyMs(rng), random)) + BigEndianKey(low);
}
Query Uuid7BytesWindow(const std::string& /*key*/, const WindowLengths& lengths,
                       Rng* rng) {
  const uint64_t begin = AnyMs(rng);
  const uint64_t end = begin + AnyOrder(rng, lengths.least_ms, lengths.most_ms);
  return {BigEndianKey(HighOf7(begin, 0)) + BigEndianKey(kVariant),
          BigEndianKey(HighOf7(end, 0xfff)) +
              BigEndianKey(~uint64_t{0} >> 2 | kVariant)};
}

std::string Base32(uint64_t number, size_t size) {
  std::string text(size, '0');
  for (size_t i = size; i-- > 0; number /= 32) {
    text[i] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"[number % 32];
  }
  return text;
}
std::string Ulid(Rng* rng) {
  const uint64_t low = (*rng)();
  const uint64_t high = (*rng)();
  return Base32(AnyMs(rng), 10) + Base32(high, 8) + Base32(low, 8);
}
Query UlidWindow(const std::string& /*key*/, const WindowLengths& lengths,
                 Rng* rng) {
  const uint64_t begin = AnyMs(rng);
  const uint64_t end = begin + AnyOrder(rng, lengths.least_ms, lengths.most_ms);
  return {Base32(begin, 10) + std::string(16, '0'),
          Base32(end, 10) + std::string(16, 'Z')};
}

// ---- Names ----

Query ToNextByte(const std::string& key, Rng* /*rng*/) {
  std::string end = key;
  end.back() = static_cast<char>(end.back() + 1);
  return {key, end};
}

// A word of two to four syllables.
std::string Word(uint64_t number) {
  static constexpr const char* kSyllables[] = {
      "ba", "con", "der", "el", "fi",  "gro", "ha", "in",  "jo", "ker", "lo",
      "mi", "net", "or",  "pa", "qui", "re",  "so", "tra", "un", "ver", "work"};
  std::string word;
  number += std::size(kSyllables);
  for (; number > 0; number /= std::size(kSyllables)) {
    word += kSyllables[number % std::size(kSyllables)];
  }
  return word;
}

std::string Path(Rng* rng) {
  static constexpr const char* kEnds[] = {".cc",  ".h",    ".py", ".md",
                                          ".txt", ".json", ".o",  "_test.cc"};
  const std::string project = Word(Skewed(rng, 300));
  std::string path = "/home/" + Word(Skewed(rng, 100)) + "/projects/" + project;
  const uint64_t depth = Below(rng, 4);
  for (uint64_t i = 0; i < depth; i++) path += "/" + Word(Skewed(rng, 40));
  path += "/" + Word(Skewed(rng, 20000));
  if (Below(rng, 3) == 0) path += "_" + Word(Skewed(rng, 500));
  if (Below(rng, 4) == 0) path += std::to_string(Skewed(rng, 100));
  return path + kEnds[Skewed(rng, std::size(kEnds))];
}

std::string Order(Rng* rng) {
  static constexpr const char* kKinds[] = {
      "address", "cart",  "coupon", "invoice", "item",   "login",
      "message", "order", "parcel", "payment", "review", "user"};
  static constexpr char kBase64[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const uint64_t tenant = Skewed(rng, 200);
  std::string key = Word(tenant) + "-" + std::to_string(tenant) + "|" +
                    kKinds[Below(rng, 1 + tenant % std::size(kKinds))] + "|";
  for (int i = 0; i < 12; i++) key += kBase64[Below(rng, 64)];
  return key;
}

// All that begins with the first `size` bytes of a key.
Query ScanOf(const std::string& key, size_t size) {
  Query query = {key.substr(0, size), {}, /*hi_inclusive=*/false};
  FirstAfterPrefix(query.lo, &query.hi);
  return query;
}

// A source, a label of 16 bits and a target: all edges of one source and label.
std::string EdgeKey(Rng* rng) {
  const uint64_t from = Skewed(rng, 60000);
  const uint64_t label = Skewed(rng, 24);
  return BigEndianKey(from) + BigEndianKey(label << 48).substr(0, 2) +
         BigEndianKey(Below(rng, 60000));
}
Query EdgesOf(const std::string& key, Rng* /*rng*/) { return ScanOf(key, 10); }

std::string EdgeTextKey(Rng* rng) {
  static constexpr const char* kLabels[] = {
      "follows", "likes",    "knows",   "blocks",  "owns",
      "created", "visited",  "rated",   "replied", "shared",
      "tagged",  "mentions", "invited", "paid"};
  const uint64_t from = Skewed(rng, 60000);
  const std::string label = kLabels[Skewed(rng, std::size(kLabels))];
  return "n" + std::to_string(from * 7919) + "/" + label + "/n" +
         std::to_string(Below(rng, 60000) * 7919);
}
Query EdgesOfText(const std::string& key, Rng* /*rng*/) {
  return ScanOf(key, key.rfind('/') + 1);
}

// Names of packages: @scope/word-word or word-word, and scans of the scope or
// the first word.
std::string PackageKey(Rng* rng) {
  const uint64_t first = Skewed(rng, 40000);
  const uint64_t words = 1 + Below(rng, 3);
  std::string key =
      first % 3 == 0 ? "@" + Word(first) + "/" : Word(first) + "-";
  for (uint64_t i = 0; i < words; i++) {
    key += (i > 0 ? "-" : "") + Word(Skewed(rng, 5000));
  }
  return key;
}
Query PackagesOf(const std::string& key, Rng* /*rng*/) {
  return ScanOf(key, key.find_first_of("/-") + 1);
}

}  // namespace

KeySource FieldSourceOf(KeyType type, const WindowLengths& lengths) {
  // The ranges that are windows of these lengths; if none are given, of the
  // usual ones.
  const auto windows = [&lengths](const auto& make, uint64_t least,
                                  uint64_t most) {
    const WindowLengths chosen =
        lengths.most_ms > 0 ? lengths : WindowLengths{least, most};
    return [make, chosen](const std::string& key, Rng* rng) {
      return make(key, chosen, rng);
    };
  };
  switch (type) {
    case KeyType::kUserWindow:
      return {UserKey, 36, 0, windows(UserWindow, 60 * kSecondMs, kDayMs)};
    case KeyType::kSensorTime:
      return {SensorKey, 0, 0, windows(SensorWindow, kSecondMs, kDayMs)};
    case KeyType::kHostTime:
      return {HostTimeKey, 0, 0, windows(HostWindow, kSecondMs, kDayMs)};
    case KeyType::kSession:
      return {SessionKey, 0, 0, windows(SessionWindow, kSecondMs, kHourMs)};
    case KeyType::kTenantTime:
      return {TenantKey, 8, 0, windows(TenantWindow, kSecondMs, kDayMs)};
    case KeyType::kDeviceTime:
      return {DeviceKey, 16, 0, windows(DeviceWindow, kSecondMs, kDayMs)};
    case KeyType::kLogTime:
      return {LogKey, 39, 0, windows(LogWindow, 1, kMaxIdsMs)};
    case KeyType::kUuid1:
      return {Uuid1, 36, 0, Uuid1Window};
    case KeyType::kUuid6:
      return {Uuid6, 36, 0, windows(Uuid6Window, 1, kMaxIdsMs)};
    case KeyType::kUuid7:
      return {Uuid7, 36, 0, windows(Uuid7Window, 1, kMaxIdsMs)};
    case KeyType::kUuid7Bytes:
      return {Uuid7Bytes, 16, 0, windows(Uuid7BytesWindow, 1, kMaxIdsMs)};
    case KeyType::kUlid:
      return {Ulid, 26, 0, windows(UlidWindow, 1, kMaxIdsMs)};
    case KeyType::kEdge:
      return {EdgeKey, 18, 0, EdgesOf};
    case KeyType::kEdgeText:
      return {EdgeTextKey, 0, 0, EdgesOfText};
    case KeyType::kPackage:
      return {PackageKey, 0, 0, PackagesOf};
    case KeyType::kProject:
      return {Path, 0, 0, ToNextByte};
    case KeyType::kOrder:
      return {Order, 0, 0, ToNextByte};
    default:
      return {};
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
