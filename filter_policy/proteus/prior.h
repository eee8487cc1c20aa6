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
//    behind   a little after a key that is there, or a key with one byte
//             changed, one more or one less
//    spread   anywhere between the first and the last key
//
//  A range is as long as anything from the smallest step to the distance of the
//  keys around it, every order of magnitude as likely as the next. Where keys
//  differ in length, they are text, and there are also ranges up to the next
//  sibling of a key, and scans of all keys that begin with a prefix.
//
//  It is the same for the same keys.

#pragma once

#include <vector>

#include "filter_policy/proteus/cpfpr.h"

namespace ROCKSDB_NAMESPACE::protean {

// The queries, whose weights sum to kPriorSamples; none if there are no keys.
// `statistics` are those of `keys`. For `prefixes_only` see CpfprModel.
std::vector<CpfprModel::Query> MakePrior(const KeyStore& keys,
                                         const KeyStatistics& statistics,
                                         bool prefixes_only);

// The prior counts as that many sample queries. By the rule of succession, of
// n queries that were all alike, the next one is of another kind with a
// probability of about 1 / (n + 1): one sample's part.
constexpr double kPriorSamples = 1;

}  // namespace ROCKSDB_NAMESPACE::protean
