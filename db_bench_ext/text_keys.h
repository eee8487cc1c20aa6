// SPDX-License-Identifier: Apache-2.0

//  Keys that are text, one function for each kind (key_source.h). Some of what
//  they are made of is drawn often and most of it rarely, as in real data sets.

#pragma once

#include <random>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

std::string EmailKey(std::mt19937_64* rng);
std::string UrlKey(std::mt19937_64* rng);
std::string DomainKey(std::mt19937_64* rng);
std::string NameKey(std::mt19937_64* rng);
std::string PathKey(std::mt19937_64* rng);
std::string HostKey(std::mt19937_64* rng);
std::string UserTimeKey(std::mt19937_64* rng);

}  // namespace ROCKSDB_NAMESPACE::protean
