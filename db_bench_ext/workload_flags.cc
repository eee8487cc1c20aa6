// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/workload_flags.h"

#include <algorithm>

DEFINE_string(
    key_type, "u64",
    "point, range, mixed, short_range: u64 (8 bytes, big endian), "
    "dense, timeseries, uuid1, uuid6, uuid7, uuid7_bytes, ulid, "
    "user_window, device_time, log_time, tenant_time, edge; point, range, "
    "mixed, prefix: text, url, domain, name, path, host, user_time, "
    "sensor_time, host_time, session, edge_text, package, project, order. "
    "Files hold u64 or text");
DEFINE_string(access, "uniform",
              "point, range, mixed, prefix: how often keys of the data set are "
              "queried: uniform, zipf (as the papers' YCSB, exponent 0.99)");
DEFINE_string(window_ms, "",
              "The lengths of windows of time, LEAST:MOST in ms, such as "
              "1000:60000. Empty: those that are usual for the keys "
              "(field_keys.h)");
DEFINE_string(
    key_file, "",
    "Keys: SOSD format for numbers (a 64-bit count, then the keys, little "
    "endian), one a line for text. The workloads ranges and strings store "
    "--num of them, and --query_dist=real draws from all. Empty: generated");
DEFINE_string(key_dist, "uniform",
              "ranges: uniform, normal, books, facebook; strings: uniform, "
              "normal, domain, text, name, path, host, user_time");
DEFINE_string(
    query_dist, "uniform",
    "ranges, strings: uniform, correlated, split (half of each), "
    "real (as the keys), prefix (scans of a prefix of an absent key); "
    "text of varying length has the last two, and fields (all that "
    "starts with the first fields of a key)");
DEFINE_string(rmin, "2", "ranges, strings: smallest offset of a range");
DEFINE_string(rmax, "",
              "ranges, strings: largest offset of a range, such as 1024 or "
              "2^10; 0: point queries. Empty: 2^10 for numbers, 2^30 for "
              "strings");
DEFINE_string(rmax_correlated, "32",
              "--query_dist=split: --rmax of the correlated half");
DEFINE_string(corr_degree, "",
              "ranges, strings: the largest distance from a key to the "
              "correlated query behind it. Empty: 2^10 for numbers, 2^29 for "
              "strings");
DEFINE_double(point_share, 0,
              "ranges, strings: share of point queries among the others");
DEFINE_uint64(key_bytes, 25,
              "strings: length of uniform and normal keys; the paper has 10, "
              "25 and 180");
DEFINE_uint64(samples, 20000,
              "Sample queries for filters that design themselves, drawn as the "
              "measured ones are, but independent of them");

namespace ROCKSDB_NAMESPACE::protean {

Status ParseAmount(const std::string& flag, const std::string& text,
                   uint64_t* value) {
  const auto is_number = [](const std::string& digits) {
    return !digits.empty() && digits.size() < 20 &&
           digits.find_first_not_of("0123456789") == std::string::npos;
  };
  const size_t power = text.find('^');
  const std::string base = text.substr(0, power);
  const std::string exponent =
      power == std::string::npos ? "1" : text.substr(power + 1);
  bool fits = is_number(base) && is_number(exponent);
  uint64_t result = 1;
  if (fits) {
    const uint64_t factor = std::stoull(base);
    // After 64 steps, the result either does not fit or no longer changes.
    const uint64_t steps = std::min<uint64_t>(std::stoull(exponent), 64);
    for (uint64_t i = 0; i < steps && fits; i++) {
      fits = !__builtin_mul_overflow(result, factor, &result);
    }
  }
  if (!fits) {
    return Status::InvalidArgument(
        flag + "=" + text +
        " is not understood; allowed: whole numbers such as 1024 or 2^10, up "
        "to 2^63");
  }
  *value = result;
  return Status::OK();
}

Status KeySourceFromFlags(const std::string& workload, KeySource* source) {
  KeySourceOptions options;
  options.strings = workload == "strings";
  options.distribution = FLAGS_key_dist;
  options.key_bytes = FLAGS_key_bytes;
  options.file = FLAGS_key_file;
  return MakeKeySource(options, source);
}

QueryFlags GivenQueryFlags() {
  return {FLAGS_query_dist, FLAGS_rmax, FLAGS_corr_degree};
}

Status QueryOptionsFromFlags(const QueryFlags& flags, const KeySource& source,
                             QueryOptions* options) {
  // Defaults of the paper.
  const bool numbers = source.key_bytes == 8;
  options->rmax = numbers ? uint64_t{1} << 10 : uint64_t{1} << 30;
  options->corr_degree = numbers ? uint64_t{1} << 10 : uint64_t{1} << 29;
  options->point_share = FLAGS_point_share;

  Status s =
      ParseQueryDistribution(flags.query_dist, source, &options->distribution);
  const struct {
    const char* flag;
    const std::string& text;
    uint64_t* value;
  } amounts[] = {
      {"--rmin", FLAGS_rmin, &options->rmin},
      {"--rmax", flags.rmax, &options->rmax},
      {"--rmax_correlated", FLAGS_rmax_correlated, &options->rmax_correlated},
      {"--corr_degree", flags.corr_degree, &options->corr_degree}};
  for (const auto& amount : amounts) {
    if (s.ok() && !amount.text.empty()) {
      s = ParseAmount(amount.flag, amount.text, amount.value);
    }
  }
  if (!s.ok()) return s;
  constexpr uint64_t kMaxOffset = uint64_t{1} << 63;
  const auto outside = [options](uint64_t rmax) {
    return rmax != 0 && (rmax < options->rmin || rmax > kMaxOffset);
  };
  if (outside(options->rmax) ||
      (options->distribution == QueryDistribution::kSplit &&
       outside(options->rmax_correlated))) {
    return Status::InvalidArgument(
        "--rmax and --rmax_correlated must be 0, or from --rmin to 2^63");
  }
  if (options->corr_degree < 1) {
    return Status::InvalidArgument("--corr_degree must be at least 1");
  }
  if (!(options->point_share >= 0 && options->point_share <= 1)) {
    return Status::InvalidArgument("--point_share must be from 0 to 1");
  }
  return s;
}

namespace {

// 2^30 rather than 1073741824.
std::string Amount(uint64_t value) {
  if (value < 4096 || (value & (value - 1)) != 0) return std::to_string(value);
  return "2^" + std::to_string(__builtin_ctzll(value));
}

std::string Offsets(uint64_t rmin, uint64_t rmax) {
  return rmax == 0 ? "points"
                   : "offsets " + Amount(rmin) + " to " + Amount(rmax);
}

}  // namespace

std::string DescribeKeys(const KeySource& source) {
  if (!FLAGS_key_file.empty()) return "keys of " + FLAGS_key_file;
  const std::string length =
      source.key_bytes == 0 ? "" : std::to_string(source.key_bytes) + "-byte ";
  return length + FLAGS_key_dist + " keys";
}

std::string DescribeQueries(const QueryOptions& options,
                            const KeySource& source) {
  std::string text;
  const std::string distance =
      "up to " + Amount(options.corr_degree) + " behind a key, ";
  const std::string offsets = Offsets(options.rmin, options.rmax);
  switch (options.distribution) {
    case QueryDistribution::kUniform:
      text = "uniform queries, " + offsets;
      break;
    case QueryDistribution::kCorrelated:
      text = "correlated queries " + distance + offsets;
      break;
    case QueryDistribution::kSplit:
      text = "half uniform queries, " + offsets + ", half correlated ones " +
             distance + Offsets(options.rmin, options.rmax_correlated);
      break;
    case QueryDistribution::kAfter:  // of data sets only
      break;
    case QueryDistribution::kPrefix:
      text = "scans of a prefix";
      break;
    case QueryDistribution::kFields:
      text = "scans of the first fields of keys drawn as the keys are";
      break;
    case QueryDistribution::kReal:
      text = "queries drawn as the keys are, " + (source.key_bytes > 0 ? offsets
                                                  : options.rmax == 0
                                                      ? "points"
                                                      : "to the last byte + 1");
      break;
  }
  if (options.point_share > 0) {
    char share[32];
    snprintf(share, sizeof(share), ", %.0f %% points",
             100 * options.point_share);
    text += share;
  }
  return text;
}

namespace {

// LEAST:MOST in milliseconds.
Status ParseWindows(const std::string& text, WindowLengths* windows) {
  if (text.empty()) return Status::OK();
  const size_t colon = std::min(text.find(':'), text.size());
  Status s =
      ParseAmount("--window_ms", text.substr(0, colon), &windows->least_ms);
  if (s.ok()) {
    s = ParseAmount("--window_ms",
                    text.substr(std::min(colon + 1, text.size())),
                    &windows->most_ms);
  }
  if (s.ok() &&
      (windows->least_ms == 0 || windows->most_ms < windows->least_ms)) {
    s = Status::InvalidArgument(
        "--window_ms must be LEAST:MOST, from 1 ms on, such as 1000:60000");
  }
  return s;
}

}  // namespace

Status GenerateFromFlags(const NamedWorkload& named, const WorkloadSize& size,
                         Workload* workload, WorkloadText* text) {
  if (named.family == WorkloadFamily::kDataSet) {
    KeyType type = KeyType::kU64;
    Status s = ParseKeyType(FLAGS_key_type, &type);
    WorkloadSize sized = size;
    sized.zipf = FLAGS_access == "zipf";
    if (!sized.zipf && FLAGS_access != "uniform") {
      return Status::InvalidArgument("--access=" + FLAGS_access +
                                     " is unknown; allowed: uniform, zipf");
    }
    if (s.ok()) s = ParseWindows(FLAGS_window_ms, &sized.windows);
    if (s.ok()) s = Generate(named.kind, type, sized, workload);
    *text = {FLAGS_key_type + " keys", ""};
    return s;
  }
  KeySource source;
  QueryOptions options;
  Status s = KeySourceFromFlags(named.name, &source);
  if (s.ok()) s = QueryOptionsFromFlags(GivenQueryFlags(), source, &options);
  if (!s.ok()) return s;
  *text = {DescribeKeys(source), DescribeQueries(options, source)};
  return Generate(source, options, size, workload);
}

}  // namespace ROCKSDB_NAMESPACE::protean
