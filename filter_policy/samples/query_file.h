// SPDX-License-Identifier: Apache-2.0

//  Queries as text: a file with which a sample query queue is seeded, saved and
//  restored, or an option. In a file, one query per line:
//
//    key                        a point
//    lo <TAB> hi                all keys from lo to hi, both included
//    lo <TAB> hi <TAB> exclusive    the same without hi
//
//  A field that begins with 0x is hexadecimal, as in ldb --hex; 0x alone is the
//  empty key. Any other field is the key's bytes as they are. Empty lines, and
//  those that begin with #, are ignored. In an option, commas stand between
//  queries, hyphens between fields, and all keys are hexadecimal.

#pragma once

#include <string>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Appends the queries of a file to `*queries`. Returns InvalidArgument, and
// appends nothing, if the file cannot be read or a line has none of the forms
// above. A range that cannot hold a key is left out, and `*refused` gets a
// message that names its line.
Status ReadQueryFile(Env* env, const std::string& file,
                     std::vector<SampleQuery>* queries,
                     std::vector<std::string>* refused);

// ReadQueryFile for a saved file. If it has WriteQueryFile's first line, lines
// that cannot be parsed, since it has been damaged or cut off, are left out and
// named in `*refused`, too. Returns RocksDB's error if the file cannot be read.
// If it can, `*fingerprint` gets the fingerprint of its contents, by which a
// change is noticed; it is not 0.
Status ReadSavedQueries(Env* env, const std::string& file,
                        std::vector<SampleQuery>* queries,
                        std::vector<std::string>* refused,
                        uint64_t* fingerprint = nullptr);

// Replaces a file by one from which ReadQueryFile reads these queries. If that
// succeeds, `*fingerprint` gets the fingerprint of the contents.
Status WriteQueryFile(Env* env, const std::string& file,
                      const std::vector<SampleQuery>& queries,
                      uint64_t* fingerprint = nullptr);

std::string QueryFileText(const std::vector<SampleQuery>& queries);

// Appends the queries of an option to `*queries`, as ReadQueryFile does.
// Returns InvalidArgument if a query has none of the forms above, or holds
// characters that these do not need.
Status ParseSeeds(const std::string& option, std::vector<SampleQuery>* queries);

// The option with these queries, or with a part of them that is evenly spread:
// at most kMaxSeeds, and kMaxSeedBytes of text. OPTIONS files are written and
// read often. Designs that rest on 5,000 queries do what advise promises from
// all of them; with 2,000, closed seeks read half as much again.
inline constexpr size_t kMaxSeeds = 5000;
inline constexpr size_t kMaxSeedBytes = 1 << 20;
std::string SeedsText(const std::vector<SampleQuery>& queries);

// Stores the key in a field of such a file. Returns false if 0x is not followed
// by pairs of hexadecimal digits.
bool ParseKey(const Slice& field, std::string* key);

// A query's line in such a file, without the newline.
std::string QueryLine(const SampleQuery& query);

}  // namespace ROCKSDB_NAMESPACE::protean
