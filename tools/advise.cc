// SPDX-License-Identifier: Apache-2.0

//  protean advise: recommends filters for a DB.

#include <cinttypes>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>

#include "filter_policy/samples/query_file.h"
#include "table/seek/thread_bounds.h"
#include "tools/command.h"
#include "tools/filter_replay.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::vector<std::string> kDefaultPolicies = {
    "bloomfilter:10", "surf:0:4",   "surf:0:8",   "surf:0:0:8", "proteus:8",
    "proteus:10",     "proteus:12", "proteus:14", "proteus:16"};
// Tried as well if Gets of absent keys are limited: a set of whole keys is for
// them alone, however few of the reads they are.
const std::vector<std::string> kPoliciesForGets = {
    "{id=protean.Proteus;bits_per_key=12;point_lookups_use_whole_keys=true}",
    "{id=protean.Proteus;bits_per_key=16;point_lookups_use_whole_keys=true}",
    "{id=protean.Proteus;bits_per_key=20;point_lookups_use_whole_keys=true}"};

ReportShare ShowShareOf(const char* step, Progress* line) {
  return [=](double done) {
    if (line->IsDue()) line->Show(Format("%s: %.0f %%", step, 100 * done));
  };
}

// The change from `before` to `now` in words.
std::string Saving(double before, double now) {
  if (before <= 0) return "as much as";
  const double percent = 100 * (before - now) / before;
  return Format("%.1f %% %s than", std::fabs(percent),
                percent >= 0 ? "less" : "more");
}

std::string OptionOf(const FilterPolicy& policy, const std::string& name) {
  std::string value;
  if (!policy.GetOption(ConfigOptions(), name, &value).ok()) return "";
  return value;
}

const std::vector<Column> kPolicyColumns = {
    {"policy"},
    {"bits_per_key", "bits/key"},
    {"filter_size", "filters"},
    {"filter_ns_per_op", "filter ns/op", 0},
    {"build_ns_per_key", "build ns/key", 0},
    {"build_cpu_seconds", "build CPU s"},
    {"build_memory"},
    {"predicted_fpr", "predicted FPR", 5},
    {"measured_fpr", "measured FPR", 5},
    {"blocks_per_op", "blocks/op", 4},
    {"saved_per_bit", "saved by a bit", 4}};

const std::vector<Column> kLevelColumns = {
    {"policy"},
    {"level"},
    {"files"},
    {"keys"},
    {"bits_per_key", "bits/key"},
    {"asked_in_vain_per_op", "asked in vain/op", 3},
    {"predicted_fpr", "predicted FPR", 5},
    {"measured_fpr", "measured FPR", 5},
    {"blocks_per_op", "blocks/op", 4}};

const std::vector<Column> kKindColumns = {
    {"kind", "kind of read"},
    {"reads"},
    {"blocks_per_op_none", "without filters", 4},
    {"blocks_per_op_as_it_is", "now", 4},
    {"blocks_per_op", "then", 4}};
// With fewer reads, what is measured is so coarse that the advice says so.
constexpr uint64_t kEnoughReplayed = 1000;

constexpr CommandText kAdvise = {
    "advise",
    "Recommends filters and their size, measured with the DB's own files and "
    "reads.",
    "--db=DIR | FILE...  [--trace=FILE | --queries=FILE]",
    "the one named default",
    R"(Builds filters for the DB's files in memory, for each policy, and replays reads against them. One half
of the reads teaches the policies that learn; the other half is replayed. Nothing on disk is changed,
and the DB may be in use. The reads come from a trace of the DB (DB::StartTrace), from a file of queries
(one per line: key, or lo<TAB>hi), or, if neither is given, from the samples that the DB has saved
(samples_file of its filter policy), which are queries for which files were read in vain. The advice begins
with no filters. The policy that saves the most blocks/op per additional bit per key comes next, until a bit
saves less than --min_saving percent of the blocks/op without filters. It obeys the limits --max_get_blocks,
--max_filter_memory and --max_build_cpu, and ends with the commands to follow.

  blocks/op       data blocks that a read needs, in the block cache or not: all blocks of a Get, and
                  those that a seek needs to find its first key. Only files count, not memtables
  predicted FPR   the false positive rate that the filters' own model predicts
  measured FPR    the share of the files asked in vain that are read
  build CPU s     the CPU time in which the filters of all files are built, one after the other
  build memory    the memory that building the filter of the largest file takes
  saved by a bit  blocks/op that each bit per key saves, compared with the next smaller budget of the
                  same kind
  filter ns/op    the CPU time of asking the filters of all files that a read asks

Ctrl-C or SIGTERM ends the building of filters after the current file. The advice then rests on the files
before.

Exit code: 0; 1 if nothing was measured, because no read asks a file, or if a file is missing; 2 if no
advice can be given or the command was interrupted.

Examples:
  protean advise --db=/data/db --trace=/tmp/trace --save_samples=/data/seeds
  protean advise --db=/data/db --column_family=events --policies=proteus:8,proteus:10,ribbonfilter:10
  protean advise /backup/000123.sst --queries=queries.txt --json
)"};

class Advise : public Command {
 public:
  Advise() : Command(kAdvise) {
    flags_.Add(
        {{"trace", "FILE", &trace_,
          "take the reads from a trace that DB::StartTrace has written"},
         {"queries", "FILE", &queries_,
          "take the reads from a text file, one per line: key, lo<TAB>hi, or "
          "lo<TAB>hi<TAB>exclusive"},
         {"max_queries", "N", &max_queries_,
          "if there are more than N reads, take N of them at random, 2 or "
          "more; default: 20000",
          2},
         {"prefix_same_as_start", "", &prefix_same_as_start_,
          "take seeks to be for keys with the prefix of their target only, "
          "which a trace does not tell"},
         {"policies", "SPEC,...", &policies_,
          "filter policies to try, as in options; levels:POLICY,POLICY,... "
          "takes the rest of the list; default: " +
              std::accumulate(
                  kDefaultPolicies.begin() + 1, kDefaultPolicies.end(),
                  kDefaultPolicies[0],
                  [](const std::string& all, const std::string& one) {
                    return all + ", " + one;
                  })},
         {"max_bytes", "BYTES", &max_bytes_,
          "build filters for files of at most that many bytes in all, spread "
          "over the levels; default: 1G",
          1},
         {"min_saving", "PERCENT", &min_saving_,
          "the share of the blocks read without filters that a bit per key "
          "must save, from 0 to 100; default: 1",
          0, 100},
         {"max_get_blocks", "X", &limits_.get_blocks,
          "recommend no filters with which a Get of an absent key needs more "
          "than X data blocks on average, such as 0.02; Proteus with "
          "point_lookups_use_whole_keys=true is tried, too, unless there are "
          "--policies",
          0},
         {"max_filter_memory", "BYTES", &limits_.filter_memory,
          "recommend no filters that take more than that in all", 1},
         {"max_build_cpu", "SECONDS", &limits_.build_cpu,
          "recommend no filters that take more CPU to build for all files", 0},
         {"save_samples", "FILE", &save_samples_,
          "write the samples that the reads give to this file, a seed_file for "
          "the policy"}});
  }

 private:
  Status Run() override {
    Status s = Prepare();
    if (!s.ok()) return s;
    const size_t missing = PrintMissing();
    found_ = missing > 0;
    const bool asks = !truth_.questions.empty();
    if (asks) s = SaveSamples();
    if (s.ok() && asks) s = Replay();
    if (!s.ok()) return s;
    if (asks && report_.built().built_files == 0) {
      return Status::InvalidArgument(
          "no filter can be built: --max_bytes is smaller than every file, or "
          "none of the files exists");
    }
    if (asks && limits_.get_blocks != AdviceLimits::kNoLimit &&
        AbsentGets(report_.results[kNoFilters]) == nullptr) {
      return Status::InvalidArgument(
          "--max_get_blocks needs Gets of absent keys among the reads, but " +
          source_ + " has none");
    }
    if (!asks || report_.results[kNoFilters].all.blocks == 0) {
      found_ = true;
      PrintNothingMeasured();
      return s;
    }
    PrintReads(missing);
    PrintPolicies();
    return Recommended();
  }

  Status ChooseFamily(TargetFamily* family) const {
    const TargetFamily* chosen = nullptr;
    const Status s = target_.DefaultFamily(&chosen);
    if (!s.ok()) return s;
    *family = *chosen;
    const std::string of =
        family->name.empty() ? "these files" : "column family " + family->name;
    if (family->files.empty()) {
      return Status::InvalidArgument(
          of + " has no SST files, so no filters; flush it first");
    }
    if (!family->comparator_known ||
        family->options.comparator != BytewiseComparator()) {
      return Status::InvalidArgument("range filters need the comparator " +
                                     std::string(BytewiseComparator()->Name()) +
                                     ", but the comparator of " + of + " is " +
                                     family->comparator);
    }
    if (!family->table_options().whole_key_filtering) {
      return Status::InvalidArgument(
          "range filters need whole_key_filtering=true, but " + of +
          " has whole_key_filtering=false");
    }
    return FindKeyRanges(family);
  }

  Status ReadReads(ReadSample* reads) {
    if (!queries_.empty() && !trace_.empty()) {
      return Status::InvalidArgument("give either --queries or --trace");
    }
    if (trace_.empty()) return ReadSamples(reads);
    uint64_t others = 0;
    std::string cut_off;
    const Status s = ReadTrace(trace_, family_.id, reads, &others, &cut_off);
    if (!s.ok()) return s;
    if (!cut_off.empty()) err() << cut_off << ". The reads before are used\n";
    source_ = "the trace " + trace_;
    if (reads->seen() > 0) return s;
    return Status::InvalidArgument(source_ + " has no reads of column family " +
                                   PrintedName(family_.name) + ", but " +
                                   std::to_string(others) +
                                   " of other ones; see --column_family");
  }

  // Reads the file of samples that the DB has saved, or that --queries names.
  Status ReadSamples(ReadSample* reads) {
    std::string file = queries_;
    Env* env = Env::Default();
    if (file.empty()) {
      if (target_.db.empty() || family_.samples_file().empty()) {
        return Status::InvalidArgument(
            std::string(target_.db.empty()
                            ? "SST files have no file of sample queries"
                            : "this DB saves no samples: its options need "
                              "filter_policy={id=protean.Proteus;samples_file="
                              "FILE;...}") +
            "; give --trace=FILE or --queries=FILE");
      }
      file = family_.samples()->SamplesFile(family_.name);
      env = target_.env;
      if (!env->FileExists(file).ok()) {
        return Status::InvalidArgument(
            "the DB's samples_file " + file +
            " does not exist: it is written when the DB is closed; give "
            "--trace=FILE or --queries=FILE");
      }
    }
    source_ = (queries_.empty() ? "the samples " : "") + file;
    std::vector<SampleQuery> queries;
    const Status s = ReadQueries(file, err(), &queries, env);
    if (!s.ok()) return s;
    for (const SampleQuery& query : queries) reads->Add(ReadOf(query));
    return queries.empty() ? Status::InvalidArgument(file + " has no queries")
                           : s;
  }

  Status AddCandidates(const std::vector<std::string>& policies) {
    for (const std::string& spec : policies) {
      if (spec == "none") continue;
      Candidate candidate;
      candidate.name = spec;
      const Status s = MakePolicy("--policies", spec, &candidate.policy);
      if (!s.ok()) return s;
      candidates_.push_back(std::move(candidate));
    }
    return Status::OK();
  }

  // Says which files are missing. Returns their number.
  size_t PrintMissing() const {
    size_t missing = 0;
    for (const TargetFile& file : family_.files) {
      if (!target_.IsMissing(family_, file)) continue;
      missing++;
      err() << file.path
            << " is missing, although the MANIFEST lists it: restore it from a "
               "backup. What reads ask of it is not measured\n";
    }
    return missing;
  }

  Status Prepare() {
    // No filter is always a candidate: all others are compared with it, and it
    // costs nothing.
    candidates_ = {{"as it is"}, {"none"}};
    Status s = AddCandidates(policies_.empty() ? kDefaultPolicies : policies_);
    if (s.ok()) s = OpenTarget(/*or_files=*/true);
    if (!s.ok()) return s;
    s = ChooseFamily(&family_);
    // With a prefix extractor, RocksDB refuses
    // point_lookups_use_whole_keys=true.
    if (s.ok() && policies_.empty() &&
        limits_.get_blocks != AdviceLimits::kNoLimit &&
        family_.options.prefix_extractor == nullptr) {
      s = AddCandidates(kPoliciesForGets);
    }
    ReadSample sample(max_queries_);
    if (s.ok()) s = ReadReads(&sample);
    if (!s.ok()) return s;
    reads_seen_ = sample.seen();
    reads_ = sample.Take();
    if (prefix_same_as_start_) s = BoundByPrefixes();
    if (!s.ok()) return s;
    Progress line(err());
    return FindTruth(family_, reads_,
                     ShowShareOf("looking up what the reads find", &line),
                     &truth_);
  }

  // Gives forward seeks the end of their prefix as a bound.
  Status BoundByPrefixes() {
    const SliceTransform* const extractor =
        family_.options.prefix_extractor.get();
    if (extractor == nullptr) {
      return Status::InvalidArgument(
          "--prefix_same_as_start needs a prefix_extractor, which the column "
          "family's options do not have");
    }
    for (ReadQuery& read : reads_) {
      std::string end;
      if (IsForwardSeek(read) &&
          FirstAfterPrefixOf(read.target, *extractor, &end) &&
          (read.kind == ReadKind::kOpenSeek || end < read.bound)) {
        read = {ReadKind::kClosedSeek, read.target, end};
      }
    }
    return Status::OK();
  }

  Status SaveSamples() {
    if (save_samples_.empty()) return Status::OK();
    // The path becomes an option of the DB, whose process may have another
    // working folder.
    save_samples_ = AbsolutePath(save_samples_);
    const std::vector<bool> none(reads_.size(), false);
    return WriteResult(save_samples_, "--save_samples=" + save_samples_,
                       QueryFileText(SamplesOf(reads_, truth_, none)),
                       target_.env);
  }

  Status Replay() {
    const Interrupt interrupt;
    Progress line(err());
    return ReplayReads({family_, reads_, truth_, candidates_, max_bytes_,
                        ShowShareOf("building filters", &line),
                        [&] { return interrupt.requested(); }},
                       &report_);
  }

  void PrintNothingMeasured() const {
    const auto [first, last] =
        std::minmax_element(reads_.begin(), reads_.end(),
                            [](const ReadQuery& a, const ReadQuery& b) {
                              return a.target < b.target;
                            });
    std::string smallest = family_.files[0].smallest;
    std::string largest = family_.files[0].largest;
    for (const TargetFile& file : family_.files) {
      smallest = std::min(smallest, file.smallest);
      largest = std::max(largest, file.largest);
    }
    const std::string why =
        Format("of the %zu reads from %s, ", reads_.size(), source_.c_str()) +
        (!truth_.questions.empty()
             ? "those that were replayed need no data block, with or without "
               "filters"
             : Format("none asks a file that could be read. They are for keys "
                      "from %s to %s, and the files have keys from %s to %s",
                      PrintedKey(first->target).c_str(),
                      PrintedKey(last->target).c_str(),
                      PrintedKey(smallest).c_str(),
                      PrintedKey(largest).c_str()));
    out().Row({{"row", "nothing"},
               {"column_family", family_.name},
               {"reads", reads_.size()},
               {"reason", why}});
    out().Line("Nothing was measured, so there is no advice: " + why);
  }

  // The fields that the rows of a policy, a level and the advice have in
  // common.
  Json RowOf(const char* row, const std::string& policy,
             const ReplaySum& sum) const {
    const bool is_built = sum.build_nanos > 0;
    return {{"row", row},
            {"column_family", family_.name},
            {"policy", policy},
            {"bits_per_key", sum.BitsPerKey()},
            {"predicted_fpr", OrNull(sum.PredictedRate())},
            {"measured_fpr", OrNull(sum.in_vain > 0, sum.FalsePositiveRate())},
            {"blocks_per_op", Ratio(sum.blocks, report_.replayed)},
            {"asked_in_vain_per_op", Ratio(sum.in_vain, report_.replayed)},
            {"keys", static_cast<uint64_t>(sum.keys)},
            {"filter_bytes", static_cast<uint64_t>(sum.filter_bytes)},
            {"filter_size", PrintedBytes(sum.filter_bytes)},
            {"build_ns_per_key", OrNull(is_built, sum.build_nanos / sum.keys)},
            {"build_memory_bytes", OrNull(is_built, sum.build_memory)},
            {"build_memory", OrNull(is_built, PrintedBytes(sum.build_memory))},
            {"build_cpu_seconds", OrNull(is_built, sum.build_nanos * 1e-9)}};
  }

  // What the results leave out or assume. `missing` files do not exist although
  // the MANIFEST lists them.
  void PrintNotes(size_t missing) const {
    const size_t gone = std::max(truth_.files_gone, report_.files_gone);
    const std::pair<bool, std::string> notes[] = {
        {report_.levels_settled,
         "Filters of small levels have the size that level_bits=kAuto gives "
         "them once all files have been rewritten"},
        {report_.built().built_files < report_.results[kAsItIs].all.files,
         "The other files are assumed to be like these, level by level"},
        {report_.files_not_asked > 0,
         Format("As it is: %zu files have filters that the column family's "
                "filter policy does not know, so reads do not ask them",
                report_.files_not_asked)},
        {report_.range_deletions > 0, "Range deletions are ignored"},
        {family_.options.prefix_extractor != nullptr,
         "Seeks are replayed in total order, with auto_prefix_mode"},
        {!report_.prefix_seeks.empty(),
         Format("For %zu of the seeks, \"now\" is an upper limit: if they are "
                "to find only keys with the prefix of their target, the "
                "existing\nfilters are asked for that prefix, which "
                "--prefix_same_as_start measures for forward seeks",
                report_.prefix_seeks.size())},
        {missing > 0, Format("%zu files are missing, and left out", missing)},
        {gone > missing,
         Format("%zu files have been compacted, and are left out",
                gone - missing)}};
    for (const auto& [holds, note] : notes) {
      if (holds) out().Line(note);
    }
  }

  void PrintReads(size_t missing) const {
    if (!family_.name.empty()) {
      out().Line("Column family " + PrintedName(family_.name) + ": " +
                 family_.table_factory +
                 ", filter_policy=" + family_.filter_policy);
    }
    std::map<ReadKind, size_t> kinds;
    for (const ReadQuery& read : reads_) kinds[read.kind]++;
    std::string text;
    for (const auto& [kind, count] : kinds) {
      text +=
          Format("%s%zu %s", text.empty() ? "" : ", ", count, ToString(kind));
    }
    out().Line("Reads from " + source_ + ": " + text +
               (reads_seen_ > reads_.size()
                    ? ", chosen from " + std::to_string(reads_seen_)
                    : ""));
    const ReplaySum& all = report_.results[kAsItIs].all;
    out().Line(Format(
        "%" PRIu64
        " of them %s replayed; the others teach the filters, with %" PRIu64
        " samples. Filters are built for %zu of %zu files, %s of %s",
        report_.replayed, report_.replayed == 1 ? "is" : "are", report_.taught,
        report_.built().built_files, all.files,
        PrintedBytes(report_.built().built_bytes).c_str(),
        PrintedBytes(all.bytes).c_str()));
    std::set<uint32_t> asking;
    for (const Question& question : truth_.questions) {
      asking.insert(question.read);
    }
    if (asking.size() < reads_.size()) {
      out().Line(
          Format("%zu of the %zu reads ask a file; no file can have keys for "
                 "the others",
                 asking.size(), reads_.size()));
    }
    PrintNotes(missing);
    out().Line();
  }

  void PrintPolicies() const {
    const std::vector<double> saved = SavedPerBit(report_.results);
    std::vector<Json> rows;
    for (size_t i = 0; i < report_.results.size(); i++) {
      const ReplayResult& result = report_.results[i];
      Json& row = rows.emplace_back(RowOf("policy", result.name, result.all));
      row["filter_ns_per_op"] = result.asking_nanos_per_read;
      row["saved_per_bit"] = OrNull(saved[i] != -1, saved[i]);
    }
    out().Table(kPolicyColumns, rows);
    out().Line();
  }

  // What each kind of read costs now and under the recommended result, and
  // which of them gets worse. Programs get the rows of all results.
  void PrintKinds(size_t recommended) const {
    std::vector<Json> rows;
    std::string worse;
    for (size_t i = 0; i < report_.results.size(); i++) {
      if (!json_ && i != recommended) continue;
      for (size_t k = 0; k < report_.results[i].kinds.size(); k++) {
        const ReplayKind& kind = report_.results[i].kinds[k];
        const double then = kind.BlocksPerRead();
        const double now = report_.results[kAsItIs].kinds[k].BlocksPerRead();
        rows.push_back(
            {{"row", "kind"},
             {"column_family", family_.name},
             {"policy", report_.results[i].name},
             {"recommended", i == recommended},
             {"kind", kind.name},
             {"reads", kind.reads},
             {"blocks_per_op", then},
             {"blocks_per_op_as_it_is", now},
             {"blocks_per_op_none",
              report_.results[kNoFilters].kinds[k].BlocksPerRead()}});
        if (i == recommended && then > kAsGood * now) {
          worse += Format("%s%s (%.4f, now %.4f)", worse.empty() ? "" : ", ",
                          kind.name.c_str(), then, now);
        }
      }
    }
    std::vector<Column> columns = kKindColumns;
    if (!report_.prefix_seeks.empty()) columns[3].title = "now, at most";
    out().Table(columns, rows);
    if (!worse.empty()) {
      out().Line("These reads will need more blocks than now: " + worse);
    }
    out().Line();
  }

  // The levels, as they are and under the recommended result. Programs get the
  // rows of all results.
  void PrintLevels(size_t recommended) const {
    std::vector<Json> levels;
    for (size_t i = 0; i < report_.results.size(); i++) {
      if (!json_ && i != kAsItIs && i != recommended) continue;
      const ReplayResult& result = report_.results[i];
      for (const auto& [level, sum] : result.levels) {
        Json& row = levels.emplace_back(RowOf("level", result.name, sum));
        row["level"] = OrNull(level);
        row["files"] = sum.files;
      }
    }
    out().Table(kLevelColumns, levels);
    out().Line();
  }

  Status Recommended() const {
    const size_t recommended = Recommend(report_.results, limits_, min_saving_);
    const ReplayResult& chosen = report_.results[recommended];
    PrintKinds(recommended);
    PrintLevels(recommended);
    const LimitUse use = TightestLimit(chosen, limits_);
    if (use.Share() > 1) {
      out().Row({{"row", "miss"},
                 {"column_family", family_.name},
                 {"policy", chosen.name},
                 {"limit", use.flag},
                 {"needs", use.needs},
                 {"allowed", use.allowed}});
      return Status::NotFound(
          "no policy obeys the limits; the nearest miss is " + chosen.name +
          ", which " + use.text);
    }
    if (recommended == kNoFilters && !report_.prefix_seeks.empty()) {
      return Status::NotFound(
          Format("in total order, no filters are the best; but %zu seeks may "
                 "ask the existing filters for a prefix, so keep these, or "
                 "measure that with --prefix_same_as_start",
                 report_.prefix_seeks.size()));
    }
    const size_t without_limits =
        Recommend(report_.results, AdviceLimits(), min_saving_);
    if (without_limits != recommended) {
      const ReplayResult& ruled_out = report_.results[without_limits];
      out().Line("Without limits, the advice would be " + ruled_out.name +
                 ", which " + TightestLimit(ruled_out, limits_).text);
    }
    PrintAdvice(recommended);
    if (!report_.stopped) return Status::OK();
    return Status::Incomplete(
        Format("interrupted; the advice rests on the %zu files whose filters "
               "had been built, %s",
               report_.built().built_files,
               PrintedBytes(report_.built().built_bytes).c_str()));
  }

  // The file of samples that a policy which learns is to start with; empty if
  // the policy learns nothing, or has the samples that the DB has saved.
  std::string SeedsFor(const Candidate& candidate) const {
    if (!save_samples_.empty()) return save_samples_;
    const ProteanFilterPolicy* policy =
        AsProteanFilterPolicy(candidate.policy.get());
    if (policy == nullptr || policy->Samples() == nullptr ||
        target_.db.empty() || (trace_.empty() && queries_.empty())) {
      return "";
    }
    return AbsolutePath(target_.db) +
           (family_.name == kDefaultColumnFamilyName
                ? ""
                : "." + std::to_string(family_.id)) +
           ".seeds";
  }

  // The policy as an options string. A policy that learns gets the files that
  // it learns from.
  std::string OptionText(const Candidate& candidate,
                         const std::string& seed_file) const {
    const std::string samples_file = family_.samples_file();
    if (candidate.policy == nullptr) return kNullptrString;
    const ProteanFilterPolicy* policy =
        AsProteanFilterPolicy(candidate.policy.get());
    if (policy == nullptr || policy->Samples() == nullptr ||
        (samples_file.empty() && seed_file.empty())) {
      return candidate.name;
    }
    const std::string id = std::string("id=") + policy->Name();
    std::shared_ptr<const FilterPolicy> plain;
    // A list of policies (protean.Levels) does not have these options itself.
    if (!FilterPolicy::CreateFromString(ConfigOptions(), id, &plain).ok() ||
        OptionOf(*policy, "bits_per_key").empty()) {
      return candidate.name;
    }
    std::string text =
        "{" + id + ";bits_per_key=" +
        Format("%g",
               strtod(OptionOf(*policy, "bits_per_key").c_str(), nullptr));
    for (const char* name :
         {"prefix_filter_type", "level_bits", "point_lookups_use_whole_keys",
          "false_positive_cost_micros", "queries_per_key",
          "filter_budget_bytes", "sample_capacity", "sample_every"}) {
      const std::string value = OptionOf(*policy, name);
      if (value != OptionOf(*plain, name)) {
        text += std::string(";") + name + "=" + value;
      }
    }
    if (!seed_file.empty()) text += ";seed_file=" + seed_file;
    if (!samples_file.empty()) text += ";samples_file=" + samples_file;
    return text + "}";
  }

  // The commands that give the DB the recommended filters, in their order; none
  // without a DB.
  std::vector<std::string> CommandsFor(const Candidate& candidate,
                                       const std::string& policy,
                                       const std::string& seed_file) const {
    if (target_.db.empty()) return {};
    const auto command = [&](const std::string& name) {
      return "protean " + name + " " + TargetFlags(target_.db, family_.name);
    };
    std::vector<std::string> commands;
    if (!seed_file.empty() && save_samples_.empty()) {
      commands.push_back(
          command("advise") +
          (prefix_same_as_start_ ? " --prefix_same_as_start " : " ") +
          ShellWord(trace_.empty() ? "--queries=" + AbsolutePath(queries_)
                                   : "--trace=" + AbsolutePath(trace_)) +
          Format(" --max_queries=%" PRIu64 " ", max_queries_) +
          ShellWord("--policies=" + candidate.name) + " " +
          ShellWord("--save_samples=" + seed_file));
    }
    commands.push_back(command("apply") + " " +
                       ShellWord("--policy=" + policy));
    if (AsProteanFilterPolicy(candidate.policy.get()) != nullptr) {
      commands.push_back(command("refresh") + " --all");
    } else if (candidate.policy != nullptr) {
      commands.push_back(command("rollback") + " " +
                         ShellWord("--to=" + candidate.name));
    }
    return commands;
  }

  void PrintWay(bool has_policy,
                const std::vector<std::string>& commands) const {
    out().Line();
    if (commands.empty()) {
      out().Line(
          "How to get there: open the DB with this option. Files get such a "
          "filter when they are flushed or compacted.");
      return;
    }
    out().Line("How to get there, while no process has the DB open:");
    out().Line();
    for (const std::string& command : commands) out().Line("  " + command);
    out().Line();
    out().Line(
        "protean rollback takes the option back. An application that passes "
        "its options itself must be\nchanged, too.");
    if (!family_.is_under_protean()) {
      if (report_.results[kAsItIs].all.filter_bytes > 0) {
        out().Line(
            "Until files are rewritten, the filters that they have still serve "
            "Gets.");
      }
    } else if (has_policy) {
      out().Line(
          "With --print, protean apply prints the call of SetOptions for a "
          "process that has the DB open;\nRefreshFilters with all_files "
          "(plugin/refresh_filters.h), or CompactRange, comes next.");
    } else {
      out().Line(
          "A process that has the DB open cannot do without its filter policy: "
          "SetOptions takes nullptr for\nthe one that is set.");
    }
  }

  void PrintAdvice(size_t recommended) const {
    const Candidate& candidate = candidates_[recommended];
    const std::string seed_file = SeedsFor(candidate);
    const std::string policy = OptionText(candidate, seed_file);
    const std::vector<std::string> commands =
        CommandsFor(candidate, policy, seed_file);
    const std::string line =
        "table_factory={id=ProteanTable;filter_policy=" + policy + "}";
    const ReplayResult& best = report_.results[recommended];
    const ReplayResult& as_it_is = report_.results[kAsItIs];
    const ReplayResult& none = report_.results[kNoFilters];
    Json row = RowOf("advice", candidate.name, best.all);
    row["options"] = line;
    row["commands"] = commands;
    row["reads"] = report_.replayed;
    row["bytes"] = best.all.bytes;
    row["built_bytes"] = report_.built().built_bytes;
    row["blocks_per_op_as_it_is"] = as_it_is.blocks_per_read;
    row["blocks_per_op_none"] = none.blocks_per_read;
    row["prefix_seeks"] = report_.prefix_seeks.size();
    out().Row(row);

    out().Line("Use: " + line);
    const std::string now =
        report_.prefix_seeks.empty()
            ? Saving(as_it_is.blocks_per_read, best.blocks_per_read) +
                  Format(" now (%.4f)", as_it_is.blocks_per_read)
            : Format("now at most %.4f", as_it_is.blocks_per_read);
    out().Line(Format(
        "Expected: %.4f blocks per read: %s, %s without filters (%.4f); %s of "
        "filters, now %s",
        best.blocks_per_read, now.c_str(),
        Saving(none.blocks_per_read, best.blocks_per_read).c_str(),
        none.blocks_per_read, PrintedBytes(best.all.filter_bytes).c_str(),
        PrintedBytes(as_it_is.all.filter_bytes).c_str()));
    if (report_.replayed < kEnoughReplayed) {
      out().Line(Format("Few reads were replayed (%" PRIu64
                        "): what is rare does not show; give %" PRIu64
                        " reads or more",
                        report_.replayed, 2 * kEnoughReplayed));
    }
    if (as_it_is.blocks_per_read <= kAsGood * best.blocks_per_read &&
        as_it_is.all.filter_bytes <= kAsGood * best.all.filter_bytes) {
      out().Line("The existing filters are as good: nothing needs to be done.");
      return;
    }
    PrintWay(candidate.policy != nullptr, commands);
  }

  std::string trace_;
  std::string queries_;
  uint64_t max_queries_ = 20000;
  bool prefix_same_as_start_ = false;
  std::string save_samples_;
  std::vector<std::string> policies_;
  uint64_t max_bytes_ = uint64_t{1} << 30;
  double min_saving_ = 1;
  AdviceLimits limits_;

  std::string source_;       // of the reads, for messages
  uint64_t reads_seen_ = 0;  // at the source
  TargetFamily family_;
  std::vector<Candidate> candidates_;
  std::vector<ReadQuery> reads_;
  ReadTruth truth_;
  ReplayReport report_;
};

}  // namespace

std::unique_ptr<Command> NewAdvise() { return std::make_unique<Advise>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
