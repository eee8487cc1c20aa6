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
  // the numbers that are known and not 0.
  EXPECT_LE(2u + 3 * 4 + 3, count) << text;
  for (const char* part :
       {"\nlive_files: 3\n", "\ntotal: open_files 3, used_files 3, ",
        "files_by_basis.keys 3", "filter_blocks_loaded 3, ",
        "blocks_avoided 3, ", "\nsamples: capacity "}) {
    EXPECT_NE(std::string::npos, text.find(part)) << part << text;
  }
  EXPECT_TRUE(
      std::regex_search(text, std::regex(" gets +3 +- +- +0 +0 +0(\\.0+)?\n")))
      << text;
  for (const char* part : {"builds", "unasked", "refresh", "ticker_gets"}) {
    EXPECT_EQ(std::string::npos, text.find(part)) << part << text;
  }
  statistics.builds = {7, 1000, 1250, 250000, 1500000};
  statistics.total.gets.unasked = 12;
  const std::string more = statistics.ToString();
  EXPECT_NE(std::string::npos,
            more.find("builds: filters 7, keys 1000, filter_bytes 1250, "
                      "model_micros 250000, build_micros 1500000\n"))
      << more;
  EXPECT_NE(std::string::npos, more.find("gets.unasked 12\n")) << more;
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
  EXPECT_EQ(3, json["total"]["bounded_seeks"]["negatives"]);
  EXPECT_EQ(3, json["total"]["bounded_seeks"]["asked"]);
  EXPECT_EQ(0.0, json["total"]["bounded_seeks"]["fpr"]);
  EXPECT_EQ(1, json["total"]["unbounded_seeks"]["reached"]);
  EXPECT_TRUE(json["total"]["predicted_fpr"].is_null());
  ASSERT_EQ(3u, json["levels"].size());
  EXPECT_EQ(2, json["levels"][2]["level"]);
  EXPECT_EQ(1, json["levels"][2]["unbounded_seeks"]["passed"]);
  EXPECT_EQ(11, json["levels"][2]["keys"]);
  EXPECT_EQ(1, json["levels"][2]["filter_blocks_loaded"]);
  EXPECT_EQ(json["levels"][2]["filter_bytes"],
            json["levels"][2]["filter_bytes_loaded"]);
  EXPECT_EQ(3, json["total"]["filter_blocks_loaded"]);
  EXPECT_EQ(1, json["files"][0]["filter_blocks_loaded"]);
  ASSERT_EQ(3u, json["files"].size());
  EXPECT_EQ(0.25, json["files"][0]["filter"]["predicted_fpr"]);
  EXPECT_EQ("Exact", json["files"][0]["filter"]["kind"]);
  EXPECT_TRUE(json["ticker_gets"]["negatives"].is_null());
  EXPECT_EQ(0, json["total"]["gets"]["asked"]);
  EXPECT_EQ(0, json["builds"]["filters"]);
  EXPECT_TRUE(json["samples"]["held"].is_null());
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
  const Names counts = {"filter_blocks_loaded", "filter_bytes_loaded",
                        "filter_loads_failed", "bounded_seeks",
                        "unbounded_seeks"};
  Names sums = counts;
  sums.insert({"open_files", "entries", "used_files", "unused_files", "keys",
               "filter_bytes", "bits_per_key", "predicted_fpr",
               "blocks_avoided", "files_by_basis", "model_micros", "gets"});
  const Names seeks = {"asked",          "negatives", "passed",
                       "true_positives", "reached",   "fpr",
                       "false_positives"};
  EXPECT_EQ((Names{"db", "column_family", "live_files", "total", "levels",
                   "files", "ticker_gets", "builds", "samples", "refresh"}),
            names(json));
  EXPECT_EQ(sums, names(json["total"]));
  EXPECT_EQ(seeks, names(json["total"]["bounded_seeks"]));
  EXPECT_EQ(seeks, names(json["total"]["unbounded_seeks"]));
  EXPECT_EQ((Names{"unasked", "asked", "negatives", "true_positives",
                   "false_positives", "fpr"}),
            names(json["total"]["gets"]));
  EXPECT_EQ((Names{"no_filter", "rocksdb_filter", "other_comparator",
                   "no_whole_keys", "unfilterable_keys", "damaged"}),
            names(json["total"]["unused_files"]));
  EXPECT_EQ((Names{"samples", "keys", "prescribed"}),
            names(json["total"]["files_by_basis"]));
  EXPECT_EQ((Names{"filters", "keys", "filter_bytes", "model_micros",
                   "build_micros"}),
            names(json["builds"]));
  sums.insert("level");
  EXPECT_EQ(sums, names(json["levels"][0]));
  Names of_file = counts;
  of_file.insert(
      {"path", "level", "unused", "entries", "keys", "filter_bytes", "filter"});
  EXPECT_EQ(of_file, names(json["files"][0]));
  EXPECT_EQ((Names{"kind", "design", "basis", "bits_per_key", "predicted_fpr",
                   "samples", "model_micros"}),
            names(json["files"][0]["filter"]));
  EXPECT_EQ((Names{"negatives", "true_positives", "false_positives"}),
            names(json["ticker_gets"]));
  EXPECT_EQ((Names{"held", "capacity", "sample_every", "recorded", "sampled",
                   "dropped", "age_seconds"}),
            names(json["samples"]));
  EXPECT_EQ((Names{"runs", "failures", "last_end_unix_time", "files_rewritten",
                   "bytes_read", "bytes_rewritten", "running", "bytes",
                   "bytes_decided", "running_seconds", "seconds_left"}),
            names(json["refresh"]));
  // Each number has a fact of its name.
  for (const StatisticsFact& fact : StatisticsFacts()) {
    std::string pointer = (fact.scope == "level" ? "/total/" : "/") + fact.name;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    EXPECT_TRUE(json.contains(nlohmann::json::json_pointer(pointer)))
        << pointer;
    EXPECT_EQ('.', fact.help.back()) << fact.name;
  }
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
      EXPECT_TRUE(current.find("protean_") == 0) << line;
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
  second.total.unused_files["damaged"] = 1;
  second.levels[0].sums.unused_files["damaged"] = 1;
  second.levels.back().level = -1;
  const auto samples = ParsePrometheus(ToPrometheus({first, second}));
  const std::string db = "db=\"" + path_ + "\"";
  const std::string family = "{" + db + ",column_family=\"default\"";
  double asked = 0;
  for (const char* level : {"0", "1", "2"}) {
    for (const char* outcome :
         {"negatives", "passed", "true_positives", "false_positives"}) {
      const std::string key = std::string("protean_bounded_seeks_") + outcome +
                              "_total" + family + ",level=\"" + level + "\"}";
      ASSERT_EQ(1u, samples.count(key)) << key;
      asked += samples.at(key);
    }
  }
  EXPECT_EQ(3, asked);
  double gets = 0;
  for (const char* outcome :
       {"negatives", "true_positives", "false_positives", "unasked"}) {
    gets += samples.at(std::string("protean_gets_") + outcome + "_total" +
                       family + ",level=\"1\"}");
  }
  EXPECT_EQ(1, gets);
  const auto of_family = [&](const std::string& name) {
    return samples.at(name + family + "}");
  };
  const auto of_level_2 = [&](const std::string& name) {
    return samples.at(name + family + ",level=\"2\"}");
  };
  EXPECT_EQ(0, of_family("protean_builds_model_micros_total"));
  EXPECT_EQ(0, of_family("protean_builds_filters_total"));
  EXPECT_EQ(11, of_level_2("protean_keys"));
  EXPECT_EQ(1, of_level_2("protean_filter_blocks_loaded_total"));
  EXPECT_EQ(of_level_2("protean_filter_bytes"),
            of_level_2("protean_filter_bytes_loaded_total"));
  EXPECT_EQ(3, of_family("protean_live_files"));
  EXPECT_EQ(1, samples.at("protean_unused_files_damaged{" + db +
                          ",column_family=\"odd \\\"name\\\" \\\\ \\n\","
                          "level=\"0\"}"));
  EXPECT_EQ(1u,
            samples.count("protean_ticker_gets_negatives_total{" + db + "}"));
  EXPECT_EQ(1u, samples.count("protean_samples_held" + family + "}"));
  EXPECT_EQ(1, of_level_2("protean_files_by_basis_keys"));
  EXPECT_EQ(0, of_family("protean_refresh_running"));
  EXPECT_EQ(0u, samples.count("protean_refresh_seconds_left" + family + "}"));
  EXPECT_EQ(1, samples.at(std::string("protean_build_info{version=\"") +
                          GetBuildInfo().version + "\",rocksdb_version=\"" +
                          GetBuildInfo().rocksdb_version + "\"}"));
}

}  // namespace ROCKSDB_NAMESPACE::protean
