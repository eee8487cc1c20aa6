// SPDX-License-Identifier: Apache-2.0

//  protean inspect: figures, the page, and a DB in use.

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
  const TargetFamily& family = target.families.at(0);
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
  const std::string advice = path_ + ".advice";
  // Writes the page with the rows of advise, if any; returns its data.
  const auto inspect = [&](const std::string& rows) {
    Keys arguments = {"inspect", Db(), "--html=" + page};
    if (!rows.empty()) {
      EXPECT_OK(WriteStringToFile(Env::Default(), rows, advice));
      arguments.push_back("--advice=" + advice);
    }
    const ToolRun run = RunTool(arguments);
    EXPECT_EQ(kFine, run.code) << run.err;
    const std::string html = ContentsOf(page);
    // The page refers to no other file.
    for (const char* reference : {"src=", "<link", "url("}) {
      EXPECT_EQ(std::string::npos, html.find(reference)) << reference;
    }
    return DataOf(html);
  };
  Json data = inspect("");
  EXPECT_EQ(path_, data["title"]);
  ASSERT_EQ(3u, data["families"].size());
  EXPECT_EQ(2u, data["families"][0]["files"].size());
  EXPECT_EQ(2u, data["families"][0]["levels"].size());
  data = inspect(
      "{\"row\":\"policy\",\"policy\":\"surf:0:4\"}\n"
      "{\"row\":\"kind\"}\n{\"row\":1}\n{\"file\":1}\n7\nno JSON\n");
  ASSERT_EQ(1u, data["advice"].size());
  EXPECT_EQ("surf:0:4", data["advice"][0]["policy"]);
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
  const OddComparator odd;
  OwnDB db;
  db.options_.comparator = &odd;
  db.SetPolicy("proteus");
  db.Open();
  db.WriteFile({"b", "a"});
  const ToolRun run = RunTool({"inspect", "--db=" + db.path_, "--json"});
  EXPECT_EQ(kFine, run.code) << run.err;
  ASSERT_EQ(1u, run.Rows().size());
  EXPECT_EQ("the comparator is OddComparator", run.Rows()[0]["unfiltered"]);
}

}  // namespace ROCKSDB_NAMESPACE::protean
