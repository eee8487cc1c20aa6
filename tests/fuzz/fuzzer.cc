// SPDX-License-Identifier: Apache-2.0

//  The fuzzer of one target, for libFuzzer and engines with its interface. It
//  is compiled for each target, with PROTEAN_FUZZ_TARGET=kSurfTarget and so on.
//
//  With PROTEAN_FUZZ_SEEDS=FOLDER in its environment, the fuzzer does not fuzz,
//  but writes the seeds there: TARGET/, with one file an input, and
//  TARGET.dict, if the target has a dictionary.

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/fuzz_targets.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const FuzzTarget& TheTarget() { return PROTEAN_FUZZ_TARGET; }

Slice SliceOf(const uint8_t* data, size_t size) {
  return Slice(reinterpret_cast<const char*>(data), size);
}

size_t Store(const std::string& bytes, uint8_t* out) {
  memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

bool WriteFile(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  return out.good();
}

bool WriteSeeds(const std::filesystem::path& folder) {
  const FuzzTarget& target = TheTarget();
  std::error_code error;
  std::filesystem::create_directories(folder / target.name, error);
  bool good = !error;
  size_t number = 0;
  for (const std::string& seed : target.seeds()) {
    good = good &&
           WriteFile(folder / target.name / ("seed" + std::to_string(number++)),
                     seed);
  }
  return good && (target.dictionary == nullptr ||
                  WriteFile(folder / (target.name + std::string(".dict")),
                            target.dictionary()));
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

extern "C" {

// The engine provides this function.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* const folder = getenv("PROTEAN_FUZZ_SEEDS");
  if (folder != nullptr) {
    exit(ROCKSDB_NAMESPACE::protean::WriteSeeds(folder) ? 0 : 1);
  }
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ROCKSDB_NAMESPACE::protean;
  TheTarget().run(SliceOf(data, size));
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                               unsigned int seed) {
  using namespace ROCKSDB_NAMESPACE::protean;
  Dice random(seed);
  return Store(TheTarget().mutate(SliceOf(data, size), max_size, &random,
                                  LLVMFuzzerMutate),
               data);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                 const uint8_t* data2, size_t size2,
                                 uint8_t* out, size_t max_size,
                                 unsigned int seed) {
  using namespace ROCKSDB_NAMESPACE::protean;
  Dice random(seed);
  return Store(TheTarget().cross(SliceOf(data1, size1), SliceOf(data2, size2),
                                 max_size, &random),
               out);
}

}  // extern "C"
