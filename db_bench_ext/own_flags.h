// SPDX-License-Identifier: Apache-2.0

//  The command line of a benchmark, and its end. RocksDB's library defines
//  flags of its own, those of its trace tools, which a benchmark's --help
//  leaves out.

#pragma once

#include <string>

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Prints what the program does, and the flags that are defined in db_bench_ext.
void PrintOwnHelp(const std::string& program, const std::string& purpose);

// Parses and removes the flags; --help prints the help and ends the program
// with 0. Any other argument ends it with 1, since it would be taken no notice
// of.
void ParseOwnFlags(const std::string& program, const std::string& purpose,
                   int* argc, char*** argv);

// Ends the program with 1 and a message unless `s` is OK.
void Check(const Status& s);

}  // namespace ROCKSDB_NAMESPACE::protean
