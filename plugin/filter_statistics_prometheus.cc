// SPDX-License-Identifier: Apache-2.0

//  FilterStatistics in the text format of Prometheus.

#include <map>
#include <string>
#include <vector>

#include "plugin/build_info.h"
#include "plugin/family_metrics.h"
#include "plugin/filter_statistics.h"
#include "plugin/filter_statistics_numbers.h"
#include "plugin/prometheus_text.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Labels = PrometheusLabels;

void AddSeeks(FamilyMetrics* metrics) {
  PrometheusMetric seeks =
      metrics->Begin("seeks_total", "counter",
                     "Seeks of SST files that asked the file's filter, by "
                     "what became of them.");
  metrics->ForEachKindOfSeeks([&](const Labels& labels, const FilterSeeks& of) {
    const auto add = [&](const char* outcome, uint64_t count) {
      seeks.Add(JoinLabels(labels, {{"outcome", outcome}}), count);
    };
    add("negative", of.negatives);
    add("passed", of.passed);
    add("true_positive", of.true_positives);
    add("false_positive", of.false_positives);
  });
  PrometheusMetric reached =
      metrics->Begin("markers_reached_total", "counter",
                     "Positive seeks whose file had waited for the search "
                     "before it was read.");
  metrics->ForEachKindOfSeeks([&](const Labels& labels, const FilterSeeks& of) {
    reached.Add(labels, of.reached);
  });
  PrometheusMetric spared =
      metrics->Begin("blocks_spared_total", "counter",
                     "Data blocks that seeks did not read thanks to the "
                     "filters, at least.");
  metrics->ForEachKindOfSeeks([&](const Labels& labels, const FilterSeeks& of) {
    spared.Add(labels, of.spared());
  });
}

void AddFiles(FamilyMetrics* metrics) {
  metrics->AddOfFamilies(
      "live_files", "gauge", "SST files in the tree, open or not.",
      [](const FilterStatistics& family) { return family.live_files; });
  metrics->AddOfLevels("files", "gauge",
                       "Open SST files whose filters are used.",
                       [](const FilterSums& sums) { return sums.used(); });
  PrometheusMetric unused = metrics->Begin(
      "unused_files", "gauge", "Open SST files whose filters are not used.");
  metrics->ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
    for (const auto& [reason, files] : sums.unused) {
      unused.Add(JoinLabels(labels, {{"reason", reason}}), files);
    }
  });
}

void AddFilters(FamilyMetrics* metrics) {
  metrics->AddOfLevels("keys", "gauge", "Keys that the filters in use know.",
                       [](const FilterSums& sums) { return sums.keys; });
  metrics->AddOfLevels(
      "bytes", "gauge", "Size of the filters in use.",
      [](const FilterSums& sums) { return sums.filter_bytes; });
  metrics->AddOfLevels(
      "blocks_loaded_total", "counter",
      "Filter blocks read, whole filters or parts of them.",
      [](const FilterSums& sums) { return sums.filter_blocks_loaded; });
  metrics->AddOfLevels(
      "bytes_loaded_total", "counter", "Bytes of the filter blocks read.",
      [](const FilterSums& sums) { return sums.filter_bytes_loaded; });
  metrics->AddOfLevels(
      "loads_failed_total", "counter",
      "Filter blocks that could not be read, or were found to be damaged.",
      [](const FilterSums& sums) { return sums.filter_loads_failed; });
}

void AddDesigns(FamilyMetrics* metrics) {
  PrometheusMetric bases =
      metrics->Begin("files_by_basis", "gauge",
                     "Open SST files whose filters are used, by what the "
                     "filter's design rests on.");
  metrics->ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
    for (const auto& [basis, files] : sums.files_by_basis) {
      bases.Add(JoinLabels(labels, {{"basis", basis}}), files);
    }
  });
  metrics->AddOfLevels("model_seconds", "gauge",
                       "Time that it took to design the filters in use.",
                       [](const FilterSums& sums) {
                         return StatisticsDecimalText(sums.model_seconds);
                       });
  PrometheusMetric predicted =
      metrics->Begin("predicted_fpr", "gauge",
                     "False positive rate that the filters were "
                     "designed for, mean over keys.");
  metrics->ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
    if (sums.predicted_fpr < 0) return;
    predicted.Add(labels, StatisticsDecimalText(sums.predicted_fpr));
  });
}

// A DB has these counts once, for all column families together.
void AddGets(FamilyMetrics* metrics) {
  PrometheusMetric gets =
      metrics->Begin("gets_total", "counter",
                     "Answers of filters to Get and MultiGet, of all column "
                     "families and of all kinds of filters.");
  std::map<std::string, FilterGets> by_db;
  for (const FilterStatistics& family : metrics->families()) {
    if (family.gets.known) by_db[family.db] = family.gets;
  }
  for (const auto& [db, of] : by_db) {
    gets.Add({{"db", db}, {"outcome", "negative"}}, of.negatives);
    gets.Add({{"db", db}, {"outcome", "true_positive"}}, of.true_positives);
    gets.Add({{"db", db}, {"outcome", "false_positive"}}, of.false_positives());
  }
}

void AddLookups(FamilyMetrics* metrics) {
  PrometheusMetric gets =
      metrics->Begin("level_gets_total", "counter",
                     "Reads of SST files by Get and MultiGet, by what the "
                     "file's filter answered.");
  metrics->ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
    const auto add = [&](const char* outcome, uint64_t count) {
      gets.Add(JoinLabels(labels, {{"outcome", outcome}}), count);
    };
    add("unasked", sums.gets.unasked);
    add("negative", sums.gets.negatives);
    add("true_positive", sums.gets.true_positives);
    add("false_positive", sums.gets.false_positives);
  });
}

void AddBuilds(FamilyMetrics* metrics) {
  using Family = FilterStatistics;
  metrics->AddOfFamilies(
      "builds_total", "counter", "Filters built for new SST files.",
      [](const Family& family) { return family.builds.filters; });
  metrics->AddOfFamilies(
      "build_keys_total", "counter",
      "Keys of the filters built for new SST files.",
      [](const Family& family) { return family.builds.keys; });
  metrics->AddOfFamilies(
      "build_bytes_total", "counter",
      "Size of the filters built for new SST files.",
      [](const Family& family) { return family.builds.bytes; });
  PrometheusMetric seconds = metrics->Begin(
      "build_seconds_total", "counter",
      "Time to choose designs of filters, and to build the filters, once "
      "their keys were known.");
  metrics->ForEachFamily([&](const Labels& labels, const Family& family) {
    seconds.Add(JoinLabels(labels, {{"stage", "model"}}),
                StatisticsDecimalText(family.builds.model_seconds));
    seconds.Add(JoinLabels(labels, {{"stage", "build"}}),
                StatisticsDecimalText(family.builds.build_seconds));
  });
}

void AddSamples(FamilyMetrics* metrics) {
  const auto add = [metrics](const char* name, const char* type,
                             const char* help, auto value) {
    PrometheusMetric metric = metrics->Begin(name, type, help);
    metrics->ForEachFamily(
        [&](const Labels& labels, const FilterStatistics& family) {
          if (!family.samples.exists) return;
          metric.Add(labels, value(family.samples));
        });
  };
  using Queue = SampleQueueStatistics;
  add("samples", "gauge", "Sample queries held.",
      [](const Queue& queue) { return queue.held; });
  add("samples_capacity", "gauge", "Sample queries that can be held.",
      [](const Queue& queue) { return queue.capacity; });
  add("sample_every", "gauge", "Empty queries for each that is sampled.",
      [](const Queue& queue) { return uint64_t{queue.sample_every}; });
  add("samples_recorded_total", "counter",
      "Sample queries ever held, those seeded or restored included.",
      [](const Queue& queue) { return queue.recorded; });
  add("samples_sampled_total", "counter", "Sample queries taken from queries.",
      [](const Queue& queue) { return queue.sampled; });
  add("samples_dropped_total", "counter",
      "Sample queries lost to other threads, or too long.",
      [](const Queue& queue) { return queue.dropped; });
  add("samples_age_seconds", "gauge", "Time since the samples were begun.",
      [](const Queue& queue) {
        return StatisticsDecimalText(queue.age_seconds);
      });
}

void AddRefreshes(FamilyMetrics* metrics) {
  const auto add = [metrics](const char* name, const char* type,
                             const char* help, auto value) {
    metrics->AddOfFamilies(name, type, help,
                           [&value](const FilterStatistics& family) {
                             return value(family.refresh);
                           });
  };
  using Refresh = RefreshStatistics;
  add("refresh_runs_total", "counter", "Refreshes of filters that ended.",
      [](const Refresh& refresh) { return refresh.runs; });
  add("refresh_failures_total", "counter",
      "Refreshes of filters that ended with an error.",
      [](const Refresh& refresh) { return refresh.failures; });
  add("refresh_files_rewritten_total", "counter",
      "SST files rewritten for new filters.",
      [](const Refresh& refresh) { return refresh.files_rewritten; });
  add("refresh_bytes_read_total", "counter",
      "Bytes of SST files read to learn their keys.",
      [](const Refresh& refresh) { return refresh.bytes_read; });
  add("refresh_bytes_rewritten_total", "counter",
      "Bytes of SST files rewritten for new filters.",
      [](const Refresh& refresh) { return refresh.bytes_rewritten; });
  add("refresh_last_end_timestamp_seconds", "gauge",
      "When the last refresh of filters ended; 0 before that.",
      [](const Refresh& refresh) { return refresh.last_end_seconds; });
  add("refresh_running", "gauge", "1 while filters are refreshed, else 0.",
      [](const Refresh& refresh) { return uint64_t{refresh.running}; });
  add("refresh_running_seconds", "gauge",
      "Time since the running refresh began.", [](const Refresh& refresh) {
        return StatisticsDecimalText(refresh.running_seconds);
      });
  PrometheusMetric left =
      metrics->Begin("refresh_seconds_left", "gauge",
                     "Time until the running refresh ends, at its pace.");
  metrics->ForEachFamily(
      [&](const Labels& labels, const FilterStatistics& family) {
        if (family.refresh.seconds_left < 0) return;
        left.Add(labels, StatisticsDecimalText(family.refresh.seconds_left));
      });
}

std::string BuildInfoText() {
  std::string text;
  const BuildInfo& build = GetBuildInfo();
  PrometheusMetric("build_info", "gauge", "The version of Protean.", &text)
      .Add({{"version", build.version},
            {"rocksdb_version", build.rocksdb_version}},
           uint64_t{1});
  return text;
}

}  // namespace

std::string ToPrometheus(const std::vector<FilterStatistics>& statistics) {
  if (statistics.empty()) return "";
  FamilyMetrics metrics(statistics);
  AddSeeks(&metrics);
  AddFiles(&metrics);
  AddFilters(&metrics);
  AddDesigns(&metrics);
  AddGets(&metrics);
  AddLookups(&metrics);
  AddBuilds(&metrics);
  AddSamples(&metrics);
  AddRefreshes(&metrics);
  return metrics.Finish() + BuildInfoText();
}

}  // namespace ROCKSDB_NAMESPACE::protean
