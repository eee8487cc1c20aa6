// SPDX-License-Identifier: Apache-2.0

//  How far a long piece of work is, and how long it will take.

#pragma once

#include <cstdint>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// A duration for people, such as "40 s", "5 min" or "3 h 20 min".
std::string PrintedSeconds(double seconds);

// The seconds until `total` bytes are done, if the rest takes as long per byte
// as the `done` bytes, which have taken `seconds`. Negative if nothing has been
// done yet.
double SecondsLeft(uint64_t done, uint64_t total, double seconds);

// Such as "1.2 GB of 3.4 GB, 35 %, about 5 min left"; "beginning" as long as
// `total` is not known, which is 0 then.
std::string PrintedProgress(uint64_t done, uint64_t total, double seconds);

}  // namespace ROCKSDB_NAMESPACE::protean
