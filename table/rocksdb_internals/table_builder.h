// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "table/block_based/block_based_table_factory.h"
#include "table/table_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

// Makes the builder of a file as `factory` does. If its policy is one of
// Protean's, the facts of the file's filter are written among the file's
// user-collected properties (filter_properties.h).
TableBuilder* NewTableBuilderWithProperties(
    const BlockBasedTableFactory& factory, const TableBuilderOptions& options,
    WritableFileWriter* file);

}  // namespace ROCKSDB_NAMESPACE::protean
