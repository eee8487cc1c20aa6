// SPDX-License-Identifier: Apache-2.0

#include "tests/table/differential/versions.h"

#include "rocksdb/comparator.h"

namespace ROCKSDB_NAMESPACE::protean {

const char* DrawFormatVersion(Dice* dice) {
#if PROTEAN_ROCKSDB_AT_LEAST(10, 4)
  return dice->Of({"4", "5", "6", "7"});
#else
  return dice->Of({"4", "5", "6"});
#endif
}

std::string DrawNewerTableOptions(Dice* dice, const Comparator* comparator) {
  std::string options;
#if PROTEAN_ROCKSDB_AT_LEAST(11, 1)
  if (dice->OneIn(4)) options += "separate_key_value_in_data_block=true;";
  if (comparator == BytewiseComparator() && dice->OneIn(4)) {
    options += std::string("index_block_search_type=") +
               dice->Of({"kInterpolation", "kAuto"}) + ";";
  }
  if (dice->OneIn(4)) options += "uniform_cv_threshold=0.5;";
  if (dice->OneIn(6)) {
    options +=
        "super_block_alignment_size=8192;"
        "super_block_alignment_space_overhead_ratio=4;";
  }
#endif
  return options;
}

void DrawNewerOptions(Dice* dice, DBOptions* options) {
#if PROTEAN_ROCKSDB_AT_LEAST(11, 2)
  if (dice->OneIn(6)) {
    options->open_files_async = true;
    options->skip_stats_update_on_db_open = true;  // which it asks for
  }
  options->fast_sst_open = dice->OneIn(6);
#endif
}

void DrawNewerOptions(Dice* dice, ColumnFamilyOptions* options) {
#if PROTEAN_ROCKSDB_AT_LEAST(11, 1)
  options->memtable_batch_lookup_optimization = dice->OneIn(4);
#endif
}

void DrawNewerOptions(Dice* dice, ReadOptions* options) {
#if PROTEAN_ROCKSDB_AT_LEAST(10, 1)
  options->auto_refresh_iterator_with_snapshot = dice->OneIn(3);
#endif
}

}  // namespace ROCKSDB_NAMESPACE::protean
