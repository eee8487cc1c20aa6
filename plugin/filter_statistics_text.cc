// SPDX-License-Identifier: Apache-2.0

//  FilterStatistics for people.

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "plugin/filter_statistics.h"
#include "plugin/filter_statistics_numbers.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Formats a line as printf does.
std::string TextLine(const char* format, ...)
    __attribute__((format(printf, 1, 2)));
std::string TextLine(const char* format, ...) {
  char line[320];
  va_list values;
  va_start(values, format);
  vsnprintf(line, sizeof(line), format, values);
  va_end(values);
  return line;
}

std::string RateText(double rate) {
  return rate < 0 ? "-" : StatisticsDecimalText(rate);
}

std::string SeeksRow(const std::string& level, const FilterSums& sums,
                     const char* kind, const FilterSeeks& seeks) {
  return TextLine(
      "%-7s %6" PRIu64 " %8" PRIu64 " %8.2f %10s %-6s %12" PRIu64 " %12" PRIu64
      " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %10s\n",
      level.c_str(), sums.files, sums.used(), sums.bits_per_key(),
      RateText(sums.predicted_fpr).c_str(), kind, seeks.negatives, seeks.passed,
      seeks.reached, seeks.true_positives, seeks.false_positives,
      RateText(seeks.FalsePositiveRate()).c_str());
}

std::string GetsRow(const std::string& level, const FilterLookups& gets) {
  return TextLine("%-7s %6s %8s %8s %10s %-6s %12" PRIu64
                  " %12s %12s %12" PRIu64 " %12" PRIu64 " %10s\n",
                  level.c_str(), "", "", "", "", "get", gets.negatives, "-",
                  "-", gets.true_positives, gets.false_positives,
                  RateText(gets.FalsePositiveRate()).c_str());
}

std::string SumsRows(const std::string& level, const FilterSums& sums) {
  return SeeksRow(level, sums, "closed", sums.closed) +
         SeeksRow(level, sums, "open", sums.open) + GetsRow(level, sums.gets);
}

std::string LevelsTable(const FilterStatistics& statistics) {
  std::string text = TextLine(
      "%-7s %6s %8s %8s %10s %-6s %12s %12s %12s %12s %12s %10s\n", "level",
      "files", "filtered", "bits/key", "predicted", "reads", "negative",
      "passed", "reached", "true pos.", "false pos.", "fpr");
  for (const LevelFilterStatistics& level : statistics.levels) {
    text += SumsRows(StatisticsLevelText(level.level), level.sums);
  }
  return text + SumsRows("all", statistics.total);
}

std::string FilesText(const FilterSums& total, uint64_t live_files) {
  std::string text = TextLine("%" PRIu64 " of %" PRIu64 " files open, %" PRIu64
                              " bytes of filters for %" PRIu64 " keys, %" PRIu64
                              " blocks spared at least\n",
                              total.files, live_files, total.filter_bytes,
                              total.keys, total.blocks_spared());
  text += TextLine("Filters read: %" PRIu64 " blocks, %" PRIu64 " bytes\n",
                   total.filter_blocks_loaded, total.filter_bytes_loaded);
  if (total.filter_loads_failed > 0) {
    text += TextLine("Filters that could not be read, or are damaged: %" PRIu64
                     " blocks\n",
                     total.filter_loads_failed);
  }
  if (total.gets.unasked == 0) return text;
  return text + TextLine("Gets that no filter answered: %" PRIu64
                         " reads of files\n",
                         total.gets.unasked);
}

std::string BuildsText(const FilterBuilds& builds) {
  if (builds.filters == 0) return "";
  return TextLine("Filters built: %" PRIu64 ", of %" PRIu64 " keys, %" PRIu64
                  " bytes; %.3f s to choose designs, %.3f s to build them\n",
                  builds.filters, builds.keys, builds.bytes,
                  builds.model_seconds, builds.build_seconds);
}

// Why filters are not used, and what the designs of the others rest on.
std::string DesignsText(const FilterSums& total) {
  std::string text;
  for (const auto& [reason, files] : total.unused) {
    text += "Not used: " + std::to_string(files) + " (" + reason + ")\n";
  }
  if (total.files_by_basis.empty()) return text;
  const char* separator = "Designs rest on: ";
  for (const auto& [basis, files] : total.files_by_basis) {
    text += separator + basis + " (" + std::to_string(files) + " files)";
    separator = ", ";
  }
  return text + "\n";
}

std::string GetsText(const FilterGets& gets) {
  if (!gets.known) return "Gets: not known without Options::statistics\n";
  return TextLine("Gets in the whole DB: %" PRIu64 " negatives, %" PRIu64
                  " true positives, %" PRIu64 " false positives\n",
                  gets.negatives, gets.true_positives, gets.false_positives());
}

std::string SamplesText(const SampleQueueStatistics& samples) {
  if (!samples.exists) return "Sample queries: the filter policy needs none\n";
  return TextLine(
      "Sample queries: %" PRIu64 " of %" PRIu64 ", every %u., %" PRIu64
      " recorded, %" PRIu64 " sampled, %" PRIu64 " dropped, for %.0f s\n",
      samples.held, samples.capacity, samples.sample_every, samples.recorded,
      samples.sampled, samples.dropped, samples.age_seconds);
}

std::string RefreshText(const RefreshStatistics& refresh) {
  std::string text =
      TextLine("Refreshes: %" PRIu64 ", %" PRIu64 " failed; %" PRIu64
               " files rewritten, %" PRIu64 " bytes; %" PRIu64 " bytes read\n",
               refresh.runs, refresh.failures, refresh.files_rewritten,
               refresh.bytes_rewritten, refresh.bytes_read);
  if (!refresh.running) return text;
  text +=
      TextLine("A refresh runs for %.0f s, %" PRIu64 " of %" PRIu64
               " bytes of files decided",
               refresh.running_seconds, refresh.bytes_decided, refresh.bytes);
  if (refresh.seconds_left >= 0) {
    text += TextLine(", about %.0f s left", refresh.seconds_left);
  }
  return text + "\n";
}

}  // namespace

std::string FilterStatistics::ToString() const {
  return "Filters of column family " + column_family + " of " + db + "\n" +
         LevelsTable(*this) + FilesText(total, live_files) +
         BuildsText(builds) + DesignsText(total) + GetsText(gets) +
         SamplesText(samples) + RefreshText(refresh);
}

}  // namespace ROCKSDB_NAMESPACE::protean
