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
  void Counter(const char* name, T value, const std::string& help) const {
    Add(name, value, help, /*is_counter=*/true);
  }
  template <typename T>
  void Gauge(const std::string& name, T value, const std::string& help) const {
    Add(name, value, help, /*is_counter=*/false);
  }

 private:
  template <typename T>
  void Add(const std::string& name, T value, const std::string& help,
           bool is_counter) const {
    record_->Add(prefix_ + name, is_known_ ? ValueOf(value) : FactValue());
    if (list_ == nullptr) return;
    list_->push_back({prefix_ + name, help, is_counter, /*scope=*/""});
  }

  Record* record_;
  std::vector<StatisticsFact>* list_;
  std::string prefix_;
  bool is_known_ = true;
};

void AddSeeks(const FilterSeeks& of, const FactAdder& add) {
  add.Counter("asked", of.asked(),
              "Seeks of SST files that asked the file's filter.");
  add.Counter(
      "negatives", of.negatives,
      "Seeks whose file was not read, since the filter knew of no key.");
  add.Counter("passed", of.passed,
              "Seeks whose file was not read, since the search ended before "
              "its marker.");
  add.Counter("reached", of.reached,
              "Positive seeks whose file had waited for the search before it "
              "was read.");
  add.Counter("true_positives", of.true_positives,
              "Seeks whose file was read rightly.");
  add.Counter("false_positives", of.false_positives,
              "Seeks whose file was read in vain.");
  add.Counter(
      "deletion_skips", of.deletion_skips,
      "Stretches of deletions that a seek or scan went past in one step.");
  add.Gauge("fpr", of.fpr(),
            "False positives among the seeks for which the file had nothing.");
}

void AddCounts(const FilterCounts& of, const FactAdder& add) {
  add.Counter("filter_blocks_loaded", of.filter_blocks_loaded,
              "Filter blocks read, whole filters or parts of them.");
  add.Counter("filter_bytes_loaded", of.filter_bytes_loaded,
              "Bytes of the filter blocks read.");
  add.Counter(
      "filter_loads_failed", of.filter_loads_failed,
      "Filter blocks that could not be read, or were found to be damaged.");
  AddSeeks(of.bounded_seeks, add.In("bounded_seeks"));
  AddSeeks(of.unbounded_seeks, add.In("unbounded_seeks"));
}

void AddLookups(const FilterLookups& of, const FactAdder& add) {
  add.Counter(
      "unasked", of.unasked,
      "Reads of SST files by Get and MultiGet that no filter answered.");
  add.Counter(
      "asked", of.asked(),
      "Reads of SST files by Get and MultiGet that asked the file's filter.");
  add.Counter("negatives", of.negatives, "Gets whose file was not read.");
  add.Counter("true_positives", of.true_positives,
              "Gets whose file was read rightly.");
  add.Counter("false_positives", of.false_positives,
              "Gets whose file was read in vain.");
  add.Gauge("fpr", of.fpr(),
            "False positives among the Gets for which the file had nothing.");
}

// The number of files by a reason or a basis, one fact for each.
void AddFileCounts(const std::map<std::string, uint64_t>& counts,
                   const char* const* begin, const char* const* end,
                   const std::string& help, const FactAdder& add) {
  for (; begin < end; begin++) {
    const std::string reason = *begin;
    const auto found = counts.find(reason);
    add.Gauge(reason, found == counts.end() ? uint64_t{0} : found->second,
              help + ": " + reason + ".");
  }
}

void AddSums(const FilterSums& of, const FactAdder& add) {
  add.Gauge("open_files", of.open_files, "Open SST files.");
  add.Gauge("used_files", of.used_files(),
            "Open SST files whose filters are used.");
  // The first use is that of a filter that is used.
  AddFileCounts(of.unused_files, std::begin(kFilterUseNames) + 1,
                std::end(kFilterUseNames),
                "Open SST files whose filters are not used",
                add.In("unused_files"));
  AddFileCounts(
      of.files_by_basis, std::begin(kDesignBases), std::end(kDesignBases),
      "Open SST files whose filters are used, by what the design is based on",
      add.In("files_by_basis"));
  add.Gauge("entries", of.entries,
            "Entries of open SST files, deletions included.");
  add.Gauge("keys", of.keys, "Keys that the filters in use know.");
  add.Gauge("filter_bytes", of.filter_bytes, "Size of the filters in use.");
  add.Gauge("bits_per_key", of.bits_per_key(),
            "Size of the filters in use, by key.");
  add.Gauge("predicted_fpr", of.predicted_fpr,
            "False positive rate that the filters were designed for, mean over "
            "keys.");
  add.Gauge("model_micros", of.model_micros,
            "Time that it took to design the filters in use.");
  add.Counter(
      "blocks_avoided", of.blocks_avoided(),
      "Data blocks that seeks did not read thanks to the filters, at least.");
  add.Counter("reads_from_cache", of.reads_from_cache,
              "Reads of SST files that filters let through, with all blocks in "
              "the block cache.");
  add.Counter(
      "reads_from_storage", of.reads_from_storage,
      "Reads of SST files that filters let through, and that went to storage.");
  add.Gauge("requests_saved", of.requests_saved,
            "Requests to storage that filters have spared, about.");
  AddCounts(of, add);
  AddLookups(of.gets, add.In("gets"));
}

void AddTickers(const TickerGets& of, const FactAdder& add) {
  add.Counter("negatives", of.negatives,
              "Keys that filters denied to Get and MultiGet, of all column "
              "families and kinds of filters.");
  add.Counter("true_positives", of.true_positives,
              "Keys that filters let through to Get and MultiGet, and that "
              "were there.");
  add.Counter("false_positives", of.false_positives,
              "Keys that filters let through to Get and MultiGet, and that "
              "were not there.");
}

void AddBuilds(const FilterBuilds& of, const FactAdder& add) {
  add.Counter("filters", of.filters, "Filters built for new SST files.");
  add.Counter("keys", of.keys, "Keys of the filters built for new SST files.");
  add.Counter("filter_bytes", of.filter_bytes,
              "Size of the filters built for new SST files.");
  add.Counter("model_micros", of.model_micros,
              "Time to choose designs of filters.");
  add.Counter("build_micros", of.build_micros,
              "Time to build filters, once their keys and designs were known.");
}

void AddMissCache(const MissCacheStatistics& of, const FactAdder& add) {
  add.Gauge("bytes", of.bytes, "Size of the DB's cache of reads in vain.");
  add.Counter("stored", of.stored, "Reads in vain that the cache was told of.");
  add.Counter("hits", of.hits, "Reads of files that the cache has spared.");
}

void AddKeptMemory(const KeptMemoryStatistics& of, const FactAdder& add) {
  add.Gauge("bytes", of.bytes,
            "Memory kept beside filters by all DBs that share its limit.");
  add.Gauge("max_bytes", of.max_bytes,
            "Memory that may be kept beside filters.");
}

void AddSamples(const SampleQueueStatistics& of, const FactAdder& add) {
  add.Gauge("held", of.held, "Sample queries held.");
  add.Gauge("capacity", of.capacity, "Sample queries that can be held.");
  add.Gauge("sample_every", of.sample_every,
            "Empty queries for each that is sampled.");
  add.Counter("recorded", of.recorded,
              "Sample queries ever held, those seeded or restored included.");
  add.Counter("sampled", of.sampled, "Sample queries taken from queries.");
  add.Counter("dropped", of.dropped,
              "Sample queries lost to other threads, or too long.");
  add.Gauge("age_seconds", of.age_seconds,
            "Time since the samples were begun.");
}

void AddRefreshes(const RefreshStatistics& of, const FactAdder& add) {
  add.Counter("runs", of.runs, "Refreshes of filters that ended.");
  add.Counter("failures", of.failures,
              "Refreshes of filters that ended with an error.");
  add.Gauge("last_end_unix_time", of.last_end_unix_time,
            "When the last refresh of filters ended; 0 before that.");
  add.Counter("files_rewritten", of.files_rewritten,
              "SST files rewritten for new filters.");
  add.Counter("bytes_read", of.bytes_read,
              "Bytes of SST files read to learn their keys.");
  add.Counter("bytes_rewritten", of.bytes_rewritten,
              "Bytes of SST files rewritten for new filters.");
  add.Gauge("running", of.running, "1 while filters are refreshed, else 0.");
  add.Gauge("bytes", of.bytes,
            "Bytes of all SST files when the refresh began.");
  add.Gauge("bytes_decided", of.bytes_decided,
            "Bytes of the SST files whose outcome the running refresh knows.");
  add.Gauge("running_seconds", of.running_seconds,
            "Time since the running refresh began.");
  add.Gauge("seconds_left", of.seconds_left,
            "Time until the running refresh ends, at its pace.");
}

void AddFamily(const FilterStatistics& of, const FactAdder& add) {
  add.Gauge("live_files", of.live_files, "SST files in the tree, open or not.");
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
  AddCounts(file, FactAdder(&record));
  return record;
}

// ---- Prometheus ----

using Labels = std::vector<std::pair<const char*, std::string>>;

// The value of a label, escaped.
std::string LabelText(const std::string& text) {
  std::string escaped;
  for (const char c : Utf8Text(text)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c == '\n' ? "\\n" : std::string(1, c);
  }
  return escaped;
}

// A metric with its samples, which stand together; nothing if none is known.
std::string MetricText(
    const StatisticsFact& fact,
    const std::vector<std::pair<Labels, FactValue>>& samples) {
  std::string name = "protean_" + fact.name + (fact.is_counter ? "_total" : "");
  std::replace(name.begin(), name.end(), '.', '_');
  std::string text;
  for (const auto& [labels, value] : samples) {
    if (std::holds_alternative<std::monostate>(value)) continue;
    text += name;
    char separator = '{';
    for (const auto& [label, label_value] : labels) {
      text += separator + std::string(label) + "=\"" + LabelText(label_value) +
              "\"";
      separator = ',';
    }
    text += "} " + TextOf(value) + "\n";
  }
  if (text.empty()) return text;
  return "# HELP " + name + " " + fact.help + "\n# TYPE " + name +
         (fact.is_counter ? " counter\n" : " gauge\n") + text;
}

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
      std::vector<std::pair<Labels, FactValue>> samples;
      for (const auto& [labels, record] : of_scope[fact.scope]) {
        samples.emplace_back(labels, *record.Find(fact.name));
      }
      text += MetricText(fact, samples);
    }
  }
  const BuildInfo& build = GetBuildInfo();
  return text + MetricText({"build_info", "The version of Protean.",
                            /*is_counter=*/false, /*scope=*/""},
                           {{{{"version", build.version},
                              {"rocksdb_version", build.rocksdb_version}},
                             uint64_t{1}}});
}

}  // namespace ROCKSDB_NAMESPACE::protean
