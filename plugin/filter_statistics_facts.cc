// SPDX-License-Identifier: Apache-2.0

//  The numbers of FilterStatistics, declared once, and all formats that are
//  made of them: JSON, the text format of Prometheus, and text for people.

#include <algorithm>
#include <cstring>
#include <set>
#include <type_traits>

#include "filter_policy/open_db/level_sums.h"
#include "plugin/build_info.h"
#include "plugin/facts.h"
#include "plugin/filter_statistics.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr FactType kCounter = FactType::kCounter;
constexpr FactType kGauge = FactType::kGauge;
constexpr FactType kText = FactType::kText;

// ---- The facts ----

FactValue LevelValue(int level) {
  return level < 0 ? FactValue() : FactValue(static_cast<uint64_t>(level));
}

const Facts<FilterSeeks>& SeeksFacts() {
  using Of = FilterSeeks;
  static const auto& facts = *new Facts<Of>{
      {"asked", kCounter, "Seeks of SST files that asked the file's filter.",
       [](const Of& of) { return of.asked(); }},
      {"negatives", kCounter,
       "Seeks whose file was not read, since the filter knew of no key.",
       [](const Of& of) { return of.negatives; }},
      {"passed", kCounter,
       "Seeks whose file was not read, since the search ended before its "
       "marker.",
       [](const Of& of) { return of.passed; }},
      {"reached", kCounter,
       "Positive seeks whose file had waited for the search before it was "
       "read.",
       [](const Of& of) { return of.reached; }},
      {"true_positives", kCounter, "Seeks whose file was read rightly.",
       [](const Of& of) { return of.true_positives; }},
      {"false_positives", kCounter, "Seeks whose file was read in vain.",
       [](const Of& of) { return of.false_positives; }},
      {"deletion_skips", kCounter,
       "Stretches of deletions that a seek or scan went past in one step.",
       [](const Of& of) { return of.deletion_skips; }},
      {"fpr", kGauge,
       "False positives among the seeks for which the file had nothing.",
       [](const Of& of) { return KnownRate(of.fpr()); }},
  };
  return facts;
}

const Facts<FilterLookups>& LookupsFacts() {
  using Of = FilterLookups;
  static const auto& facts = *new Facts<Of>{
      {"unasked", kCounter,
       "Reads of SST files by Get and MultiGet that no filter answered.",
       [](const Of& of) { return of.unasked; }},
      {"asked", kCounter,
       "Reads of SST files by Get and MultiGet that asked the file's filter.",
       [](const Of& of) { return of.asked(); }},
      {"negatives", kCounter, "Gets whose file was not read.",
       [](const Of& of) { return of.negatives; }},
      {"true_positives", kCounter, "Gets whose file was read rightly.",
       [](const Of& of) { return of.true_positives; }},
      {"false_positives", kCounter, "Gets whose file was read in vain.",
       [](const Of& of) { return of.false_positives; }},
      {"fpr", kGauge,
       "False positives among the Gets for which the file had nothing.",
       [](const Of& of) { return KnownRate(of.fpr()); }},
  };
  return facts;
}

// The number of files by a reason or a basis, one fact for each.
template <typename Reason>
void AddFileCounts(const char* name, const char* help, size_t begin, size_t end,
                   std::map<std::string, uint64_t> FilterSums::*counts,
                   Facts<FilterSums>* facts) {
  for (size_t i = begin; i < end; i++) {
    const std::string reason = ToString(static_cast<Reason>(i));
    facts->push_back(
        {std::string(name) + "." + reason, kGauge, help + (": " + reason) + ".",
         [counts, reason](const FilterSums& of) {
           const auto found = (of.*counts).find(reason);
           return found == (of.*counts).end() ? uint64_t{0} : found->second;
         }});
  }
}

template <typename Of>
void AddLoads(Facts<Of>* facts) {
  facts->push_back({"filter_blocks_loaded", kCounter,
                    "Filter blocks read, whole filters or parts of them.",
                    [](const Of& of) { return of.filter_blocks_loaded; }});
  facts->push_back({"filter_bytes_loaded", kCounter,
                    "Bytes of the filter blocks read.",
                    [](const Of& of) { return of.filter_bytes_loaded; }});
  facts->push_back({"filter_loads_failed", kCounter,
                    "Filter blocks that could not be read, or were found to be "
                    "damaged.",
                    [](const Of& of) { return of.filter_loads_failed; }});
}

Facts<FilterSums> MakeSumsFacts() {
  using Of = FilterSums;
  Facts<Of> facts = {
      {"open_files", kGauge, "Open SST files.",
       [](const Of& of) { return of.open_files; }},
      {"used_files", kGauge, "Open SST files whose filters are used.",
       [](const Of& of) { return of.used_files(); }},
  };
  // The first use is that of a filter that is used.
  AddFileCounts<FilterUse>("unused_files",
                           "Open SST files whose filters are not used", 1,
                           kFilterUses, &Of::unused_files, &facts);
  AddFileCounts<DesignBasis>(
      "files_by_basis",
      "Open SST files whose filters are used, by what the design is based on",
      0, kDesignBases, &Of::files_by_basis, &facts);
  const Facts<Of> filters = {
      {"entries", kGauge, "Entries of open SST files, deletions included.",
       [](const Of& of) { return of.entries; }},
      {"keys", kGauge, "Keys that the filters in use know.",
       [](const Of& of) { return of.keys; }},
      {"filter_bytes", kGauge, "Size of the filters in use.",
       [](const Of& of) { return of.filter_bytes; }},
      {"bits_per_key", kGauge, "Size of the filters in use, by key.",
       [](const Of& of) { return of.bits_per_key(); }},
      {"predicted_fpr", kGauge,
       "False positive rate that the filters were designed for, mean over "
       "keys.",
       [](const Of& of) { return KnownRate(of.predicted_fpr); }},
      {"model_micros", kGauge,
       "Time that it took to design the filters in use.",
       [](const Of& of) { return of.model_micros; }},
      {"blocks_avoided", kCounter,
       "Data blocks that seeks did not read thanks to the filters, at least.",
       [](const Of& of) { return of.blocks_avoided(); }},
  };
  facts.insert(facts.end(), filters.begin(), filters.end());
  AddLoads(&facts);
  AddFactsOf("bounded_seeks", &Of::bounded_seeks, SeeksFacts(), &facts);
  AddFactsOf("unbounded_seeks", &Of::unbounded_seeks, SeeksFacts(), &facts);
  AddFactsOf("gets", &Of::gets, LookupsFacts(), &facts);
  return facts;
}

const Facts<FilterSums>& SumsFacts() {
  static const auto& facts = *new Facts<FilterSums>(MakeSumsFacts());
  return facts;
}

Facts<FileFilterStatistics> MakeFileFacts() {
  using Of = FileFilterStatistics;
  Facts<Of> facts = {
      {"path", kText, "", [](const Of& of) { return of.path; }},
      {"level", kGauge, "", [](const Of& of) { return LevelValue(of.level); }},
      {"unused", kText, "", [](const Of& of) { return of.unused; }},
      {"entries", kGauge, "", [](const Of& of) { return of.entries; }},
      {"keys", kGauge, "", [](const Of& of) { return of.keys; }},
      {"filter_bytes", kGauge, "",
       [](const Of& of) { return of.filter_bytes; }},
      {"filter.kind", kText, "", [](const Of& of) { return of.filter.kind; }},
      {"filter.design", kText, "",
       [](const Of& of) { return of.filter.design; }},
      {"filter.basis", kText, "", [](const Of& of) { return of.filter.basis; }},
      {"filter.bits_per_key", kGauge, "",
       [](const Of& of) { return of.filter.bits_per_key; }},
      {"filter.predicted_fpr", kGauge, "",
       [](const Of& of) { return KnownRate(of.filter.predicted_fpr); }},
      {"filter.samples", kGauge, "",
       [](const Of& of) { return of.filter.samples; }},
      {"filter.model_micros", kGauge, "",
       [](const Of& of) { return of.filter.model_micros; }},
  };
  AddLoads(&facts);
  AddFactsOf("bounded_seeks", &Of::bounded_seeks, SeeksFacts(), &facts);
  AddFactsOf("unbounded_seeks", &Of::unbounded_seeks, SeeksFacts(), &facts);
  return facts;
}

// Unknown without a Statistics object.
FactValue Ticker(const TickerGets& gets, uint64_t count) {
  return gets.known ? FactValue(count) : FactValue();
}

const Facts<TickerGets>& TickerFacts() {
  using Of = TickerGets;
  static const auto& facts = *new Facts<Of>{
      {"negatives", kCounter,
       "Keys that filters denied to Get and MultiGet, of all column families "
       "and kinds of filters.",
       [](const Of& of) { return Ticker(of, of.negatives); }},
      {"true_positives", kCounter,
       "Keys that filters let through to Get and MultiGet, and that were "
       "there.",
       [](const Of& of) { return Ticker(of, of.true_positives); }},
      {"false_positives", kCounter,
       "Keys that filters let through to Get and MultiGet, and that were not "
       "there.",
       [](const Of& of) { return Ticker(of, of.false_positives); }},
  };
  return facts;
}

const Facts<FilterBuilds>& BuildsFacts() {
  using Of = FilterBuilds;
  static const auto& facts = *new Facts<Of>{
      {"filters", kCounter, "Filters built for new SST files.",
       [](const Of& of) { return of.filters; }},
      {"keys", kCounter, "Keys of the filters built for new SST files.",
       [](const Of& of) { return of.keys; }},
      {"filter_bytes", kCounter, "Size of the filters built for new SST files.",
       [](const Of& of) { return of.filter_bytes; }},
      {"model_micros", kCounter, "Time to choose designs of filters.",
       [](const Of& of) { return of.model_micros; }},
      {"build_micros", kCounter,
       "Time to build filters, once their keys and designs were known.",
       [](const Of& of) { return of.build_micros; }},
  };
  return facts;
}

const Facts<MissCacheStatistics>& MissCacheFacts() {
  using Of = MissCacheStatistics;
  static const auto& facts = *new Facts<Of>{
      {"bytes", kGauge, "Size of the DB's cache of reads in vain.",
       [](const Of& of) { return of.bytes; }},
      {"stored", kCounter, "Reads in vain that the cache was told of.",
       [](const Of& of) { return of.stored; }},
      {"hits", kCounter, "Reads of files that the cache has spared.",
       [](const Of& of) { return of.hits; }},
  };
  return facts;
}

// Unknown without a queue.
template <typename Number>
Fact<SampleQueueStatistics> SampleFact(const char* name, FactType type,
                                       const char* help,
                                       Number SampleQueueStatistics::*member) {
  using Value =
      std::conditional_t<std::is_integral_v<Number>, uint64_t, Number>;
  return {name, type, help, [member](const SampleQueueStatistics& of) {
            return of.exists ? FactValue(static_cast<Value>(of.*member))
                             : FactValue();
          }};
}

const Facts<SampleQueueStatistics>& SamplesFacts() {
  using Of = SampleQueueStatistics;
  static const auto& facts = *new Facts<Of>{
      SampleFact("held", kGauge, "Sample queries held.", &Of::held),
      SampleFact("capacity", kGauge, "Sample queries that can be held.",
                 &Of::capacity),
      SampleFact("sample_every", kGauge,
                 "Empty queries for each that is sampled.", &Of::sample_every),
      SampleFact("recorded", kCounter,
                 "Sample queries ever held, those seeded or restored included.",
                 &Of::recorded),
      SampleFact("sampled", kCounter, "Sample queries taken from queries.",
                 &Of::sampled),
      SampleFact("dropped", kCounter,
                 "Sample queries lost to other threads, or too long.",
                 &Of::dropped),
      SampleFact("age_seconds", kGauge, "Time since the samples were begun.",
                 &Of::age_seconds),
  };
  return facts;
}

const Facts<RefreshStatistics>& RefreshFacts() {
  using Of = RefreshStatistics;
  static const auto& facts = *new Facts<Of>{
      {"runs", kCounter, "Refreshes of filters that ended.",
       [](const Of& of) { return of.runs; }},
      {"failures", kCounter, "Refreshes of filters that ended with an error.",
       [](const Of& of) { return of.failures; }},
      {"last_end_unix_time", kGauge,
       "When the last refresh of filters ended; 0 before that.",
       [](const Of& of) { return of.last_end_unix_time; }},
      {"files_rewritten", kCounter, "SST files rewritten for new filters.",
       [](const Of& of) { return of.files_rewritten; }},
      {"bytes_read", kCounter, "Bytes of SST files read to learn their keys.",
       [](const Of& of) { return of.bytes_read; }},
      {"bytes_rewritten", kCounter,
       "Bytes of SST files rewritten for new filters.",
       [](const Of& of) { return of.bytes_rewritten; }},
      {"running", kGauge, "1 while filters are refreshed, else 0.",
       [](const Of& of) { return of.running; }},
      {"bytes", kGauge, "Bytes of all SST files when the refresh began.",
       [](const Of& of) { return of.bytes; }},
      {"bytes_decided", kGauge,
       "Bytes of the SST files whose outcome the running refresh knows.",
       [](const Of& of) { return of.bytes_decided; }},
      {"running_seconds", kGauge, "Time since the running refresh began.",
       [](const Of& of) { return of.running_seconds; }},
      {"seconds_left", kGauge,
       "Time until the running refresh ends, at its pace.",
       [](const Of& of) { return KnownRate(of.seconds_left); }},
  };
  return facts;
}

Facts<FilterStatistics> MakeFamilyFacts() {
  using Of = FilterStatistics;
  Facts<Of> facts = {
      {"db", kText, "", [](const Of& of) { return of.db; }},
      {"column_family", kText, "",
       [](const Of& of) { return of.column_family; }},
      {"live_files", kGauge, "SST files in the tree, open or not.",
       [](const Of& of) { return of.live_files; }},
  };
  AddFactsOf("total", &Of::total, SumsFacts(), &facts);
  AddFactsOf("ticker_gets", &Of::ticker_gets, TickerFacts(), &facts);
  AddFactsOf("builds", &Of::builds, BuildsFacts(), &facts);
  AddFactsOf("miss_cache", &Of::miss_cache, MissCacheFacts(), &facts);
  AddFactsOf("samples", &Of::samples, SamplesFacts(), &facts);
  AddFactsOf("refresh", &Of::refresh, RefreshFacts(), &facts);
  return facts;
}

const Facts<FilterStatistics>& FamilyFacts() {
  static const auto& facts = *new Facts<FilterStatistics>(MakeFamilyFacts());
  return facts;
}

bool StartsWith(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
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
  const Record record(SumsFacts(), sums);
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

// Appends the numbers that are known and not 0 and whose names begin with the
// group's, as "group: name value, name value", in lines that are not too long.
void AddGroup(const std::string& group, const Record& record,
              std::string* text) {
  constexpr size_t kWidth = 100;
  std::string line;
  for (const auto& [name, value] : record.values()) {
    if (!StartsWith(name, group + ".")) continue;
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
  static const auto& file_facts =
      *new Facts<FileFilterStatistics>(MakeFileFacts());
  Record record(FamilyFacts(), statistics);
  std::vector<Record> levels;
  for (const LevelFilterStatistics& level : statistics.levels) {
    levels.emplace_back(SumsFacts(), level.sums);
    levels.back().Add("level", LevelValue(level.level));
  }
  record.AddList("levels", std::move(levels));
  std::vector<Record> files;
  for (const FileFilterStatistics& file : statistics.files) {
    files.emplace_back(file_facts, file);
  }
  record.AddList("files", std::move(files));
  return record;
}

Record RecordOf(const FilterSums& sums) { return {SumsFacts(), sums}; }

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
  const Record record(FamilyFacts(), *this);
  Record rest;
  for (const auto& [name, value] : record.values()) {
    // These stand in the table.
    const bool is_seeks = StartsWith(name, "total.bounded_seeks.") ||
                          StartsWith(name, "total.unbounded_seeks.");
    const bool is_gets = StartsWith(name, "total.gets.");
    if (!is_seeks && (!is_gets || name == "total.gets.unasked")) {
      rest.Add(name, value);
    }
  }
  for (const char* group :
       {"total", "ticker_gets", "builds", "miss_cache", "samples", "refresh"}) {
    AddGroup(group, rest, &text);
  }
  return text;
}

const std::vector<StatisticsFact>& StatisticsFacts() {
  static const auto& all = *[] {
    auto* const facts = new std::vector<StatisticsFact>;
    const std::string total = "total.";
    for (const Fact<FilterStatistics>& fact : FamilyFacts()) {
      if (fact.type == kText) continue;
      const bool of_level = StartsWith(fact.name, total);
      facts->push_back({of_level ? fact.name.substr(total.size()) : fact.name,
                        fact.help, fact.type == kCounter,
                        of_level ? "level"
                        : StartsWith(fact.name, "ticker_gets")
                            ? "db"
                            : "column_family"});
    }
    return facts;
  }();
  return all;
}

std::string ToPrometheus(const std::vector<FilterStatistics>& statistics) {
  std::string text;
  if (statistics.empty()) return text;
  for (const Fact<FilterStatistics>& fact : FamilyFacts()) {
    if (fact.type == kText || StartsWith(fact.name, "total.")) continue;
    const bool of_db = StartsWith(fact.name, "ticker_gets.");
    Metric metric(fact.name, fact.type == kCounter, fact.help, &text);
    std::set<std::string> dbs;
    for (const FilterStatistics& family : statistics) {
      Labels labels = {{"db", family.db}};
      if (!of_db) labels.emplace_back("column_family", family.column_family);
      if (!of_db || dbs.insert(family.db).second) {
        metric.Add(labels, fact.value(family));
      }
    }
  }
  for (const Fact<FilterSums>& fact : SumsFacts()) {
    Metric metric(fact.name, fact.type == kCounter, fact.help, &text);
    for (const FilterStatistics& family : statistics) {
      for (const LevelFilterStatistics& level : family.levels) {
        metric.Add({{"db", family.db},
                    {"column_family", family.column_family},
                    {"level", LevelText(level.level)}},
                   fact.value(level.sums));
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
