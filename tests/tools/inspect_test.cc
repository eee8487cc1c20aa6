// SPDX-License-Identifier: Apache-2.0

//  protean inspect: figures, the page, and a DB in use.

#include "filter_policy/samples/query_file.h"
#include "rocksdb/convenience.h"
#include "rocksdb/sst_file_writer.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/sst_damage.h"
#include "tests/tools/tool_db.h"
#include "tools/inspect_page.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class InspectTest : public ToolDBTest {
 protected:
  InspectTest() : ToolDBTest("inspect") {}

  std::string Db() const { return "--db=" + path_; }
};

// The JSON in a page.
Json DataOf(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

}  // namespace

// testdata/inspect.txt has what a person sees; the figures are true.
TEST_F(InspectTest, TellsOfEachFile) {
  Fill();
  const ToolRun run = RunTool({"inspect", Db(), "--json"});
  EXPECT_EQ(kFine, run.code) << run.err;
  ASSERT_EQ(6u, run.Rows().size());
  for (const Json& row : run.Rows()) {
    SCOPED_TRACE(row.dump());
    uint64_t size = 0;
    ASSERT_OK(Env::Default()->GetFileSize(
        path_ + "/" + row["file"].get<std::string>(), &size));
    EXPECT_EQ(size, row["bytes"]);
    EXPECT_NEAR(
        8.0 * row["filter_bytes"].get<double>() / row["keys"].get<double>(),
        row["bits_per_key"].get<double>(), 1e-9);
    EXPECT_EQ(row["kind"] == "Proteus", !row["predicted_fpr"].is_null());
  }
}

// The DB may be open, and change meanwhile.
TEST_F(InspectTest, OfADBInUse) {
  Fill();
  Open();
  ASSERT_OK(db_->Put(WriteOptions(), handles_[0], "a", "b"));
  ASSERT_OK(db_->Flush(FlushOptions(), handles_[0]));
  const ToolRun run = RunTool({"inspect", Db(), "--json"});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ(7u, run.Rows().size());
  ASSERT_OK(db_->Put(WriteOptions(), handles_[0], "a", "c"));
  std::string value;
  ASSERT_OK(db_->Get(ReadOptions(), handles_[0], "a", &value));
  Close();

  // A file that the DB has deleted since the MANIFEST was read.
  Target target;
  const CommandText text = {"", "", "", "", ""};
  Arguments arguments(text);
  target.AddFlags(&arguments, text.by_default);
  std::vector<std::string> operands;
  ASSERT_OK(arguments.Parse({Db(), "--column_family=surf"}, &operands));
  ASSERT_OK(target.Open(operands));
  const TargetFamily& family = target.families().at(0);
  Open();
  ASSERT_OK(
      db_->CompactRange(CompactRangeOptions(), handles_[1], nullptr, nullptr));
  Close();
  for (const TargetFile& file : family.files) {
    EXPECT_TRUE(Env::Default()->FileExists(file.path).IsNotFound());
    EXPECT_FALSE(target.IsMissing(family, file));
  }
}

TEST_F(InspectTest, Page) {
  Fill();
  const std::string page = path_ + ".html";
  const ToolRun run = RunTool({"inspect", Db(), "--html=" + page});
  EXPECT_EQ(kFine, run.code) << run.err;
  std::string html;
  ASSERT_OK(ReadFileToString(Env::Default(), page, &html));
  const Json data = DataOf(html);
  EXPECT_EQ(path_, data["title"]);
  ASSERT_EQ(3u, data["families"].size());
  EXPECT_EQ(2u, data["families"][0]["files"].size());
  EXPECT_EQ(2u, data["families"][0]["levels"].size());
  // The page refers to no other file.
  EXPECT_EQ(std::string::npos, html.find("src="));
  EXPECT_EQ(std::string::npos, html.find("<link"));
  EXPECT_EQ(std::string::npos, html.find("url("));
}

TEST_F(InspectTest, PageWithAdvice) {
  Fill();
  const std::string page = path_ + ".html";
  const std::string advice = path_ + ".advice";
  const auto inspect = [&](const std::string& text) {
    EXPECT_OK(WriteStringToFile(Env::Default(), text, advice));
    return RunTool({"inspect", Db(), "--html=" + page, "--advice=" + advice});
  };
  EXPECT_EQ(
      kFine,
      inspect("{\"row\":\"policy\",\"policy\":\"surf:0:4\"}\n"
              "{\"row\":\"kind\"}\n{\"row\":1}\n{\"file\":1}\n7\nno JSON\n")
          .code);
  std::string html;
  ASSERT_OK(ReadFileToString(Env::Default(), page, &html));
  const Json data = DataOf(html);
  ASSERT_EQ(1u, data["advice"].size());
  EXPECT_EQ("surf:0:4", data["advice"][0]["policy"]);
  const ToolRun none = inspect("{}");
  EXPECT_EQ(kCouldNot, none.code);
  EXPECT_NE(std::string::npos, none.err.find("has no rows of advise --json"));
}

TEST(InspectPageTest, NoTextEndsTheScript) {
  const std::string title = "a</script><!--<script>alert(1)</script>\xff";
  const Json page = {{"title", title}, {"families", {{{"name", title}}}}};
  const std::string html = RenderPage(page);
  EXPECT_EQ(std::string::npos, html.find("alert(1)</script>"));
  EXPECT_EQ(std::string::npos, html.find("<!--"));
  EXPECT_EQ(0u, DataOf(html)["title"].get<std::string>().find("a</script>"));
}

// A name can hold anything.
TEST(InspectPageTest, PrintedNames) {
  EXPECT_EQ("\\x07\\t \xc3\xa4", PrintedName("\a\t \xc3\xa4"));
}

// An operator thinks in keys, not in bits.
TEST(InspectPageTest, PrefixesOfADesign) {
  EXPECT_EQ(
      "trie 69: the first 8 bytes and 5 bits, such as abcdefghi; ribbon 16: "
      "the first 2 bytes, such as ab",
      ExplainDesign("trie 69, ribbon 16 (height 9, 2 dense)", "abcdefghi"));
  EXPECT_EQ(
      "bloom 40+8: the first 5 bytes, and so on in steps of 8 bits, such as "
      "0x0001",
      ExplainDesign("bloom keys, bloom 40+8", Slice("\0\1", 2)));
  EXPECT_EQ("ribbon 8: the first 1 byte", ExplainDesign("ribbon 8", ""));
  EXPECT_EQ("", ExplainDesign("none", "a"));
  EXPECT_EQ("", ExplainDesign("ribbon keys", "a"));
}

// Files with another order of keys can be inspected, too.
TEST(InspectComparatorTest, AnotherOne) {
  class Backwards : public Comparator {
   public:
    const char* Name() const override { return "app.Backwards"; }
    int Compare(const Slice& a, const Slice& b) const override {
      return b.compare(a);
    }
    void FindShortestSeparator(std::string*, const Slice&) const override {}
    void FindShortSuccessor(std::string*) const override {}
  } backwards;
  const std::string path = test::PerThreadDBPath("inspect_comparator");
  Options options;
  options.create_if_missing = true;
  options.comparator = &backwards;
  ASSERT_OK(DestroyDB(path, options));
  ASSERT_OK(GetColumnFamilyOptionsFromString(
      ConfigOptions(), options,
      "table_factory={id=ProteanTable;filter_policy=proteus}", &options));
  std::unique_ptr<DB> db;
  ASSERT_OK(OpenDB(&db, options, path));
  ASSERT_OK(db->Put(WriteOptions(), "b", "1"));
  ASSERT_OK(db->Put(WriteOptions(), "a", "1"));
  ASSERT_OK(db->Flush(FlushOptions()));
  const ToolRun run = RunTool({"inspect", "--db=" + path, "--json"});
  EXPECT_EQ(kFine, run.code) << run.err;
  ASSERT_EQ(1u, run.Rows().size());
  EXPECT_EQ("the comparator is app.Backwards", run.Rows()[0]["unfiltered"]);
  db.reset();
  ASSERT_OK(DestroyDB(path, options));
}

}  // namespace ROCKSDB_NAMESPACE::protean
