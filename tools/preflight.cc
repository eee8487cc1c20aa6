// SPDX-License-Identifier: Apache-2.0

//  protean preflight: what will work if a DB takes up Protean, and what to set.

#include <cinttypes>
#include <cstdio>
#include <set>

#include "rocksdb/slice_transform.h"
#include "table/rocksdb_internals/versions.h"
#include "tools/command.h"
#include "tools/file_facts.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The outcomes of a property of the DB.
constexpr char kWorks[] = "works";
constexpr char kPartly[] = "partly";  // some reads are as without Protean
constexpr char kOff[] = "off";        // all range reads are
constexpr char kSet[] = "to set";     // an option has to be changed
constexpr char kUnknown[] = "unknown";

const std::vector<Column> kColumns = {
    {"property"}, {"found"}, {"outcome", "with Protean"}, {"advice", "note"}};

// The sums over the files of a column family.
struct FilesSeen {
  size_t files = 0;
  uint64_t keys = 0;
  // The levels, and for each file of level 0 a number below 0.
  std::set<int> sorted_runs;
  size_t of_protean = 0;
  size_t of_rocksdb = 0;  // with RocksDB's own filters
  size_t unreadable = 0;
  // Sums over the files with filters of Protean's.
  uint64_t filter_bytes = 0;
  uint64_t filtered_keys = 0;
};

FilesSeen LookAt(const TargetFamily& family, std::ostream& err) {
  FilesSeen seen;
  Progress line(err);
  for (const TargetFile& file : family.files) {
    if (line.IsDue()) {
      line.Show(Format("%zu of %zu files", seen.files, family.files.size()));
    }
    std::unique_ptr<FileFacts> facts;
    const Status s = FileFacts::Read(family, file, &facts);
    if (!s.ok()) {
      seen.unreadable += IsGone(s) || s.IsNotSupported() ? 0 : 1;
      continue;
    }
    seen.files++;
    seen.keys += facts->keys;
    seen.sorted_runs.insert(file.level > 0 ? file.level
                                           : -static_cast<int>(seen.files));
    if (facts->filter() != nullptr) {
      seen.of_protean++;
      seen.filter_bytes += facts->filter_bytes;
      seen.filtered_keys += facts->keys;
    } else if (facts->filter_bytes > 0) {
      seen.of_rocksdb++;
    }
  }
  return seen;
}

// The oldest version of RocksDB that Protean supports.
constexpr std::pair<int, int> kMinVersion = {9, 10};

// The version in the OPTIONS file; empty if there is none.
std::string VersionOf(const Target& target) {
  std::string text;
  if (!ReadLatestOptions(target, &text).ok()) return "";
  constexpr char kName[] = "rocksdb_version=";
  const size_t begin = text.find(kName);
  if (begin == std::string::npos) return "";
  const size_t number = begin + sizeof(kName) - 1;
  return text.substr(number, text.find('\n', number) - number);
}

constexpr CommandText kPreflight = {
    "preflight",
    "Checks before you adopt Protean: what will work with a DB, what will not, "
    "and what to set.",
    "--db=DIR", "all of them",
    R"(Reads the OPTIONS file and the SST files of a DB, which need not have any filters of Protean and may be in
use, and prints for each column family what becomes of its comparator, its table, its options and its files:

  works     as it is
  partly    reads are right, and some of them are as fast as without Protean
  off       reads are right, and no range read is faster; if the comparator is why, no other row matters
  to set    an option has to be changed, to what the note says
  unknown   could not be found out

The OPTIONS file does not say how a program reads. So look there: iterators need iterate_upper_bound, for only
a bounded range can be empty; tailing iterators and SeekForPrev without a lower bound are not filtered.

Exit code: 0 if everything works as it is; 1 if something does not; 2 if the command failed.

Examples:
  protean preflight --db=/data/db
  protean preflight --db=/data/db --json | jq 'select(.outcome != "works")'
)"};

class Preflight : public Command {
 public:
  Preflight() : Command(kPreflight) {}

 private:
  Status Run() override {
    const Status s = OpenTarget(/*or_files=*/false);
    if (!s.ok()) return s;
    for (const std::string& note : target_.notes) err() << note << '\n';
    for (const TargetFamily& family : target_.families) CheckFamily(family);
    CheckDB();
    return s;
  }

  // Adds a row about the column family that is looked at.
  void Add(const std::string& property, const std::string& found,
           const char* outcome, const std::string& advice = "") {
    found_ = found_ || outcome != kWorks;
    rows_.push_back({{"column_family", column_family_},
                     {"property", property},
                     {"found", found},
                     {"outcome", outcome},
                     {"advice", advice}});
  }
  void AddIf(bool holds, const std::string& property, const std::string& found,
             const char* outcome, const std::string& advice) {
    if (holds) Add(property, found, outcome, advice);
  }
  void PrintRows(const std::string& title) {
    out().Line(title);
    out().Table(kColumns, rows_);
    rows_.clear();
  }

  void CheckTable(const TargetFamily& family) {
    const std::string found =
        family.table_factory +
        (family.filter_policy.empty() ? "" : ", " + family.filter_policy);
    if (family.is_under_protean() && family.has_protean_policy) {
      Add("table and filter policy", found, kWorks);
    } else if (family.table_factory == "BlockBasedTable" ||
               family.is_under_protean()) {
      Add("table and filter policy", found, kSet,
          "table_factory={id=ProteanTable;filter_policy=proteus}; all other "
          "options of the table stay");
    } else {
      Add("table", found, kOff,
          "only block-based tables have filters; another table has to be "
          "chosen first");
    }
  }

  void CheckComparator(const TargetFamily& family) {
    const std::string name = family.comparator.empty()
                                 ? family.options.comparator->Name()
                                 : family.comparator;
    if (name == BytewiseComparator()->Name()) {
      Add("comparator", name, kWorks);
    } else if (name == BytewiseComparatorWithU64Ts()->Name()) {
      Add("comparator", name, kPartly,
          "with timestamps, forward seeks with an upper bound and Get are "
          "filtered, other seeks are not");
    } else if (name == ReverseBytewiseComparator()->Name()) {
      Add("comparator", name, kOff,
          "Get is filtered, as by RocksDB's own filters; seeks are not");
    } else {
      Add("comparator", name, kOff,
          "seeks are not filtered, and Get only if the keys are in bytewise "
          "order");
    }
  }

  void CheckOptions(const TargetFamily& family) {
    const BlockBasedTableOptions& table = family.table_options();
    const auto& extractor = family.options.prefix_extractor;
    AddIf(extractor != nullptr, "prefix_extractor",
          extractor == nullptr ? "" : extractor->AsString(), kPartly,
          "prefix seeks are filtered if they are forward; set "
          "total_order_seek or auto_prefix_mode for others");
    AddIf(!table.whole_key_filtering, "whole_key_filtering", "false", kSet,
          "true: without whole keys, no seek is filtered");
    AddIf(family.options.optimize_filters_for_hits, "optimize_filters_for_hits",
          "true", kSet,
          "false: the last level, where range reads gain most, gets no "
          "filters");
    AddIf(IteratorsWrite(family.options), "min_tombstones_for_range_conversion",
          "more than 0", kPartly,
          "SearchBoundsScope has no effect in this process; bounds in "
          "ReadOptions filter");
  }

  void CheckFiles(const FilesSeen& seen) {
    AddIf(seen.unreadable > 0, "files that cannot be read",
          Format("%zu of %zu", seen.unreadable, seen.unreadable + seen.files),
          kUnknown, "protean verify tells why");
    AddIf(seen.of_rocksdb > 0, "files with RocksDB's own filters",
          Format("%zu of %zu", seen.of_rocksdb, seen.files), kWorks,
          "these go on filtering Get; seeks are filtered once the files have "
          "been compacted");
    const size_t without = seen.files - seen.of_rocksdb - seen.of_protean;
    AddIf(without > 0, "files without filters",
          Format("%zu of %zu", without, seen.files), kWorks,
          "filtered once they have been compacted; CompactRange rewrites all "
          "files at once");
    if (seen.files == 0) return;
    Add("sorted runs", std::to_string(seen.sorted_runs.size()), kWorks,
        seen.sorted_runs.size() > 1
            ? ""
            : "a seek that finds nothing reads one block without filters, and "
              "none with them");
  }

  void CheckMemory(const TargetFamily& family, const FilesSeen& seen) {
    if (seen.files == 0) return;
    const bool is_known = family.has_protean_policy && seen.filtered_keys > 0;
    const double bits =
        is_known ? 8 * Ratio(seen.filter_bytes, seen.filtered_keys) : 12;
    const bool in_cache = family.table_options().cache_index_and_filter_blocks;
    Add("memory of filters",
        PrintedBytes(bits / 8 * static_cast<double>(seen.keys)) +
            Format(" for %" PRIu64 " keys", seen.keys),
        kWorks,
        (is_known ? Format("at the %.2f bits for each key of present filters, ",
                           bits)
                  : "with proteus, 12 bits for each key, ") +
            (in_cache
                 ? "in the block cache, part by part "
                   "(cache_index_and_filter_blocks)"
                 : "beside the block cache, for as long as files are open; "
                   "cache_index_and_filter_blocks=true puts them into it"));
  }

  void CheckFamily(const TargetFamily& family) {
    column_family_ = family.name;
    const bool seeks = family.has_order_of_filters();
    if (family.unknown_options.empty()) {
      if (seeks) CheckTable(family);
    } else {
      Add("options", family.unknown_options, kUnknown,
          "read the notes as if the options were RocksDB's defaults");
    }
    CheckComparator(family);
    if (seeks) {
      CheckOptions(family);
      const FilesSeen seen = LookAt(family, err());
      CheckFiles(seen);
      CheckMemory(family, seen);
    }
    PrintRows("Column family " + PrintedName(family.name));
    out().Line();
  }

  void CheckDB() {
    column_family_.clear();
    const std::string version = VersionOf(target_);
    int major = 0;
    int minor = 0;
    const bool known = sscanf(version.c_str(), "%d.%d", &major, &minor) == 2;
    Add("RocksDB that wrote the OPTIONS file", known ? version : "not known",
        !known                                        ? kUnknown
        : std::make_pair(major, minor) >= kMinVersion ? kWorks
                                                      : kOff,
        Format("Protean needs RocksDB %d.%d or later, and a library that was "
               "built for just this version",
               kMinVersion.first, kMinVersion.second));
    const Status s = OpenedDB::CheckForWriting(target_);
    if (s.IsBusy()) {
      Add("apply, refresh, rollback", "the DB is open", kWorks,
          "refresh with --live, or when no process has the DB open");
    } else if (s.ok()) {
      Add("apply, refresh, rollback", "the DB can be opened", kWorks);
    } else {
      Add("apply, refresh, rollback",
          s.getState() == nullptr ? s.ToString() : s.getState(), kPartly,
          "the program itself sets the option, and calls RefreshFilters");
    }
    PrintRows("All column families");
  }

  std::string column_family_;  // empty for all of them
  std::vector<Json> rows_;
};

}  // namespace

std::unique_ptr<Command> NewPreflight() {
  return std::make_unique<Preflight>();
}

}  // namespace ROCKSDB_NAMESPACE::protean
