// SPDX-License-Identifier: Apache-2.0

//  FilterStatistics as text, JSON, and in the text format of Prometheus.

#include <cinttypes>
#include <cstdio>
#include <functional>

#include "filter_policy/decimal.h"
#include "logging/event_logger.h"
#include "plugin/build_info.h"
#include "plugin/filter_statistics.h"
#include "plugin/utf8_text.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string LevelName(int level) {
  return level < 0 ? "unknown" : std::to_string(level);
}

// Enough digits for any rate.
std::string NumberToString(double number) { return DecimalText(number, 6); }

// ---- For people ----

std::string RateToString(double rate) {
  return rate < 0 ? "-" : NumberToString(rate);
}

std::string RowToString(const std::string& level, const FilterSums& sums) {
  char row[320];
  std::string text;
  const auto add = [&](const char* kind, const FilterSeeks& seeks) {
    snprintf(row, sizeof(row),
             "%-7s %6" PRIu64 " %8" PRIu64 " %8.2f %10s %-6s %12" PRIu64
             " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %10s\n",
             level.c_str(), sums.files, sums.used(), sums.bits_per_key(),
             RateToString(sums.predicted_fpr).c_str(), kind, seeks.negatives,
             seeks.passed, seeks.reached, seeks.true_positives,
             seeks.false_positives,
             RateToString(seeks.FalsePositiveRate()).c_str());
    text += row;
  };
  add("closed", sums.closed);
  add("open", sums.open);
  snprintf(row, sizeof(row),
           "%-7s %6s %8s %8s %10s %-6s %12" PRIu64 " %12s %12s %12" PRIu64
           " %12" PRIu64 " %10s\n",
           level.c_str(), "", "", "", "", "get", sums.gets.negatives, "-", "-",
           sums.gets.true_positives, sums.gets.false_positives,
           RateToString(sums.gets.FalsePositiveRate()).c_str());
  return text + row;
}

std::string RefreshToString(const RefreshStatistics& refresh) {
  char line[256];
  snprintf(line, sizeof(line),
           "Refreshes: %" PRIu64 ", %" PRIu64 " failed; %" PRIu64
           " files rewritten, %" PRIu64 " bytes; %" PRIu64 " bytes read\n",
           refresh.runs, refresh.failures, refresh.files_rewritten,
           refresh.bytes_rewritten, refresh.bytes_read);
  std::string text = line;
  if (!refresh.running) return text;
  snprintf(line, sizeof(line),
           "A refresh runs for %.0f s, %" PRIu64 " of %" PRIu64
           " bytes of files decided",
           refresh.running_seconds, refresh.bytes_decided, refresh.bytes);
  text += line;
  if (refresh.seconds_left >= 0) {
    snprintf(line, sizeof(line), ", about %.0f s left", refresh.seconds_left);
    text += line;
  }
  return text + "\n";
}

// ---- JSON ----

class StatisticsJson {
 public:
  std::string Of(const FilterStatistics& statistics) {
    Add("db", statistics.db);
    Add("column_family", statistics.column_family);
    Add("live_files", statistics.live_files);
    Open("total");
    Add(statistics.total);
    json_.EndObject();

    json_.AddKey("levels");
    json_.StartArray();
    for (const LevelFilterStatistics& level : statistics.levels) {
      json_.StartArrayedObject();
      Add("level", level.level);
      Add(level.sums);
      json_.EndArrayedObject();
    }
    json_.EndArray();

    json_.AddKey("files");
    json_.StartArray();
    for (const FileFilterStatistics& file : statistics.files) {
      json_.StartArrayedObject();
      Add(file);
      json_.EndArrayedObject();
    }
    json_.EndArray();

    Open("gets");
    AddWord("known", statistics.gets.known ? "true" : "false");
    Add("negatives", statistics.gets.negatives);
    Add("true_positives", statistics.gets.true_positives);
    Add("false_positives", statistics.gets.false_positives());
    json_.EndObject();

    const FilterBuilds& builds = statistics.builds;
    Open("builds");
    Add("filters", builds.filters);
    Add("keys", builds.keys);
    Add("bytes", builds.bytes);
    Add("model_seconds", builds.model_seconds);
    Add("build_seconds", builds.build_seconds);
    json_.EndObject();

    const SampleQueueStatistics& samples = statistics.samples;
    Open("samples");
    AddWord("exists", samples.exists ? "true" : "false");
    Add("held", samples.held);
    Add("capacity", samples.capacity);
    Add("sample_every", uint64_t{samples.sample_every});
    Add("recorded", samples.recorded);
    Add("sampled", samples.sampled);
    Add("dropped", samples.dropped);
    Add("age_seconds", samples.age_seconds);
    json_.EndObject();
    Add(statistics.refresh);

    json_.EndObject();
    return json_.Get();
  }

 private:
  void Open(const char* name) {
    json_.AddKey(name);
    json_.StartObject();
  }
  void Add(const char* name, const std::string& text) {
    json_ << name << JsonText(text);
  }
  // Adds a number or a literal, unquoted.
  void AddWord(const char* name, const std::string& word) {
    json_.AddKey(name);
    json_.AddValue<std::string>(word);
  }
  void Add(const char* name, uint64_t number) {
    AddWord(name, std::to_string(number));
  }
  void Add(const char* name, int number) {
    AddWord(name, std::to_string(number));
  }
  void Add(const char* name, double number) {
    AddWord(name, NumberToString(number));
  }
  void AddRate(const char* name, double rate) {
    if (rate >= 0) Add(name, rate);
  }

  void Add(const char* name, const FilterSeeks& seeks) {
    Open(name);
    Add("asked", seeks.asked());
    Add("negatives", seeks.negatives);
    Add("passed", seeks.passed);
    Add("true_positives", seeks.true_positives);
    Add("false_positives", seeks.false_positives);
    Add("reached", seeks.reached);
    AddRate("fpr", seeks.FalsePositiveRate());
    json_.EndObject();
  }
  void Add(const FilterSums& sums) {
    Add("open_files", sums.files);
    Add("entries", sums.entries);
    Add("used", sums.used());
    Open("unused");
    for (const auto& [reason, files] : sums.unused) Add(reason.c_str(), files);
    json_.EndObject();
    Add("keys", sums.keys);
    Add("filter_bytes", sums.filter_bytes);
    Add("bits_per_key", sums.bits_per_key());
    AddRate("predicted_fpr", sums.predicted_fpr);
    Open("files_by_basis");
    for (const auto& [basis, files] : sums.files_by_basis) {
      Add(basis.c_str(), files);
    }
    json_.EndObject();
    Add("model_seconds", sums.model_seconds);
    Add("blocks_spared", sums.blocks_spared());
    Add("filter_blocks_loaded", sums.filter_blocks_loaded);
    Add("filter_bytes_loaded", sums.filter_bytes_loaded);
    Add("closed", sums.closed);
    Add("open", sums.open);
    Open("gets");
    Add("unasked", sums.gets.unasked);
    Add("asked", sums.gets.asked());
    Add("negatives", sums.gets.negatives);
    Add("true_positives", sums.gets.true_positives);
    Add("false_positives", sums.gets.false_positives);
    AddRate("fpr", sums.gets.FalsePositiveRate());
    json_.EndObject();
  }
  void Add(const FileFilterStatistics& file) {
    Add("path", file.path);
    Add("level", file.level);
    Add("unused", file.unused);
    Add("entries", file.entries);
    Add("keys", file.keys);
    Add("filter_bytes", file.filter_bytes);
    Add("kind", file.filter.kind);
    Add("design", file.filter.design);
    Add("basis", file.filter.basis);
    Add("bits_per_key", file.filter.bits_per_key);
    AddRate("predicted_fpr", file.filter.predicted_fpr);
    Add("filter_blocks_loaded", file.filter_blocks_loaded);
    Add("filter_bytes_loaded", file.filter_bytes_loaded);
    Add("closed", file.closed);
    Add("open", file.open);
  }

  void Add(const RefreshStatistics& refresh) {
    Open("refresh");
    Add("runs", refresh.runs);
    Add("failures", refresh.failures);
    Add("last_end_seconds", refresh.last_end_seconds);
    Add("files_rewritten", refresh.files_rewritten);
    Add("bytes_read", refresh.bytes_read);
    Add("bytes_rewritten", refresh.bytes_rewritten);
    AddWord("running", refresh.running ? "true" : "false");
    if (refresh.running) {
      Add("bytes", refresh.bytes);
      Add("bytes_decided", refresh.bytes_decided);
      Add("running_seconds", refresh.running_seconds);
      AddRate("seconds_left", refresh.seconds_left);
    }
    json_.EndObject();
  }

  JSONWriter json_;
};

// ---- Prometheus ----

using Labels = std::vector<std::pair<const char*, std::string>>;

std::string LabelText(const std::string& text) {
  std::string escaped;
  for (const char c : Utf8Text(text)) {
    if (c == '"' || c == '\\') escaped.push_back('\\');
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

// Writes the samples of a metric, one after the other, as the format requires.
class Metric {
 public:
  Metric(std::string name, const char* type, const char* help,
         std::string* text)
      : name_(std::move(name)), type_(type), help_(help), text_(text) {}

  void Add(const Labels& labels, const std::string& value) {
    const std::string name = std::string("protean_") + name_;
    if (!begun_) {
      *text_ += "# HELP " + name + " " + help_ + "\n";
      *text_ += "# TYPE " + name + " " + type_ + "\n";
      begun_ = true;
    }
    *text_ += name + "{";
    const char* separator = "";
    for (const auto& [label, label_value] : labels) {
      *text_ += separator;
      *text_ += std::string(label) + "=\"" + LabelText(label_value) + "\"";
      separator = ",";
    }
    *text_ += "} " + value + "\n";
  }
  void Add(const Labels& labels, uint64_t value) {
    Add(labels, std::to_string(value));
  }

 private:
  const std::string name_;
  const char* const type_;
  const char* const help_;
  std::string* const text_;
  bool begun_ = false;
};

Labels Join(Labels labels, const Labels& more) {
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

Labels FamilyLabels(const FilterStatistics& statistics) {
  return {{"db", statistics.db}, {"column_family", statistics.column_family}};
}

class Exposition {
 public:
  explicit Exposition(const std::vector<FilterStatistics>& all) : all_(all) {}

  std::string ToText() {
    AddSeeks();
    AddFilters();
    AddGets();
    AddLookups();
    AddBuilds();
    AddSamples();
    AddRefreshes();
    if (!all_.empty()) AddBuildInfo();
    return std::move(text_);
  }

 private:
  using LevelVisitor = std::function<void(const Labels&, const FilterSums&)>;
  using SeeksVisitor = std::function<void(const Labels&, const FilterSeeks&)>;
  using FamilyVisitor =
      std::function<void(const Labels&, const FilterStatistics&)>;

  Metric Make(const char* name, const char* type, const char* help) {
    return Metric(std::string("filter_") + name, type, help, &text_);
  }
  void ForEachFamily(const FamilyVisitor& visit) const {
    for (const FilterStatistics& family : all_) {
      visit(FamilyLabels(family), family);
    }
  }
  void ForEachLevel(const LevelVisitor& visit) const {
    ForEachFamily([&](const Labels& labels, const FilterStatistics& family) {
      for (const LevelFilterStatistics& level : family.levels) {
        visit(Join(labels, {{"level", LevelName(level.level)}}), level.sums);
      }
    });
  }
  void ForEachKind(const SeeksVisitor& visit) const {
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      visit(Join(labels, {{"seek", "closed"}}), sums.closed);
      visit(Join(labels, {{"seek", "open"}}), sums.open);
    });
  }

  void AddSeeks() {
    Metric seeks = Make("seeks_total", "counter",
                        "Seeks of SST files that asked the file's filter, by "
                        "what became of them.");
    ForEachKind([&](const Labels& labels, const FilterSeeks& of) {
      seeks.Add(Join(labels, {{"outcome", "negative"}}), of.negatives);
      seeks.Add(Join(labels, {{"outcome", "passed"}}), of.passed);
      seeks.Add(Join(labels, {{"outcome", "true_positive"}}),
                of.true_positives);
      seeks.Add(Join(labels, {{"outcome", "false_positive"}}),
                of.false_positives);
    });
    Metric reached = Make("markers_reached_total", "counter",
                          "Positive seeks whose file had waited for the search "
                          "before it was read.");
    ForEachKind([&](const Labels& labels, const FilterSeeks& of) {
      reached.Add(labels, of.reached);
    });
    Metric spared = Make("blocks_spared_total", "counter",
                         "Data blocks that seeks did not read thanks to the "
                         "filters, at least.");
    ForEachKind([&](const Labels& labels, const FilterSeeks& of) {
      spared.Add(labels, of.spared());
    });
  }

  void AddFilters() {
    Metric live =
        Make("live_files", "gauge", "SST files in the tree, open or not.");
    ForEachFamily([&](const Labels& labels, const FilterStatistics& family) {
      live.Add(labels, family.live_files);
    });
    Metric used =
        Make("files", "gauge", "Open SST files whose filters are used.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      used.Add(labels, sums.used());
    });
    Metric unused = Make("unused_files", "gauge",
                         "Open SST files whose filters are not used.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      for (const auto& [reason, files] : sums.unused) {
        unused.Add(Join(labels, {{"reason", reason}}), files);
      }
    });
    Metric keys = Make("keys", "gauge", "Keys that the filters in use know.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      keys.Add(labels, sums.keys);
    });
    Metric bytes = Make("bytes", "gauge", "Size of the filters in use.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      bytes.Add(labels, sums.filter_bytes);
    });
    Metric blocks_loaded =
        Make("blocks_loaded_total", "counter",
             "Filter blocks read, whole filters or parts of them.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      blocks_loaded.Add(labels, sums.filter_blocks_loaded);
    });
    Metric bytes_loaded = Make("bytes_loaded_total", "counter",
                               "Bytes of the filter blocks read.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      bytes_loaded.Add(labels, sums.filter_bytes_loaded);
    });
    Metric bases = Make("files_by_basis", "gauge",
                        "Open SST files whose filters are used, by what the "
                        "filter's design rests on.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      for (const auto& [basis, files] : sums.files_by_basis) {
        bases.Add(Join(labels, {{"basis", basis}}), files);
      }
    });
    Metric model = Make("model_seconds", "gauge",
                        "Time that it took to design the filters in use.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      model.Add(labels, NumberToString(sums.model_seconds));
    });
    Metric predicted = Make("predicted_fpr", "gauge",
                            "False positive rate that the filters were "
                            "designed for, mean over keys.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      if (sums.predicted_fpr >= 0) {
        predicted.Add(labels, NumberToString(sums.predicted_fpr));
      }
    });
  }

  // A DB has these counts once, for all column families together.
  void AddGets() {
    Metric gets = Make("gets_total", "counter",
                       "Answers of filters to Get and MultiGet, of all column "
                       "families and of all kinds of filters.");
    std::map<std::string, FilterGets> by_db;
    for (const FilterStatistics& family : all_) {
      if (family.gets.known) by_db[family.db] = family.gets;
    }
    for (const auto& [db, of] : by_db) {
      gets.Add({{"db", db}, {"outcome", "negative"}}, of.negatives);
      gets.Add({{"db", db}, {"outcome", "true_positive"}}, of.true_positives);
      gets.Add({{"db", db}, {"outcome", "false_positive"}},
               of.false_positives());
    }
  }

  void AddLookups() {
    Metric gets = Make("level_gets_total", "counter",
                       "Reads of SST files by Get and MultiGet, by what the "
                       "file's filter answered.");
    ForEachLevel([&](const Labels& labels, const FilterSums& sums) {
      const FilterLookups& of = sums.gets;
      gets.Add(Join(labels, {{"outcome", "unasked"}}), of.unasked);
      gets.Add(Join(labels, {{"outcome", "negative"}}), of.negatives);
      gets.Add(Join(labels, {{"outcome", "true_positive"}}), of.true_positives);
      gets.Add(Join(labels, {{"outcome", "false_positive"}}),
               of.false_positives);
    });
  }

  void AddBuilds() {
    const auto add = [this](const char* name, const char* help, auto value) {
      Metric metric = Make(name, "counter", help);
      ForEachFamily([&](const Labels& labels, const FilterStatistics& family) {
        metric.Add(labels, value(family.builds));
      });
    };
    using Builds = FilterBuilds;
    add("builds_total", "Filters built for new SST files.",
        [](const Builds& builds) { return builds.filters; });
    add("build_keys_total", "Keys of the filters built for new SST files.",
        [](const Builds& builds) { return builds.keys; });
    add("build_bytes_total", "Size of the filters built for new SST files.",
        [](const Builds& builds) { return builds.bytes; });
    Metric seconds = Make("build_seconds_total", "counter",
                          "Time to choose designs of filters, and to build the "
                          "filters, once their keys were known.");
    ForEachFamily([&](const Labels& labels, const FilterStatistics& family) {
      seconds.Add(Join(labels, {{"stage", "model"}}),
                  NumberToString(family.builds.model_seconds));
      seconds.Add(Join(labels, {{"stage", "build"}}),
                  NumberToString(family.builds.build_seconds));
    });
  }

  void AddSamples() {
    const auto add = [this](const char* name, const char* type,
                            const char* help, auto value) {
      Metric metric = Make(name, type, help);
      ForEachFamily([&](const Labels& labels, const FilterStatistics& family) {
        if (family.samples.exists) metric.Add(labels, value(family.samples));
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
    add("samples_sampled_total", "counter",
        "Sample queries taken from queries.",
        [](const Queue& queue) { return queue.sampled; });
    add("samples_dropped_total", "counter",
        "Sample queries lost to other threads, or too long.",
        [](const Queue& queue) { return queue.dropped; });
    add("samples_age_seconds", "gauge", "Time since the samples were begun.",
        [](const Queue& queue) { return NumberToString(queue.age_seconds); });
  }

  void AddRefreshes() {
    const auto add = [this](const char* name, const char* type,
                            const char* help, auto value) {
      Metric metric = Make(name, type, help);
      ForEachFamily([&](const Labels& labels, const FilterStatistics& family) {
        metric.Add(labels, value(family.refresh));
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
          return NumberToString(refresh.running_seconds);
        });
    Metric left = Make("refresh_seconds_left", "gauge",
                       "Time until the running refresh ends, at its pace.");
    ForEachFamily([&](const Labels& labels, const FilterStatistics& family) {
      if (family.refresh.seconds_left < 0) return;
      left.Add(labels, NumberToString(family.refresh.seconds_left));
    });
  }

  void AddBuildInfo() {
    const BuildInfo& build = GetBuildInfo();
    Metric("build_info", "gauge", "The version of Protean.", &text_)
        .Add({{"version", build.version},
              {"rocksdb_version", build.rocksdb_version}},
             uint64_t{1});
  }

  const std::vector<FilterStatistics>& all_;
  std::string text_;
};

}  // namespace

std::string FilterStatistics::ToString() const {
  char line[256];
  std::string text =
      "Filters of column family " + column_family + " of " + db + "\n";
  snprintf(line, sizeof(line),
           "%-7s %6s %8s %8s %10s %-6s %12s %12s %12s %12s %12s %10s\n",
           "level", "files", "filtered", "bits/key", "predicted", "reads",
           "negative", "passed", "reached", "true pos.", "false pos.", "fpr");
  text += line;
  for (const LevelFilterStatistics& level : levels) {
    text += RowToString(LevelName(level.level), level.sums);
  }
  text += RowToString("all", total);
  snprintf(line, sizeof(line),
           "%" PRIu64 " of %" PRIu64 " files open, %" PRIu64
           " bytes of filters for %" PRIu64 " keys, %" PRIu64
           " blocks spared at least\n",
           total.files, live_files, total.filter_bytes, total.keys,
           total.blocks_spared());
  text += line;
  snprintf(line, sizeof(line),
           "Filters read: %" PRIu64 " blocks, %" PRIu64 " bytes\n",
           total.filter_blocks_loaded, total.filter_bytes_loaded);
  text += line;
  if (total.gets.unasked > 0) {
    snprintf(line, sizeof(line),
             "Gets that no filter answered: %" PRIu64 " reads of files\n",
             total.gets.unasked);
    text += line;
  }
  if (builds.filters > 0) {
    snprintf(line, sizeof(line),
             "Filters built: %" PRIu64 ", of %" PRIu64 " keys, %" PRIu64
             " bytes; %.3f s to choose designs, %.3f s to build them\n",
             builds.filters, builds.keys, builds.bytes, builds.model_seconds,
             builds.build_seconds);
    text += line;
  }
  for (const auto& [reason, unused_files] : total.unused) {
    text += "Not used: " + std::to_string(unused_files) + " (" + reason + ")\n";
  }
  if (!total.files_by_basis.empty()) {
    text += "Designs rest on: ";
    const char* separator = "";
    for (const auto& [basis, designed] : total.files_by_basis) {
      text += separator + basis + " (" + std::to_string(designed) + " files)";
      separator = ", ";
    }
    text += "\n";
  }
  if (gets.known) {
    snprintf(line, sizeof(line),
             "Gets in the whole DB: %" PRIu64 " negatives, %" PRIu64
             " true positives, %" PRIu64 " false positives\n",
             gets.negatives, gets.true_positives, gets.false_positives());
    text += line;
  } else {
    text += "Gets: not known without Options::statistics\n";
  }
  if (samples.exists) {
    snprintf(
        line, sizeof(line),
        "Sample queries: %" PRIu64 " of %" PRIu64 ", every %u., %" PRIu64
        " recorded, %" PRIu64 " sampled, %" PRIu64 " dropped, for %.0f s\n",
        samples.held, samples.capacity, samples.sample_every, samples.recorded,
        samples.sampled, samples.dropped, samples.age_seconds);
    text += line;
  } else {
    text += "Sample queries: the filter policy needs none\n";
  }
  return text + RefreshToString(refresh);
}

std::string FilterStatistics::ToJson() const {
  return StatisticsJson().Of(*this);
}

std::string ToPrometheus(const std::vector<FilterStatistics>& statistics) {
  return Exposition(statistics).ToText();
}

}  // namespace ROCKSDB_NAMESPACE::protean
