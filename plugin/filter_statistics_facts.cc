// SPDX-License-Identifier: Apache-2.0

//  The numbers of FilterStatistics, declared once, and all formats that are
//  made of them: JSON, the text format of Prometheus, and text for people.

#include <algorithm>
#include <cstring>
#include <set>

#include "filter_policy/open_db/level_sums.h"
#include "plugin/build_info.h"
#include "plugin/facts.h"
#include "plugin/filter_statistics.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Values of Fact::is_counter.
constexpr bool kCounter = true;
constexpr bool kGauge = false;

// ---- The facts ----

const Facts<FilterSeeks>& SeeksFacts() {
  using Of = FilterSeeks;
  static const auto& facts = *new Facts<Of>{
      {"asked", kCounter, "Seeks of SST files that asked the file's filter.",
       &Of::asked},
      {"negatives", kCounter,
       "Seeks whose file was not read, since the filter knew of no key.",
       &Of::negatives},
      {"passed", kCounter,
       "Seeks whose file was not read, since the search ended before its "
       "marker.",
       &Of::passed},
      {"reached", kCounter,
       "Positive seeks whose file had waited for the search before it was "
       "read.",
       &Of::reached},
      {"true_positives", kCounter, "Seeks whose file was read rightly.",
       &Of::true_positives},
      {"false_positives", kCounter, "Seeks whose file was read in vain.",
       &Of::false_positives},
      {"deletion_skips", kCounter,
       "Stretches of deletions that a seek or scan went past in one step.",
       &Of::deletion_skips},
      {"fpr", kGauge,
       "False positives among the seeks for which the file had nothing.",
       &Of::fpr},
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

Facts<FilterSums> MakeSumsFacts() {
  using Of = FilterSums;
  Facts<Of> facts = {
      {"open_files", kGauge, "Open SST files.", &Of::open_files},
      {"used_files", kGauge, "Open SST files whose filters are used.",
       &Of::used_files},
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
       &Of::entries},
      {"keys", kGauge, "Keys that the filters in use know.", &Of::keys},
      {"filter_bytes", kGauge, "Size of the filters in use.",
       &Of::filter_bytes},
      {"bits_per_key", kGauge, "Size of the filters in use, by key.",
       &Of::bits_per_key},
      {"predicted_fpr", kGauge,
       "False positive rate that the filters were designed for, mean over "
       "keys.",
       &Of::predicted_fpr},
      {"model_micros", kGauge,
       "Time that it took to design the filters in use.", &Of::model_micros},
      {"blocks_avoided", kCounter,
       "Data blocks that seeks did not read thanks to the filters, at least.",
       &Of::blocks_avoided},
      {"reads_from_cache", kCounter,
       "Reads of SST files that filters let through, with all blocks in the "
       "block cache.",
       &Of::reads_from_cache},
      {"reads_from_storage", kCounter,
       "Reads of SST files that filters let through, and that went to storage.",
       &Of::reads_from_storage},
      {"requests_saved", kGauge,
       "Requests to storage that filters have spared, about.",
       &Of::requests_saved},
      {"filter_blocks_loaded", kCounter,
       "Filter blocks read, whole filters or parts of them.",
       &Of::filter_blocks_loaded},
      {"filter_bytes_loaded", kCounter, "Bytes of the filter blocks read.",
       &Of::filter_bytes_loaded},
      {"filter_loads_failed", kCounter,
       "Filter blocks that could not be read, or were found to be damaged.",
       &Of::filter_loads_failed},
  };
  facts.insert(facts.end(), filters.begin(), filters.end());
  AddFactsOf("bounded_seeks", &Of::bounded_seeks, SeeksFacts(), &facts);
  AddFactsOf("unbounded_seeks", &Of::unbounded_seeks, SeeksFacts(), &facts);
  using Gets = FilterLookups;
  const Facts<Gets> gets = {
      {"unasked", kCounter,
       "Reads of SST files by Get and MultiGet that no filter answered.",
       &Gets::unasked},
      {"asked", kCounter,
       "Reads of SST files by Get and MultiGet that asked the file's filter.",
       &Gets::asked},
      {"negatives", kCounter, "Gets whose file was not read.",
       &Gets::negatives},
      {"true_positives", kCounter, "Gets whose file was read rightly.",
       &Gets::true_positives},
      {"false_positives", kCounter, "Gets whose file was read in vain.",
       &Gets::false_positives},
      {"fpr", kGauge,
       "False positives among the Gets for which the file had nothing.",
       &Gets::fpr},
  };
  AddFactsOf("gets", &Of::gets, gets, &facts);
  return facts;
}

const Facts<FilterSums>& SumsFacts() {
  static const auto& facts = *new Facts<FilterSums>(MakeSumsFacts());
  return facts;
}

Facts<FilterStatistics> MakeFamilyFacts() {
  using Of = FilterStatistics;
  using Misses = MissCacheStatistics;
  using Memory = KeptMemoryStatistics;
  using Samples = SampleQueueStatistics;
  using Refreshes = RefreshStatistics;
  Facts<Of> facts = {
      {"live_files", kGauge, "SST files in the tree, open or not.",
       &Of::live_files},
  };
  AddFactsOf("total", &Of::total, SumsFacts(), &facts);
  // Unknown without a Statistics object.
  const Facts<TickerGets> ticker_gets = {
      {"negatives", kCounter,
       "Keys that filters denied to Get and MultiGet, of all column families "
       "and kinds of filters.",
       &TickerGets::negatives},
      {"true_positives", kCounter,
       "Keys that filters let through to Get and MultiGet, and that were "
       "there.",
       &TickerGets::true_positives},
      {"false_positives", kCounter,
       "Keys that filters let through to Get and MultiGet, and that were not "
       "there.",
       &TickerGets::false_positives},
  };
  AddFactsOf("ticker_gets", &Of::ticker_gets, ticker_gets, &facts,
             &TickerGets::known);
  const Facts<FilterBuilds> builds = {
      {"filters", kCounter, "Filters built for new SST files.",
       &FilterBuilds::filters},
      {"keys", kCounter, "Keys of the filters built for new SST files.",
       &FilterBuilds::keys},
      {"filter_bytes", kCounter, "Size of the filters built for new SST files.",
       &FilterBuilds::filter_bytes},
      {"model_micros", kCounter, "Time to choose designs of filters.",
       &FilterBuilds::model_micros},
      {"build_micros", kCounter,
       "Time to build filters, once their keys and designs were known.",
       &FilterBuilds::build_micros},
  };
  AddFactsOf("builds", &Of::builds, builds, &facts);
  const Facts<Misses> miss_cache = {
      {"bytes", kGauge, "Size of the DB's cache of reads in vain.",
       &Misses::bytes},
      {"stored", kCounter, "Reads in vain that the cache was told of.",
       &Misses::stored},
      {"hits", kCounter, "Reads of files that the cache has spared.",
       &Misses::hits},
  };
  AddFactsOf("miss_cache", &Of::miss_cache, miss_cache, &facts);
  const Facts<Memory> kept_memory = {
      {"bytes", kGauge,
       "Memory kept beside filters by all DBs that share its limit.",
       &Memory::bytes},
      {"max_bytes", kGauge, "Memory that may be kept beside filters.",
       &Memory::max_bytes},
  };
  AddFactsOf("kept_memory", &Of::kept_memory, kept_memory, &facts);
  // Unknown without a queue.
  const Facts<Samples> samples = {
      {"held", kGauge, "Sample queries held.", &Samples::held},
      {"capacity", kGauge, "Sample queries that can be held.",
       &Samples::capacity},
      {"sample_every", kGauge, "Empty queries for each that is sampled.",
       &Samples::sample_every},
      {"recorded", kCounter,
       "Sample queries ever held, those seeded or restored included.",
       &Samples::recorded},
      {"sampled", kCounter, "Sample queries taken from queries.",
       &Samples::sampled},
      {"dropped", kCounter,
       "Sample queries lost to other threads, or too long.", &Samples::dropped},
      {"age_seconds", kGauge, "Time since the samples were begun.",
       &Samples::age_seconds},
  };
  AddFactsOf("samples", &Of::samples, samples, &facts, &Samples::exists);
  const Facts<Refreshes> refresh = {
      {"runs", kCounter, "Refreshes of filters that ended.", &Refreshes::runs},
      {"failures", kCounter, "Refreshes of filters that ended with an error.",
       &Refreshes::failures},
      {"last_end_unix_time", kGauge,
       "When the last refresh of filters ended; 0 before that.",
       &Refreshes::last_end_unix_time},
      {"files_rewritten", kCounter, "SST files rewritten for new filters.",
       &Refreshes::files_rewritten},
      {"bytes_read", kCounter, "Bytes of SST files read to learn their keys.",
       &Refreshes::bytes_read},
      {"bytes_rewritten", kCounter,
       "Bytes of SST files rewritten for new filters.",
       &Refreshes::bytes_rewritten},
      {"running", kGauge, "1 while filters are refreshed, else 0.",
       &Refreshes::running},
      {"bytes", kGauge, "Bytes of all SST files when the refresh began.",
       &Refreshes::bytes},
      {"bytes_decided", kGauge,
       "Bytes of the SST files whose outcome the running refresh knows.",
       &Refreshes::bytes_decided},
      {"running_seconds", kGauge, "Time since the running refresh began.",
       &Refreshes::running_seconds},
      {"seconds_left", kGauge,
       "Time until the running refresh ends, at its pace.",
       &Refreshes::seconds_left},
  };
  AddFactsOf("refresh", &Of::refresh, refresh, &facts);
  return facts;
}

const Facts<FilterStatistics>& FamilyFacts() {
  static const auto& facts = *new Facts<FilterStatistics>(MakeFamilyFacts());
  return facts;
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
  record.AddAll("bounded_seeks.", SeeksFacts(), file.bounded_seeks);
  record.AddAll("unbounded_seeks.", SeeksFacts(), file.unbounded_seeks);
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
  record.AddAll("", FamilyFacts(), statistics);
  std::vector<Record> levels;
  for (const LevelFilterStatistics& level : statistics.levels) {
    levels.emplace_back(SumsFacts(), level.sums);
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
  for (const char* group : {"total", "ticker_gets", "builds", "miss_cache",
                            "kept_memory", "samples", "refresh"}) {
    AddGroup(group, record, &text);
  }
  return text;
}

const std::vector<StatisticsFact>& StatisticsFacts() {
  static const auto& all = *[] {
    auto* const facts = new std::vector<StatisticsFact>;
    const std::string total = "total.";
    for (const Fact<FilterStatistics>& fact : FamilyFacts()) {
      const bool of_level = Slice(fact.name).starts_with(total);
      facts->push_back({of_level ? fact.name.substr(total.size()) : fact.name,
                        fact.help, fact.is_counter,
                        of_level ? "level"
                        : Slice(fact.name).starts_with("ticker_gets")
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
    if (Slice(fact.name).starts_with("total.")) continue;
    const bool of_db = Slice(fact.name).starts_with("ticker_gets.");
    Metric metric(fact.name, fact.is_counter, fact.help, &text);
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
    Metric metric(fact.name, fact.is_counter, fact.help, &text);
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
