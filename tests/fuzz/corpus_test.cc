//  Replays what the fuzzers have found worth keeping. Inputs that once failed
//  are added to the corpus.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz_targets.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

void Replay(const std::string& corpus,
            void (*target)(const uint8_t* data, size_t size)) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(PROTEAN_SOURCE_DIR) + "/tests/fuzz/corpus/" + corpus)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)),
                            std::istreambuf_iterator<char>());
    target(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    files++;
  }
  EXPECT_GT(files, 0);
}

}  // namespace

TEST(CorpusTest, Open) { Replay("open", FuzzOpen); }

TEST(CorpusTest, Design) { Replay("design", FuzzDesign); }

TEST(CorpusTest, Build) { Replay("build", FuzzBuild); }

}  // namespace ROCKSDB_NAMESPACE::protean
