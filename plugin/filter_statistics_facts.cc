// SPDX-License-Identifier: Apache-2.0

//  The numbers of FilterStatistics, declared once, and all formats that are
//  made of them: JSON, the text format of Prometheus, and text for people.

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "filter_policy/open_db/level_sums.h"
#include "plugin/build_info.h"
#include "plugin/facts.h"
#include "plugin/filter_statistics.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Values of StatisticsFact::is_counter.
constexpr bool kCounter = true;
constexpr bool kGauge = false;

// ---- The facts ----

// Adds the facts about an object to a record, and to the list of all facts, if
// it is given one.
class FactAdder {
 public:
  explicit FactAdder(Record* record,
                     std::vector<StatisticsFact>* list = nullptr)
      : record_(record), list_(list) {}

  // Adds the facts of a member behind its name, as unknown unless `is_known`.
  FactAdder In(const std::string& name, bool is_known = true) const {
    FactAdder inner = *this;
    inner.prefix_ += name + ".";
    inner.is_known_ = is_known_ && is_known;
    return inner;
  }

  // `help` is a sentence for people.
  template <typename T>
  void operator()(const std::string& name, bool is_counter,
                  const std::string& help, T value) const {
    record_->Add(prefix_ + name, is_known_ ? ValueOf(value) : FactValue());
    if (list_ == nullptr) return;
    list_->push_back({prefix_ + name, help, is_counter, /*scope=*/""});
  }

 private:
  Record* record_;
  std::vector<StatisticsFact>* list_;
  std::string prefix_;
  bool is_known_ = true;
};

void AddSeeks(const FilterSeeks& of, const FactAdder& add) {
  add("asked", kCounter, "Seeks of SST files that asked the file's filter.",
      of.asked());
  add("negatives", kCounter,
      "Seeks whose file was not read, since the filter knew of no key.",
      of.negatives);
  add("passed", kCounter,
      "Seeks whose file was not read, since the search ended before its "
      "marker.",
      of.passed);
  add("reached", kCounter,
      "Positive seeks whose file had waited for the search before it was "
      "read.",
      of.reached);
  add("true_positives", kCounter, "Seeks whose file was read rightly.",
      of.true_positives);
  add("false_positives", kCounter, "Seeks whose file was read in vain.",
      of.false_positives);
  add("deletion_skips", kCounter,
      "Stretches of deletions that a seek or scan went past in one step.",
      of.deletion_skips);
  add("fpr", kGauge,
      "False positives among the seeks for which the file had nothing.",
      of.fpr());
}

void AddLookups(const FilterLookups& of, const FactAdder& add) {
  add("unasked", kCounter,
      "Reads of SST files by Get and MultiGet that no filter answered.",
      of.unasked);
  add("asked", kCounter,
      "Reads of SST files by Get and MultiGet that asked the file's filter.",
      of.asked());
  add("negatives", kCounter, "Gets whose file was not read.", of.negatives);
  add("true_positives", kCounter, "Gets whose file was read rightly.",
      of.true_positives);
  add("false_positives", kCounter, "Gets whose file was read in vain.",
      of.false_positives);
  add("fpr", kGauge,
      "False positives among the Gets for which the file had nothing.",
      of.fpr());
}

// The number of files by a reason or a basis, one fact for each.
void AddFileCounts(const std::map<std::string, uint64_t>& counts,
                   const char* const* begin, const char* const* end,
                   const std::string& help, const FactAdder& add) {
  for (; begin < end; begin++) {
    const std::string reason = *begin;
    const auto found = counts.find(reason);
    add(reason, kGauge, help + ": " + reason + ".",
        found == counts.end() ? uint64_t{0} : found->second);
  }
}

void AddSums(const FilterSums& of, const FactAdder& add) {
  add("open_files", kGauge, "Open SST files.", of.open_files);
  add("used_files", kGauge, "Open SST files whose filters are used.",
      of.used_files());
  // The first use is that of a filter that is used.
  AddFileCounts(of.unused_files, std::begin(kFilterUseNames) + 1,
                std::end(kFilterUseNames),
                "Open SST files whose filters are not used",
                add.In("unused_files"));
  AddFileCounts(
      of.files_by_basis, std::begin(kDesignBases), std::end(kDesignBases),
      "Open SST files whose filters are used, by what the design is based on",
      add.In("files_by_basis"));
  add("entries", kGauge, "Entries of open SST files, deletions included.",
      of.entries);
  add("keys", kGauge, "Keys that the filters in use know.", of.keys);
  add("filter_bytes", kGauge, "Size of the filters in use.", of.filter_bytes);
  add("bits_per_key", kGauge, "Size of the filters in use, by key.",
      of.bits_per_key());
  add("predicted_fpr", kGauge,
      "False positive rate that the filters were designed for, mean over "
      "keys.",
      of.predicted_fpr);
  add("model_micros", kGauge, "Time that it took to design the filters in use.",
      of.model_micros);
  add("blocks_avoided", kCounter,
      "Data blocks that seeks did not read thanks to the filters, at least.",
      of.blocks_avoided());
  add("reads_from_cache", kCounter,
      "Reads of SST files that filters let through, with all blocks in the "
      "block cache.",
      of.reads_from_cache);
  add("reads_from_storage", kCounter,
      "Reads of SST files that filters let through, and that went to storage.",
      of.reads_from_storage);
  add("requests_saved", kGauge,
      "Requests to storage that filters have spared, about.",
      of.requests_saved);
  add("filter_blocks_loaded", kCounter,
      "Filter blocks read, whole filters or parts of them.",
      of.filter_blocks_loaded);
  add("filter_bytes_loaded", kCounter, "Bytes of the filter blocks read.",
      of.filter_bytes_loaded);
  add("filter_loads_failed", kCounter,
      "Filter blocks that could not be read, or were found to be damaged.",
      of.filter_loads_failed);
  AddSeeks(of.bounded_seeks, add.In("bounded_seeks"));
  AddSeeks(of.unbounded_seeks, add.In("unbounded_seeks"));
  AddLookups(of.gets, add.In("gets"));
}

void AddTickers(const TickerGets& of, const FactAdder& add) {
  add("negatives", kCounter,
      "Keys that filters denied to Get and MultiGet, of all column families "
      "and kinds of filters.",
      of.negatives);
  add("true_positives", kCounter,
      "Keys that filters let through to Get and MultiGet, and that were "
      "there.",
      of.true_positives);
  add("false_positives", kCounter,
      "Keys that filters let through to Get and MultiGet, and that were not "
      "there.",
      of.false_positives);
}

void AddBuilds(const FilterBuilds& of, const FactAdder& add) {
  add("filters", kCounter, "Filters built for new SST files.", of.filters);
  add("keys", kCounter, "Keys of the filters built for new SST files.",
      of.keys);
  add("filter_bytes", kCounter, "Size of the filters built for new SST files.",
      of.filter_bytes);
  add("model_micros", kCounter, "Time to choose designs of filters.",
      of.model_micros);
  add("build_micros", kCounter,
      "Time to build filters, once their keys and designs were known.",
      of.build_micros);
}

void AddMissCache(const MissCacheStatistics& of, const FactAdder& add) {
  add("bytes", kGauge, "Size of the DB's cache of reads in vain.", of.bytes);
  add("stored", kCounter, "Reads in vain that the cache was told of.",
      of.stored);
  add("hits", kCounter, "Reads of files that the cache has spared.", of.hits);
}

void AddKeptMemory(const KeptMemoryStatistics& of, const FactAdder& add) {
  add("bytes", kGauge,
      "Memory kept beside filters by all DBs that share its limit.", of.bytes);
  add("max_bytes", kGauge, "Memory that may be kept beside filters.",
      of.max_bytes);
}

void AddSamples(const SampleQueueStatistics& of, const FactAdder& add) {
  add("held", kGauge, "Sample queries held.", of.held);
  add("capacity", kGauge, "Sample queries that can be held.", of.capacity);
  add("sample_every", kGauge, "Empty queries for each that is sampled.",
      of.sample_every);
  add("recorded", kCounter,
      "Sample queries ever held, those seeded or restored included.",
      of.recorded);
  add("sampled", kCounter, "Sample queries taken from queries.", of.sampled);
  add("dropped", kCounter, "Sample queries lost to other threads, or too long.",
      of.dropped);
  add("age_seconds", kGauge, "Time since the samples were begun.",
      of.age_seconds);
}

void AddRefreshes(const RefreshStatistics& of, const FactAdder& add) {
  add("runs", kCounter, "Refreshes of filters that ended.", of.runs);
  add("failures", kCounter, "Refreshes of filters that ended with an error.",
      of.failures);
  add("last_end_unix_time", kGauge,
      "When the last refresh of filters ended; 0 before that.",
      of.last_end_unix_time);
  add("files_rewritten", kCounter, "SST files rewritten for new filters.",
      of.files_rewritten);
  add("bytes_read", kCounter, "Bytes of SST files read to learn their keys.",
      of.bytes_read);
  add("bytes_rewritten", kCounter,
      "Bytes of SST files rewritten for new filters.", of.bytes_rewritten);
  add("running", kGauge, "1 while filters are refreshed, else 0.", of.running);
  add("bytes", kGauge, "Bytes of all SST files when the refresh began.",
      of.bytes);
  add("bytes_decided", kGauge,
      "Bytes of the SST files whose outcome the running refresh knows.",
      of.bytes_decided);
  add("running_seconds", kGauge, "Time since the running refresh began.",
      of.running_seconds);
  add("seconds_left", kGauge,
      "Time until the running refresh ends, at its pace.", of.seconds_left);
}

void AddFamily(const FilterStatistics& of, const FactAdder& add) {
  add("live_files", kGauge, "SST files in the tree, open or not.",
      of.live_files);
  AddSums(of.total, add.In("total"));
  // Unknown without a Statistics object.
  AddTickers(of.ticker_gets, add.In("ticker_gets", of.ticker_gets.known));
  AddBuilds(of.builds, add.In("builds"));
  AddMissCache(of.miss_cache, add.In("miss_cache"));
  AddKeptMemory(of.kept_memory, add.In("kept_memory"));
  // Unknown without a queue.
  AddSamples(of.samples, add.In("samples", of.samples.exists));
  AddRefreshes(of.refresh, add.In("refresh"));
}

// The numbers of a column family.
Record NumbersOf(const FilterStatistics& statistics) {
  Record record;
  AddFamily(statistics, FactAdder(&record));
  return record;
}

Record RecordOf(const FileFilterStatistics& file) {
  Record record;
  record.Add("path", file.path);
  record.Add("level", file.level);
  record.Add("unused", file.unused);
  record.Add("entries", file.entries);
  record.Add("keys", file.keys);
  record.Add("filter_bytes", file.filter_bytes);
  record.Add("filter.kind", file.filter.kind);
  record.Add("filter.design", file.filter.design);
  record.Add("filter.basis", file.filter.basis);
  record.Add("filter.bits_per_key", file.filter.bits_per_key);
  record.Add("filter.predicted_fpr", file.filter.predicted_fpr);
  record.Add("filter.samples", file.filter.samples);
  record.Add("filter.model_micros", file.filter.model_micros);
  record.Add("filter_blocks_loaded", file.filter_blocks_loaded);
  record.Add("filter_bytes_loaded", file.filter_bytes_loaded);
  record.Add("filter_loads_failed", file.filter_loads_failed);
  AddSeeks(file.bounded_seeks, FactAdder(&record).In("bounded_seeks"));
  AddSeeks(file.unbounded_seeks, FactAdder(&record).In("unbounded_seeks"));
  return record;
}

// ---- Prometheus ----

using Labels = std::vector<std::pair<const char*, std::string>>;

// The value of a label, escaped.
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

// The samples of one metric, which stand together.
class Metric {
 public:
  // Nothing is written for a metric without samples.
  Metric(std::string name, bool is_counter, std::string help, std::string* text)
      : name_("protean_" + std::move(name) + (is_counter ? "_total" : "")),
        type_(is_counter ? "counter" : "gauge"),
        help_(std::move(help)),
        text_(text) {
    std::replace(name_.begin(), name_.end(), '.', '_');
  }

  void Add(const Labels& labels, const FactValue& value) {
    if (std::holds_alternative<std::monostate>(value)) return;
    if (!begun_) {
      *text_ += "# HELP " + name_ + " " + help_ + "\n# TYPE " + name_ + " " +
                type_ + "\n";
      begun_ = true;
    }
    *text_ += name_;
    char separator = '{';
    for (const auto& [label, label_value] : labels) {
      *text_ += separator + std::string(label) + "=\"" +
                LabelText(label_value) + "\"";
      separator = ',';
    }
    *text_ += "} " + TextOf(value) + "\n";
  }

 private:
  std::string name_;
  const char* const type_;
  const std::string help_;
  std::string* const text_;
  bool begun_ = false;
};

std::string LevelText(int level) {
  return level < 0 ? "unknown" : std::to_string(level);
}

// ---- Text for people ----

std::string Padded(const std::string& text, size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

// The rows of a level: what it has, and the reads of each kind.
void AddLevelRows(const std::string& level, const FilterSums& sums,
                  std::string* text) {
  const Record record = RecordOf(sums);
  const auto add = [&](const std::string& name, size_t width) {
    const FactValue* const value = record.Find(name);
    *text += Padded(value != nullptr ? TextOf(*value)
                    : name.empty()   ? ""
                                     : "-",
                    width);
  };
  std::string first = level;
  for (const char* kind : {"bounded_seeks", "unbounded_seeks", "gets"}) {
    *text += first + std::string(8 - first.size(), ' ');
    const bool is_first = kind[0] == 'b';
    for (const char* name : {"open_files", "used_files"}) {
      add(is_first ? name : "", 11);
    }
    for (const char* name : {"bits_per_key", "predicted_fpr"}) {
      add(is_first ? name : "", 14);
    }
    *text += "  " + std::string(kind) + std::string(16 - strlen(kind), ' ');
    for (const char* name : {"negatives", "passed", "reached", "true_positives",
                             "false_positives", "fpr"}) {
      add(std::string(kind) + "." + name, strlen(name) < 10 ? 10 : 16);
    }
    *text += "\n";
    first.clear();
  }
}

// Returns true if the table of the levels has this number.
bool IsInTable(const std::string& name) {
  const Slice of_total(name);
  return of_total.starts_with("total.bounded_seeks.") ||
         of_total.starts_with("total.unbounded_seeks.") ||
         (of_total.starts_with("total.gets.") && name != "total.gets.unasked");
}

// Appends the numbers that are known, not 0 and not in the table, and whose
// names begin with the group's, as "group: name value, name value", in lines
// that are not too long.
void AddGroup(const std::string& group, const Record& record,
              std::string* text) {
  constexpr size_t kWidth = 100;
  std::string line;
  for (const auto& [name, value] : record.values()) {
    if (!Slice(name).starts_with(group + ".") || IsInTable(name)) continue;
    const std::string number = TextOf(value);
    if (number == "-" || number.find_first_not_of("0.") == std::string::npos) {
      continue;
    }
    if (line.empty()) {
      line = group + ": ";
    } else if (line.size() > kWidth) {
      *text += line + ",\n";
      line = "  ";
    } else {
      line += ", ";
    }
    line += name.substr(group.size() + 1) + " " + number;
  }
  if (!line.empty()) *text += line + "\n";
}

}  // namespace

Record RecordOf(const FilterStatistics& statistics) {
  Record record;
  record.Add("db", statistics.db);
  record.Add("column_family", statistics.column_family);
  AddFamily(statistics, FactAdder(&record));
  std::vector<Record> levels;
  for (const LevelFilterStatistics& level : statistics.levels) {
    levels.push_back(RecordOf(level.sums));
    levels.back().Add("level", level.level);
  }
  record.AddList("levels", std::move(levels));
  std::vector<Record> files;
  for (const FileFilterStatistics& file : statistics.files) {
    files.push_back(RecordOf(file));
  }
  record.AddList("files", std::move(files));
  return record;
}

Record RecordOf(const FilterSums& sums) {
  Record record;
  AddSums(sums, FactAdder(&record));
  return record;
}

std::string FilterStatistics::ToJson() const {
  return RecordOf(*this).ToJson();
}

std::string FilterStatistics::ToString() const {
  std::string text = "Filters of column family " + column_family + " of " + db +
                     "\nlevel    open_files used_files  bits_per_key "
                     "predicted_fpr  reads            negatives    passed   "
                     "reached  true_positives false_positives       fpr\n";
  for (const LevelFilterStatistics& level : levels) {
    AddLevelRows(LevelText(level.level), level.sums, &text);
  }
  AddLevelRows("all", total, &text);
  text += "live_files: " + std::to_string(live_files) + "\n";
  const Record record = NumbersOf(*this);
  for (const char* group : {"total", "ticker_gets", "builds", "miss_cache",
                            "kept_memory", "samples", "refresh"}) {
    AddGroup(group, record, &text);
  }
  return text;
}

const std::vector<StatisticsFact>& StatisticsFacts() {
  static const auto& all = *[] {
    auto* const facts = new std::vector<StatisticsFact>;
    Record record;
    AddFamily({}, FactAdder(&record, facts));
    for (StatisticsFact& fact : *facts) {
      const std::string total = "total.";
      fact.scope = Slice(fact.name).starts_with(total) ? "level"
                   : Slice(fact.name).starts_with("ticker_gets.")
                       ? "db"
                       : "column_family";
      if (fact.scope == "level") fact.name.erase(0, total.size());
    }
    return facts;
  }();
  return all;
}

std::string ToPrometheus(const std::vector<FilterStatistics>& statistics) {
  std::string text;
  if (statistics.empty()) return text;
  // The labels and facts of what each scope has.
  std::map<std::string, std::vector<std::pair<Labels, Record>>> of_scope;
  std::set<std::string> dbs;
  for (const FilterStatistics& family : statistics) {
    const Record record = NumbersOf(family);
    Labels labels = {{"db", family.db}};
    if (dbs.insert(family.db).second)
      of_scope["db"].emplace_back(labels, record);
    labels.emplace_back("column_family", family.column_family);
    of_scope["column_family"].emplace_back(labels, record);
    labels.emplace_back("level", "");
    for (const LevelFilterStatistics& level : family.levels) {
      labels.back().second = LevelText(level.level);
      of_scope["level"].emplace_back(labels, RecordOf(level.sums));
    }
  }
  for (const bool of_levels : {false, true}) {
    for (const StatisticsFact& fact : StatisticsFacts()) {
      if ((fact.scope == "level") != of_levels) continue;
      Metric metric(fact.name, fact.is_counter, fact.help, &text);
      for (const auto& [labels, record] : of_scope[fact.scope]) {
        metric.Add(labels, *record.Find(fact.name));
      }
    }
  }
  const BuildInfo& build = GetBuildInfo();
  Metric("build_info", /*is_counter=*/false, "The version of Protean.", &text)
      .Add({{"version", build.version},
            {"rocksdb_version", build.rocksdb_version}},
           uint64_t{1});
  return text;
}

}  // namespace ROCKSDB_NAMESPACE::protean
