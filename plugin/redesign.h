// SPDX-License-Identifier: Apache-2.0

//  Filters that are designed anew: where current queries would be denied by a
//  new filter, and are not by the old one. Files are decided in two steps, by
//  their old filters, and by their keys; the rules are functions of what is
//  known.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/filter_budget.h"
#include "filter_policy/open_db/open_families.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/query_queue.h"
#include "plugin/refresh_run.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"
#include "rocksdb/status.h"
#include "rocksdb/table_properties.h"
#include "table/filter_trial.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Samples (redesign_trial.cc) ----

// Some samples of a RefreshSamples object, ordered by lower bound.
using SampledQueries = std::vector<const SampleQuery*>;

// The sample queries of a column family, and the part of all questions to
// filters that each of them stands for. Not thread safe.
class RefreshSamples {
 public:
  // Takes the samples that the policy has for the column family now.
  RefreshSamples(const ProteanFilterPolicy& policy, DB* db,
                 ColumnFamilyHandle* column_family);

  RefreshSamples(const RefreshSamples&) = delete;
  RefreshSamples& operator=(const RefreshSamples&) = delete;

  // Their number; 0 if the policy has no use for samples.
  size_t size() const { return samples_.size(); }
  bool empty() const { return samples_.empty(); }
  // Returns true if any sample is from a query since the DB was opened.
  bool rate_known() const { return rate_known_; }
  // The questions to filters that all samples stand for.
  double questions_per_second() const { return questions_per_second_; }

  // Returns the queries that the filter of each file decides, by the order of
  // the files in the metadata. A query counts in equal parts for all of these
  // files. Called once, before Share.
  std::vector<SampledQueries> SpreadOver(const ColumnFamilyMetaData& metadata,
                                         size_t timestamp_size);

  // The share of the queries in all questions that the samples stand for.
  double Share(const SampledQueries& queries) const;

 private:
  std::vector<SampleQuery> samples_;  // ordered by lower bound
  // The weight of each sample, for each file whose filter decides it.
  std::vector<double> weights_;
  bool rate_known_ = false;
  double questions_per_second_ = 0;
};

// ---- Filter comparison ----

// How much better a new filter of a file does than the old one.

struct FilterComparison {
  // False positive rates.
  double old_fpr = 0;
  double new_fpr = 0;
  // The queries that only one of the two filters denies.
  std::vector<const SampleQuery*> denied_by_new;
  std::vector<const SampleQuery*> denied_by_old;

  // How many more queries the new filter denies than the old one.
  double MoreDenied() const {
    return static_cast<double>(denied_by_new.size()) -
           static_cast<double>(denied_by_old.size());
  }
  // The fall of the false positive rate; 0 if that may be chance.
  double Gain() const;
};

// Asks both filters about the queries, which match no key of the file. There is
// at least one.
FilterComparison CompareFilters(const AskedFilter& old_filter,
                                const AskedFilter& new_filter,
                                const std::vector<const SampleQuery*>& queries);

// ---- Redesign rules ----

// When a file is worth a new filter. Pure functions of what is known of the
// file.

// Returns true if a filter with these properties was designed for the price of
// a false positive that the policy designs filters for now. `known` is the
// price at the file's level, or 0 if that is unknown.
bool HasPriceOfNow(const ProteanFilterPolicy& policy, uint64_t known,
                   const UserCollectedProperties& properties);

// Returns by how much a new filter has to lower the false positive rate for a
// rewrite to be worth it: by `min_gain`, or by less if the file's filter was
// designed for cheap reads, and reads of its level are dear by now.
double MinGainOf(double min_gain, const ProteanFilterPolicy& policy,
                 uint64_t known, const UserCollectedProperties& properties);

// Returns true if a filter of `entries` entries that has `bits` per key is of
// the size that it would get now, which is `bits_now`. A larger one is, too,
// unless `shrinks`.
bool HasSizeOfNow(double bits, double bits_now, uint64_t entries, bool shrinks);

// Returns true if a filter of `entries` entries that has `bits` per key holds
// much more than its share of a budget, which is `bits_now`.
bool HoldsTooMuch(double bits, double bits_now, uint64_t entries);

// The reads and writes of blocks that rewriting a file takes.
double BlocksOfRewrite(uint64_t bytes, uint64_t block_size);

// ---- Redesign candidate ----

// A file whose filter may be designed anew.

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

// ---- Redesign state ----

// What the parts of one call of RedesignFilters know together.

struct RedesignState {
  // Lists the files of the column family, takes its samples, and recalls what
  // earlier calls have found out. The filter policy of the run is one of
  // Protean's.
  explicit RedesignState(RefreshRun* refresh);

  RedesignState(const RedesignState&) = delete;
  RedesignState& operator=(const RedesignState&) = delete;

  // What a false positive costs in files of the level; 0 if that is unknown.
  uint64_t PriceAt(int level) const;
  // Returns true if a rewrite of the file pays back in time, if that can be
  // told, with a new filter that saves this share of all questions.
  bool PaysBack(const RefreshedFile& file, double saved) const;
  // Returns true if the file was read in vain before, and nothing has changed
  // since then that would make a difference.
  bool IsFutile(const RedesignCandidate& candidate) const;

  RefreshRun& run;
  const ProteanFilterPolicy& policy;
  RefreshSamples samples;
  std::vector<RedesignCandidate> candidates;  // in the order of the result
  RefreshMemory memory;
  std::map<int, uint64_t> prices;  // by level, where they are known
};

// Lets later calls recall what this one has found out.
void RememberRefresh(RedesignState* state);

// ---- Decisions (redesign_trial.cc) ----

// Decides about a file that needs no new filter: it is not asked, would get the
// filter that it has, or lets through too few queries. Otherwise finds the
// upper limit of what a new filter saves. Returns an error only if refreshing
// must end.
Status ScreenCandidate(RedesignState* state, RedesignCandidate* candidate);

// Reads the file, builds its new filter in memory, and compares it with the old
// one. Decides about a file that is not worth a rewrite, and otherwise finds
// what the new filter saves. Returns an error only if refreshing must end.
Status TryCandidate(RedesignState* state, RedesignCandidate* candidate);

// Rewrites the files whose filters would do better if they were built now, as
// plugin/refresh_filters.h says. The column family has the table factory
// ProteanTable with a filter policy of Protean. Returns what RefreshFilters
// returns.
Status RedesignFilters(RefreshRun* run);

}  // namespace ROCKSDB_NAMESPACE::protean
