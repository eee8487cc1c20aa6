// SPDX-License-Identifier: Apache-2.0

//  Statistics as text, JSON, and in the text format of Prometheus:
//  testdata/statistics.txt, .json and .prom, which are written anew with
//  PROTEAN_REWRITE=1 in the environment; and the examples of monitoring.

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "plugin/build_info.h"
#include "tests/protean_db.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

FilterSums SumsOf(uint64_t files) {
  FilterSums sums;
  sums.open_files = files;
  sums.entries = 1200 * files;
  sums.unused_files = {{"damaged", 1}};
  sums.keys = 1000 * files;
  sums.filter_bytes = 1750 * files;
  sums.predicted_fpr = 0.25;
  sums.files_by_basis = {{"keys", files - 1}};
  sums.model_micros = 40 * files;
  sums.filter_blocks_loaded = 5;
  sums.filter_bytes_loaded = 600;
  sums.filter_loads_failed = 7;
  sums.bounded_seeks = {100 * files, 20, 30, 40, 15};
  sums.unbounded_seeks = {9, 8, 7, 6, 5};
  sums.gets = {12, 34 * files, 56, 78};
  sums.reads_from_cache = 91;
  sums.reads_from_storage = 92 * files;
  sums.requests_saved = 93;
  return sums;
}

// Each number is there, most of them different ones.
FilterStatistics SomeStatistics() {
  FilterStatistics all;
  all.db = "/data/db";
  all.column_family = "default";
  all.live_files = 6;
  all.total = SumsOf(5);
  all.levels = {{0, SumsOf(2)}, {3, SumsOf(3)}};
  all.files.resize(2);
  all.files[0].path = "/data/db/000012.sst";
  all.files[0].entries = 1201;
  all.files[0].keys = 1001;
  all.files[0].filter_bytes = 1751;
  all.files[0].filter_blocks_loaded = 2;
  all.files[0].bounded_seeks = {1, 2, 3, 4, 2};
  all.files[0].filter = {
      "Proteus", "bloom 64", "from 300 sample queries and the keys", 14, 0.125,
      300,       41};
  all.files[1].path = "/data/db/000013.sst";
  all.files[1].level = 3;
  all.files[1].unused = "damaged";
  all.ticker_gets = {true, 81, 82, 83};
  all.builds = {7, 1000, 1250, 250000, 1500000};
  all.miss_cache = {1048576, 12, 3456};
  all.kept_memory = {2048, 4096};
  all.samples = {true, 10, 20, 100, 31, 32, 33, 1.5};
  all.refresh = {3, 1, 1700000000, 4, 5000, 6000, true, 900, 300, 2.5, 5};
  return all;
}

// What is unknown, and names that are hard to print.
FilterStatistics FewStatistics() {
  FilterStatistics few;
  few.db = "/data/db";
  few.column_family = "\"odd\" \\ \n\t \x01 \xc3\xa4";
  few.levels = {{-1, {}}};
  return few;
}

void ExpectFile(const std::string& name, const std::string& text) {
  const std::string path = PROTEAN_SOURCE_DIR "/tests/plugin/testdata/" + name;
  if (std::getenv("PROTEAN_REWRITE") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(ContentsOf(path), text) << name;
}

// All matches in a text, which must outlive them.
std::vector<std::smatch> Matches(const std::string& text,
                                 const std::regex& pattern) {
  return std::vector<std::smatch>(
      std::sregex_iterator(text.begin(), text.end(), pattern),
      std::sregex_iterator());
}

// The values of each label of each metric.
using Labels = std::map<std::string, std::set<std::string>>;
using Metrics = std::map<std::string, Labels>;

// Checks the text format: a metric's name and type precede its samples, its
// samples are consecutive, and no sample occurs twice. Returns the metrics.
Metrics CheckPrometheus(const std::string& text) {
  const std::string name = "[a-zA-Z_:][a-zA-Z0-9_:]*";
  const std::string label =
      "[a-zA-Z_][a-zA-Z0-9_]*=\"([^\"\\\\\n]|\\\\[\\\\\"n])*\"";
  const std::regex help("# HELP (" + name + ") \\S.*");
  const std::regex type("# TYPE (" + name + ") (counter|gauge)");
  const std::regex sample("(" + name + ")(\\{" + label + "(," + label +
                          ")*\\}) ([0-9]+(\\.[0-9]+)?)");
  const std::regex counter(".*_total");
  const std::regex value("([a-z_]+)=\"([^\"]*)\"");
  Metrics metrics;
  std::set<std::string> samples;
  std::string helped;
  std::string current;
  EXPECT_EQ('\n', text.back());
  for (const std::string& line : StringSplit(text, '\n')) {
    std::smatch match;
    if (std::regex_match(line, match, help)) {
      helped = match[1];
    } else if (std::regex_match(line, match, type)) {
      current = match[1];
      EXPECT_EQ(helped, current);
      // What Prometheus itself adds.
      EXPECT_TRUE(metrics.insert({current, {{"instance", {}}}}).second) << line;
      EXPECT_EQ(0u, current.find("protean_"));
      EXPECT_EQ(match[2] == "counter", std::regex_match(current, counter));
    } else if (std::regex_match(line, match, sample)) {
      EXPECT_EQ(current, match[1]);
      const std::string labels = match[2];
      EXPECT_TRUE(samples.insert(match[1].str() + labels).second) << line;
      for (const std::smatch& at : Matches(labels, value)) {
        metrics[current][at[1]].insert(at[2]);
      }
    } else {
      ADD_FAILURE() << line;
    }
  }
  return metrics;
}

TEST(FilterStatisticsTextTest, Text) {
  const std::string text =
      SomeStatistics().ToString() + "\n" + FewStatistics().ToString();
  for (const std::string& line : StringSplit(text, '\n')) {
    EXPECT_LE(line.size(), 150u) << line;
  }
  ExpectFile("statistics.txt", text);
}

TEST(FilterStatisticsTextTest, Json) {
  std::string text;
  for (const FilterStatistics& statistics :
       {SomeStatistics(), FewStatistics()}) {
    const auto json = nlohmann::json::parse(statistics.ToJson());
    // A line for each object.
    text +=
        std::regex_replace(statistics.ToJson(), std::regex("}, "), "},\n ") +
        "\n";
    // Each number has a fact of its name.
    for (const StatisticsFact& fact : StatisticsFacts()) {
      std::string pointer =
          (fact.scope == "level" ? "/total/" : "/") + fact.name;
      std::replace(pointer.begin(), pointer.end(), '.', '/');
      EXPECT_TRUE(json.contains(nlohmann::json::json_pointer(pointer)))
          << pointer;
      EXPECT_EQ('.', fact.help.back()) << fact.name;
    }
  }
  ExpectFile("statistics.json", text);
}

TEST(FilterStatisticsTextTest, Prometheus) {
  EXPECT_EQ("", ToPrometheus({}));
  const std::string both = ToPrometheus({SomeStatistics(), FewStatistics()});
  CheckPrometheus(both);
  ExpectHas(both, {"protean_live_files{db=\"/data/db\",column_family="
                   "\"\\\"odd\\\" \\\\ \\n\t \x01 \xc3\xa4\"} 0\n"});
  // What is unknown is left out.
  EXPECT_EQ(std::string::npos, both.find("level=\"-1\""));
  EXPECT_EQ(both.find("protean_refresh_seconds_left{"),
            both.rfind("protean_refresh_seconds_left{"));
  std::string text = ToPrometheus({SomeStatistics()});
  const std::string versions =
      std::string("{version=\"") + GetBuildInfo().version +
      "\",rocksdb_version=\"" + GetBuildInfo().rocksdb_version + "\"}";
  const size_t at = text.find(versions);
  ASSERT_NE(std::string::npos, at) << text;
  text.replace(at, versions.size(), "{VERSIONS}");
  ExpectFile("statistics.prom", text);
}

TEST(FilterStatisticsTextTest, NamesThatAreNotUtf8) {
  // Characters of each size, and at the limits of each size.
  const std::string valid =
      "a\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xef\xbf\xbf"
      "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
  // No byte of these is part of a valid character.
  std::istringstream wrong(
      "\x80 \xbf\xbf \xc1\x81 \xe0\x9f\xbf \xed\xa0\x80 \xf0\x8f\xbf\xbf "
      "\xf4\x90\x80\x80 \xf5 \xff\xfe \xc3 \xe2\x82 \xf0\x90\x80");
  for (std::string bytes; wrong >> bytes;) {
    std::string expected = valid;
    for (size_t i = 0; i < bytes.size(); i++) expected += "\xef\xbf\xbd";
    expected += valid;
    FilterStatistics statistics;
    statistics.column_family = valid + bytes + valid;
    const auto json = nlohmann::json::parse(statistics.ToJson());
    EXPECT_EQ(expected, json["column_family"]);
    ExpectHas(ToPrometheus({statistics}), {"\"" + expected + "\""});
  }
}

// ---- Monitoring ----

// The dashboard and the alert rules of docs/examples/monitoring ask for metrics
// that ToPrometheus exports, by labels and values that these metrics have.

const std::string kMonitoring = PROTEAN_SOURCE_DIR "/docs/examples/monitoring/";

// All metrics that there are.
Metrics Exported() { return CheckPrometheus(ToPrometheus({SomeStatistics()})); }

// Checks the selectors of an expression, METRIC{LABEL="VALUE",...}, and the
// labels by which it sums. Returns the metrics' names.
std::set<std::string> Check(const std::string& expression,
                            const Metrics& exported) {
  std::set<std::string> names;
  std::set<std::string> labels;
  const std::regex selector("(protean_[A-Za-z0-9_:]*)(\\{([^}]*)\\})?");
  const std::regex matcher("([a-z_]+)(=~|!~|!=|=)\"([^\"]*)\"");
  for (const std::smatch& at : Matches(expression, selector)) {
    const std::string name = at[1];
    names.insert(name);
    const auto metric = exported.find(name);
    if (metric == exported.end()) {
      ADD_FAILURE() << name << " is not exported: " << expression;
      continue;
    }
    for (const auto& [label, values] : metric->second) labels.insert(label);
    const std::string matchers = at[3];
    for (const std::smatch& m : Matches(matchers, matcher)) {
      const auto label = metric->second.find(m[1]);
      if (label == metric->second.end()) {
        ADD_FAILURE() << name << " has no label " << m[1];
      } else if (m[2] == "=" || m[2] == "!=") {
        EXPECT_EQ(1u, label->second.count(m[3])) << expression;
      }
    }
    // Nothing but matchers and the commas between them.
    const std::string others = std::regex_replace(matchers, matcher, "");
    EXPECT_EQ(std::string::npos, others.find_first_not_of(',')) << expression;
  }
  EXPECT_FALSE(names.empty()) << expression;
  const std::regex grouping("\\b(by|on) \\(([^)]*)\\)");
  const std::regex word("[a-z_]+");
  for (const std::smatch& at : Matches(expression, grouping)) {
    const std::string group = at[2];
    for (const std::smatch& w : Matches(group, word)) {
      EXPECT_EQ(1u, labels.count(w.str())) << w.str() << expression;
    }
  }
  EXPECT_EQ(std::count(expression.begin(), expression.end(), '('),
            std::count(expression.begin(), expression.end(), ')'))
      << expression;
  return names;
}

}  // namespace

TEST(MonitoringTest, AlertRules) {
  size_t alerts = 0;
  std::vector<std::string> expressions;
  bool in_expression = false;
  const std::regex key(" *(- )?([a-z]+):.*");
  for (const std::string& line :
       StringSplit(ContentsOf(kMonitoring + "alerts.yml"), '\n')) {
    std::smatch match;
    if (std::regex_match(line, match, key)) {
      if (match[2] == "alert") alerts++;
      in_expression = match[2] == "expr";
      if (in_expression) expressions.emplace_back();
    } else if (in_expression) {
      expressions.back() += line + "\n";
    }
  }
  EXPECT_GT(alerts, 5u);
  EXPECT_EQ(alerts, expressions.size());
  for (const std::string& expression : expressions) {
    Check(expression, Exported());
  }
}

TEST(MonitoringTest, Dashboard) {
  const Metrics exported = Exported();
  const auto dashboard = nlohmann::json::parse(
      ContentsOf(kMonitoring + "dashboard.json"), nullptr, false);
  ASSERT_TRUE(dashboard.is_object());
  std::set<std::string> shown;
  std::set<int> ids;
  for (const auto& panel : dashboard["panels"]) {
    EXPECT_TRUE(ids.insert(panel["id"].get<int>()).second) << panel;
    EXPECT_FALSE(panel["targets"].empty()) << panel;
    for (const auto& target : panel["targets"]) {
      shown.merge(Check(target["expr"], exported));
    }
  }
  for (const auto& variable : dashboard["templating"]["list"]) {
    if (variable["type"] != "query") continue;
    Check(variable["definition"], exported);
  }
  EXPECT_GT(shown.size(), 20u);
}

}  // namespace ROCKSDB_NAMESPACE::protean
