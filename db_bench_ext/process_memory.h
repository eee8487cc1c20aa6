// SPDX-License-Identifier: Apache-2.0

//  The memory of this process, as Linux tells it.

#pragma once

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// The amount in a line of /proc/self/status, such as "VmRSS:", in MiB; 0 where
// the system does not tell. "VmHWM:" is the peak.
double ProcessMiB(const char* field);

// From now on, the peak is that of the memory in use from now on.
void ResetPeakMemory();

}  // namespace ROCKSDB_NAMESPACE::protean
