// SPDX-License-Identifier: Apache-2.0

#include "tools/read_queries.h"

#include <algorithm>

#include "filter_policy/samples/query_file.h"

namespace ROCKSDB_NAMESPACE::protean {

const char* ToString(ReadKind kind) {
  switch (kind) {
    case ReadKind::kGet:
      return "gets";
    case ReadKind::kClosedSeek:
      return "closed seeks";
    case ReadKind::kOpenSeek:
      return "open seeks";
    case ReadKind::kClosedSeekForPrev:
      return "closed seeks backwards";
    case ReadKind::kOpenSeekForPrev:
      return "open seeks backwards";
  }
  return "unknown";
}

Status ReadQueries(const std::string& file, std::ostream& err,
                   std::vector<SampleQuery>* queries) {
  std::vector<std::string> refused;
  const Status s = ReadQueryFile(Env::Default(), file, queries, &refused);
  for (const std::string& line : refused) err << line << '\n';
  return s;
}

ReadQuery ReadOf(const SampleQuery& query) {
  ReadQuery read;
  read.target = query.lo;
  if (query.lo != query.hi) {
    read.kind = ReadKind::kClosedSeek;
    read.bound = query.hi;
    // The smallest string above the range.
    if (query.hi_inclusive) read.bound += '\0';
  }
  return read;
}

// Reservoir sampling by algorithm R (Vitter 1985).
void ReadSample::Add(ReadQuery query) {
  const uint64_t number = seen_++;
  if (kept_.size() < capacity_) {
    kept_.emplace_back(number, std::move(query));
    return;
  }
  const uint64_t place = random_.Uniform(seen_);
  if (place < capacity_) kept_[place] = {number, std::move(query)};
}

std::vector<ReadQuery> ReadSample::Take() {
  std::sort(kept_.begin(), kept_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ReadQuery> queries;
  queries.reserve(kept_.size());
  for (auto& [number, query] : kept_) queries.push_back(std::move(query));
  kept_.clear();
  return queries;
}

}  // namespace ROCKSDB_NAMESPACE::protean
