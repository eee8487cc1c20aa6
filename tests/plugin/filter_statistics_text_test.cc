// SPDX-License-Identifier: Apache-2.0

//  Statistics as text, JSON, and in the text format of Prometheus.

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "plugin/build_info.h"
#include "rocksdb/statistics.h"
#include "tests/plugin/filter_statistics_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

TEST_F(FilterStatisticsTest, Text) {
  SetTable("{id=protean.Proteus;bits_per_key=20}");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find(Key(6), Key(9)));
  std::string value;
  EXPECT_TRUE(db_->Get(ReadOptions(), Key(13), &value).IsNotFound());
  FilterStatistics statistics = Now();
  EXPECT_EQ("Proteus", statistics.files.at(0).filter.kind);
  EXPECT_GE(statistics.total.predicted_fpr, 0);
  EXPECT_GT(statistics.total.bits_per_key(), 0);
  const std::string text = statistics.ToString();
  std::istringstream lines(text);
  std::string line;
  size_t count = 0;
  while (std::getline(lines, line)) {
    count++;
    EXPECT_LE(line.size(), 150u) << line;
  }
  // A title, the table's header, three rows for each level and for the sum, and
  // six lines below the table.
  EXPECT_EQ(2u + 3 * 4 + 6, count) << text;
  EXPECT_NE(std::string::npos, text.find("Designs rest on: keys (3 files)\n"))
      << text;
  EXPECT_NE(std::string::npos, text.find("Refreshes: 0, 0 failed; ")) << text;
  EXPECT_NE(std::string::npos, text.find("Filters read: 3 blocks, ")) << text;
  EXPECT_NE(std::string::npos, text.find("3 of 3 files open")) << text;
  EXPECT_TRUE(std::regex_search(
      text, std::regex("\nall +get +3 +- +- +0 +0 +0(\\.0+)?\n")))
      << text;
  EXPECT_EQ(std::string::npos, text.find("Filters built")) << text;
  EXPECT_EQ(std::string::npos, text.find("no filter answered")) << text;
  statistics.builds = {7, 1000, 1250, 0.25, 1.5};
  statistics.total.gets.unasked = 12;
  const std::string more = statistics.ToString();
  EXPECT_NE(std::string::npos,
            more.find("Filters built: 7, of 1000 keys, 1250 bytes; 0.250 s to "
                      "choose designs, 1.500 s to build them\n"))
      << more;
  EXPECT_NE(std::string::npos,
            more.find("Gets that no filter answered: 12 reads of files\n"))
      << more;
}

TEST_F(FilterStatisticsTest, Json) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find(Key(6), Key(9)));
  EXPECT_EQ(Key(2), Find(Key(1), {}));
  FilterStatistics statistics = Now();
  const std::string odd = "\"quoted\" \\ \n\t \x01 \xc3\xa4";
  statistics.column_family = odd;
  statistics.files[0].filter.predicted_fpr = 0.25;
  const auto json = nlohmann::json::parse(statistics.ToJson(), nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << statistics.ToJson();
  EXPECT_EQ(odd, json["column_family"]);
  EXPECT_EQ(path_, json["db"]);
  EXPECT_EQ(3, json["live_files"]);
  EXPECT_EQ(3, json["total"]["closed"]["negatives"]);
  EXPECT_EQ(3, json["total"]["closed"]["asked"]);
  EXPECT_EQ(0.0, json["total"]["closed"]["fpr"]);
  EXPECT_EQ(1, json["total"]["open"]["reached"]);
  EXPECT_FALSE(json["total"].contains("predicted_fpr"));
  ASSERT_EQ(3u, json["levels"].size());
  EXPECT_EQ(2, json["levels"][2]["level"]);
  EXPECT_EQ(1, json["levels"][2]["open"]["passed"]);
  EXPECT_EQ(11, json["levels"][2]["keys"]);
  EXPECT_EQ(1, json["levels"][2]["filter_blocks_loaded"]);
  EXPECT_EQ(json["levels"][2]["filter_bytes"],
            json["levels"][2]["filter_bytes_loaded"]);
  EXPECT_EQ(3, json["total"]["filter_blocks_loaded"]);
  EXPECT_EQ(1, json["files"][0]["filter_blocks_loaded"]);
  ASSERT_EQ(3u, json["files"].size());
  EXPECT_EQ(0.25, json["files"][0]["predicted_fpr"]);
  EXPECT_EQ("Exact", json["files"][0]["kind"]);
  EXPECT_EQ(false, json["gets"]["known"]);
  EXPECT_EQ(0, json["total"]["gets"]["asked"]);
  EXPECT_EQ(0, json["builds"]["filters"]);
  EXPECT_EQ(false, json["samples"]["exists"]);
}

// The names that the header documents, in each object.
TEST_F(FilterStatisticsTest, JsonNames) {
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find(Key(6), Key(9)));
  EXPECT_EQ(Key(2), Find(Key(1), {}));
  const auto json = nlohmann::json::parse(Now().ToJson(), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  using Names = std::set<std::string>;
  const auto names = [](const nlohmann::json& object) {
    Names found;
    for (const auto& item : object.items()) found.insert(item.key());
    return found;
  };
  const auto more = [](Names some, const Names& others) {
    some.insert(others.begin(), others.end());
    return some;
  };
  const Names sums = {"open_files",
                      "entries",
                      "used",
                      "unused",
                      "keys",
                      "filter_bytes",
                      "bits_per_key",
                      "blocks_spared",
                      "files_by_basis",
                      "model_seconds",
                      "closed",
                      "open",
                      "gets",
                      "filter_blocks_loaded",
                      "filter_bytes_loaded",
                      "filter_loads_failed"};
  const Names seeks = {"asked",          "negatives", "passed",
                       "true_positives", "reached",   "fpr",
                       "false_positives"};
  EXPECT_EQ((Names{"db", "column_family", "live_files", "total", "levels",
                   "files", "gets", "builds", "samples", "refresh"}),
            names(json));
  EXPECT_EQ(sums, names(json["total"]));
  EXPECT_EQ(seeks, names(json["total"]["closed"]));
  EXPECT_EQ((Names{"unasked", "asked", "negatives", "true_positives",
                   "false_positives"}),
            names(json["total"]["gets"]));
  EXPECT_EQ(
      (Names{"filters", "keys", "bytes", "model_seconds", "build_seconds"}),
      names(json["builds"]));
  EXPECT_EQ(more(sums, {"level"}), names(json["levels"][0]));
  EXPECT_EQ((Names{"path", "level", "unused", "entries", "keys", "filter_bytes",
                   "kind", "design", "basis", "bits_per_key", "closed", "open",
                   "filter_blocks_loaded", "filter_bytes_loaded",
                   "filter_loads_failed"}),
            names(json["files"][0]));
  EXPECT_EQ((Names{"known", "negatives", "true_positives", "false_positives"}),
            names(json["gets"]));
  EXPECT_EQ((Names{"exists", "held", "capacity", "sample_every", "recorded",
                   "sampled", "dropped", "age_seconds"}),
            names(json["samples"]));
  const Names refresh = {
      "runs",       "failures",        "last_end_seconds", "files_rewritten",
      "bytes_read", "bytes_rewritten", "running"};
  EXPECT_EQ(refresh, names(json["refresh"]));
  FilterStatistics running;
  running.refresh.running = true;
  running.refresh.seconds_left = 2;
  EXPECT_EQ(more(refresh,
                 {"bytes", "bytes_decided", "running_seconds", "seconds_left"}),
            names(nlohmann::json::parse(running.ToJson(), nullptr,
                                        false)["refresh"]));
}

namespace {

// Checks the text format: a metric's name and type precede its samples, its
// samples are consecutive, and no sample occurs twice. Returns the samples'
// values.
std::map<std::string, double> ParsePrometheus(const std::string& text) {
  const std::string name = "[a-zA-Z_:][a-zA-Z0-9_:]*";
  const std::string label =
      "[a-zA-Z_][a-zA-Z0-9_]*=\"([^\"\\\\\n]|\\\\[\\\\\"n])*\"";
  const std::regex help("# HELP (" + name + ") \\S.*");
  const std::regex type("# TYPE (" + name + ") (counter|gauge)");
  const std::regex sample("(" + name + ")(\\{" + label + "(," + label +
                          ")*\\}) ([0-9]+(\\.[0-9]+)?)");
  std::map<std::string, double> samples;
  std::map<std::string, std::string> types;
  std::set<std::string> done;
  std::string helped;
  std::string current;
  EXPECT_EQ('\n', text.back());
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      helped = match[1];
    } else if (std::regex_match(line, match, type)) {
      EXPECT_EQ(helped, match[1]);
      done.insert(current);
      current = match[1];
      EXPECT_EQ(0u, done.count(current)) << line;
      EXPECT_EQ(0u, types.count(current)) << line;
      types[current] = match[2];
    } else if (std::regex_match(line, match, sample)) {
      EXPECT_EQ(current, match[1]);
      EXPECT_TRUE(current.find("protean_filter_") == 0 ||
                  current == "protean_build_info")
          << line;
      EXPECT_EQ(types[current] == "counter",
                current.size() > 6 &&
                    current.compare(current.size() - 6, 6, "_total") == 0)
          << line;
      const std::string key = match[1].str() + match[2].str();
      EXPECT_EQ(0u, samples.count(key)) << line;
      const std::string value = match[match.size() - 2];
      samples[key] = strtod(value.c_str(), nullptr);
    } else {
      ADD_FAILURE() << line;
    }
  }
  return samples;
}

}  // namespace

TEST_F(FilterStatisticsTest, NamesThatAreNotUtf8) {
  // Characters of each size, and at the limits of each size.
  const std::string valid =
      "a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf"
      "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
  // No byte of these is part of a valid character.
  const std::vector<std::string> wrong = {"\x80",
                                          "\xbf\xbf",
                                          "\xc1\x81",
                                          "\xe0\x9f\xbf",
                                          "\xed\xa0\x80",
                                          "\xf0\x8f\xbf\xbf",
                                          "\xf4\x90\x80\x80",
                                          "\xf5",
                                          "\xff\xfe",
                                          "\xc3",
                                          "\xe2\x82",
                                          "\xf0\x90\x80"};
  for (const std::string& bytes : wrong) {
    std::string expected = valid;
    for (size_t i = 0; i < bytes.size(); i++) expected += "\xef\xbf\xbd";
    expected += valid;
    FilterStatistics statistics;
    statistics.column_family = valid + bytes + valid;
    const auto json =
        nlohmann::json::parse(statistics.ToJson(), nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << statistics.ToJson();
    EXPECT_EQ(expected, json["column_family"]);
    EXPECT_NE(std::string::npos,
              ToPrometheus({statistics}).find("\"" + expected + "\""));
  }
}

TEST_F(FilterStatisticsTest, Prometheus) {
  EXPECT_EQ("", ToPrometheus({}));
  options_.statistics = CreateDBStatistics();
  SetTable("{id=protean.Proteus;bits_per_key=20}");
  ASSERT_NO_FATAL_FAILURE(MakeTree());
  EXPECT_EQ("", Find("000600", "000601"));
  std::string value;
  EXPECT_TRUE(db_->Get(ReadOptions(), Key(13), &value).IsNotFound());
  FilterStatistics first = Now();
  FilterStatistics second = first;
  second.column_family = "odd \"name\" \\ \n";
  second.total.unused["damaged"] = 1;
  second.levels[0].sums.unused["damaged"] = 1;
  second.levels.back().level = -1;
  const auto samples = ParsePrometheus(ToPrometheus({first, second}));
  const std::string db = "db=\"" + path_ + "\"";
  const std::string family = "{" + db + ",column_family=\"default\"";
  double asked = 0;
  for (const char* level : {"0", "1", "2"}) {
    for (const char* outcome :
         {"negative", "passed", "true_positive", "false_positive"}) {
      const std::string key = "protean_filter_seeks_total" + family +
                              ",level=\"" + level +
                              "\",seek=\"closed\",outcome=\"" + outcome + "\"}";
      ASSERT_EQ(1u, samples.count(key)) << key;
      asked += samples.at(key);
    }
  }
  EXPECT_EQ(3, asked);
  double gets = 0;
  for (const char* outcome :
       {"negative", "true_positive", "false_positive", "unasked"}) {
    gets += samples.at("protean_filter_level_gets_total" + family +
                       ",level=\"1\",outcome=\"" + outcome + "\"}");
  }
  EXPECT_EQ(1, gets);
  for (const char* stage : {"model", "build"}) {
    EXPECT_EQ(0, samples.at("protean_filter_build_seconds_total" + family +
                            ",stage=\"" + stage + "\"}"));
  }
  EXPECT_EQ(0, samples.at("protean_filter_builds_total" + family + "}"));
  EXPECT_EQ(11, samples.at("protean_filter_keys" + family + ",level=\"2\"}"));
  EXPECT_EQ(1, samples.at("protean_filter_blocks_loaded_total" + family +
                          ",level=\"2\"}"));
  EXPECT_EQ(samples.at("protean_filter_bytes" + family + ",level=\"2\"}"),
            samples.at("protean_filter_bytes_loaded_total" + family +
                       ",level=\"2\"}"));
  EXPECT_EQ(3, samples.at("protean_filter_live_files" + family + "}"));
  EXPECT_EQ(1, samples.at("protean_filter_unused_files{" + db +
                          ",column_family=\"odd \\\"name\\\" \\\\ \\n\","
                          "level=\"0\",reason=\"damaged\"}"));
  EXPECT_EQ(1u, samples.count("protean_filter_gets_total{" + db +
                              ",outcome=\"negative\"}"));
  EXPECT_EQ(1u, samples.count("protean_filter_samples" + family + "}"));
  EXPECT_EQ(1, samples.at("protean_filter_files_by_basis" + family +
                          ",level=\"2\",basis=\"keys\"}"));
  EXPECT_EQ(1u, samples.count("protean_filter_model_seconds" + family +
                              ",level=\"2\"}"));
  EXPECT_EQ(0, samples.at("protean_filter_refresh_running" + family + "}"));
  EXPECT_EQ(
      0u, samples.count("protean_filter_refresh_seconds_left" + family + "}"));
  EXPECT_EQ(1, samples.at(std::string("protean_build_info{version=\"") +
                          GetBuildInfo().version + "\",rocksdb_version=\"" +
                          GetBuildInfo().rocksdb_version + "\"}"));
}

}  // namespace ROCKSDB_NAMESPACE::protean
