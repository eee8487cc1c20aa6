// SPDX-License-Identifier: Apache-2.0

//  What transcripts cannot show of protean apply, inspect and --help; and which
//  files a seek reads that protean advise replays.

#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>

#include "filter_policy/samples/query_file.h"
#include "rocksdb/file_system.h"
#include "table/seek/seek_decision.h"
#include "tests/tools/tool_db.h"
#include "tools/filter_replay.h"
#include "tools/inspect_page.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- apply ----

class ApplyTest : public ToolDBTest {
 protected:
  ToolRun Apply(Keys more) {
    more.insert(more.begin(), {"apply", "--db=" + path_});
    return RunTool(more);
  }
};

// Changes an OPTIONS file when RocksDB, having checked it, gives it its name.
class ChangingFileSystem : public FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return "ChangingFileSystem"; }
  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions& options, IODebugContext* dbg) override {
    const std::string written = "filter_policy=bloomfilter:9:";
    if (to.find("/OPTIONS-") != std::string::npos) {
      std::string text = ContentsOf(from);
      const size_t at = text.find(written);
      EXPECT_NE(std::string::npos, at) << text;
      if (at != std::string::npos) text[at + written.size() - 2] = '8';
      EXPECT_OK(WriteStringToFile(Env::Default(), text, from));
    }
    return FileSystemWrapper::RenameFile(from, to, options, dbg);
  }
};

// What counts is the OPTIONS file, and not what was to be written.
TEST_F(ApplyTest, ReadsBackWhatIsWritten) {
  Fill();
  const std::unique_ptr<Env> env = NewCompositeEnv(
      std::make_shared<ChangingFileSystem>(FileSystem::Default()));
  std::ostringstream out;
  Output output(out, /*as_json=*/false);
  Target target;
  target.db = path_;
  target.env = env.get();
  const Status s = OpenedDB::ChangeOptions(
      target,
      [](ColumnFamilyDescriptor* family) {
        if (family->name != "surf") return;
        GiveFilterPolicy(
            std::shared_ptr<const FilterPolicy>(NewBloomFilterPolicy(9)),
            "ProteanTable", &family->options);
      },
      /*row=*/{}, &output);
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  ExpectHas(s.ToString(), {"has for column family surf ProteanTable;",
                           "bloomfilter:8:", " instead of ProteanTable;"});
}

// testdata/apply.txt has the call as it is printed.
TEST_F(ApplyTest, ThePrintedCallWorks) {
  Fill();
  Open();
  const std::string policy = "{id=protean.Proteus;bits_per_key=9}";
  const Json row = Apply({"--policy=" + policy, "--print", "--json"}).Rows()[0];
  EXPECT_OK(db_->SetOptions(
      row["set_options"].get<std::unordered_map<std::string, std::string>>()));
  EXPECT_EQ(9,
            std::stod(OptionOf(PolicyOf(db_->GetOptions()), "bits_per_key")));
  // RocksDB returns OK for nullptr, and changes nothing.
  EXPECT_OK(db_->SetOptions({{"table_factory.filter_policy", "nullptr"}}));
  EXPECT_NE(nullptr, PolicyOf(db_->GetOptions()));
  Close();
  EXPECT_EQ(0u, Disk().count("before_apply_0.options"));
}

// The queries that a policy starts with are in the OPTIONS file. A copy of the
// DB has that, and the file that they come from is needed no longer.
TEST_F(ApplyTest, SeedsAreInCopies) {
  Fill();
  Env* const env = Env::Default();
  const std::string seeds = path_ + ".seeds";
  const std::vector<SampleQuery> queries = QueriesAboveKeys();
  ASSERT_OK(WriteQueryFile(env, seeds, queries));
  const Keys policy = {
      "--policy={id=protean.Proteus;bits_per_key=10;seed_file=" + seeds + "}"};
  const ToolRun run = Apply(policy).ExpectFine();
  ExpectHas(run.out,
            {"seeds=(" + std::to_string(std::min(queries.size(), kMaxSeeds)) +
             " queries)"});
  ExpectHas(OptionsOnDisk(), {"seeds=0x"});
  EXPECT_EQ(std::string::npos, OptionsOnDisk().find(seeds));
  ExpectHas(Apply(policy).out, {"Nothing to do"});
  ExpectHas(RunTool({"inspect", "--db=" + path_}).out, {" queries)"});
  ASSERT_OK(env->DeleteFile(seeds));

  const std::string copy = path_ + "_copy";
  const auto open = [this](const std::string& folder) {
    Close();
    ASSERT_OK(
        LoadLatestOptions(ConfigOptions(), folder, &options_, &families_));
    ASSERT_OK(OpenDB(&db_, options_, folder, families_, &handles_));
  };
  open(path_);
  ASSERT_OK(MakeCheckpoint(db_.get(), copy));
  open(copy);
  // A handful of keys would not be worth a look at samples.
  for (uint64_t i = 1; i < 2000; i += 100) {
    ASSERT_OK(db_->Put(WriteOptions(), KeyOf(i), "another value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions()));
  uint64_t samples = 0;
  for (const auto& [name, file] : FilterPropertiesOf(db_.get(), handles_[0])) {
    samples += file.samples;
  }
  EXPECT_GT(samples, 0u);
  Close();
  EXPECT_EQ(kFine, RunTool({"rollback", "--db=" + path_}).code);
}

TEST(OptionsDiffTest, Lines) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(Lines(), DifferentLines("a\nb\n", "a\nb\n"));
  EXPECT_EQ(Lines({"- b", "+ x"}), DifferentLines("a\nb\nc\n", "a\nx\nc\n"));
  EXPECT_EQ(Lines({"+ a"}), DifferentLines("", "a\n"));
  EXPECT_EQ(Lines({"- a"}), DifferentLines("a\na\n", "a\n"));
  EXPECT_EQ(Lines({"- 1", "- 3", "+ 4", "+ 5"}),
            DifferentLines("1\n2\n3\n", "4\n2\n5\n"));
}

// ---- inspect ----

class InspectTest : public ToolDBTest {};

// The JSON in a page.
Json DataOf(const std::string& page) {
  const std::string begin = "id=\"data\">";
  const size_t at = page.find(begin) + begin.size();
  return Json::parse(page.substr(at, page.find("</script>", at) - at));
}

TEST_F(InspectTest, Page) {
  Fill();
  const std::string page = path_ + ".html";
  const std::string advice = path_ + ".advice";
  // Returns the data of a page with the rows of advise, if any.
  const auto inspect = [&](const std::string& rows) {
    Keys arguments = {"inspect", "--db=" + path_, "--html=" + page};
    if (!rows.empty()) {
      EXPECT_OK(WriteStringToFile(Env::Default(), rows, advice));
      arguments.push_back("--advice=" + advice);
    }
    RunTool(arguments).ExpectFine();
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

TEST(InspectComparatorTest, AnotherOne) {
  const OddComparator odd;
  OwnDB db;
  db.options_.comparator = &odd;
  db.SetPolicy("proteus");
  db.Open();
  db.WriteFile({"b", "a"});
  const ToolRun run =
      RunTool({"inspect", "--db=" + db.path_, "--json"}).ExpectFine();
  ASSERT_EQ(1u, run.Rows().size());
  EXPECT_EQ("the comparator is OddComparator", run.Rows()[0]["unfiltered"]);
}

// ---- advise ----

// A sorted run in which a seek for "b" searches: its first key for the seek, if
// it has one, and what its filter answers.
struct Replayed {
  int level;
  std::string first;
  ReadAnswer answer;
  bool may_wait = true;
};

// One for each digit that is 1.
std::vector<bool> Bits(const std::string& digits) {
  std::vector<bool> bits;
  for (const char digit : digits) bits.push_back(digit == '1');
  return bits;
}

const std::string kBehindB("b\0", 2);

// The answer of a file that waits.
ReadAnswer Waits(const std::string& passes,
                 const std::string& marker = kBehindB,
                 const std::string& next = "",
                 const std::string& clear_to = "") {
  return {ReadAnswer::Begin::kWaits, marker, next, Bits(passes), clear_to};
}

// advise_test compares the replay with what a DB reads.
TEST(SearchReplayTest, FilesThatASeekReads) {
  const ReadAnswer ends = {ReadAnswer::Begin::kEnds, "", "", {}};
  const Replayed behind = {3, "z", Waits("0000", kBehindB, "e")};
  const Replayed at_d = {3, "k", Waits("10", "d")};
  struct Case {
    ReadTruth::End end;  // of the search
    std::string read;    // of the runs
    std::vector<Replayed> runs;
    ReadKind kind = ReadKind::kOpenSeek;
  };
  const std::map<std::string, Case> cases = {
      {"the deepest level is read first, and tells the others where to end",
       {"c",
        "001",
        {{0, "x", Waits("001")},
         {1, "y", Waits("001")},
         {2, "c", Waits("000")}}}},
      {"level 1 knows only of k, and cannot rule out all keys up to there",
       {"c",
        "111",
        {{0, "c", Waits("000")},
         {1, "x", Waits("100")},
         {2, "k", Waits("000")}}}},
      {"files that wait further on are not reached",
       {"c",
        "0100",
        {{0, "x", Waits("0000", "d")}, {1, "c", {}}, {2, "", ends}, behind}}},
      {"files that cannot wait are read",
       {"c",
        "1100",
        {{0, "x", Waits("0000", "d"), false},
         {1, "c", {}},
         {2, "", ends},
         behind}}},
      {"level 3 waits at d", {"e", "10", {{0, "e", Waits("00")}, at_d}}},
      {"level 0 knows that it has nothing before d, and moves on to there; "
       "then "
       "level 3 is read first, in vain",
       {"e", "11", {{0, "e", Waits("00", kBehindB, "", "d")}, at_d}}},
      {"level 0 knows only that it has nothing before c",
       {"e", "10", {{0, "e", Waits("00", kBehindB, "", "c")}, at_d}}},
      {"nothing is read from the bound of a closed seek on",
       {{},
        "01",
        {{0, "", Waits("00", "m")}, {1, "", Waits("00", "l")}},
        ReadKind::kClosedSeek}}};
  for (const auto& [name, c] : cases) {
    SCOPED_TRACE(name);
    std::deque<Question> questions;
    std::vector<SearchedRun> searched;
    for (const Replayed& run : c.runs) {
      questions.emplace_back();
      questions.back().found = !run.first.empty();
      questions.back().first_key = run.first;
      searched.push_back({&questions.back(), &run.answer,
                          MarkerSequence(run.level, /*keys=*/100),
                          run.may_wait});
    }
    ReadQuery read;
    read.kind = c.kind;
    read.target = "b";
    read.bound = "m";
    EXPECT_EQ(Bits(c.read), FilesRead(searched, read, c.end));
  }
}

// ---- --help ----

// testdata/arguments.txt has the list of all commands.
const Keys kCommands = {"preflight", "inspect",   "explain",  "advise",
                        "apply",     "refresh",   "rollback", "verify",
                        "samples",   "statistics"};

TEST(ManualTest, EachCommandHasAHelp) {
  EXPECT_EQ(RunTool({"--help"}).out, RunTool({"help"}).out);
  EXPECT_EQ(kCouldNot, RunTool({}).code);
  for (const std::string& command : kCommands) {
    SCOPED_TRACE(command);
    ExpectHas(RunTool({"--help"}).out, {"\n  " + command + " "});
    const ToolRun help = RunTool({command, "--help"}).ExpectFine();
    EXPECT_EQ(help.out, RunTool({"help", command}).out);
    EXPECT_EQ(0u, help.out.find("Usage: protean " + command + " "));
    ExpectHas(help.out, {"\nOptions:\n", "\n  --", "--column_family=NAME",
                         "\nExit code: ", "\nExamples:\n"});
  }
}

TEST(ManualTest, BashCompletes) {
  if (system("bash -c 'compgen -W a' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "there is no bash";
  }
  const std::string folder = test::PerThreadDBPath("commands_test");
  ASSERT_EQ(0, system(("rm -rf " + folder + " && mkdir -p " + folder +
                       "/some_dir && touch " + folder + "/some_file")
                          .c_str()));
  std::ofstream(folder + "/--help") << RunTool({"--help"}).out;
  for (const std::string& name : kCommands) {
    std::ofstream(folder + "/" + name) << RunTool({name, "--help"}).out;
  }
  const std::vector<std::pair<std::string, Keys>> completions = {
      {"i", {"inspect"}},
      {"help r", {"refresh", "rollback"}},
      {"help ro", {"rollback"}},
      {"samples i", {"import"}},
      {"samples s", {"show", "save"}},
      {"inspect --l", {"--levels_only"}},
      {"inspect --html", {"--html="}},
      {"refresh --dr", {"--dry_run"}},
      {"inspect --db = s", {"some_dir"}},
      {"inspect --db some", {"some_dir"}},
      {"inspect --html = some_f", {"some_file"}},
      {"verify some_f", {"some_file"}}};
  for (const auto& [words, expected] : completions) {
    const std::string command =
        "cd " + folder +
        " && bash -c 'protean() { cat -- \"$1\"; }; . " PROTEAN_SOURCE_DIR
        "/tools/completion.bash && COMP_WORDS=(protean " +
        words +
        ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _protean; "
        "printf \"%s\\n\" \"${COMPREPLY[@]}\"' > out";
    EXPECT_EQ(0, system(command.c_str())) << command;
    std::string all;
    for (const std::string& line : expected) all += line + "\n";
    EXPECT_EQ(all, ContentsOf(folder + "/out")) << words;
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
