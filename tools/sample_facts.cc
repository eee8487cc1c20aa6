// SPDX-License-Identifier: Apache-2.0

#include "tools/sample_facts.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "db/dbformat.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

uint64_t NumberOf(const std::string& bytes) {
  uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

size_t SharedBits(const Slice& a, const Slice& b) {
  const size_t bytes = a.difference_offset(b);
  if (bytes >= a.size() || bytes >= b.size()) return 8 * bytes;
  const uint32_t difference =
      static_cast<uint8_t>(a[bytes]) ^ static_cast<uint8_t>(b[bytes]);
  return 8 * bytes + 7 - static_cast<size_t>(FloorLog2(difference));
}

bool IsPoint(const SampleQuery& query) { return query.lo == query.hi; }

// Whether the bounds of all ranges are numbers of one length.
bool AreNumbers(const std::vector<SampleQuery>& queries) {
  constexpr size_t kMaxLength = 8;
  size_t length = 0;
  for (const SampleQuery& query : queries) {
    if (IsPoint(query)) continue;
    if (length == 0) length = query.lo.size();
    if (length == 0 || length > kMaxLength || query.lo.size() != length ||
        query.hi.size() != length) {
      return false;
    }
  }
  return length > 0;
}

}  // namespace

QueryShapes ShapesOf(const std::vector<SampleQuery>& queries) {
  QueryShapes shapes;
  shapes.numbers = AreNumbers(queries);
  for (const SampleQuery& query : queries) {
    if (IsPoint(query)) {
      shapes.points++;
      continue;
    }
    shapes.ranges++;
    if (!shapes.numbers) {
      shapes.shared_bytes[Slice(query.lo).difference_offset(query.hi)]++;
      continue;
    }
    const uint64_t distance = NumberOf(query.hi) - NumberOf(query.lo);
    // A range of all 2^64 values counts as one less, since 2^64 does not fit.
    const uint64_t values =
        query.hi_inclusive && distance < std::numeric_limits<uint64_t>::max()
            ? distance + 1
            : distance;
    shapes.spans[FloorLog2(values)]++;
  }
  return shapes;
}

Status CompareWithFile(const std::vector<SampleQuery>& queries,
                       const FileFacts& facts, const TargetFile& file,
                       QueriesInFile* result) {
  const size_t timestamp_size =
      facts.file().user_comparator()->timestamp_size();
  const auto user_key = [timestamp_size](const std::string& key) {
    return Slice(key.data(), key.size() - timestamp_size);
  };
  const auto begin = std::partition_point(
      queries.begin(), queries.end(), [&](const SampleQuery& query) {
        return user_key(file.smallest).compare(query.lo) > 0;
      });
  const auto end =
      std::partition_point(begin, queries.end(), [&](const SampleQuery& query) {
        return user_key(file.largest).compare(query.lo) >= 0;
      });
  result->queries = static_cast<uint64_t>(end - begin);
  if (begin == end) return Status::OK();

  ReadOptions read_options(/*_verify_checksums=*/true, /*_fill_cache=*/false);
  read_options.total_order_seek = true;
  const std::unique_ptr<InternalIterator> it =
      facts.NewIterator(read_options, /*keys_only=*/true);
  const auto key = [&] {
    return ExtractUserKeyAndStripTimestamp(it->key(), timestamp_size);
  };
  std::vector<size_t> shared_bits;
  for (auto query = begin; query != end; ++query) {
    // The last position among the versions of the lower bound.
    const InternalKey target(query->lo + std::string(timestamp_size, '\0'),
                             /*s=*/0, ValueType(0));
    it->SeekForPrev(target.Encode());
    const bool has_below = it->Valid();
    size_t shared = 0;
    if (has_below) {
      if (key() == query->lo) continue;
      shared = SharedBits(key(), query->lo);
      it->Next();
    } else if (it->status().ok()) {
      it->SeekToFirst();
    }
    if (!it->status().ok()) return it->status();
    if (it->Valid() && !IsInverted(key(), query->hi, query->hi_inclusive)) {
      continue;
    }
    result->empty++;
    if (has_below) shared_bits.push_back(shared);
  }
  if (!shared_bits.empty()) {
    const auto median =
        shared_bits.begin() + static_cast<ptrdiff_t>(shared_bits.size() / 2);
    std::nth_element(shared_bits.begin(), median, shared_bits.end());
    result->shared_bits = static_cast<int64_t>(*median);
  }
  return Status::OK();
}

std::vector<SampleQuery> MergeSamples(
    std::vector<std::vector<SampleQuery>> lists, uint64_t max) {
  const auto less = [](const SampleQuery& a, const SampleQuery& b) {
    return std::tie(a.lo, a.hi, a.hi_inclusive) <
           std::tie(b.lo, b.hi, b.hi_inclusive);
  };
  std::set<SampleQuery, decltype(less)> taken(less);
  std::vector<SampleQuery> merged;
  const auto is_full = [&] { return max > 0 && merged.size() >= max; };
  bool any = true;
  while (any && !is_full()) {
    any = false;
    for (std::vector<SampleQuery>& list : lists) {
      // A list does not lose its turn by a duplicate.
      while (!list.empty() && !is_full()) {
        SampleQuery query = std::move(list.back());
        list.pop_back();
        if (!taken.insert(query).second) continue;
        merged.push_back(std::move(query));
        any = true;
        break;
      }
    }
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

}  // namespace ROCKSDB_NAMESPACE::protean
