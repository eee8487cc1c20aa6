// SPDX-License-Identifier: Apache-2.0

//  The results of `protean inspect` as one self-contained HTML page: the tree
//  with its files, colored by what their filters do, the memory of each level,
//  and the designs. The page itself is inspect_page.html.

#pragma once

#include <string>
#include <vector>

#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

struct PageFamily {
  std::string name;
  std::string filter_policy;
  std::vector<Json> files;   // the rows of inspect --json
  std::vector<Json> levels;  // the rows of inspect --levels_only --json
};

struct Page {
  std::string title;  // the folder of the DB
  std::string time;   // time of the inspection
  std::vector<PageFamily> families;
};

std::string RenderPage(const Page& page);

// What the prefixes in a design are of a key of the file: "ribbon 272" is
// "ribbon 272: the first 34 bytes, such as user0000001". Empty if the design
// has no prefixes.
std::string ExplainDesign(const std::string& design, const Slice& key);

}  // namespace ROCKSDB_NAMESPACE::protean
