// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/fst_steps.h"

#include <algorithm>
#include <array>

#include "filter_policy/surf/surf.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr std::array<const char*, 7> kSteps = {
    "sparse", "dense", "quotient", "exceptions", "alphabet", "runs", "digits"};

}  // namespace

const char kFstSteps[] =
    "sparse, dense, quotient, exceptions, alphabet, runs, digits";

FstStepsPolicy::FstStepsPolicy(size_t steps)
    : SurfFilterPolicy(SurfSuffix()), steps_(steps) {}

std::shared_ptr<const FilterPolicy> FstStepsPolicy::Create(
    const std::string& step) {
  const auto* const found = std::find(kSteps.begin(), kSteps.end(), step);
  if (found == kSteps.end()) return nullptr;
  return std::shared_ptr<const FilterPolicy>(
      new FstStepsPolicy(static_cast<size_t>(found - kSteps.begin())));
}

FileBuilders FstStepsPolicy::NewFileBuilders(
    const FilterBuildingContext& /*context*/, Env* /*env*/,
    uint64_t /*price*/) const {
  FstOptions options;
  options.dense = steps_ >= 1;
  options.quotient = steps_ >= 2;
  options.list_exceptions = steps_ >= 3;
  options.reduce_alphabet = steps_ >= 4;
  options.runs = steps_ >= 5;
  options.digits = steps_ >= 6 ? FstOptions::kIfSmaller : FstOptions::kNever;
  return {kSurfKind, [options](const FilterTask& task) {
            return std::make_unique<SurfBuilder>(SurfSuffix(), options, task);
          }};
}

}  // namespace ROCKSDB_NAMESPACE::protean
