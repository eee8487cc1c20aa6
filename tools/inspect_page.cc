// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect_page.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The page with kDataMark in place of its data.
constexpr char kPage[] =
#include "tools/inspect_page.html.inc"
    ;
constexpr char kDataMark[] = "{{DATA}}";

}  // namespace

std::string RenderPage(const Json& page) {
  const std::string json =
      page.dump(-1, ' ', false, Json::error_handler_t::replace);
  // Without this character, the data can neither end the script nor begin a
  // comment in it.
  std::string escaped;
  for (const char c : json) {
    escaped += c == '<' ? "\\u003c" : std::string(1, c);
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

}  // namespace ROCKSDB_NAMESPACE::protean
