// SPDX-License-Identifier: Apache-2.0

//  protean inspect, and how all commands respond to bad input.

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

  // The sums in the output of --json, by column family and level.
  static std::map<std::pair<std::string, int>, Json> ByPlace(
      const ToolRun& run) {
    std::map<std::pair<std::string, int>, Json> rows;
    for (const Json& row : run.Rows()) {
      rows[{row["column_family"], row["level"]}] = row;
    }
    return rows;
  }
};

// The JSON in a page.
Json DataOf(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

}  // namespace

TEST_F(InspectTest, TellsOfEachFile) {
  Fill();
  const auto before = Disk();
  const ToolRun run = RunTool({"inspect", Db(), "--json"});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ("", run.err);
  EXPECT_EQ(before, Disk());
  const auto rows = ByPlace(run);
  ASSERT_EQ(6u, rows.size());
  for (const auto& [place, row] : rows) {
    SCOPED_TRACE(row.dump());
    EXPECT_EQ(place.second == 0 ? kKeys / 3 : kKeys - kKeys / 3, row["keys"]);
    uint64_t size = 0;
    ASSERT_OK(Env::Default()->GetFileSize(
        path_ + "/" + row["file"].get<std::string>(), &size));
    EXPECT_EQ(size, row["bytes"]);
    EXPECT_NEAR(
        8.0 * row["filter_bytes"].get<double>() / row["keys"].get<double>(),
        row["bits_per_key"].get<double>(), 1e-9);
    if (place.first == "default") {
      EXPECT_EQ("Proteus", row["kind"]);
      EXPECT_EQ("from the keys alone", row["basis"]);
      EXPECT_EQ(0, row["samples"]);
      EXPECT_GE(row["predicted_fpr"].get<double>(), 0);
      EXPECT_EQ("", row["unfiltered"]);
    } else if (place.first == "surf") {
      EXPECT_EQ("SuRF", row["kind"]);
      EXPECT_EQ(0u, row["design"].get<std::string>().find("trie, 8 real bits"));
      EXPECT_TRUE(row["predicted_fpr"].is_null());
      EXPECT_EQ("", row["unfiltered"]);
    } else {
      EXPECT_EQ("bloomfilter", row["kind"]);
      EXPECT_EQ("RocksDB's own filter, which filters Get only",
                row["unfiltered"]);
    }
  }

  const ToolRun table = RunTool({"inspect", Db(), "--column_family=surf"});
  EXPECT_EQ(kFine, table.code);
  EXPECT_NE(std::string::npos, table.out.find("filter_policy={id=protean.SuRF"))
      << table.out;
  EXPECT_EQ(std::string::npos, table.out.find("Proteus")) << table.out;
  const ToolRun sums = RunTool({"inspect", Db(), "--json", "--levels_only"});
  EXPECT_EQ(6u, sums.Rows().size());
  EXPECT_EQ(1, sums.Rows()[0]["files"]);

  // Files alone, without their DB.
  const std::vector<std::string> files = Files("surf");
  const ToolRun alone = RunTool({"inspect", files[0], files[1], "--json"});
  ASSERT_EQ(2u, alone.Rows().size());
  EXPECT_EQ(files[0], alone.Rows()[0]["file"]);
  EXPECT_TRUE(alone.Rows()[0]["level"].is_null());
  EXPECT_EQ("SuRF", alone.Rows()[0]["kind"]);
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
  Arguments arguments;
  target.AddFlags(&arguments);
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

// A file that the MANIFEST lists, and that nothing has deleted on purpose.
TEST_F(InspectTest, MissingFile) {
  Fill();
  ASSERT_OK(
      WriteQueryFile(Env::Default(), path_ + ".samples", QueriesAboveKeys()));
  const std::string file = Files("default")[0];
  ASSERT_OK(Env::Default()->RenameFile(file, path_ + ".hidden"));
  const std::string family = "--column_family=default";
  const ToolRun run = RunTool({"inspect", Db(), family});
  EXPECT_EQ(kFoundSomething, run.code) << run.out;
  EXPECT_NE(std::string::npos, run.out.find("the file is missing, although"))
      << run.out;
  const ToolRun advice =
      RunTool({"advise", Db(), family, "--policies=surf:0:4"});
  EXPECT_EQ(kFoundSomething, advice.code) << advice.err;
  EXPECT_NE(std::string::npos, advice.err.find(file + " is missing"))
      << advice.err;
  EXPECT_NE(std::string::npos,
            advice.out.find("1 files are missing, and left out"))
      << advice.out;
  EXPECT_EQ(std::string::npos, advice.out.find("compacted")) << advice.out;
  ASSERT_OK(Env::Default()->RenameFile(path_ + ".hidden", file));
}

// Another program has written an OPTIONS file without ProteanTable, as ldb
// does.
TEST_F(InspectTest, TableOfAnotherProgram) {
  Fill();
  const std::vector<ColumnFamilyDescriptor> own = families_;
  for (ColumnFamilyDescriptor& family : families_) {
    family.options.table_factory = ColumnFamilyOptions().table_factory;
  }
  Open();
  ASSERT_OK(db_->Put(WriteOptions(), handles_[1], KeyOf(1), "a value"));
  Close();
  families_ = own;
  const ToolRun run = RunTool({"inspect", Db(), "--json"});
  EXPECT_EQ(kFoundSomething, run.code);
  for (const char* words :
       {"column family surf: 2 of 2 files have filters of Protean, which no "
        "read asks, since the OPTIONS file names BlockBasedTable with "
        "filter_policy=nullptr",
        "column family default: 2 of 2 files", "such as ldb with --bloom_bits",
        " --to=bloomfilter:10\n"}) {
    EXPECT_NE(std::string::npos, run.err.find(words)) << run.err;
  }
  EXPECT_EQ(std::string::npos, run.err.find("family bloom")) << run.err;
  // The way back has the policy of before.
  const std::string begin = "protean apply " + Db() + " --column_family=surf ";
  const size_t at = run.err.find(begin);
  ASSERT_NE(std::string::npos, at) << run.err;
  const std::string word = run.err.substr(
      at + begin.size(), run.err.find(". To leave", at) - at - begin.size());
  ASSERT_EQ(0u, word.find("'--policy={id=protean.SuRF;")) << word;
  EXPECT_EQ(kFine, RunTool({"apply", Db(), "--column_family=surf",
                            word.substr(1, word.size() - 2)})
                       .code);
  const ToolRun back = RunTool({"inspect", Db(), "--column_family=surf"});
  EXPECT_EQ(kFine, back.code) << back.err;
  EXPECT_NE(std::string::npos,
            back.out.find("ProteanTable, filter_policy={id=protean.SuRF;"))
      << back.out;
  EXPECT_NE(std::string::npos, back.out.find("real_suffix_bits=8"));
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

  RunTool({"inspect", Db(), "--html=/no/such/folder/page.html"})
      .ExpectRefused({"/no/such/folder/page.html", "cannot be written"});
}

// A name can hold anything.
TEST_F(InspectTest, NamesWithLineBreaks) {
  AddFamily("two\nlines",
            "table_factory={id=ProteanTable;filter_policy=surf:0:8}");
  Fill();
  for (const char* command : {"inspect", "verify"}) {
    const ToolRun run = RunTool({command, Db(), "--column_family=two\nlines"});
    EXPECT_EQ(kFine, run.code) << run.err;
    EXPECT_NE(std::string::npos, run.out.find("Column family two\\nlines"))
        << run.out;
    EXPECT_EQ(std::string::npos, run.out.find("\nlines")) << run.out;
  }
  const ToolRun samples = RunTool({"samples", "show", Db()});
  EXPECT_NE(std::string::npos, samples.err.find("family two\\nlines saves"))
      << samples.err;
  EXPECT_EQ("\\x07\\t \xc3\xa4", PrintedName("\a\t \xc3\xa4"));
}

TEST(InspectPageTest, NoTextEndsTheScript) {
  const std::string title = "a</script><!--<script>alert(1)</script>\xff";
  const Json page = {{"title", title}, {"families", {{{"name", title}}}}};
  const std::string html = RenderPage(page);
  EXPECT_EQ(std::string::npos, html.find("alert(1)</script>"));
  EXPECT_EQ(std::string::npos, html.find("<!--"));
  EXPECT_EQ(0u, DataOf(html)["title"].get<std::string>().find("a</script>"));
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

TEST_F(InspectTest, DamageIsFound) {
  Fill();
  const std::string damaged = Files("default")[0];
  ChangeFilter(damaged, /*right_checksum=*/false,
               [](std::string* bytes) { (*bytes)[40] ^= 1; });
  std::string cut;
  const std::string cut_file = Files("surf")[1];
  ASSERT_OK(ReadFileToString(Env::Default(), cut_file, &cut));
  cut.resize(cut.size() / 2);
  ASSERT_OK(WriteStringToFile(Env::Default(), cut, cut_file));
  const ToolRun run = RunTool({"inspect", Db(), "--json"});
  EXPECT_EQ(kFoundSomething, run.code);
  size_t found = 0;
  for (const Json& row : run.Rows()) {
    const std::string text = row["unfiltered"].get<std::string>();
    if (row["file"] == NameOf(damaged)) {
      EXPECT_NE(std::string::npos, text.find("at offset")) << text;
      found++;
    } else if (row["file"] == NameOf(cut_file)) {
      EXPECT_EQ(0u, text.find("the file is damaged")) << text;
      found++;
    }
  }
  EXPECT_EQ(2u, found);
}

TEST_F(InspectTest, BadInput) {
  Fill();
  const auto before = Disk();
  for (const char* command : {"inspect", "verify", "advise", "refresh"}) {
    SCOPED_TRACE(command);
    RunTool({command}).ExpectRefused({"--db"});
    RunTool({command, "--db=/no/such/folder"})
        .ExpectRefused({"/no/such/folder", "does not exist", "--db"});
    RunTool({command, "--db=" + path_.substr(0, path_.rfind('/'))})
        .ExpectRefused({"CURRENT", "--db"});
    RunTool({command, Db(), "--column_family=nobody"})
        .ExpectRefused({"nobody", "default, surf, bloom"});
    RunTool({command, Db(), "--unheard_of=1"}).ExpectRefused({"--unheard_of"});
    RunTool({command, Db(), "--column_family"})
        .ExpectRefused({"needs a value"});
    RunTool({command, Db(), "--json=perhaps"})
        .ExpectRefused({"perhaps", "true, false"});
    const ToolRun help = RunTool({command, "--help"});
    EXPECT_EQ(kFine, help.code);
    EXPECT_NE(std::string::npos, help.out.find("Example"));
    EXPECT_NE(std::string::npos, help.out.find("--column_family=NAME"));
  }
  RunTool({"inspect", path_ + "/no.sst"}).ExpectRefused({"no.sst"});
  RunTool({"inspect", Db(), Files("surf")[0]}).ExpectRefused({"not both"});
  for (const char* command : {"inspect", "verify", "advise"}) {
    RunTool({command, path_})
        .ExpectRefused({"is a folder; for the DB in it, give " + Db()});
  }
  RunTool({"look"}).ExpectRefused({"look", "inspect"});
  EXPECT_EQ(kCouldNot, RunTool({}).code);
  EXPECT_EQ(kFine, RunTool({"--help"}).code);
  EXPECT_EQ(before, Disk());

  // A file that is not an SST file.
  EXPECT_EQ(kFoundSomething, RunTool({"inspect", path_ + "/CURRENT"}).code);

  std::string manifest;
  ASSERT_OK(ReadFileToString(Env::Default(), path_ + "/CURRENT", &manifest));
  manifest = path_ + "/" + manifest.substr(0, manifest.size() - 1);
  std::string contents;
  ASSERT_OK(ReadFileToString(Env::Default(), manifest, &contents));
  std::string damaged = contents;
  damaged[damaged.size() / 2] ^= 1;
  ASSERT_OK(WriteStringToFile(Env::Default(), damaged, manifest));
  RunTool({"inspect", Db()}).ExpectRefused({"MANIFEST", "SST files"});
  ASSERT_OK(WriteStringToFile(Env::Default(), contents, manifest));
  EXPECT_EQ(kFine, RunTool({"inspect", Db()}).code);
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
