// SPDX-License-Identifier: Apache-2.0

//  The results of `protean inspect` as one self-contained HTML page: the tree
//  with its files, colored by what their filters do, the memory of each level,
//  the designs, and the earlier designs in the log. The page itself is
//  inspect_page.html.

#pragma once

#include <string>
#include <vector>

#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

// A filter that was designed, as logged in a line of the info log.
struct DesignedFilter {
  std::string time;  // such as 2026/01/31-23:59:59
  std::string design;
  double predicted_fpr;
};

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
  std::vector<DesignedFilter> history;  // oldest first
};

std::string RenderPage(const Page& page);

// What the prefixes in a design are of a key of the file: "ribbon 272" is
// "ribbon 272: the first 34 bytes, such as user0000001". Empty if the design
// has no prefixes.
std::string ExplainDesign(const std::string& design, const Slice& key);

// The designed filters in an info log. Other lines are skipped.
std::vector<DesignedFilter> ReadDesigns(const std::string& log);

}  // namespace ROCKSDB_NAMESPACE::protean
