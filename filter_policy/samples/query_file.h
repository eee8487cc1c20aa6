//  A text file of queries, by which a sample query queue is seeded, saved and
//  restored. One query a line:
//
//    key                        a point
//    lo <TAB> hi                all keys from lo to hi, both included
//    lo <TAB> hi <TAB> exclusive    the same without hi
//
//  A field that begins with 0x is hexadecimal, as in ldb --hex; 0x alone is the
//  empty key. Any other field is the key's bytes as they are. Empty lines, and
//  those that begin with #, are ignored.

#pragma once

#include <string>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Appends the queries of a file. InvalidArgument, and nothing is appended, if
// it cannot be read or a line is none of the above. A range that cannot hold a
// key is left out, and `*refused` gets a message that names its line.
Status ReadQueryFile(Env* env, const std::string& file,
                     std::vector<SampleQuery>* queries,
                     std::vector<std::string>* refused);

// The same for a file that is saved by WriteQueryFile. Should it have been
// damaged or cut off since, lines that cannot be read are left out and named,
// too; only in a file that somebody else has written they are InvalidArgument.
// What RocksDB returns if the file cannot be read at all. `*fingerprint` gets
// that of the contents, which is not 0, if they can be read.
Status ReadSavedQueries(Env* env, const std::string& file,
                        std::vector<SampleQuery>* queries,
                        std::vector<std::string>* refused,
                        uint64_t* fingerprint = nullptr);

// InvalidArgument if ReadSavedQueries would return that; what RocksDB returns
// if the file cannot be read. Of a file that WriteQueryFile has written only
// the beginning is looked at.
Status CheckSavedQueries(Env* env, const std::string& file);

// Writes a file of which ReadQueryFile reads the same queries, in hexadecimal
// fields, by ReplaceFile (replace_file.h).
// `*fingerprint` gets that of the contents, if they are written.
Status WriteQueryFile(Env* env, const std::string& file,
                      const std::vector<SampleQuery>& queries,
                      uint64_t* fingerprint = nullptr);

// Of a file's contents, whatever they are: tells whether it has changed. 0 if
// there is no such file.
Status FingerprintOf(Env* env, const std::string& file, uint64_t* fingerprint);

// The line of a query in such a file, without its end.
std::string QueryLine(const SampleQuery& query);

}  // namespace ROCKSDB_NAMESPACE::protean
