// SPDX-License-Identifier: Apache-2.0

//  The results of `protean inspect` as one self-contained HTML page: the tree
//  with its files, colored by what their filters do, the memory of each level,
//  and the designs. The page itself is inspect_page.html.

#pragma once

#include <string>

#include "rocksdb/slice.h"
#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

// `page` has a "title", the "time" of the inspection, and the "families": their
// "name", their "filter_policy", and the rows of inspect --json as "files" and
// those of --levels_only as "levels".
std::string RenderPage(const Json& page);

// Explains the prefix lengths of a design by a key of the file: for "ribbon
// 272", returns "ribbon 272: the first 34 bytes, such as user0000001". Returns
// an empty string if the design has no prefixes.
std::string ExplainDesign(const std::string& design, const Slice& key);

}  // namespace ROCKSDB_NAMESPACE::protean
