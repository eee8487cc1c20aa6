// SPDX-License-Identifier: Apache-2.0

#include "plugin/redesign/redesign_candidate.h"

#include <utility>

#include "db/dbformat.h"

namespace ROCKSDB_NAMESPACE::protean {

std::vector<RedesignCandidate> MakeCandidates(
    const ColumnFamilyMetaData& metadata, RefreshRun* run,
    RefreshSamples* samples) {
  const size_t timestamp_size =
      run->family_options().comparator->timestamp_size();
  const auto user_key = [timestamp_size](const std::string& key) {
    return StripTimestampFromUserKey(key, timestamp_size).ToString();
  };
  std::vector<RedesignCandidate> candidates;
  for (const LevelMetaData& level : metadata.levels) {
    for (const SstFileMetaData& file : level.files) {
      RedesignCandidate candidate;
      candidate.file = &run->result()->files[candidates.size()];
      candidate.min_gain = run->options().min_gain;
      candidate.is_due = run->options().all_files;
      candidate.path = file.directory + "/" + file.relative_filename;
      candidate.in_tree = {level.level, file.num_entries, 0,
                           user_key(file.smallestkey),
                           user_key(file.largestkey)};
      candidate.asked =
          static_cast<double>(file.size) /
          static_cast<double>(std::max<uint64_t>(metadata.size, 1));
      candidate.saved = candidate.asked;
      candidates.push_back(std::move(candidate));
    }
  }
  if (samples->empty()) return candidates;
  std::vector<SampledQueries> queries =
      samples->SpreadOver(metadata, timestamp_size);
  for (size_t i = 0; i < candidates.size(); i++) {
    candidates[i].queries = std::move(queries[i]);
    candidates[i].asked = samples->Share(candidates[i].queries);
    candidates[i].file->queries = candidates[i].queries.size();
  }
  return candidates;
}

std::unique_ptr<FilterTrial> OpenCandidate(const RedesignCandidate& candidate,
                                           RefreshRun* run) {
  std::unique_ptr<FilterTrial> trial;
  const Status s =
      FilterTrial::Open(run->family_options(), candidate.path, &trial);
  if (!s.ok()) {
    run->DecideUnreadable(candidate.file, s);
    return nullptr;
  }
  candidate.file->old_design = trial->old_filter().Describe();
  return trial;
}

}  // namespace ROCKSDB_NAMESPACE::protean
