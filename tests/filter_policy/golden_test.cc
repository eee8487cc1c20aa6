// SPDX-License-Identifier: Apache-2.0

//  The filter blocks in golden/*.block, of SuRF, and golden_proteus/*.block
//  were written once and freeze the file format
//  (docs/internals/file_format.md): every later reader must read them, and
//  answer as it did. Each comes of a recipe (golden_recipes.h).
//
//  IsRead and CutShort fail if the reader no longer reads what was written,
//  which is a bug. IsWritten fails if the builder writes other bytes for the
//  same keys. If that is meant, the new block is added as `name.2.block`, then
//  `name.3.block`: all of them must be read, and the last one is what is
//  written today. A block that a release has written is never replaced or
//  removed.
//
//  With PROTEAN_WRITE_GOLDEN=1 in the environment, the test writes blocks that
//  do not exist yet, or are not what the builder writes, but over none; and the
//  answers of blocks: golden_proteus/*.answers of new ones, and those of all
//  SuRFs, golden_answers.txt, whose changes are reviewed.

#include <sstream>

#include "tests/filter_policy/golden_recipes.h"
#include "tests/filter_policy/small_blocks.h"
#include "tests/fuzz/block_layout.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- What a block holds ----

// The fields of a SuRF of one part.
struct SurfFields {
  explicit SurfFields(const std::string& block) {
    const BlockLayout layout{Slice(block)};
    const BlockLayout::Unit& unit = layout.units().at(0);
    const auto byte = [&](size_t offset) {
      return static_cast<uint8_t>(block[unit.payload + offset]);
    };
    hash_bits = byte(0) & 0x7f;
    real_bits = byte(1);
    prefix_bits = byte(2);
    prefix_step = byte(3);
    if ((byte(0) & 0x80) != 0) codes = byte(8 + 5);
    trie = unit.layout.trie().value();
    for (size_t i = 0; i < Alphabet::kSize; i++) {
      alphabet_size += PopCount(byte(trie.header + FstHeader::kSize + i));
    }
  }

  unsigned hash_bits = 0;
  unsigned real_bits = 0;
  unsigned prefix_bits = 0;
  unsigned prefix_step = 0;
  unsigned codes = 0;  // of keys; 0 if the trie is one of bytes
  PayloadLayout::Trie trie;
  unsigned alphabet_size = 0;
};

// How the edges of a section are stored, and which of them lead to nodes.
std::string DescribeEncoding(const SurfFields& block,
                             const PayloadLayout::Section& section) {
  const FstSectionHeader& fields = section.fields;
  const std::string labels = fields.remainder_bits == 0 ? "dense"
                             : fields.remainder_bits == block.trie.code_bits
                                 ? "sparse"
                                 : "quotient";
  const char* const children[] = {"child bits", "children listed",
                                  "leaves listed"};
  return labels + ", " + children[fields.child_encoding];
}

std::string Describe(const std::string& bytes) {
  if (bytes[kKindOffset] == 0) return "no filter";
  if (DecodeFixed32(&bytes[kNumPartsOffset]) == 0) return "no keys";
  const SurfFields block(bytes);
  std::string text = std::to_string(block.trie.fields.leaves) + " leaves, " +
                     std::to_string(block.trie.fields.nodes) + " nodes, " +
                     std::to_string(block.alphabet_size) +
                     (block.codes > 0 ? " digits" : " bytes");
  if (block.codes > 0) text += " of " + std::to_string(block.codes) + " codes";
  if (block.prefix_bits > 0) {
    text += ", " + std::to_string(block.prefix_bits) + " prefix bits of step " +
            std::to_string(block.prefix_step);
  }
  for (const PayloadLayout::Section& section : block.trie.sections) {
    const FstSectionHeader& fields = section.fields;
    text += "; " + std::to_string(fields.levels) + " levels " +
            DescribeEncoding(block, section);
    if (fields.terminators > 0) {
      text += ", " + std::to_string(fields.terminators) + " terminators";
    }
    if (fields.runs > 0) text += ", " + std::to_string(fields.runs) + " runs";
  }
  return text;
}

// The first byte that differs, apart from the directory's checksum.
std::string FirstDifference(const std::string& golden,
                            const std::string& written) {
  size_t offset = 0;
  while (offset < golden.size() && offset < written.size() &&
         (golden[offset] == written[offset] ||
          (offset >= kChecksumOffset && offset < kDirectorySizeOffset))) {
    offset++;
  }
  return "byte " + std::to_string(offset) + " (the payload begins at " +
         std::to_string(PayloadOffset(golden)) + ")";
}

std::set<std::string> FeaturesOf(const std::string& bytes) {
  if (bytes[kKindOffset] == 0) return {"no filter"};
  if (DecodeFixed32(&bytes[kNumPartsOffset]) == 0) return {"no keys"};
  const SurfFields block(bytes);
  const unsigned suffix_bits = block.hash_bits + block.real_bits;
  std::set<std::string> features = {suffix_bits == 0       ? "no suffix"
                                    : suffix_bits == 64    ? "64 suffix bits"
                                    : block.hash_bits == 0 ? "real suffix"
                                    : block.real_bits == 0 ? "hash suffix"
                                                           : "both suffixes"};
  if (block.prefix_bits > 0) features.insert("prefix bits");
  if (block.trie.sections.size() > 3) features.insert("many sections");
  if (block.trie.sections.empty()) return features;
  features.insert("codes of " + std::to_string(block.trie.code_bits) + " bits");
  for (const PayloadLayout::Section& section : block.trie.sections) {
    const FstSectionHeader& fields = section.fields;
    features.insert(DescribeEncoding(block, section));
    // More than one entry of the tables counts.
    const bool many_nodes = fields.nodes > 512;
    if (many_nodes && fields.terminators > 0) features.insert("terminators");
    if (many_nodes && fields.runs > 64) features.insert("runs");
    if (fields.run_codes > 100 * fields.runs) features.insert("long runs");
    if (fields.child_encoding != 0 && fields.exception_bits == 0) {
      features.insert("exceptions of no bits");
    }
  }
  return features;
}

// ---- Queries ----

struct Queries {
  Keys points;
  std::vector<SampleQuery> ranges;
  Keys prefixes;
};

// A point near a key, so that a filter may take it for the key.
std::string NearMiss(Lcg* random, const std::string& key) {
  const std::string tail = random->Bytes(1);
  switch (key.empty() ? 0 : random->Next(5)) {
    case 0:
      return key + tail;
    case 1:  // another last byte
      return key.substr(0, key.size() - 1) + tail;
    case 2:
      return key.substr(0, random->Next(key.size()));
    case 3:  // another end
      return key.substr(0, random->Next(key.size())) + tail;
    default:  // a byte of the key
      return key.substr(0, key.size() / 2) + key[random->Next(key.size())];
  }
}

// A range without keys that begins at a point without one. `next` is the first
// key above it, or null.
SampleQuery EmptyRange(Lcg* random, const std::string& lo,
                       const std::string* next) {
  if (next != nullptr && random->Next(2) == 0) return {lo, *next, false};
  const std::string hi = lo + "\xff";
  if (next == nullptr || hi < *next) return {lo, hi, true};
  return {lo, lo, true};
}

// Queries for what is not there.
Queries QueriesAbout(const Keys& keys_added) {
  const std::set<std::string> keys(keys_added.begin(), keys_added.end());
  const Keys sorted = Sorted(keys);
  Lcg random(8);
  Queries queries;
  for (int i = 0; i < 50; i++) {
    const std::string key =
        keys.empty() ? random.Bytes(2) : sorted[random.Next(sorted.size())];
    const std::string point = NearMiss(&random, key);
    if (keys.count(point) > 0) continue;
    const auto next = keys.lower_bound(point);
    queries.points.push_back(point);
    queries.ranges.push_back(
        EmptyRange(&random, point, next == keys.end() ? nullptr : &*next));
    if (next == keys.end() || !Slice(*next).starts_with(point)) {
      queries.prefixes.push_back(point);
    }
  }
  return queries;
}

// Numbers of keys in ranges between points that are no keys, with l and h where
// the first or the last key counted may lie outside.
std::string CountsAsText(const Surf& surf, const Keys& keys) {
  const Keys points = QueriesAbout(keys).points;
  std::vector<SampleQuery> ranges = {{"", std::string(400, '\xff'), true}};
  for (size_t i = 0; i + 1 < points.size() && ranges.size() < 8; i += 2) {
    ranges.push_back({std::min(points[i], points[i + 1]),
                      std::max(points[i], points[i + 1]), true});
  }
  std::string text;
  for (const SampleQuery& range : ranges) {
    const RangeCount counted = surf.Count(range.lo, range.hi);
    if (!text.empty()) text += " ";
    text += std::to_string(counted.count) + (counted.low_ambiguous ? "l" : "") +
            (counted.high_ambiguous ? "h" : "");
  }
  return text;
}

// A description of the recipe's first block, and the answers of `block` about
// the recipe's keys, + for "may match".
std::string AnswersOf(const FilterBlock& block, const Recipe& recipe) {
  const Queries queries = QueriesAbout(recipe.keys);
  const Surf* surf = block.header().kind == kSurfKind
                         ? static_cast<const Surf*>(block.filter())
                         : nullptr;
  std::string text = Describe(ReadFile(SurfBlocks().PathOf(recipe, 1)));
  const auto add = [&text](const char* name, const auto& asked,
                           const auto& ask) {
    text += name;
    for (const auto& query : asked) text += ask(query) ? '+' : '.';
  };
  add("\npoints ", queries.points,
      [&](const std::string& key) { return block.KeyMayMatch(key); });
  add("\nranges ", queries.ranges, [&](const SampleQuery& range) {
    return block.RangeMayMatch(range.lo, range.hi, range.hi_inclusive);
  });
  add("\nprefixes ", queries.prefixes,
      [&](const std::string& prefix) { return block.PrefixMayMatch(prefix); });
  text += "\ncounts ";
  if (surf != nullptr) text += CountsAsText(*surf, recipe.keys);
  return text + "\n";
}

constexpr char kAnswersFile[] =
    PROTEAN_SOURCE_DIR "/tests/filter_policy/golden_answers.txt";

std::string StoredAnswersOf(const Recipe& recipe) {
  static const std::string stored = "\n" + ReadFile(kAnswersFile);
  const std::string heading = std::string("\n== ") + recipe.name + "\n";
  const size_t at = stored.find(heading);
  if (at == std::string::npos) return "";
  const size_t begin = at + heading.size();
  const size_t end = stored.find("\n== ", begin);
  return end == std::string::npos ? stored.substr(begin)
                                  : stored.substr(begin, end + 1 - begin);
}

void WriteAnswers() {
  std::ofstream out(kAnswersFile);
  for (const Recipe& recipe : SurfBlocks().recipes) {
    const OwnBlock block(ReadFile(SurfBlocks().FilesOf(recipe).back()));
    out << "== " << recipe.name << "\n" << AnswersOf(*block, recipe);
  }
}

// The answers of a Proteus, a line a query, near keys and far from them.
std::string ProteusAnswers(const FilterBlock& block, const Keys& keys) {
  Lcg random(99);
  Keys queries = {"", "a", std::string("\0", 1), "\xff\xff"};
  for (int i = 0; i < 30; i++) {
    std::string query =
        keys.empty() ? random.Bytes(4) : keys[random.Next(keys.size())];
    const uint64_t change = random.Next(4);
    if (change == 0) query += random.Bytes(1);
    if (change == 1) query.resize(query.size() / 2);
    if (change == 2) query = random.Bytes(8);
    if (change == 3 && !query.empty()) query.back()++;
    queries.push_back(query);
  }
  std::string answers;
  if (const auto* proteus = dynamic_cast<const Proteus*>(block.filter())) {
    answers = proteus->design().Describe() + "\n";
  } else if (block.filter() != nullptr) {
    answers = "units of " + block.filter()->Report().design + "\n";
  }
  for (const std::string& query : queries) {
    answers += Hex(query) + (block.KeyMayMatch(query) ? " +" : " .") + "\n";
  }
  for (size_t i = 0; i < queries.size(); i++) {
    std::string hi = queries[(i * 7 + 3) % queries.size()];
    if (i % 2 == 0) hi = queries[i] + random.Bytes(1 + random.Next(3));
    for (bool inclusive : {true, false}) {
      answers +=
          Hex(queries[i]) + " " + Hex(hi) +
          (inclusive ? " inclusive" : " exclusive") +
          (block.RangeMayMatch(queries[i], hi, inclusive) ? " +" : " .") + "\n";
    }
  }
  return answers;
}

void WriteIfNew(const GoldenSet& set, const Recipe& recipe) {
  const std::vector<std::filesystem::path> files = set.FilesOf(recipe);
  const std::string block = recipe.build(recipe.keys);
  if (!files.empty() && ReadFile(files.back()) == block) return;
  const size_t n = files.size() + 1;
  std::ofstream(set.PathOf(recipe, n), std::ios::binary) << block;
  if (&set == &SurfBlocks()) return;
  std::ofstream(set.PathOf(recipe, n, ".answers"), std::ios::binary)
      << ProteusAnswers(FilterBlock(block), recipe.keys);
}

// ---- The tests ----

struct GoldenCase {
  const GoldenSet* set;
  const Recipe* recipe;
};

void PrintTo(const GoldenCase& golden, std::ostream* out) {
  *out << golden.recipe->name;
}

std::vector<GoldenCase> CasesOf(const GoldenSet& set) {
  std::vector<GoldenCase> cases;
  for (const Recipe& recipe : set.recipes) cases.push_back({&set, &recipe});
  return cases;
}

class GoldenTest : public testing::TestWithParam<GoldenCase> {
 protected:
  static void SetUpTestSuite() {
    const char* write = getenv("PROTEAN_WRITE_GOLDEN");
    if (write == nullptr || std::string(write) != "1") return;
    for (const GoldenSet* set : {&SurfBlocks(), &ProteusBlocks()}) {
      std::filesystem::create_directories(set->Folder());
      for (const Recipe& recipe : set->recipes) WriteIfNew(*set, recipe);
    }
    WriteAnswers();
  }

  const GoldenSet& set_ = *GetParam().set;
  const bool is_surf_ = &set_ == &SurfBlocks();
  const Recipe& recipe_ = *GetParam().recipe;
  const std::vector<std::filesystem::path> files_ = set_.FilesOf(recipe_);
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Surf, GoldenTest,
                         testing::ValuesIn(CasesOf(SurfBlocks())),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Proteus, GoldenTest,
                         testing::ValuesIn(CasesOf(ProteusBlocks())),
                         testing::PrintToStringParamName());

TEST_P(GoldenTest, IsRead) {
  ASSERT_FALSE(files_.empty()) << "the recipe has no block yet";
  for (size_t n = 1; n <= files_.size(); n++) {
    SCOPED_TRACE(
        "THE READER NO LONGER READS WHAT WAS WRITTEN, which is a bug: " +
        files_[n - 1].filename().string() +
        " (an answer that was + and is . shows a better reader, for which the "
        "expectation may change)");
    const GuardedBlock copy(ReadFile(files_[n - 1]), /*misalignment=*/1);
    const FilterBlock block(copy.slice());
    ASSERT_OK(block.status());
    const Keys& keys = recipe_.keys;
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(),
              block.header().num_keys);
    if (!is_surf_) {
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(block, keys));
      EXPECT_EQ(ReadFile(set_.PathOf(recipe_, n, ".answers")),
                ProteusAnswers(block, keys));
      continue;
    }
    ExpectNoFalseNegatives(block, keys);
    ExpectReaderFinds(copy.slice(), keys);
    EXPECT_EQ(StoredAnswersOf(recipe_), AnswersOf(block, recipe_));
  }
}

TEST_P(GoldenTest, IsWritten) {
  ASSERT_FALSE(files_.empty()) << "the recipe has no block yet";
  const std::string golden = ReadFile(files_.back());
  const std::string written = recipe_.build(recipe_.keys);
  if (golden == written) return;
  ADD_FAILURE()
      << "THE BUILDER WRITES OTHER BYTES than " << files_.back().filename()
      << " for the same keys."
      << (is_surf_
              ? "\nWas: " + Describe(golden) + "\nIs:  " + Describe(written)
              : "")
      << "\nThe first difference is " << FirstDifference(golden, written)
      << ".\nUnless that was meant, it is a bug. If it was, the reader must "
         "still read the old block (test IsRead), which stays, and the new one "
         "is added to it: run with PROTEAN_WRITE_GOLDEN=1.";
}

// The checksum tells so and, if that is right, the lengths do.
TEST_P(GoldenTest, CutShort) {
  for (const auto& file : files_) {
    SCOPED_TRACE(file.filename().string());
    const std::string bytes = ReadFile(file);
    for (size_t bytes_cut : {1, 8, 64}) {
      const std::string cut =
          bytes.substr(0, bytes.size() - std::min(bytes_cut, bytes.size()));
      for (const std::string& damaged : {cut, WithRightChecksums(cut)}) {
        const GuardedBlock copy(damaged);
        const FilterBlock block(copy.slice());
        EXPECT_TRUE(block.status().IsCorruption()) << bytes_cut;
        EXPECT_FALSE(block.CanFilter());
      }
    }
  }
}

// A file without a recipe would not be tested.
TEST(GoldenFilesTest, HaveRecipes) {
  for (const GoldenSet* set : {&SurfBlocks(), &ProteusBlocks()}) {
    std::set<std::filesystem::path> known;
    for (const Recipe& recipe : set->recipes) {
      for (size_t n = 1; n <= set->FilesOf(recipe).size(); n++) {
        known.insert(set->PathOf(recipe, n));
        if (set != &SurfBlocks()) {
          known.insert(set->PathOf(recipe, n, ".answers"));
        }
      }
    }
    for (const auto& entry :
         std::filesystem::directory_iterator(set->Folder())) {
      EXPECT_EQ(1u, known.count(entry.path())) << entry.path();
    }
  }
}

TEST(GoldenFilesTest, CoverTheFormat) {
  std::set<std::string> found;
  for (const Recipe& recipe : SurfBlocks().recipes) {
    const std::string bytes = ReadFile(SurfBlocks().PathOf(recipe, 1));
    ASSERT_FALSE(bytes.empty()) << recipe.name << " has no block yet";
    EXPECT_LE(bytes.size(), 8192u) << "golden blocks are small";
    found.merge(FeaturesOf(bytes));
  }
  std::set<std::string> wanted = {
      "no filter",      "no keys",       "no suffix",   "hash suffix",
      "real suffix",    "both suffixes", "prefix bits", "terminators",
      "64 suffix bits", "runs",          "long runs",   "exceptions of no bits",
      "many sections"};
  for (const std::string labels : {"dense", "quotient", "sparse"}) {
    for (const char* listed :
         {"child bits", "children listed", "leaves listed"}) {
      wanted.insert(labels + ", " + listed);
    }
  }
  for (int bits = 1; bits <= 8; bits++) {
    wanted.insert("codes of " + std::to_string(bits) + " bits");
  }
  for (const std::string& feature : wanted) {
    EXPECT_EQ(1u, found.count(feature)) << "no block has: " << feature;
  }
}

// golden_annotated.txt explains one block byte by byte.
TEST(GoldenFilesTest, AnnotatedBytes) {
  const std::string block = ReadFile(SurfBlocks().Folder() / "annotated.block");
  std::istringstream lines(
      ReadFile(SurfBlocks().Folder().parent_path() / "golden_annotated.txt"));
  size_t end = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    const size_t bar = line.find(" | ");
    ASSERT_EQ(end, std::stoul(line.substr(0, bar)));
    std::string hex = line.substr(bar + 3, line.find(" | ", bar + 3) - bar - 3);
    hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
    EXPECT_EQ(hex, Hex(block.substr(end, hex.size() / 2)));
    end += hex.size() / 2;
  }
  EXPECT_GT(end, 0u);
  EXPECT_EQ(block.size(), end);
}

}  // namespace ROCKSDB_NAMESPACE::protean
