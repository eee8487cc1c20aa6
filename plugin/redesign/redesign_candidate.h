// SPDX-License-Identifier: Apache-2.0

//  A file whose filter may be designed anew.

#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/level_bits.h"
#include "filter_policy/open_db/refresh_memory.h"
#include "plugin/redesign/refresh_samples.h"
#include "plugin/refresh_run.h"
#include "rocksdb/metadata.h"
#include "table/filter_trial.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RedesignCandidate {
  RefreshedFile* file;
  FileFilter in_tree;  // without bits
  std::string path;
  SampledQueries queries;  // that its filter decides
  PassedSamples passed;    // the part of the queries
  double asked = 0;        // its share of all questions to filters
  double saved = 0;        // part of `asked`; an upper limit until `is_tried`
  bool is_tried = false;
  bool is_due = false;  // it is rewritten whatever a new filter gains
  double min_gain;      // below which the file is not rewritten

  bool is_undecided() const {
    return file->outcome == RefreshOutcome::kNotReached;
  }
  // What rewriting the file saves per byte.
  double Value() const {
    return saved / static_cast<double>(std::max<uint64_t>(file->bytes, 1));
  }
};

// Makes candidates of the files in the metadata, which are those of the run's
// result, with the samples that each file's filter decides. Files share the
// questions by their sizes if there are no samples.
std::vector<RedesignCandidate> MakeCandidates(
    const ColumnFamilyMetaData& metadata, RefreshRun* run,
    RefreshSamples* samples);

// Opens the candidate's file, and notes the design that its filter has. Decides
// about the file and returns nullptr if it cannot be opened.
std::unique_ptr<FilterTrial> OpenCandidate(const RedesignCandidate& candidate,
                                           RefreshRun* run);

}  // namespace ROCKSDB_NAMESPACE::protean
