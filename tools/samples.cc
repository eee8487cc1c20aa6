// SPDX-License-Identifier: Apache-2.0

//  protean samples: the sample queries that filters are designed for.

#include <cinttypes>
#include <map>
#include <set>

#include "filter_policy/samples/query_file.h"
#include "tools/command.h"
#include "tools/live_request.h"
#include "tools/reads.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::vector<Column> kShapeColumns = {
    {"values", "values in the range"},
    {"shared_bytes", "bytes shared by the bounds"},
    {"ranges"},
    {"share", "share", 4}};

uint64_t NumberOf(const std::string& bytes) {
  uint64_t number = 0;
  for (const char c : bytes) number = number << 8 | static_cast<uint8_t>(c);
  return number;
}

bool IsPoint(const SampleQuery& query) { return query.lo == query.hi; }

// Returns true if the bounds of all ranges have the same length, of at most 8
// bytes; they are then taken for big-endian numbers.
bool AreNumbers(const std::vector<SampleQuery>& queries) {
  constexpr size_t kMaxLength = 8;
  size_t length = 0;
  for (const SampleQuery& query : queries) {
    if (IsPoint(query)) continue;
    if (length == 0) length = query.lo.size();
    if (length == 0 || length > kMaxLength || query.lo.size() != length ||
        query.hi.size() != length) {
      return false;
    }
  }
  return length > 0;
}

// Merges lists of samples, each of which is ordered from oldest to newest.
// Takes queries from each list in turn, the newest first: at most `max` in all,
// or all of them if `max` is 0. Duplicates are taken once, where they come
// first. The result is also ordered from oldest to newest.
std::vector<SampleQuery> MergeSamples(
    std::vector<std::vector<SampleQuery>> lists, uint64_t max) {
  std::set<std::string> taken;  // as lines of a file
  std::vector<SampleQuery> merged;
  const auto is_full = [&] { return max > 0 && merged.size() >= max; };
  bool any = true;
  while (any && !is_full()) {
    any = false;
    for (std::vector<SampleQuery>& list : lists) {
      // A list does not lose its turn by a duplicate.
      while (!list.empty() && !is_full()) {
        SampleQuery query = std::move(list.back());
        list.pop_back();
        if (!taken.insert(QueryLine(query)).second) continue;
        merged.push_back(std::move(query));
        any = true;
        break;
      }
    }
  }
  std::reverse(merged.begin(), merged.end());
  return merged;
}

constexpr CommandText kSamples = {
    "samples",
    "Shows, exports, imports, merges and saves the sample queries that filters "
    "are designed for.",
    "show|export|import|merge|save  [FILE...]", "all of them",
    R"(A filter that designs itself uses a sample of the queries that found nothing. Each column family has a
queue of them, which is saved when the DB is closed, in the file that the option samples_file of the
filter policy names, and restored when the DB is opened. A file of samples has one query per line, oldest
first: key, or lo<TAB>hi, or lo<TAB>hi<TAB>exclusive; a key that begins with 0x is hexadecimal. A process that
has the DB open does not notice an import: it adds its new samples to the imported ones when it closes the DB.

Forms:
  samples show --db=DIR | FILE         prints the number of points and ranges, and the lengths of the ranges
  samples export --db=DIR --output=FILE
                                       copies the saved samples to a file
  samples import --db=DIR FILE         replaces the saved samples by those of FILE
  samples merge FILE... --output=FILE  merges the newest samples of each FILE, in equal parts, without
                                       duplicates
  samples save --db=DIR                makes the process that has the DB open save its queues now; it needs a
                                       protean::FilterRefresher of the column family

Exit code: 0, 2 if the command failed.

Examples:
  protean samples show --db=/data/db --column_family=events
  protean samples merge monday.queries tuesday.queries --max=20K --output=week.queries
  protean samples import --db=/data/copy week.queries
)"};

class Samples : public Command {
 public:
  Samples() : Command(kSamples) {
    live_.AddFlags(&flags_);
    flags_.Add(
        {{"output", "FILE", &output_, "the file that export and merge write"},
         {"max", "N", &max_,
          "the maximum number of queries that merge keeps; default: all", 1}});
  }

 private:
  Status Run() override {
    const std::string form = operands_.empty() ? "" : operands_[0];
    if (!operands_.empty()) operands_.erase(operands_.begin());
    if (form != "save" && (live_.live || !live_.socket.empty())) {
      return Status::InvalidArgument(
          "--live and --socket go with samples save; the other forms read and "
          "write files");
    }
    if (form == "show") return Show();
    if (form == "export") return Export();
    if (form == "import") return Import();
    if (form == "merge") return Merge();
    if (form == "save") return Save();
    return Status::InvalidArgument(
        (form.empty() ? "give a form" : "there is no samples " + form) +
        "; forms: samples show, export, import, merge, save");
  }

  // The forms of the command; `operands_` are those behind the form.
  Status Show() {
    if (target_.db.empty()) {
      if (operands_.size() != 1) {
        return Status::InvalidArgument(
            "samples show takes either --db=DIR or one file of samples");
      }
      std::vector<SampleQuery> queries;
      const Status s = ReadQueries(operands_[0], err(), &queries);
      if (s.ok()) ShowShapes("", operands_[0], queries, "");
      return s;
    }
    Status s = OpenTarget(/*or_files=*/true);
    if (!s.ok()) return s;
    bool any = false;
    for (const TargetFamily& family : target_.families) {
      std::string file;
      std::vector<SampleQuery> queries;
      s = ReadSaved(family, &file, &queries);
      if (!s.ok()) {
        if (target_.families.size() > 1) err() << s.getState() << '\n';
        continue;
      }
      any = true;
      ShowShapes(family.name, file, queries, Unused(family, queries.size()));
    }
    return any ? Status::OK() : s;
  }

  Status Export() {
    if (!operands_.empty() || output_.empty()) {
      return Status::InvalidArgument(
          "samples export takes --db=DIR and --output=FILE, and no operands");
    }
    Status s = OpenOne("export");
    std::string file;
    std::vector<SampleQuery> queries;
    if (s.ok()) s = ReadSaved(target_.families[0], &file, &queries);
    if (s.ok()) s = WriteResult(output_, output_, QueryFileText(queries));
    if (s.ok()) PrintCopied("of", queries.size(), output_);
    return s;
  }

  Status Import() {
    if (operands_.size() != 1) {
      return Status::InvalidArgument(
          "samples import takes --db=DIR and one file of samples; samples "
          "merge combines several into one");
    }
    Status s = OpenOne("import");
    std::string file;
    std::vector<SampleQuery> queries;
    if (s.ok()) s = FindSamplesFile(target_.families[0], &file);
    if (s.ok()) s = ReadQueries(operands_[0], err(), &queries);
    if (s.ok() && queries.empty()) {
      s = Status::InvalidArgument(
          operands_[0] + " has no queries; the saved samples are kept");
    }
    if (s.ok())
      s = WriteResult(file, file, QueryFileText(queries), target_.env);
    if (!s.ok()) return s;
    WarnOfRelativeSamplesFile(target_.families[0], err());
    err() << "a process that has the DB open now does not notice: it adds its "
             "new samples to "
          << file << " when it closes the DB\n";
    PrintCopied("for", queries.size(), file);
    return s;
  }

  Status Merge() {
    if (operands_.empty() || output_.empty() || !target_.db.empty()) {
      return Status::InvalidArgument(
          "samples merge takes files of samples and --output=FILE; samples "
          "export writes such files");
    }
    std::vector<std::vector<SampleQuery>> lists(operands_.size());
    size_t all = 0;
    for (size_t i = 0; i < operands_.size(); i++) {
      const Status s = ReadQueries(operands_[i], err(), &lists[i]);
      if (!s.ok()) return s;
      all += lists[i].size();
    }
    const std::vector<SampleQuery> merged =
        MergeSamples(std::move(lists), max_);
    const Status s = WriteResult(output_, output_, QueryFileText(merged));
    if (!s.ok()) return s;
    out().Line(Format("%zu of %zu samples in %zu files: %s", merged.size(), all,
                      operands_.size(), output_.c_str()));
    out().Row({{"samples", merged.size()}, {"read", all}, {"output", output_}});
    return s;
  }

  Status Save() {
    if (target_.db.empty() || !operands_.empty()) {
      return Status::InvalidArgument(
          "samples save asks the process that has the DB open; give --db=DIR, "
          "and no files");
    }
    std::string body;
    Status s = target_.Open(operands_);
    if (s.ok())
      s = AskLive(target_, live_, "POST /samples", {}, nullptr, &body);
    if (!s.ok()) return s;
    const Json saved = Json::parse(body, nullptr, false);
    if (!saved.is_object())
      return Status::Corruption("the answer has no result");
    for (const auto& [family, file] : saved.items()) {
      out().Line("The samples of column family " + PrintedName(family) +
                 " are in " + file.get<std::string>());
      out().Row({{"column_family", family}, {"samples_file", file}});
    }
    return Status::OK();
  }

  // Stores the file in which the sample queue of a column family is saved. If
  // there is none, InvalidArgument says what to change.
  Status FindSamplesFile(const TargetFamily& family, std::string* file) const {
    if (!family.is_under_protean()) {
      return Status::InvalidArgument(target_.WhyNotProteanTable(
          family, "{id=protean.Proteus;samples_file=FILE}"));
    }
    if (family.samples_file().empty()) {
      return Status::InvalidArgument(
          "column family " + PrintedName(family.name) +
          " saves no samples; its options need filter_policy="
          "{id=protean.Proteus;samples_file=FILE;...}, but have "
          "filter_policy=" +
          family.filter_policy);
    }
    *file = family.samples()->SamplesFile(family.name);
    return Status::OK();
  }

  // Reads the saved samples of a column family. Returns NotFound if none have
  // been saved yet.
  Status ReadSaved(const TargetFamily& family, std::string* file,
                   std::vector<SampleQuery>* queries) const {
    const Status s = FindSamplesFile(family, file);
    if (!s.ok()) return s;
    if (!target_.env->FileExists(*file).ok()) {
      return Status::NotFound(
          "column family " + PrintedName(family.name) +
          " has saved no samples yet: " + *file +
          " does not exist; samples are saved when the DB is closed" +
          ((*file)[0] == '/'
               ? ""
               : ", into the working folder of the process that has it open"));
    }
    return ReadQueries(*file, err(), queries, target_.env);
  }

  // Tells that the samples of the selected column family are in `file` now.
  void PrintCopied(const char* relation, size_t samples,
                   const std::string& file) const {
    const TargetFamily& family = target_.families[0];
    out().Line(Format("%zu samples %s column family %s: %s%s", samples,
                      relation, PrintedName(family.name).c_str(), file.c_str(),
                      Unused(family, samples).c_str()));
    out().Row({{"column_family", family.name},
               {"samples", samples},
               {"output", file}});
  }

  // Says that filters will not use all samples; empty if they will.
  static std::string Unused(const TargetFamily& family, size_t samples) {
    const size_t most = family.samples()->options().sample_capacity;
    if (samples <= most) return "";
    return Format("; filters use at most the newest %zu (sample_capacity)",
                  most);
  }

  // Opens the DB. Returns InvalidArgument unless exactly one column family is
  // selected.
  Status OpenOne(const char* form) {
    if (target_.db.empty()) {
      return Status::InvalidArgument(std::string("samples ") + form +
                                     " needs --db=DIR");
    }
    const Status s = target_.Open({});
    if (!s.ok() || target_.families.size() == 1) return s;
    std::string names;
    for (const TargetFamily& family : target_.families) {
      names += (names.empty() ? "" : ", ") + PrintedName(family.name);
    }
    return Status::InvalidArgument(
        std::string("samples ") + form +
        " needs --column_family=NAME; the DB's column families: " + names);
  }

  void ShowShapes(const std::string& column_family, const std::string& file,
                  const std::vector<SampleQuery>& queries,
                  const std::string& unused) const {
    const bool numbers = AreNumbers(queries);
    uint64_t ranges = 0;
    // If `numbers`: for each k, the number of ranges that span at least 2^k but
    // fewer than 2^(k+1) values. Otherwise: for each length, the number of
    // ranges whose bounds have a common prefix of that length in bytes.
    std::map<uint64_t, uint64_t> lengths;
    for (const SampleQuery& query : queries) {
      if (IsPoint(query)) continue;
      ranges++;
      if (!numbers) {
        lengths[Slice(query.lo).difference_offset(query.hi)]++;
        continue;
      }
      uint64_t values = NumberOf(query.hi) - NumberOf(query.lo);
      // A range of all 2^64 values counts as one less, since 2^64 does not fit.
      if (query.hi_inclusive && values < std::numeric_limits<uint64_t>::max()) {
        values++;
      }
      lengths[FloorLog2(values)]++;
    }
    const uint64_t points = queries.size() - ranges;
    out().Line((column_family.empty()
                    ? ""
                    : "Column family " + PrintedName(column_family) + ": ") +
               file);
    out().Line(Format("%zu samples: %" PRIu64 " points, %" PRIu64 " ranges%s",
                      queries.size(), points, ranges, unused.c_str()));
    out().Row({{"column_family", column_family},
               {"samples_file", file},
               {"samples", queries.size()},
               {"points", points},
               {"ranges", ranges}});

    std::vector<Json> rows;
    for (const auto& [length, count] : lengths) {
      Json& row = rows.emplace_back(Json{{"column_family", column_family},
                                         {"ranges", count},
                                         {"share", Ratio(count, ranges)}});
      row[numbers ? "span_log2" : "shared_bytes"] = length;
      if (numbers) {
        row["values"] =
            Format("2^%" PRIu64 " to 2^%" PRIu64, length, length + 1);
      }
    }
    if (!rows.empty()) {
      out().Line();
      out().Table(kShapeColumns, rows);
    }
    out().Line();
  }

  LiveFlags live_;
  std::string output_;
  uint64_t max_ = 0;
};

}  // namespace

std::unique_ptr<Command> NewSamples() { return std::make_unique<Samples>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
