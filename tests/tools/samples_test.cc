// SPDX-License-Identifier: Apache-2.0

//  protean samples: what it shows is true, and it writes what it should.

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/query_file.h"
#include "filter_policy/samples/sample_store.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

SampleQuery Point(const std::string& key) { return {key, key, true}; }

std::vector<SampleQuery> Points(const std::vector<std::string>& keys) {
  std::vector<SampleQuery> points;
  for (const std::string& key : keys) points.push_back(Point(key));
  return points;
}

class SamplesTest : public ToolDBTest {
 protected:
  SamplesTest() : ToolDBTest("samples") {}

  std::string Write(const std::string& name,
                    const std::vector<SampleQuery>& queries) {
    const std::string file = path_ + "." + name;
    EXPECT_OK(WriteQueryFile(Env::Default(), file, queries));
    return file;
  }
  static std::vector<SampleQuery> Read(const std::string& file) {
    std::vector<SampleQuery> queries;
    std::vector<std::string> refused;
    EXPECT_OK(ReadQueryFile(Env::Default(), file, &queries, &refused));
    EXPECT_TRUE(refused.empty());
    return queries;
  }
  static std::string Contents(const std::string& file) {
    std::string contents;
    EXPECT_OK(ReadFileToString(Env::Default(), file, &contents));
    return contents;
  }
  ToolRun Samples(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "samples");
    return RunTool(arguments);
  }

  const std::string samples_file_ = path_ + ".samples";
};

}  // namespace

TEST_F(SamplesTest, ShowsNumbers) {
  std::vector<SampleQuery> queries = Points({BigEndian(5), BigEndian(7)});
  queries.push_back({BigEndian(100), BigEndian(103), true});   // 4
  queries.push_back({BigEndian(100), BigEndian(103), false});  // 3
  queries.push_back({BigEndian(0), BigEndian(~uint64_t{0}), true});
  const std::string file = Write("numbers", queries);
  const ToolRun run = Samples({"show", file, "--json"});
  EXPECT_EQ(kFine, run.code) << run.err;
  const std::vector<Json> rows = run.Rows();
  ASSERT_EQ(4u, rows.size());
  EXPECT_EQ(5u, rows[0]["samples"]);
  EXPECT_EQ(2u, rows[0]["points"]);
  EXPECT_EQ(3u, rows[0]["ranges"]);
  for (size_t i = 1; i < rows.size(); i++) {
    EXPECT_EQ((std::vector<int>{0, 1, 2, 63})[i], rows[i]["span_log2"]);
    EXPECT_EQ(1u, rows[i]["ranges"]);
  }
  const ToolRun text = Samples({"show", file});
  EXPECT_NE(std::string::npos, text.out.find("5 samples: 2 points, 3 ranges"))
      << text.out;
  EXPECT_NE(std::string::npos, text.out.find("2^63 to 2^64")) << text.out;
}

TEST_F(SamplesTest, ShowsText) {
  const std::string file = Write("text", {{"apple", "apricot", true},
                                          {"apple", "applesauce", true},
                                          {"a", "b", false}});
  const ToolRun run = Samples({"show", "--json", file});
  EXPECT_EQ(kFine, run.code) << run.err;
  std::map<uint64_t, uint64_t> shared;
  for (const Json& row : run.Rows()) {
    if (row.contains("shared_bytes")) {
      shared[row["shared_bytes"]] = row["ranges"].get<uint64_t>();
    }
  }
  EXPECT_EQ((std::map<uint64_t, uint64_t>{{0, 1}, {2, 1}, {5, 1}}), shared);
}

TEST_F(SamplesTest, ShowsThoseOfADB) {
  Fill();
  Write("samples", Points({"a", "b"}));
  const ToolRun run = Samples({"show", "--db=" + path_, "--json"});
  EXPECT_EQ(kFine, run.code) << run.err;
  const std::vector<Json> rows = run.Rows();
  ASSERT_EQ(1u, rows.size()) << run.out;
  EXPECT_EQ("default", rows[0]["column_family"]);
  EXPECT_EQ(2u, rows[0]["samples"]);
  EXPECT_NE(std::string::npos, run.err.find("column family surf saves"));
}

TEST_F(SamplesTest, ImportsAndExports) {
  Fill();
  const auto queries = Points({"a", "b", std::string("\0\xff", 2)});
  const std::string file = Write("some", queries);
  const std::string copy = path_ + ".copy";
  const auto before = Disk();
  const std::string db = "--db=" + path_;
  Samples({"export", db, "--column_family=default", "--output=" + copy})
      .ExpectRefused({"saved no samples yet", samples_file_});
  const ToolRun import =
      Samples({"import", db, "--column_family=default", file});
  EXPECT_EQ(kFine, import.code) << import.err;
  EXPECT_NE(std::string::npos,
            import.err.find("adds its new samples to " + samples_file_));
  EXPECT_EQ(queries, Read(samples_file_));
  const ToolRun exported = Samples(
      {"export", db, "--column_family=default", "--output=" + copy, "--json"});
  EXPECT_EQ(kFine, exported.code) << exported.err;
  EXPECT_EQ(3u, exported.Rows()[0]["samples"]);
  EXPECT_EQ(queries, Read(copy));
  EXPECT_EQ(before, Disk());

  // The DB uses the imported samples, and saves them again.
  Open();
  Close();
  EXPECT_EQ(queries, Read(samples_file_));

  // Each column family has a file name of its own.
  AddFamily("other/one",
            "table_factory={id=ProteanTable;filter_policy={id=protean.Proteus;"
            "samples_file=" +
                samples_file_ + "}}");
  Open();
  Close();
  EXPECT_EQ(kFine,
            Samples({"import", db, "--column_family=other/one", copy}).code);
  SampleStoreOptions store;
  store.samples_file = samples_file_;
  const std::string other = SampleStore(store).SamplesFile("other/one");
  EXPECT_NE(samples_file_, other);
  EXPECT_EQ(queries, Read(other));
}

TEST_F(SamplesTest, AnOpenDBAddsItsSamplesToAnImport) {
  Fill();
  Open();
  ASSERT_EQ(kFine,
            Samples({"import", "--db=" + path_, "--column_family=default",
                     Write("some", Points({"a", "b"}))})
                .code);
  const Options options = db_->GetOptions(handles_[0]);
  AsProteanFilterPolicy(
      options.table_factory->GetOptions<BlockBasedTableOptions>()
          ->filter_policy.get())
      ->Samples()
      ->Queue(kDefaultColumnFamilyName, Env::Default(), /*logger=*/nullptr)
      ->Add(Point("new"));
  Close();
  EXPECT_EQ(Points({"a", "b", "new"}), Read(samples_file_));
  EXPECT_NE(std::string::npos,
            Samples({"--help"}).out.find("adds its new samples"));
}

TEST_F(SamplesTest, ImportReplacesADamagedFile) {
  Fill();
  ASSERT_OK(WriteStringToFile(Env::Default(), "0xnothex\n", samples_file_));
  const std::string db = "--db=" + path_;
  Samples({"show", db, "--column_family=default"})
      .ExpectRefused({samples_file_, "line 1"});
  const auto queries = Points({"a"});
  EXPECT_EQ(kFine, Samples({"import", db, "--column_family=default",
                            Write("good", queries)})
                       .code);
  EXPECT_EQ(queries, Read(samples_file_));
}

TEST_F(SamplesTest, Merges) {
  const std::string a = Write("a", Points({"a1", "a2", "a3", "a4"}));
  const std::string b = Write("b", Points({"b1", "a4"}));
  const std::string all = path_ + ".all";
  ToolRun run = Samples({"merge", a, b, "--output=" + all});
  EXPECT_EQ(kFine, run.code) << run.err;
  EXPECT_EQ(Points({"a1", "a2", "a3", "b1", "a4"}), Read(all));
  run = Samples({"merge", a, b, "--output=" + all, "--max=3", "--json"});
  EXPECT_EQ(Points({"a3", "b1", "a4"}), Read(all));
  EXPECT_EQ(6u, run.Rows()[0]["read"]);
  // The output may be one of the files.
  EXPECT_EQ(kFine, Samples({"merge", a, b, "--output", a}).code);
  EXPECT_EQ(5u, Read(a).size());
  ASSERT_OK(WriteStringToFile(Env::Default(), "", b));
  EXPECT_EQ(kFine, Samples({"merge", b, b, "--output", a}).code);
  EXPECT_EQ((std::vector<SampleQuery>{}), Read(a));
  // [a, b] and [a, b) are different queries.
  EXPECT_EQ(kFine, Samples({"merge", Write("c", {{"a", "b", true}}),
                            Write("d", {{"a", "b", false}}), "--output", a})
                       .code);
  EXPECT_EQ(2u, Read(a).size());
}

TEST_F(SamplesTest, LeavesOutInvertedRanges) {
  const std::string file = path_ + ".inverted";
  ASSERT_OK(WriteStringToFile(Env::Default(), "a\nz\tb\nc\n", file));
  const std::string out = path_ + ".out";
  const ToolRun run = Samples({"merge", file, "--output=" + out});
  EXPECT_EQ(kFine, run.code);
  EXPECT_NE(std::string::npos, run.err.find("line 2 is left out")) << run.err;
  EXPECT_EQ(Points({"a", "c"}), Read(out));
  EXPECT_EQ(kFine, Samples({"show", file}).code);
}

TEST_F(SamplesTest, Refusals) {
  Fill();
  const std::string file = Write("some", Points({"a"}));
  const std::string copy = path_ + ".copy";
  const std::string db = "--db=" + path_;
  const auto before = Disk();
  Samples({}).ExpectRefused({"samples show"});
  Samples({"eat"}).ExpectRefused({"no samples eat"});
  Samples({"show"}).ExpectRefused({"--db=DIR or one file"});
  Samples({"show", "/no/such"}).ExpectRefused({"/no/such cannot be read"});
  Samples({"show", db, file}).ExpectRefused({"not both"});
  Samples({"show", db, "--column_family=surf"})
      .ExpectRefused({"surf saves no samples", "samples_file=FILE"});
  Samples({"show", db, "--column_family=bloom"})
      .ExpectRefused({"BlockBasedTable", "table_factory={id=ProteanTable"});
  Samples({"show", "--db=/no/such"}).ExpectRefused({"does not exist"});
  Samples({"export", db}).ExpectRefused({"--output=FILE"});
  Samples({"export", "--output=" + copy}).ExpectRefused({"needs --db=DIR"});
  Samples({"import", db, file})
      .ExpectRefused({"needs --column_family=NAME", "default, surf, bloom"});
  Samples({"import", db, "--column_family=default"})
      .ExpectRefused({"one file of samples"});
  Samples({"import", db, "--column_family=default", "/no/such"})
      .ExpectRefused({"/no/such cannot be read"});
  Samples({"import", db, "--column_family=surf", file})
      .ExpectRefused({"samples_file=FILE"});
  Samples({"merge", file}).ExpectRefused({"--output=FILE"});
  Samples({"merge", "--output=" + copy}).ExpectRefused({"takes files"});
  Samples({"merge", file, "/no/such", "--output=" + copy})
      .ExpectRefused({"/no/such cannot be read"});
  Samples({"merge", file, "--output=/no/such/folder/file"})
      .ExpectRefused({"/no/such/folder/file cannot be written"});
  // There is a folder in the place of the file.
  Samples({"merge", file, "--output=" + path_})
      .ExpectRefused({"cannot be written"});
  EXPECT_TRUE(Env::Default()->FileExists(copy).IsNotFound());
  EXPECT_TRUE(Env::Default()->FileExists(samples_file_).IsNotFound());
  EXPECT_EQ(before, Disk());
  EXPECT_EQ(Points({"a"}), Read(file));
}

}  // namespace ROCKSDB_NAMESPACE::protean
