// SPDX-License-Identifier: Apache-2.0

#include "plugin/redesign/redesign_state.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "plugin/redesign/redesign_rules.h"
#include "table/rocksdb_internals/column_family.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// What is remembered of the column family and holds under the present policy.
RefreshMemory RecallRefreshes(const ProteanFilterPolicy& policy,
                              RefreshRun* run) {
  RefreshMemory memory;
  const std::shared_ptr<DBSession> session = SessionOf(run->db());
  if (session != nullptr) {
    memory = session->refresh_memories()->Of(FamilyOf(run->column_family()));
  }
  const std::string text = policy.DesignOptions();
  if (memory.policy != text) memory = RefreshMemory();
  memory.policy = text;
  memory.runs++;
  return memory;
}

// The prices of false positives in the levels of the files.
std::map<int, uint64_t> FindPrices(RefreshRun* run) {
  std::map<int, uint64_t> prices;
  const std::shared_ptr<DBSession> session = SessionOf(run->db());
  if (session == nullptr) return prices;
  for (const RefreshedFile& file : run->result()->files) {
    if (prices.count(file.level) > 0) continue;
    prices[file.level] =
        session->families()->PriceOf(FamilyOf(run->column_family()), file.level,
                                     run->family_options().statistics.get());
  }
  return prices;
}

}  // namespace

RedesignState::RedesignState(RefreshRun* refresh)
    : run(*refresh),
      policy(*AsProteanFilterPolicy(refresh->table().filter_policy.get())),
      samples(policy, refresh->db(), refresh->column_family()),
      candidates(MakeCandidates(refresh->ListFiles(), refresh, &samples)),
      memory(RecallRefreshes(policy, refresh)),
      prices(FindPrices(refresh)) {
  run.result()->samples = samples.size();
  run.result()->rate_known = samples.rate_known();
}

uint64_t RedesignState::PriceAt(int level) const {
  const auto price = prices.find(level);
  return price == prices.end() ? 0 : price->second;
}

bool RedesignState::PaysBack(const RefreshedFile& file, double saved) const {
  return !samples.rate_known() ||
         saved * samples.questions_per_second() *
                 run.options().payback_seconds >=
             BlocksOfRewrite(file.bytes, run.table().block_size);
}

bool RedesignState::IsFutile(const RedesignCandidate& candidate) const {
  const auto found = memory.futile.find(candidate.file->name);
  if (found == memory.futile.end()) return false;
  const FutileTrial& trial = found->second;
  if (candidate.passed.DiffersFrom(trial.passed, candidate.min_gain)) {
    return false;
  }
  return trial.gain < candidate.min_gain || trial.saved <= 0 ||
         !PaysBack(*candidate.file, trial.saved);
}

void RememberRefresh(RedesignState* state) {
  RefreshRun& run = state->run;
  const std::shared_ptr<DBSession> session = SessionOf(run.db());
  if (session == nullptr) return;
  RefreshMemory& memory = state->memory;
  // Files that are gone, or have been rewritten, are forgotten.
  std::map<std::string, FutileTrial> futile;
  for (const RefreshedFile& file : run.result()->files) {
    const auto trial = memory.futile.find(file.name);
    if (trial != memory.futile.end()) futile.insert(*trial);
  }
  memory.futile = std::move(futile);
  session->refresh_memories()->Set(FamilyOf(run.column_family()), memory);
}

}  // namespace ROCKSDB_NAMESPACE::protean
