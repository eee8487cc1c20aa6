//  What `protean inspect` finds, as one HTML page that needs nothing else: the
//  tree with its files, coloured by what their filters do, the memory of each
//  level, the designs, and what the log tells of earlier ones.

#pragma once

#include <string>
#include <vector>

#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

// A filter that was designed, as a line of the info log tells.
struct DesignedFilter {
  std::string time;  // such as 2026/01/31-23:59:59
  std::string design;
  double predicted_fpr;
};

struct PageFamily {
  std::string name;
  std::string filter_policy;
  std::vector<Json> files;   // rows of inspect
  std::vector<Json> levels;  // sums of inspect
};

struct Page {
  std::string title;  // the folder of the DB
  std::string time;   // when it was looked at
  std::vector<PageFamily> families;
  std::vector<DesignedFilter> history;  // oldest first
};

std::string RenderPage(const Page& page);

// The filters that lines of an info log tell of. Others are skipped.
std::vector<DesignedFilter> ReadDesigns(const std::string& log);

}  // namespace ROCKSDB_NAMESPACE::protean
