// SPDX-License-Identifier: Apache-2.0

#include "tools/refresh_scope.h"

#include <optional>

#include "filter_policy/samples/query_file.h"
#include "plugin/level_list.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

Status Refuse(const std::string& name, const std::string& text,
              const std::string& allowed) {
  return Status::InvalidArgument("--" + name + "=" + text +
                                 " is not allowed; allowed: " + allowed);
}

// Stores the key that a flag gives. No text is no key.
Status TakeKey(const std::string& name, const std::string& text,
               std::optional<std::string>* key) {
  if (text.empty()) return Status::OK();
  return ParseKey(text, &key->emplace())
             ? Status::OK()
             : Refuse(name, text,
                      "keys as text, or 0x and pairs of hexadecimal digits");
}

}  // namespace

void RefreshScope::AddFlags(Arguments* arguments) {
  arguments->Add("levels", "N,...",
                 "only files of these levels, such as 0,1; default: all levels",
                 &levels_);
  arguments->Add("start", "KEY",
                 "only files that may have keys from KEY on, which is text, or "
                 "hexadecimal behind 0x; default: the first key",
                 &start_);
  arguments->Add("limit", "KEY",
                 "only files that may have keys below KEY; default: no limit",
                 &limit_);
  arguments->Add("parallel", "N",
                 "rewrite up to N files at the same time, 1 to 64; default: 1",
                 &parallel_, 1, 64);
}

Status RefreshScope::Apply(RefreshOptions* options) const {
  for (const std::string& text : levels_) {
    if (!AddLevel(text, &options->levels)) {
      return Refuse("levels", text, "numbers of levels, such as 0 or 0,1,6");
    }
  }
  if (parallel_ > 0) {
    options->max_parallel_rewrites = static_cast<uint32_t>(parallel_);
  }
  const Status s = TakeKey("start", start_, &options->start);
  return s.ok() ? TakeKey("limit", limit_, &options->limit) : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
