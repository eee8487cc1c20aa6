// SPDX-License-Identifier: Apache-2.0

//  The fuzzer of one target, for libFuzzer and engines with its interface. It
//  is compiled for each target, with PROTEAN_FUZZ_TARGET=kSurfTarget and so on.
//
//  With PROTEAN_FUZZ_SEEDS=FOLDER in its environment, the fuzzer does not fuzz,
//  but writes the seeds there: TARGET/, with one file an input, and
//  TARGET.dict, if the target has a dictionary.

#include <cstring>
#include <filesystem>

#include "rocksdb/env.h"
#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const FuzzTarget& TheTarget() { return PROTEAN_FUZZ_TARGET; }

Slice SliceOf(const uint8_t* data, size_t size) {
  return Slice(reinterpret_cast<const char*>(data), size);
}

// The words in a dictionary of libFuzzer.
std::string DictionaryOf(const std::vector<std::string>& words) {
  std::string dictionary;
  for (const std::string& word : words) {
    dictionary += '"';
    for (const char c : word) {
      char escaped[8];
      snprintf(escaped, sizeof(escaped), "\\x%02X", static_cast<uint8_t>(c));
      dictionary += escaped;
    }
    dictionary += "\"\n";
  }
  return dictionary;
}

bool WriteSeeds(const std::string& folder) {
  const FuzzTarget& target = TheTarget();
  const std::string path = folder + "/" + target.name;
  const auto write = [](const std::string& bytes, const std::string& file) {
    return WriteStringToFile(Env::Default(), bytes, file).ok();
  };
  std::filesystem::create_directories(path);
  size_t number = 0;
  for (const std::string& seed : target.seeds()) {
    if (!write(seed, path + "/seed" + std::to_string(number++))) return false;
  }
  return target.words == nullptr ||
         write(DictionaryOf(target.words()), path + ".dict");
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
  const std::string changed = TheTarget().Mutate(SliceOf(data, size), max_size,
                                                 &random, LLVMFuzzerMutate);
  memcpy(data, changed.data(), changed.size());
  return changed.size();
}

}  // extern "C"
