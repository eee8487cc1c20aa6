// SPDX-License-Identifier: Apache-2.0

//  Queries as text: a file with which a sample query queue is seeded, saved and
//  restored, or an option. docs/internals/sampling.md has the form of their
//  lines, and why few errors of a file matter.

#pragma once

#include <string>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Appends the queries of a file to `*queries`. Returns InvalidArgument, and
// appends nothing, if the file cannot be read or a line cannot be parsed. A
// range that cannot hold a key is left out, and `*refused` gets a message that
// names its line.
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
// Returns InvalidArgument also for characters that no query needs.
Status ParseSeeds(const std::string& option, std::vector<SampleQuery>* queries);

// The option with these queries, or with a part of them that is evenly spread:
// at most kMaxSeeds, and kMaxSeedBytes of text (advise_test measures that these
// are enough). OPTIONS files are written and read often.
inline constexpr size_t kMaxSeeds = 5000;
inline constexpr size_t kMaxSeedBytes = 1 << 20;
std::string SeedsText(const std::vector<SampleQuery>& queries);

// Stores the key in a field of such a file. Returns false if 0x is not followed
// by pairs of hexadecimal digits.
bool ParseKey(const Slice& field, std::string* key);

// A query's line in such a file, without the newline.
std::string QueryLine(const SampleQuery& query);

}  // namespace ROCKSDB_NAMESPACE::protean
