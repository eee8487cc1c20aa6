// SPDX-License-Identifier: Apache-2.0

//  The dashboard and the alert rules of docs/examples/monitoring ask for
//  metrics that ToPrometheus exports, by labels and values that these metrics
//  have.

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "plugin/filter_statistics.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::string kFolder = PROTEAN_SOURCE_DIR "/docs/examples/monitoring/";

std::string Contents(const std::string& name) {
  std::ifstream file(kFolder + name);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file.good()) << name;
  return text.str();
}

// The values of each label of each metric.
using Labels = std::map<std::string, std::set<std::string>>;
using Metrics = std::map<std::string, Labels>;

// All metrics that there are: statistics of a column family with everything.
Metrics Exported() {
  FilterStatistics family;
  family.db = "/data/db";
  family.column_family = "default";
  family.ticker_gets.known = true;
  family.samples.exists = true;
  family.refresh.running = true;
  family.refresh.seconds_left = 1;
  LevelFilterStatistics level;
  level.sums.predicted_fpr = 0.01;
  for (FilterSeeks* seeks :
       {&level.sums.bounded_seeks, &level.sums.unbounded_seeks}) {
    seeks->false_positives = 1;
  }
  level.sums.gets.false_positives = 1;
  family.levels.push_back(level);
  Metrics metrics;
  const std::regex sample("(protean_[a-z_]+)\\{(.*)\\} [0-9.]+");
  const std::regex label("([a-z_]+)=\"([^\"]*)\"");
  std::istringstream lines(ToPrometheus({family}));
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, sample)) continue;
    Labels& labels = metrics[match[1]];
    // What Prometheus itself adds.
    labels["instance"];
    const std::string text = match[2];
    for (std::sregex_iterator at(text.begin(), text.end(), label), end;
         at != end; ++at) {
      labels[(*at)[1]].insert((*at)[2]);
    }
  }
  return metrics;
}

// Checks the selectors of an expression, METRIC{LABEL="VALUE",...}, and the
// labels by which it sums. Returns the metrics' names.
std::set<std::string> Check(const std::string& expression,
                            const Metrics& exported) {
  std::set<std::string> names;
  std::set<std::string> labels;
  const std::regex selector("(protean_[A-Za-z0-9_:]*)(\\{([^}]*)\\})?");
  const std::regex matcher("([a-z_]+)(=~|!~|!=|=)\"([^\"]*)\"");
  for (std::sregex_iterator at(expression.begin(), expression.end(), selector),
       end;
       at != end; ++at) {
    const std::string name = (*at)[1];
    names.insert(name);
    const auto metric = exported.find(name);
    if (metric == exported.end()) {
      ADD_FAILURE() << name << " is not exported: " << expression;
      continue;
    }
    for (const auto& [label, values] : metric->second) labels.insert(label);
    const std::string matchers = (*at)[3];
    size_t matched = 0;
    for (std::sregex_iterator m(matchers.begin(), matchers.end(), matcher);
         m != end; ++m) {
      matched += static_cast<size_t>((*m).length());
      const auto label = metric->second.find((*m)[1]);
      if (label == metric->second.end()) {
        ADD_FAILURE() << name << " has no label " << (*m)[1];
      } else if ((*m)[2] == "=" || (*m)[2] == "!=") {
        EXPECT_EQ(1u, label->second.count((*m)[3])) << expression;
      }
    }
    // Nothing but matchers and the commas between them.
    EXPECT_EQ(matchers.size(),
              matched + static_cast<size_t>(
                            std::count(matchers.begin(), matchers.end(), ',')))
        << expression;
  }
  EXPECT_FALSE(names.empty()) << expression;
  const std::regex grouping("\\b(by|on) \\(([^)]*)\\)");
  const std::regex word("[a-z_]+");
  for (std::sregex_iterator at(expression.begin(), expression.end(), grouping),
       end;
       at != end; ++at) {
    const std::string group = (*at)[2];
    for (std::sregex_iterator w(group.begin(), group.end(), word); w != end;
         ++w) {
      EXPECT_EQ(1u, labels.count((*w).str())) << (*w).str() << expression;
    }
  }
  EXPECT_EQ(std::count(expression.begin(), expression.end(), '('),
            std::count(expression.begin(), expression.end(), ')'))
      << expression;
  return names;
}

}  // namespace

TEST(MonitoringTest, AlertRules) {
  const Metrics exported = Exported();
  std::istringstream lines(Contents("alerts.yml"));
  size_t alerts = 0;
  std::vector<std::string> expressions;
  bool in_expression = false;
  const std::regex key(" *(- )?([a-z]+):.*");
  for (std::string line; std::getline(lines, line);) {
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
    Check(expression, exported);
  }
}

TEST(MonitoringTest, Dashboard) {
  const Metrics exported = Exported();
  const auto dashboard =
      nlohmann::json::parse(Contents("dashboard.json"), nullptr, false);
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

// The check finds what it is for.
TEST(MonitoringTest, WrongExpressionsAreFound) {
  const Metrics exported = Exported();
  EXPECT_EQ(1u, exported.count("protean_build_info"));
  for (const char* wrong :
       {"protean_nothing", "protean_keys{seek=\"closed\"}",
        "protean_keys{level=\"wide\"}", "sum by (reason) (protean_keys)",
        "sum by (level) (protean_keys"}) {
    testing::TestPartResultArray found;
    {
      const testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::
              INTERCEPT_ONLY_CURRENT_THREAD,
          &found);
      Check(wrong, exported);
    }
    EXPECT_EQ(1, found.size()) << wrong;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
