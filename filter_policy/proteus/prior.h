//  The prior: the queries that a file's filter is designed for before any
//  sample query has come, and in part later on, since queries are to come that
//  are like none of the samples.
//
//  Nothing is known of them but the keys. So they are made from the keys, as a
//  mixture of what applications ask, all of it empty:
//
//    alike    a point, or the beginning of a range, that is drawn as the keys
//             were: a key of the file, which is taken away for as long as this
//             query is looked at ("leave one out")
//    behind   a little after a key that is there, or a key with a byte of
//             another one; of text, also with a byte more or less. Of keys that
//             are printed, digits are counted up
//    spread   anywhere between the first and the last key
//
//  Ranges are of all lengths from one to about the distance of the keys around
//  them, in orders of magnitude, longer ones being more likely. Behind a key,
//  they are short. Where keys differ in length, they are text: then ranges go
//  from a key to its last byte + 1, or over all keys that begin with a prefix.
//  How much each kind counts is in prior.cc; the weights are such that, at 14
//  bits per key, one design serves all kinds that a filter of that size can
//  serve at once (docs/results/engine.md).
//
//  It is the same for the same keys.

#pragma once

#include <vector>

#include "filter_policy/proteus/cpfpr.h"

namespace ROCKSDB_NAMESPACE::protean {

// The queries, whose weights sum to kPriorSamples; none if none can be made: if
// there are no keys, or none with a place between them. `statistics` are those
// of `keys`. The more samples there are, the fewer queries stand for the prior.
// For `prefixes_only` see CpfprModel.
std::vector<CpfprModel::Query> MakePrior(const KeyStore& keys,
                                         const KeyStatistics& statistics,
                                         size_t num_samples,
                                         bool prefixes_only);

// The prior counts as that many sample queries. By the rule of succession, of
// n queries that were all alike, the next one is of another kind with a
// probability of about 1 / (n + 1): one sample's part.
constexpr double kPriorSamples = 1;

}  // namespace ROCKSDB_NAMESPACE::protean
