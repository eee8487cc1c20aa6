// SPDX-License-Identifier: Apache-2.0

//  Transcripts of the command, testdata/*.txt: what is done to the DB of
//  tool_db.h, what the command is asked, and what it answers. With
//  PROTEAN_REWRITE=1 in the environment, the answers are written into the
//  files instead of being compared. A file has
//
//    == NAME           the beginning of a test, which has a DB of its own
//    - DIRECTIVE ...   a change that no command makes: see Direct()
//    $ ARGUMENTS...    what protean is asked; {db} is the DB's folder, {surf.0}
//                      the first file of the column family surf, {key.1} the
//                      key with number 1, {a,b} stands for two commands, whose
//                      answers are shown once if * for a or b makes them equal
//      ANSWER          indented by two spaces
//
//  and comments. After `| grep WORDS`, an answer consists of the lines that
//  have these words, after `| FIELD...` of these fields of the rows of --json.
//  Lines of an answer begin with "! " if they are from stderr; the last ones
//  are "(changed)" if the command has changed a file of the DB, and the exit
//  code in brackets if it is not 0. Empty lines are left out, names of files
//  are as above, and a # stands for a number that depends on time or on
//  RocksDB's version: one with a fraction, a unit, or five digits.

#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "filter_policy/samples/query_file.h"
#include "plugin/refresh_filters.h"
#include "tests/sst_damage.h"
#include "tests/tools/tool_db.h"
#include "tools/opened_db.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Words = Keys;

constexpr char kFolder[] = PROTEAN_SOURCE_DIR "/tests/tools/testdata/";

struct Section {
  std::string file;
  std::string name;
  std::string text;  // from its heading to the next one
};

void PrintTo(const Section& section, std::ostream* out) {
  *out << section.file << ": " << section.name;
}

std::vector<Section> SectionsOf(const std::string& file) {
  std::vector<Section> sections = {{file, "", ""}};  // what is before the first
  std::ifstream in(kFolder + file);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, 3, "== ") == 0) {
      sections.push_back({file, line.substr(3), ""});
    }
    sections.back().text += line + "\n";
  }
  return sections;
}

std::vector<Section> AllSections() {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    files.insert(entry.path().filename());
  }
  std::vector<Section> all;
  for (const std::string& file : files) {
    const std::vector<Section> sections = SectionsOf(file);
    all.insert(all.end(), sections.begin() + 1, sections.end());
  }
  return all;
}

void Rewrite(const Section& changed) {
  std::string text;
  for (const Section& section : SectionsOf(changed.file)) {
    text += section.name == changed.name ? changed.text : section.text;
  }
  std::ofstream(kFolder + changed.file) << text;
}

void ReplaceAll(const std::string& from, const std::string& to,
                std::string* text) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos;
       at += to.size()) {
    text->replace(at, from.size(), to);
  }
}

// The words of a line. Those in "quotes" may have spaces, \n, \t and \xff.
Words Split(const std::string& line) {
  Words words;
  bool inside = false;
  bool quoted = false;
  for (size_t i = 0; i < line.size(); i++) {
    char c = line[i];
    if (c == ' ' && !quoted) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == '"') {
      quoted = !quoted;
      continue;
    }
    if (c == '\\' && quoted) {
      c = line[++i];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
      if (c == 'x') {
        c = static_cast<char>(std::stoi(line.substr(i + 1, 2), nullptr, 16));
        i += 2;
      }
    }
    words.back() += c;
  }
  return words;
}

// What a program of RocksDB alone prints, and its exit code if that is not 0.
std::string RunStock(const Words& program) {
  std::string command;
  for (const std::string& word : program) command += "'" + word + "' ";
  std::string text;
  FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return "it cannot be run";
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    text.append(buffer, n);
  }
  const int ended = pclose(pipe);
  if (!WIFEXITED(ended)) return text + "[crashed]\n";
  const int code = WEXITSTATUS(ended);
  return code == 0 ? text : text + "[" + std::to_string(code) + "]\n";
}

// Sorts the options in {id=protean.NAME;...}: RocksDB prints them in any order.
void SortOptions(std::string* text) {
  for (size_t at = 0;
       (at = text->find("{id=protean.", at)) != std::string::npos;) {
    const size_t end = text->find('}', at);
    at = std::min(text->find(';', at), end);
    if (end == std::string::npos) return;
    Words options = StringSplit(text->substr(at + 1, end - at - 1), ';');
    SortUnique(&options);
    std::string sorted;
    for (const std::string& option : options) sorted += ";" + option;
    text->replace(at, end - at, sorted);
    at += sorted.size();
  }
}

class TranscriptTest : public ToolDBTest,
                       public testing::WithParamInterface<Section> {
 protected:
  ~TranscriptTest() override { refreshers_.clear(); }

  // Runs the lines of a section; returns them with the answers that came.
  std::string Run(const std::string& text);

 private:
  void Direct(const Words& words, std::string* answer);
  std::string Ask(const std::string& line);
  std::string AskOnce(const std::string& line, const Words& filter);

  std::string FieldsOf(const Json& row, const Words& names);

  // Replaces what stands for paths and keys.
  std::string Expand(std::string line);
  // Replaces paths, and numbers that vary.
  std::string Normal(std::string text);
  void LearnFiles();
  size_t IndexOf(const std::string& family) const {
    size_t i = 0;
    while (families_.at(i).name != family) i++;
    return i;
  }
  // The folder of the SST files.
  std::string Folder() const {
    return options_.db_paths.empty() ? path_ : options_.db_paths[0].path;
  }
  bool Exists() const {
    return Env::Default()->FileExists(path_ + "/CURRENT").ok();
  }

  std::string last_out_;
  std::string last_options_;
  std::vector<std::unique_ptr<FilterRefresher>> refreshers_;
  std::map<std::string, std::string> names_;  // of files, without folder
  std::map<std::string, int> files_seen_;     // of column families
};

std::string TranscriptTest::Run(const std::string& text) {
  std::string result;
  for (const std::string& line : StringSplit(text, '\n')) {
    if (line.compare(0, 2, "  ") == 0) continue;
    result += line + "\n";
    std::string answer;
    if (line.compare(0, 2, "$ ") == 0) answer = Ask(line.substr(2));
    if (line.compare(0, 2, "- ") == 0) {
      Direct(Split(Expand(line.substr(2))), &answer);
    }
    for (const std::string& answered : StringSplit(answer, '\n')) {
      if (!answered.empty()) result += "  " + answered + "\n";
    }
  }
  return result;
}

void TranscriptTest::Direct(const Words& words, std::string* answer) {
  Env* const env = Env::Default();
  const std::string& verb = words[0];
  const auto path = [&] { return words.at(1); };
  if (verb == "fill") {  // all column families, as ToolDBTest does
    Fill();
  } else if (verb == "fill_with_surf_base") {
    FillWithSurfBase();
    Open();  // the OPTIONS file names the policy of new files
    Close();
  } else if (verb == "open") {
    Open();
  } else if (verb == "close") {
    Close();
  } else if (verb == "serve") {  // FAMILY OPTIONS [SOCKET]: RefreshOptions
    RefreshOptions options;
    ASSERT_OK(options.Parse(words.at(2)));
    if (db_ == nullptr) Open();
    refreshers_.push_back(std::make_unique<FilterRefresher>(
        db_.get(), handles_[IndexOf(words.at(1))], options,
        /*period_micros=*/~uint64_t{0}, nullptr,
        words.size() > 3 ? words[3] : path_ + "/protean.sock"));
    EXPECT_OK(refreshers_.back()->socket_status());
  } else if (verb == "end_serving") {
    refreshers_.clear();
    Close();
    EXPECT_TRUE(env->FileExists(path_ + "/protean.sock").IsNotFound());
  } else if (verb == "encrypt") {
    Encrypt();
  } else if (verb == "family") {  // NAME OPTIONS
    AddFamily(words.at(1), words.at(2));
  } else if (verb == "family_of_plain_tables") {  // NAME
    AddFamily(words.at(1), "prefix_extractor=fixed:8");
    families_.back().options.table_factory.reset(NewPlainTableFactory());
    options_.allow_mmap_reads = true;
  } else if (verb == "db_path") {  // FOLDER
    options_.db_paths = {{path(), uint64_t{1} << 40}};
  } else if (verb == "pipe") {
    ASSERT_EQ(0, mkfifo(path().c_str(), 0600));
  } else if (verb == "options_of_db") {  // as its OPTIONS file has them
    families_.clear();
    ASSERT_OK(LoadLatestOptions(ConfigOptions(), path_, &options_, &families_));
  } else if (verb == "write_run") {  // FAMILY: a third of the keys, to level 0
    Open();
    WriteRun(handles_[IndexOf(words.at(1))], /*upper=*/true);
    Close();
  } else if (verb == "db_option") {  // NAME=VALUE
    ASSERT_OK(GetDBOptionsFromString(ConfigOptions(), options_, words.at(1),
                                     &options_));
  } else if (verb == "tables_of_rocksdb") {  // in the options of all families
    for (ColumnFamilyDescriptor& family : families_) {
      family.options.table_factory = families_[2].options.table_factory;
    }
    Open();
    Close();
  } else if (verb == "damage_filter") {  // FILE OFFSET right|wrong checksum
    DamageFilter(path(), std::stoul(words.at(2)), words.at(3) == "right");
  } else if (verb == "flip") {  // FILE OFFSET
    FlipByte(path(), std::stoul(words.at(2)));
  } else if (verb == "cut") {  // FILE BYTES|half
    const uint64_t size = std::filesystem::file_size(path());
    std::filesystem::resize_file(path(), words.at(2) == "half"
                                             ? size / 2
                                             : size - std::stoul(words.at(2)));
  } else if (verb == "edit_options") {  // FROM TO
    for (const auto& [name, contents] : Disk()) {
      std::string text = contents;
      ReplaceAll(words.at(1), words.at(2), &text);
      if (name.compare(0, 8, "OPTIONS-") != 0 || text == contents) continue;
      ASSERT_OK(WriteStringToFile(env, text, path_ + "/" + name));
    }
  } else if (verb == "remove") {
    ASSERT_OK(env->DeleteFile(path()));
  } else if (verb == "remove_options") {
    for (const auto& [name, contents] : Disk()) {
      if (name.compare(0, 8, "OPTIONS-") != 0) continue;
      ASSERT_OK(env->DeleteFile(path_ + "/" + name));
    }
  } else if (verb == "write") {  // FILE TEXT
    ASSERT_OK(WriteStringToFile(env, words.at(2), path()));
  } else if (verb == "write_queries") {  // FILE: right above keys
    ASSERT_OK(WriteQueryFile(env, path(), QueriesAboveKeys()));
  } else if (verb == "show") {  // FILE, or that it is not there
    std::string contents;
    *answer = ReadFileToString(env, path(), &contents).ok() ? Normal(contents)
                                                            : "no such file\n";
  } else if (verb == "same") {  // FILE FILE
    EXPECT_EQ(ContentsOf(words.at(1)), ContentsOf(words.at(2)));
  } else if (verb == "fits") {  // WIDTH of the last output
    for (const std::string& line : StringSplit(last_out_, '\n')) {
      EXPECT_LE(line.size(), std::stoul(words.at(1))) << line;
    }
  } else if (verb == "read_all_keys") {  // FAMILY
    ExpectAllKeys(IndexOf(words.at(1)));
  } else if (verb == "seek_above_keys") {  // FAMILY: a third of the gaps
    const std::vector<SampleQuery> queries = QueriesAboveKeys();
    for (size_t i = 0; i < queries.size() / 3; i++) {
      EXPECT_EQ("", FirstIn(db_.get(), queries[i].lo, queries[i].hi, {},
                            handles_[IndexOf(words.at(1))]));
    }
  } else if (verb == "stock_gets") {  // tests/shared/options_program.cc
    *answer = RunStock({STOCK_GETS, path_, "gets"});
  } else if (verb == "stock_ldb") {  // ARGUMENTS...
    Words program = {STOCK_LDB, "--db=" + path_};
    program.insert(program.end(), words.begin() + 1, words.end());
    *answer = RunStock(program);
  } else if (verb == "changes_of_options") {  // since the last time
    const std::string options = OptionsOnDisk();
    for (const std::string& line : DifferentLines(last_options_, options)) {
      if (!last_options_.empty()) *answer += Normal(line) + "\n";
    }
    last_options_ = options;
  } else if (verb == "options_with") {  // WORDS: lines of the OPTIONS file
    for (const std::string& line : StringSplit(OptionsOnDisk(), '\n')) {
      if (line.find(words.at(1)) != std::string::npos) {
        *answer += Normal(line) + "\n";
      }
    }
  } else {
    FAIL() << "no such directive: " << verb;
  }
}

std::string TranscriptTest::Ask(const std::string& line) {
  const size_t bar = line.find(" | ");
  const std::string asked = line.substr(0, bar);
  const Words filter =
      bar == std::string::npos ? Words() : Split(line.substr(bar + 3));
  static const std::regex kSeveral("\\{([^{}]*,[^{}]*)\\}");
  std::smatch match;
  if (!std::regex_search(asked, match, kSeveral)) return AskOnce(asked, filter);
  // Answers that are the same but for the word are shown once, with * for it.
  std::vector<std::pair<std::string, std::string>> answers;
  for (const std::string& word : StringSplit(match[1], ',')) {
    std::string answer =
        AskOnce(match.prefix().str() + word + match.suffix().str(), filter);
    for (const char* after : {" ", ":", "="}) {
      for (const char* before : {" ", "="}) {
        ReplaceAll(before + word + after, std::string(before) + "*" + after,
                   &answer);
      }
    }
    const auto same =
        std::find_if(answers.begin(), answers.end(),
                     [&](const auto& other) { return other.second == answer; });
    if (same != answers.end()) {
      same->first += "," + word;
    } else {
      answers.emplace_back(word, answer);
    }
  }
  if (answers.size() == 1) return answers[0].second;
  std::string all;
  for (const auto& [several, answer] : answers) all += several + ":\n" + answer;
  return all;
}

std::string TranscriptTest::AskOnce(const std::string& line,
                                    const Words& filter) {
  const bool exists = Exists();
  const auto before = exists ? Disk() : Records();
  const ToolRun run = RunTool(Split(Expand(line)));
  LearnFiles();
  last_out_ = run.out;
  const bool grep = !filter.empty() && filter[0] == "grep";
  std::string answer;
  const auto add = [&](const std::string& mark, const std::string& text) {
    for (const std::string& raw : StringSplit(text, '\n')) {
      const std::string out = Normal(raw);
      if (!grep || out.find(filter.at(1)) != std::string::npos) {
        answer += out.empty() ? "" : mark + out + "\n";
      }
    }
  };
  if (filter.empty() || grep) {
    add("", run.out);
  } else {
    for (const Json& row : run.Rows()) {
      const std::string fields = FieldsOf(row, filter);
      answer += fields.empty() ? "" : fields + "\n";
    }
  }
  add("! ", run.err);
  if (exists && before != Disk()) answer += "(changed)\n";
  if (run.code != 0) answer += "[" + std::to_string(run.code) + "]\n";
  return answer;
}

// Nothing if the row has none of the fields. Fractions have one digit.
std::string TranscriptTest::FieldsOf(const Json& row, const Words& names) {
  std::string fields;
  size_t found = 0;
  for (const std::string& name : names) {
    if (&name != &names.front()) fields += " | ";
    const auto field = row.find(name);
    if (field == row.end()) {
      fields += "-";
      continue;
    }
    found++;
    fields += field->is_number_float() ? Format("%.1f", field->get<double>())
              : field->is_string()     ? Normal(field->get<std::string>())
                                       : Normal(field->dump());
  }
  fields.erase(fields.find_last_not_of(' ') + 1);
  return found > 0 ? fields : "";
}

std::string TranscriptTest::Expand(std::string line) {
  LearnFiles();
  ReplaceAll("{db}", path_, &line);
  ReplaceAll("{folder}", path_.substr(0, path_.rfind('/')), &line);
  ReplaceAll("{env}", kEncryptingEnv, &line);
  if (line.find("{manifest}") != std::string::npos) {
    ReplaceAll("{manifest}", Manifest(), &line);
  }
  for (const auto& [file, name] : names_) {
    ReplaceAll(name, Folder() + "/" + file, &line);
  }
  for (size_t at; (at = line.find("{key.")) != std::string::npos;) {
    const uint64_t number = std::stoull(line.substr(at + 5));
    line.replace(at, line.find('}', at) + 1 - at,
                 "0x" + Slice(KeyOf(number)).ToString(/*hex=*/true));
  }
  return line;
}

std::string TranscriptTest::Normal(std::string text) {
  SortOptions(&text);
  for (const auto& [file, name] : names_) {
    ReplaceAll(Folder() + "/" + file, name, &text);
    ReplaceAll(file, name, &text);
  }
  ReplaceAll(path_, "{db}", &text);
  ReplaceAll(path_.substr(0, path_.rfind('/')), "{folder}", &text);
  ReplaceAll(std::filesystem::current_path(), "{cwd}", &text);
  static const std::pair<std::regex, const char*> kVarying[] = {
      // What RocksDB says, up to a name or to what Protean adds.
      {std::regex("(IO error|NotFound|Corruption): (?!\\{db\\}/CURRENT)[^;{]*"),
       "$1: ..."},
      {std::regex("\\.[0-9a-f]{8}(-[0-9a-f]+)+"), ".#"},  // temporary files
      {std::regex("MANIFEST-[0-9]+"), "MANIFEST-#"},
      {std::regex("[0-9]+ bytes (at|behind) offset [0-9]+"),
       "# bytes $1 offset #"},
      {std::regex("\\b[0-9]+\\.[0-9]+(e[-+]?[0-9]+)?|\\b[0-9]+e-[0-9]+|"
                  "\\b[0-9]+(?= (B|[KMGT]B|ns|us|ms|s|min|h)\\b)|"
                  "\\b[1-9][0-9]{4,}\\b"),
       "#"},
      // How far the command is.
      {std::regex(".*, about # (s|min) left\n?"), ""},
      {std::regex(" +"), " "}};
  for (const auto& [varying, by] : kVarying) {
    text = std::regex_replace(text, varying, by);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// Names the files that are there, and keeps the names of those that were.
void TranscriptTest::LearnFiles() {
  if (!Exists() || options_.env != Env::Default()) return;
  std::vector<ManifestFamily> families;
  if (!ReadManifest(Env::Default(), path_, &families).ok()) return;
  for (const ManifestFamily& family : families) {
    for (const TargetFile& file : family.files) {
      std::string& name = names_[MakeTableFileName("", file.number).substr(1)];
      if (!name.empty()) continue;
      name = "{" + PrintedName(family.name) + "." +
             std::to_string(files_seen_[family.name]++) + "}";
    }
  }
}

}  // namespace

TEST_P(TranscriptTest, Holds) {
  const std::string came = Run(GetParam().text);
  if (std::getenv("PROTEAN_REWRITE") != nullptr) {
    Rewrite({GetParam().file, GetParam().name, came});
  } else {
    EXPECT_EQ(GetParam().text, came);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, TranscriptTest, testing::ValuesIn(AllSections()),
    [](const testing::TestParamInfo<Section>& section) {
      return std::filesystem::path(section.param.file).stem().string() + "_" +
             std::regex_replace(section.param.name, std::regex("[^A-Za-z0-9]+"),
                                "_");
    });

}  // namespace ROCKSDB_NAMESPACE::protean
