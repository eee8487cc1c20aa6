// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/open_seek_workload.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

Status OpenSeekWorkload::Create(const RangeWorkloadOptions& options,
                                const KeySource& source,
                                const QueryOptions& query_options,
                                uint64_t keys_read,
                                std::unique_ptr<DbWorkload>* workload) {
  Rng rng(options.size.seed);
  std::vector<std::string> keys;
  Status s = DrawKeys(source, options.size.keys, &rng, &keys);
  if (!s.ok()) return s;
  std::unique_ptr<OpenSeekWorkload> seeks(
      new OpenSeekWorkload(options, source, std::move(keys), keys_read));
  const QuerySource queries(query_options, seeks->records_.source(),
                            seeks->records_.keys());
  Rng query_rng(options.size.seed + 2);
  for (std::vector<Query>* part : {&seeks->untaught_, &seeks->taught_}) {
    if (s.ok()) s = queries.DrawEmpty(options.size.queries, &query_rng, part);
  }
  *workload = std::move(seeks);
  return s;
}

// Whether the first keys_read_ keys are found.
bool OpenSeekWorkload::SeekIsRight(BenchDb* db,
                                   const std::string& target) const {
  const std::vector<std::string>& keys = records_.keys();
  auto expected = std::lower_bound(keys.begin(), keys.end(), target);
  const SeekOptions options(db->layout(), target, nullptr);
  const std::unique_ptr<Iterator> it(db->db()->NewIterator(options.get()));
  it->Seek(target);
  for (uint64_t i = 0; i < keys_read_; i++, ++expected) {
    if (i > 0) it->Next();
    if (expected == keys.end()) return !it->Valid() && it->status().ok();
    if (!it->Valid() || it->key() != *expected) return false;
  }
  return true;
}

QueryResult OpenSeekWorkload::Measure(BenchDb* db, QueryKind kind,
                                      const std::vector<Query>& queries,
                                      ProgressLine* line) const {
  QueryMeter meter(db, kind);
  for (size_t i = 0; i < queries.size(); i++) {
    meter.Time([&] { return SeekIsRight(db, queries[i].lo); });
    if (i % 256 == 0) {
      line->Show("open seeks",
                 static_cast<double>(i) / static_cast<double>(queries.size()));
    }
  }
  return meter.Finish(/*files_with_answer=*/0);
}

Status OpenSeekWorkload::Run(BenchDb* db, BenchReport* report,
                             ProgressLine* line) const {
  const QueryResult untaught =
      Measure(db, QueryKind::kOpenSeek, untaught_, line);
  line->Clear();
  report->Row(untaught);
  line->Show("rewriting all files", 0);
  Status s = db->RewriteLevels();
  if (s.ok()) s = db->Reopen();
  if (s.ok()) s = WarmUp(db);
  if (!s.ok()) return s;
  const QueryResult taught =
      Measure(db, QueryKind::kTaughtOpenSeek, taught_, line);
  line->Clear();
  report->Row(taught);
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
