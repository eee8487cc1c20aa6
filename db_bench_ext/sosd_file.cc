// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/sosd_file.h"

#include <fstream>

#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

Status ReadNumbers(const std::string& file, size_t numbers_per_entry,
                   std::vector<uint64_t>* numbers) {
  std::ifstream in(file, std::ios::binary);
  char buffer[8];
  if (!in.read(buffer, 8)) {
    return Status::IOError(file, "cannot be read, or is shorter than a count");
  }
  const uint64_t count = DecodeFixed64(buffer);
  for (uint64_t i = 0; i < count * numbers_per_entry; i++) {
    if (!in.read(buffer, 8)) {
      return Status::Corruption(file,
                                "announces " + std::to_string(count) +
                                    " entries and ends after " +
                                    std::to_string(i / numbers_per_entry) +
                                    "; if it is text, not numbers in SOSD "
                                    "format, set --key_type=text, or "
                                    "--workload=strings instead of ranges");
    }
    numbers->push_back(DecodeFixed64(buffer));
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
