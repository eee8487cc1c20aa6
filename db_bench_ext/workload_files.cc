#include "db_bench_ext/workload_files.h"

#include <algorithm>
#include <fstream>

#include "db_bench_ext/key_arithmetic.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

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
                                    std::to_string(i / numbers_per_entry));
    }
    numbers->push_back(DecodeFixed64(buffer));
  }
  return Status::OK();
}

}  // namespace

Status ReadKeys(const std::string& file, bool text,
                std::vector<std::string>* keys) {
  if (text) {
    std::ifstream in(file);
    if (!in) return Status::IOError(file, "cannot be read");
    for (std::string line; std::getline(in, line);) keys->push_back(line);
  } else {
    std::vector<uint64_t> numbers;
    const Status s = ReadNumbers(file, 1, &numbers);
    if (!s.ok()) return s;
    for (uint64_t number : numbers) keys->push_back(BigEndianKey(number));
  }
  std::sort(keys->begin(), keys->end());
  keys->erase(std::unique(keys->begin(), keys->end()), keys->end());
  return Status::OK();
}

Status ReadQueries(const std::string& file, bool text,
                   std::vector<Query>* queries) {
  if (text) {
    std::ifstream in(file);
    if (!in) return Status::IOError(file, "cannot be read");
    for (std::string line; std::getline(in, line);) {
      const size_t tab = line.find('\t');
      queries->push_back({line.substr(0, tab), tab == std::string::npos
                                                   ? line
                                                   : line.substr(tab + 1)});
    }
  } else {
    std::vector<uint64_t> numbers;
    const Status s = ReadNumbers(file, 2, &numbers);
    if (!s.ok()) return s;
    for (size_t i = 0; i < numbers.size(); i += 2) {
      queries->push_back(
          {BigEndianKey(numbers[i]), BigEndianKey(numbers[i + 1])});
    }
  }
  for (size_t i = 0; i < queries->size(); i++) {
    if ((*queries)[i].hi < (*queries)[i].lo) {
      return Status::InvalidArgument(
          file, "query " + std::to_string(i + 1) + " has hi below lo");
    }
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
