// SPDX-License-Identifier: Apache-2.0

//  What makes a file of ProteanTable: RocksDB's block-based table builder, with
//  the facts of the file's filter among the file's properties.

#pragma once

#include "table/block_based/block_based_table_factory.h"
#include "table/table_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

// Makes the builder of a file as `factory` does. If the factory's policy is one
// of Protean's, the file gets the policy of its level, that policy is told the
// DB's Env, and the facts of the filter are written among the file's
// user-collected properties (filter_properties.h).
TableBuilder* NewTableBuilderWithProperties(
    const BlockBasedTableFactory& factory, const TableBuilderOptions& options,
    WritableFileWriter* file);

}  // namespace ROCKSDB_NAMESPACE::protean
