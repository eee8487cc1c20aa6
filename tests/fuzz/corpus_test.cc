// SPDX-License-Identifier: Apache-2.0

//  Replays the fuzzers' seeds, and inputs worth keeping or that once failed.

#include <filesystem>

#include "rocksdb/env.h"
#include "tests/filter_blocks.h"
#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

class CorpusTest : public testing::TestWithParam<const FuzzTarget*> {
 protected:
  // The memory ends where the input does.
  void Replay(const std::string& input) {
    const GuardedBlock copy(input);
    GetParam()->run(copy.slice());
  }
};

TEST_P(CorpusTest, Seeds) {
  const std::vector<std::string> seeds = GetParam()->seeds();
  EXPECT_FALSE(seeds.empty());
  for (const std::string& seed : seeds) Replay(seed);
}

TEST_P(CorpusTest, Corpus) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(PROTEAN_SOURCE_DIR) + "/tests/fuzz/corpus/" +
           GetParam()->name)) {
    SCOPED_TRACE(entry.path().string());
    std::string input;
    ASSERT_OK(ReadFileToString(Env::Default(), entry.path(), &input));
    Replay(input);
    files++;
  }
  EXPECT_GT(files, 0);
}

INSTANTIATE_TEST_SUITE_P(All, CorpusTest, testing::ValuesIn(FuzzTargets()),
                         [](const auto& test) { return test.param->name; });

}  // namespace ROCKSDB_NAMESPACE::protean
