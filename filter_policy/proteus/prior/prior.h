// SPDX-License-Identifier: Apache-2.0

//  The prior: the queries for which a file's filter is designed before any
//  sample query has come, and in part later too, since some queries to come are
//  like none of the samples.
//
//  Only the keys are known. So the queries are made from the keys, as a mixture
//  of what applications ask, all of it empty:
//
//    alike    a point, or the beginning of a range, that is drawn as the keys
//             were: a key of the file, which counts as absent while this query
//             is analyzed ("leave one out")
//    behind   a little after a key of the file, or a key with a byte of another
//             one; in text, also with a byte more or less. In printed keys,
//             digits are counted up
//    spread   anywhere between the first and the last key
//
//  A query in place of a key stands for all keys that share as much with their
//  neighbors, and has their weight. The statistics of the keys tell how many
//  these are.
//
//  Ranges have all lengths from one to about the distance of the keys around
//  them, in orders of magnitude; longer ones are more likely. Behind a key,
//  they are short. Keys of different lengths are text: then ranges go from a
//  key to its last byte + 1, or over all keys that begin with a prefix. The
//  weight of each kind is in prior.cc. With these weights, at 14 bits per key,
//  one design serves all kinds that a filter of that size can serve at once
//  (docs/results/engine.md).
//
//  The prior depends on the keys alone: equal keys give equal priors.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/model/located_queries.h"
#include "filter_policy/proteus/prior/key_form.h"
#include "filter_policy/proteus/prior/time_windows.h"
#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Level weights ----

// The weights of queries in place of keys.
//
// What such a query shares with the other keys, its level, decides most. The
// statistics know this of all keys. So a query stands for all keys that share
// as much as its own, and for those between that and the next higher level.

// The weights of queries of these levels, which have the weight `weight`
// together.
std::vector<float> WeighByLevel(const std::vector<uint32_t>& levels,
                                double weight, const KeyStatistics& statistics);

// All levels of the keys, in ascending order.
std::vector<uint32_t> LevelsOf(const KeyStatistics& statistics);

// ---- Prior random ----

// The random numbers of a prior, which are the same ones for equal keys.

class PriorRandom {
 public:
  explicit PriorRandom(uint64_t seed) : random_(seed) {}

  // Any 64 bits.
  uint64_t Word() { return random_(); }
  // A number in [0, bound); bound > 0.
  uint64_t Uniform(uint64_t bound) { return random_() % bound; }
  // A number in [0, 1).
  double Fraction() {
    return static_cast<double>(random_() >> 11) / (uint64_t{1} << 53);
  }
  // An index in a part of [0, size), of `parts` equal ones; size > 0.
  size_t IndexIn(size_t part, size_t parts, size_t size) {
    const double place = (static_cast<double>(part) + Fraction()) /
                         static_cast<double>(parts) * static_cast<double>(size);
    return std::min(static_cast<size_t>(place), size - 1);
  }

 private:
  // The standard defines the numbers of this generator.
  std::mt19937_64 random_;
};

// ---- Sampled keys ----

// The keys that tell what all keys of a file look like.

// The limit of the number of these keys, which are spread evenly over the file.
constexpr size_t kMaxSampledKeys = 64;

inline size_t NumSampledKeys(const KeyStore& keys) {
  return std::min(keys.size(), kMaxSampledKeys);
}
// The index of one of these keys; number < NumSampledKeys(keys).
inline size_t SampledKey(const KeyStore& keys, size_t number) {
  return keys.size() <= kMaxSampledKeys
             ? number
             : number * (keys.size() - 1) / (kMaxSampledKeys - 1);
}

// ---- Prior source ----

// What the queries of a prior are made from: the keys of a file, what they
// look like, and random numbers.

struct PriorSource {
  // REQUIRES: there are keys. These and their statistics must outlive the
  // source.
  PriorSource(const KeyStore& its_keys, const KeyStatistics& its_statistics,
              bool asks_prefixes_only);

  const KeyStore& keys;
  const KeyStatistics& statistics;
  // Whether a point query asks for all keys that start with its key.
  const bool prefixes_only;
  const KeyForm form;
  // For KeyForm::kDigits, the characters at each place.
  const std::vector<std::string> alphabets;
  const std::optional<TimeWindows> windows;
  PriorRandom random;
};

// The functions below locate a query among the keys. They return false if it is
// not empty, if no string of bits lies in it, or if its bounds are inverted: a
// character that the sampled keys do not have may break the order.

// A query in place of a key of the file, which counts as absent.
bool LocateInPlaceOf(size_t index, const Slice& lo, const Slice& hi,
                     bool hi_inclusive, const PriorSource& source,
                     LocatedQuery* query);
// A query wherever it lies among the keys. False if it lies beyond them: the
// file is not asked for it.
bool LocateAnywhere(const Slice& lo, const Slice& hi, bool hi_inclusive,
                    const PriorSource& source, LocatedQuery* query);

// ---- Prior ----

// The queries, whose weights sum to kPriorSamples. There are none if there are
// no keys, or no place between them. `statistics` are those of `keys`. The more
// samples there are, the fewer queries stand for the prior. CpfprModel explains
// `prefixes_only`.
std::vector<LocatedQuery> MakePrior(const KeyStore& keys,
                                    const KeyStatistics& statistics,
                                    size_t num_samples, bool prefixes_only);

// The prior of a file, which is made anew only if the number of samples
// matters. The keys and their statistics must outlive it.
class FilePrior {
 public:
  FilePrior(const KeyStore& keys, const KeyStatistics& statistics,
            bool prefixes_only)
      : keys_(keys), statistics_(statistics), prefixes_only_(prefixes_only) {}

  void MakeFor(size_t num_samples);
  // None before MakeFor.
  const std::vector<LocatedQuery>& queries() const { return queries_; }

 private:
  const KeyStore& keys_;
  const KeyStatistics& statistics_;
  const bool prefixes_only_;
  std::optional<bool> many_samples_;
  std::vector<LocatedQuery> queries_;
};

// The number of sample queries for which the prior counts. By the rule of
// succession, after n queries that were all alike, the next one is of another
// kind with a probability of about 1 / (n + 1): the share of one sample.
constexpr double kPriorSamples = 1;

}  // namespace ROCKSDB_NAMESPACE::protean
