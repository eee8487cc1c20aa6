// SPDX-License-Identifier: Apache-2.0

//  The cases of protean_limits. Each prints a table in Markdown, with a row for
//  each policy, and checks all answers.

#pragma once

#include "db_bench_ext/limits_probe.h"

namespace ROCKSDB_NAMESPACE::protean {

// Files of keys of no byte up to the largest keys.
void MeasureKeySizes(const LimitsOptions& limits);
// Files of one key up to the largest files.
void MeasureFileSizes(const LimitsOptions& limits);
// Many files of 100 keys each, in one level.
void MeasureManyFiles(const LimitsOptions& limits);
void MeasureManyFamilies(const LimitsOptions& limits);
// Many iterators at once, over a tree of seven sorted runs.
void MeasureManyIterators(const LimitsOptions& limits);

}  // namespace ROCKSDB_NAMESPACE::protean
