// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/seed_samples.h"

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/db.h"

namespace ROCKSDB_NAMESPACE::protean {

void SeedSamples(const FilterPolicy* policy,
                 const std::vector<Query>& samples) {
  const ProteanFilterPolicy* own = AsProteanFilterPolicy(policy);
  if (own == nullptr) return;
  const std::shared_ptr<SampleStore> store = own->Samples();
  if (store == nullptr) return;
  const std::shared_ptr<QueryQueue> queue = store->Queue(
      kDefaultColumnFamilyName, Env::Default(), /*logger=*/nullptr);
  for (const Query& sample : samples) {
    queue->Add({sample.lo, sample.hi, sample.hi_inclusive});
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
