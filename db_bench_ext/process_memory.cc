// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/process_memory.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

double ProcessMiB(const char* field) {
  FILE* file = fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  double kib = 0;
  while (fgets(line, sizeof(line), file) != nullptr) {
    if (Slice(line).starts_with(field)) {
      kib = strtod(line + strlen(field), nullptr);
    }
  }
  fclose(file);
  return kib / 1024;
}

void ResetPeakMemory() {
  if (FILE* file = fopen("/proc/self/clear_refs", "w")) {
    fputs("5", file);
    fclose(file);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
