// SPDX-License-Identifier: Apache-2.0

//  protean inspect: shows which filters there are.

#include <ctime>
#include <map>
#include <sstream>

#include "filter_policy/filter_properties.h"
#include "tools/command.h"
#include "tools/file_facts.h"
#include "tools/inspect_page.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Sums over the files of a level, or of a column family.
struct Sum {
  uint64_t files = 0;
  uint64_t unfiltered = 0;
  uint64_t bytes = 0;
  uint64_t keys = 0;
  uint64_t filter_bytes = 0;
  uint64_t filtered_keys = 0;
  // Predicted false positive rate, weighted by keys, of the files that have
  // one.
  double predicted = 0;
  uint64_t predicting_keys = 0;

  void Add(const TargetFile& file, const FileFacts& facts) {
    files++;
    bytes += file.bytes;
    keys += facts.keys;
    filter_bytes += facts.filter_bytes;
    if (!facts.unfiltered.empty()) unfiltered++;
    if (facts.filter_bytes > 0) filtered_keys += facts.keys;
    if (facts.report.predicted_fpr >= 0) {
      predicting_keys += facts.keys;
      predicted += facts.report.predicted_fpr * static_cast<double>(facts.keys);
    }
  }

  // `level` is its number, or "all".
  Json Row(const std::string& column_family, const Json& level) const {
    return {{"column_family", column_family},
            {"level", level},
            {"files", files},
            {"unfiltered", unfiltered},
            {"bytes", bytes},
            {"size", PrintedBytes(bytes)},
            {"keys", keys},
            {"filter_bytes", filter_bytes},
            {"filter_size", PrintedBytes(filter_bytes)},
            {"bits_per_key",
             OrNull(filtered_keys > 0, 8 * Ratio(filter_bytes, filtered_keys))},
            {"predicted_fpr",
             OrNull(predicting_keys > 0, Ratio(predicted, predicting_keys))}};
  }
};

const std::vector<Column> kFileColumns = {
    {"file"},
    {"level"},
    {"keys"},
    {"size"},
    {"kind", "filter"},
    {"bits_per_key", "bits/key"},
    {"predicted_fpr", "predicted FPR", 5},
    {"design"},
    {"basis", "designed"},
    {"false_positive_price", "at a price of"},
    {"unfiltered", "ranges are not filtered, because"}};

const std::vector<Column> kSumColumns = {{"level"},
                                         {"files"},
                                         {"unfiltered"},
                                         {"keys"},
                                         {"size"},
                                         {"filter_size", "filters"},
                                         {"bits_per_key", "bits/key"},
                                         {"predicted_fpr", "predicted FPR", 5}};

// The fields about a file that can be read.
Json FactsOf(const FileFacts& facts) {
  const FilterReport& report = facts.report;
  const bool is_designed = !report.basis.empty();
  const std::string price = PropertyText(
      facts.file().table()->GetTableProperties()->user_collected_properties,
      kPriceProperty);
  const FilterBlock* const filter = facts.filter();
  return {
      {"keys", facts.keys},
      {"entries", facts.entries},
      {"kind", facts.kind},
      {"design", report.design},
      {"basis", report.basis},
      {"false_positive_price", OrNull(is_designed && !price.empty(), price)},
      {"samples", OrNull(is_designed, report.samples)},
      {"filter_bytes", facts.filter_bytes},
      {"bits_per_key", OrNull(facts.filter_bytes > 0,
                              8 * Ratio(facts.filter_bytes, facts.keys))},
      {"predicted_fpr", OrNull(report.predicted_fpr)},
      {"model_micros", OrNull(is_designed, report.model_micros)},
      {"parts",
       filter == nullptr ? Json() : Json(filter->directory().parts().size())},
      {"unfiltered", facts.unfiltered}};
}

constexpr CommandText kInspect = {
    "inspect",
    "Shows the filter of each SST file, what its design is based on, and its "
    "predicted false positive rate.",
    "--db=DIR | FILE...", "all of them",
    R"(Prints for each SST file its level, keys and size, the kind of its filter, the filter's design and what the
design is based on (sample queries, or the keys alone), its bits per key, and the false positive rate that
the model predicts; or why range reads do not use a filter of the file. Then the sums of each level. The DB
may be in use: only its MANIFEST, its OPTIONS file and the filters are read. With --json, and on the page of
--html, "prefixes" says which prefixes of a key a design means. A line says so if the OPTIONS file names a
table whose seeks do not ask the filters of Protean that files have, as after RocksDB's ldb put --bloom_bits.

Exit code: 0 if all filters can be used or are left out on purpose; 1 if a file, a filter or the end of
the MANIFEST is damaged or missing, or if the OPTIONS file keeps filters from being asked; 2 if the
command failed.

Examples:
  protean inspect --db=/data/db --column_family=events --levels_only
  protean inspect /backup/000123.sst /backup/000124.sst
  protean inspect --db=/data/db --json | jq 'select(.unfiltered != "") | .file'
  protean advise --db=/data/db --json > advice && protean inspect --db=/data/db --html=page.html --advice=advice
)"};

class Inspect : public Command {
 public:
  Inspect() : Command(kInspect) {
    flags_.Add({{"levels_only", "", &levels_only_,
                 "print the sums of each level only"},
                {"html", "FILE", &html_file_,
                 "write the same facts, with charts, to an HTML page that "
                 "needs no other file"},
                {"advice", "FILE", &advice_file_,
                 "also draw on the page what advise --json has measured and "
                 "printed to this file: blocks per read over bits per key"}});
  }

 private:
  Status Run() override {
    Json page;
    Status s = OpenTarget(/*or_files=*/true);
    if (s.ok()) s = AddAdvice(&page);
    if (!s.ok()) return s;
    found_ = !target_.cut_off.empty();
    for (const TargetFamily& family : target_.families) {
      page["families"].push_back(InspectFamily(family));
    }
    if (html_file_.empty()) return s;
    page["title"] = target_.db.empty()
                        ? Format("%zu SST files", operands_.size())
                        : target_.db;
    // c_str() drops the trailing zeros of TimeToString.
    // NOLINTNEXTLINE(readability-redundant-string-cstr)
    page["time"] = Env::Default()
                       ->TimeToString(static_cast<uint64_t>(time(nullptr)))
                       .c_str();
    return WriteResult(html_file_, "--html=" + html_file_, RenderPage(page));
  }

  // Returns the row of a file. `*facts` stays nullptr if it cannot be read.
  Json LookAt(const TargetFamily& family, const TargetFile& file,
              std::unique_ptr<FileFacts>* facts) {
    Json row = {{"column_family", family.name},
                {"file", file.name},
                {"level", OrNull(file.level)},
                {"bytes", file.bytes},
                {"size", PrintedBytes(file.bytes)}};
    const Status read = FileFacts::Read(family, file, facts);
    if (read.ok()) {
      row.update(FactsOf(**facts));
      row["prefixes"] =
          (*facts)->kind == "SuRF"
              ? ""
              : ExplainDesign((*facts)->report.design, file.smallest);
      found_ = found_ || (*facts)->damaged;
    } else if (target_.IsMissing(family, file)) {
      row["unfiltered"] = "the file is missing, although the MANIFEST lists it";
      found_ = true;
    } else if (IsGone(read) && !target_.db.empty()) {
      row["unfiltered"] = "the file is gone; it was compacted";
    } else if (read.IsNotSupported()) {
      row["unfiltered"] = read.getState();
    } else {
      row["unfiltered"] = (read.IsCorruption() ? "the file is damaged: "
                                               : "the file cannot be read: ") +
                          read.ToString();
      found_ = true;
    }
    return row;
  }

  // Prints the files and the levels, and returns them for the page.
  Json InspectFamily(const TargetFamily& family) {
    std::vector<Json> files;
    std::map<int, Sum> levels;
    Sum all;
    size_t of_protean = 0;
    Progress line(err());
    for (const TargetFile& file : family.files) {
      if (line.IsDue()) {
        line.Show(
            Format("%zu of %zu files", files.size(), family.files.size()));
      }
      std::unique_ptr<FileFacts> facts;
      files.push_back(LookAt(family, file, &facts));
      if (facts == nullptr) continue;
      of_protean += facts->filter() != nullptr;
      levels[file.level].Add(file, *facts);
      all.Add(file, *facts);
    }
    line.Clear();
    if (of_protean > 0 && !family.table_factory.empty() &&
        !family.is_under_protean()) {
      PrintUnasked(family, of_protean);
      found_ = true;
    }
    std::vector<Json> sums;
    for (const auto& [level, sum] : levels) {
      sums.push_back(sum.Row(family.name, level < 0 ? Json("-") : Json(level)));
    }
    Json page = {{"name", family.name},
                 {"filter_policy", family.filter_policy},
                 {"files", files},
                 {"levels", sums}};
    if (!family.name.empty()) {
      out().Line("Column family " + PrintedName(family.name) + ": " +
                 family.table_factory +
                 (family.filter_policy.empty() ? "" : ", filter_policy=") +
                 family.filter_policy);
    }
    if (!levels_only_) {
      out().Table(kFileColumns, files);
      out().Line();
    }
    if (!json_) sums.push_back(all.Row(family.name, "all"));
    if (levels_only_ || !json_) out().Table(kSumColumns, sums);
    out().Line();
    return page;
  }

  // Adds to the page what `protean advise --json` has measured: the rows of the
  // file --advice, without those that are not of policies.
  Status AddAdvice(Json* page) const {
    if (advice_file_.empty()) return Status::OK();
    if (html_file_.empty()) {
      return Status::InvalidArgument("--advice needs --html=FILE");
    }
    std::string text;
    const Status s = ReadFileToString(Env::Default(), advice_file_, &text);
    if (!s.ok()) return s;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const Json row = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (row.is_object() && row.value("row", Json()) == "policy") {
        (*page)["advice"].push_back(row);
      }
    }
    return page->contains("advice")
               ? s
               : Status::InvalidArgument("--advice=" + advice_file_ +
                                         " has no rows of advise --json");
  }

  // Says that no read, or no seek, asks this many filters of Protean, because
  // of the OPTIONS file, and how to go on.
  void PrintUnasked(const TargetFamily& family, size_t filters) const {
    const std::string flags = TargetFlags(target_.db, family.name);
    const std::string last = family.has_protean_policy
                                 ? PolicyText(family.policy())
                                 : target_.LastProteanPolicy(family.name);
    const std::string typed = WithoutSeeds(last, /*counted=*/false);
    err() << "column family " << PrintedName(family.name) << ": " << filters
          << " of " << family.files.size()
          << " files have filters of Protean, which no "
          << (family.has_protean_policy ? "seek" : "read")
          << " asks, since the OPTIONS file names " << family.table_factory
          << " with filter_policy=" << family.filter_policy
          << ". What opened the DB last for writing has written it, such as "
             "ldb with --bloom_bits or --create_if_missing. To name "
             "ProteanTable: protean apply "
          << flags << ' '
          << ShellWord("--policy=" + (last.empty() ? "POLICY" : typed))
          << (typed == last ? "" : ", where seed_file=FILE may name new seeds")
          << ". To leave Protean: protean rollback " << flags
          << " --to=bloomfilter:10\n";
  }

  bool levels_only_ = false;
  std::string html_file_;
  std::string advice_file_;
};

}  // namespace

std::unique_ptr<Command> NewInspect() { return std::make_unique<Inspect>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
