// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/fuzz_targets.h"

namespace ROCKSDB_NAMESPACE::protean {

const std::vector<const FuzzTarget*>& FuzzTargets() {
  static const auto* const targets = new std::vector<const FuzzTarget*>{
      &kSurfTarget,       &kProteusTarget,         &kEnvelopeTarget,
      &kSurfBuildTarget,  &kProteusBuildTarget,    &kDesignTarget,
      &kSamplesTarget,    &kOptionsTarget,         &kCascadeTarget,
      &kCascadeRunTarget, &kCascadeManifestTarget, &kQuotientTarget};
  return *targets;
}

const FuzzTarget* FindFuzzTarget(const std::string& name) {
  for (const FuzzTarget* target : FuzzTargets()) {
    if (name == target->name) return target;
  }
  return nullptr;
}

}  // namespace ROCKSDB_NAMESPACE::protean
