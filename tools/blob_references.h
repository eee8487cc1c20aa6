// SPDX-License-Identifier: Apache-2.0

//  Whether the blob files of a column family have what its SST files refer to.

#pragma once

#include <vector>

#include "tools/file_check.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// Compares the checked blob files of the column family with what its checked
// SST files refer to. Changes the status of blob files that lack something, and
// adds a check for each blob file that the MANIFEST does not list. Reads no
// file.
void CompareBlobReferences(const TargetFamily& family,
                           std::vector<FileCheck>* checks);

}  // namespace ROCKSDB_NAMESPACE::protean
