// SPDX-License-Identifier: Apache-2.0

//  Text for formats that want UTF-8: JSON and that of Prometheus. Names of
//  column families and files may be any bytes.

#pragma once

#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Replaces each byte that is not part of a UTF-8 character by the replacement
// character.
std::string Utf8Text(const std::string& text);

// The contents of a JSON string, escaped. RocksDB's JSONWriter takes strings as
// they are.
std::string JsonText(const std::string& text);

}  // namespace ROCKSDB_NAMESPACE::protean
