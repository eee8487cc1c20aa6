// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect_page.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The page with kDataMark in place of its data.
constexpr char kPage[] =
#include "tools/inspect_page.html.inc"
    ;
constexpr char kDataMark[] = "{{DATA}}";

// The time of a log line, such as 2026/01/31-23:59:59.123456, in seconds since
// a fixed moment. Every month counts 31 days, so times order right, and that is
// all that the page needs.
uint64_t SecondsOf(const std::string& time) {
  unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  sscanf(time.c_str(), "%u/%u/%u-%u:%u:%u", &year, &month, &day, &hour, &minute,
         &second);
  return ((((uint64_t{year} * 12 + month) * 31 + day) * 24 + hour) * 60 +
          minute) *
             60 +
         second;
}

}  // namespace

std::string RenderPage(const Page& page) {
  Json data;
  data["title"] = page.title;
  data["time"] = page.time;
  data["families"] = Json::array();
  for (const PageFamily& family : page.families) {
    Json entry;
    entry["name"] = family.name;
    entry["filter_policy"] = family.filter_policy;
    entry["files"] = family.files;
    entry["levels"] = family.levels;
    data["families"].push_back(std::move(entry));
  }
  data["history"] = Json::array();
  for (const DesignedFilter& filter : page.history) {
    Json entry;
    entry["time"] = filter.time;
    entry["seconds"] = SecondsOf(filter.time);
    entry["design"] = filter.design;
    entry["predicted_fpr"] = filter.predicted_fpr;
    data["history"].push_back(std::move(entry));
  }
  const std::string json =
      data.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Without this character, the data can neither end the script nor begin a
  // comment in it.
  std::string escaped;
  for (const char c : json) {
    if (c == '<') {
      escaped += "\\u003c";
    } else {
      escaped.push_back(c);
    }
  }
  std::string text = kPage;
  return text.replace(text.find(kDataMark), strlen(kDataMark), escaped);
}

std::string ExplainDesign(const std::string& design, const Slice& key) {
  std::string explained;
  std::istringstream parts(design.substr(0, design.find(" (")));
  for (std::string part; std::getline(parts >> std::ws, part, ',');) {
    char kind[32];
    unsigned bits = 0, stride = 0;
    int end = 0;
    // A trie or a set of prefixes; a series of them has a stride.
    const bool is_prefix =
        sscanf(part.c_str(), "%31[a-z] %u%n", kind, &bits, &end) == 2 &&
        (static_cast<size_t>(end) == part.size() ||
         sscanf(part.c_str() + end, "+%u", &stride) == 1);
    if (!is_prefix || bits == 0) continue;
    const size_t bytes = bits / 8;
    std::string length;
    const auto add = [&length](size_t count, const char* unit) {
      if (count == 0) return;
      length += (length.empty() ? "" : " and ") + std::to_string(count) + unit +
                (count == 1 ? "" : "s");
    };
    add(bytes, " byte");
    add(bits % 8, " bit");
    explained +=
        (explained.empty() ? "" : "; ") + part + ": the first " + length;
    if (stride > 0) {
      explained +=
          ", and so on in steps of " + std::to_string(stride) + " bits";
    }
    const Slice shown(key.data(), std::min(key.size(), (bits + 7) / size_t{8}));
    if (!shown.empty()) explained += ", such as " + PrintedKey(shown);
  }
  return explained;
}

std::vector<DesignedFilter> ReadDesigns(const std::string& log) {
  const std::string kMark = " Protean: ";
  const std::string kRate = ": predicted false positive rate ";
  std::vector<DesignedFilter> designs;
  std::istringstream lines(log);
  std::string line;
  while (std::getline(lines, line)) {
    const size_t mark = line.find(kMark);
    const size_t rate = line.find(kRate);
    if (mark == std::string::npos || rate == std::string::npos || rate < mark) {
      continue;
    }
    DesignedFilter filter;
    filter.time = line.substr(0, line.find_first_of(". "));
    const size_t begin = mark + kMark.size();
    filter.design = line.substr(begin, rate - begin);
    filter.predicted_fpr = strtod(line.c_str() + rate + kRate.size(), nullptr);
    designs.push_back(std::move(filter));
  }
  return designs;
}

}  // namespace ROCKSDB_NAMESPACE::protean
