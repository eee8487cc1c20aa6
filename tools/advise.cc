// SPDX-License-Identifier: Apache-2.0

//  protean advise: recommends filters for a DB.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/files.h"
#include "filter_policy/samples/query_file.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "table/protean_table_factory.h"
#include "tools/advice.h"
#include "tools/command.h"
#include "tools/filter_replay.h"
#include "tools/output.h"
#include "tools/reads.h"
#include "tools/target.h"

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

// The progress of a step.
class Step {
 public:
  Step(std::ostream& err, const char* what) : line_(err), what_(what) {}
  void Show(double done) {
    if (line_.IsDue()) line_.Show(Format("%s: %.0f %%", what_, 100 * done));
  }

 private:
  Progress line_;
  const char* const what_;
};

// The change from `before` to `now` in words.
std::string Saving(double before, double now) {
  if (before <= 0) return "as much as";
  const double percent = 100 * (before - now) / before;
  return Format("%.1f %% %s than", std::fabs(percent),
                percent >= 0 ? "less" : "more");
}

// The row for programs if no result obeys the limits.
Json MissRow(const TargetFamily& family, const ReplayResult& nearest,
             const LimitUse& use) {
  Json row = {{"row", "miss"}};
  row["column_family"] = family.name;
  row["policy"] = nearest.name;
  row["limit"] = use.flag;
  row["needs"] = use.needs;
  row["allowed"] = use.allowed;
  return row;
}

constexpr Command::Text kAdvise = {
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
  Advise() : Command(kAdvise) {}

 private:
  void AddFlags(Arguments* arguments) override {
    arguments->Add(
        "trace", "FILE",
        "take the reads from a trace that DB::StartTrace has written",
        &from_.trace);
    arguments->Add("queries", "FILE",
                   "take the reads from a text file, one per line: key, "
                   "lo<TAB>hi, or lo<TAB>hi<TAB>exclusive",
                   &from_.queries);
    arguments->Add(
        "max_queries", "N",
        "if there are more than N reads, take N of them at random, 2 "
        "or more; default: 20000",
        &from_.max_queries, 2);
    arguments->Add(
        "policies", "SPEC,...",
        "filter policies to try, as in options; default: " +
            [] {
              std::string all;
              for (const std::string& policy : kDefaultPolicies) {
                all += (all.empty() ? "" : ", ") + policy;
              }
              return all;
            }(),
        &policies_);
    arguments->Add("max_bytes", "BYTES",
                   "build filters for files of at most that many bytes in all, "
                   "spread over the levels; default: 1G",
                   &max_bytes_, 1);
    arguments->Add(
        "min_saving", "PERCENT",
        "the share of the blocks read without filters that a bit per "
        "key must save, from 0 to 100; default: 1",
        &min_saving_, 0, 100);
    arguments->Add(
        "max_get_blocks", "X",
        "recommend no filters with which a Get of an absent key needs "
        "more than X data blocks on average, such as 0.02; Proteus "
        "with point_lookups_use_whole_keys=true is tried, too, unless "
        "there are --policies",
        &limits_.get_blocks, 0);
    arguments->Add("max_filter_memory", "BYTES",
                   "recommend no filters that take more than that in all",
                   &max_filter_memory_, 1);
    arguments->Add("max_build_cpu", "SECONDS",
                   "recommend no filters that take more CPU to build for all "
                   "files",
                   &limits_.build_cpu, 0);
    arguments->Add("save_samples", "FILE",
                   "write the samples that the reads give to this file, a "
                   "seed_file for the policy",
                   &from_.save_samples);
  }

  Status Run() override {
    Status s = Prepare();
    if (!s.ok()) return s;
    const size_t missing = PrintMissing();
    found_ = missing > 0;
    ReplayReport report;
    const bool asks = !truth_.questions.empty();
    if (asks) s = SaveSamples();
    if (s.ok() && asks) s = Replay(&report);
    if (!s.ok()) return s;
    if (asks && report.built().built_files == 0) {
      return Status::InvalidArgument(
          "no filter can be built: --max_bytes is smaller than every file, or "
          "none of the files exists");
    }
    if (asks && limits_.get_blocks != AdviceLimits::kNoLimit &&
        !HasAbsentGets(report.results[kNoFilters])) {
      return Status::InvalidArgument(
          "--max_get_blocks needs Gets of absent keys among the reads, but " +
          source_ + " has none");
    }
    if (!asks || report.results[kNoFilters].all.blocks == 0) {
      found_ = true;
      PrintNothingMeasured(family_, source_, reads_, &out());
      return s;
    }
    const AdviceTables tables(family_, report, &out());
    tables.PrintReads(source_, reads_seen_, reads_, truth_, missing);
    tables.PrintPolicies();
    return Recommended(report);
  }

  // Chooses the column family, and adapts its options so that filters can be
  // tried.
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
    BlockBasedTableOptions table =
        *family->options.table_factory->GetOptions<BlockBasedTableOptions>();
    if (!table.whole_key_filtering) {
      return Status::InvalidArgument(
          "range filters need whole_key_filtering=true, but " + of +
          " has whole_key_filtering=false");
    }
    family->options.table_factory = NewProteanTableFactory(table);
    return FindKeyRanges(family);
  }

  Status ReadReads(ReadSample* reads) {
    if (!from_.queries.empty() && !from_.trace.empty()) {
      return Status::InvalidArgument("give either --queries or --trace");
    }
    if (from_.trace.empty()) return ReadSamples(reads);
    uint64_t others = 0;
    std::string cut_off;
    const Status s = ReadTrace(Env::Default(), from_.trace, family_.id, reads,
                               &others, &cut_off);
    if (!s.ok()) return s;
    if (!cut_off.empty()) err() << cut_off << ". The reads before are used\n";
    source_ = "the trace " + from_.trace;
    if (reads->seen() > 0) return s;
    return Status::InvalidArgument(source_ + " has no reads of column family " +
                                   PrintedName(family_.name) + ", but " +
                                   std::to_string(others) +
                                   " of other ones; see --column_family");
  }

  // Reads the file of samples that the DB has saved, or that --queries names.
  Status ReadSamples(ReadSample* reads) {
    std::string file = from_.queries;
    if (file.empty()) {
      if (target_.db().empty() || family_.samples_file().empty()) {
        return Status::InvalidArgument(
            std::string(target_.db().empty() ? "SST files have"
                                             : "this DB's options name") +
            " no file of sample queries; give --trace=FILE or --queries=FILE");
      }
      file = family_.samples()->SamplesFile(family_.name);
      if (!Env::Default()->FileExists(file).ok()) {
        return Status::InvalidArgument(
            "the DB's samples_file " + file +
            " does not exist: it is written when the DB is closed; give "
            "--trace=FILE or --queries=FILE");
      }
    }
    source_ = (from_.queries.empty() ? "the samples " : "") + file;
    std::vector<SampleQuery> queries;
    const Status s = ReadQueries(file, err(), &queries);
    if (!s.ok()) return s;
    for (const SampleQuery& query : queries) reads->Add(ReadOf(query));
    return queries.empty() ? Status::InvalidArgument(file + " has no queries")
                           : s;
  }

  // Adds the policies to the candidates.
  static Status AddCandidates(const std::vector<std::string>& policies,
                              std::vector<Candidate>* candidates) {
    for (const std::string& spec : policies) {
      if (spec == "none") continue;
      Candidate candidate;
      candidate.name = spec;
      const Status s = MakePolicy("--policies", spec, &candidate.policy);
      if (!s.ok()) return s;
      candidates->push_back(std::move(candidate));
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

  // Opens the target, reads the reads and finds what they find.
  Status Prepare() {
    if (max_filter_memory_ > 0) {
      limits_.filter_memory = static_cast<double>(max_filter_memory_);
    }
    // No filter is always a candidate: all others are compared with it, and it
    // costs nothing.
    candidates_ = {{"none", nullptr}};
    Status s = AddCandidates(policies_.empty() ? kDefaultPolicies : policies_,
                             &candidates_);
    if (s.ok()) s = OpenTarget(/*or_files=*/true);
    if (!s.ok()) return s;
    from_.db = target_.db();
    s = ChooseFamily(&family_);
    // With a prefix extractor, RocksDB refuses
    // point_lookups_use_whole_keys=true.
    if (s.ok() && policies_.empty() &&
        limits_.get_blocks != AdviceLimits::kNoLimit &&
        family_.options.prefix_extractor == nullptr) {
      s = AddCandidates(kPoliciesForGets, &candidates_);
    }
    ReadSample sample(from_.max_queries);
    if (s.ok()) s = ReadReads(&sample);
    if (!s.ok()) return s;
    reads_seen_ = sample.seen();
    reads_ = sample.Take();
    Step step(err(), "looking up what the reads find");
    return FindTruth(
        family_, reads_, [&](double done) { step.Show(done); }, &truth_);
  }

  Status SaveSamples() {
    if (from_.save_samples.empty()) return Status::OK();
    // The path becomes an option of the DB, whose process may have another
    // working folder.
    from_.save_samples = AbsolutePath(from_.save_samples);
    const std::vector<bool> none(reads_.size(), false);
    return WriteResult(from_.save_samples,
                       "--save_samples=" + from_.save_samples,
                       QueryFileText(SamplesOf(reads_, truth_, none)));
  }

  // Builds the filters of the candidates, and replays the reads.
  Status Replay(ReplayReport* report) const {
    const Interrupt interrupt;
    Step step(err(), "building filters");
    return ReplayReads(
        family_, reads_, truth_, candidates_, max_bytes_,
        [&](double share) { step.Show(share); },
        [&] { return interrupt.requested(); }, report);
  }

  // Prints the recommended result.
  Status Recommended(const ReplayReport& report) const {
    const AdviceTables tables(family_, report, &out());
    const Recommendation recommended =
        Recommend(report.results, limits_, min_saving_);
    const ReplayResult& chosen = report.results[recommended.result];
    tables.PrintKinds(recommended.result);
    tables.PrintLevels(recommended.result);
    const LimitUse use = TightestLimit(chosen, limits_);
    if (!recommended.obeys) {
      out().Row(MissRow(family_, chosen, use));
      return Status::NotFound(
          "no policy obeys the limits; the nearest miss is " + chosen.name +
          ", which " + use.Text());
    }
    if (recommended.without_limits != recommended.result) {
      const ReplayResult& ruled_out =
          report.results[recommended.without_limits];
      out().Line("Without limits, the advice would be " + ruled_out.name +
                 ", which " + TightestLimit(ruled_out, limits_).Text());
    }
    const Candidate& best = candidates_[recommended.result - kNoFilters];
    PrintAdvice(best, report, recommended.result);
    if (!report.stopped) return Status::OK();
    return Status::Incomplete(
        Format("interrupted; the advice rests on the %zu files whose filters "
               "had been built, %s",
               report.built().built_files,
               PrintedBytes(report.built().built_bytes).c_str()));
  }

  // Prints the commands that lead there.
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
        "its "
        "options itself must be\nchanged, too.");
    if (!family_.is_under_protean()) {
      out().Line(
          "Until files are rewritten, RocksDB's own filters still serve their "
          "Gets.");
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

  void PrintAdvice(const Candidate& candidate, const ReplayReport& report,
                   size_t recommended) const {
    const std::vector<std::string> commands =
        CommandsFor(from_, family_, candidate);
    const std::string line = "table_factory={id=ProteanTable;filter_policy=" +
                             PolicyText(from_, family_, candidate) + "}";
    const ReplayResult& best = report.results[recommended];
    const ReplayResult& as_it_is = report.results[kAsItIs];
    const ReplayResult& none = report.results[kNoFilters];
    Json row = {{"row", "advice"}};
    row.update(
        AdviceTables(family_, report, &out()).RowOf(candidate.name, best.all));
    row["options"] = line;
    row["commands"] = commands;
    row["reads"] = report.replayed;
    row["bytes"] = best.all.bytes;
    row["built_bytes"] = report.built().built_bytes;
    row["blocks_per_op_as_it_is"] = as_it_is.blocks_per_read;
    row["blocks_per_op_none"] = none.blocks_per_read;
    out().Row(row);

    out().Line("Use: " + line);
    out().Line(Format(
        "Expected: %.4f blocks per read: %s now (%.4f), %s without filters "
        "(%.4f); %s of filters, now %s",
        best.blocks_per_read,
        Saving(as_it_is.blocks_per_read, best.blocks_per_read).c_str(),
        as_it_is.blocks_per_read,
        Saving(none.blocks_per_read, best.blocks_per_read).c_str(),
        none.blocks_per_read, PrintedBytes(best.all.filter_bytes).c_str(),
        PrintedBytes(as_it_is.all.filter_bytes).c_str()));
    if (as_it_is.blocks_per_read <= kAsGood * best.blocks_per_read &&
        as_it_is.all.filter_bytes <= kAsGood * best.all.filter_bytes) {
      out().Line("The existing filters are as good: nothing needs to be done.");
      return;
    }
    PrintWay(candidate.policy != nullptr, commands);
  }

  AdviceSource from_;
  std::vector<std::string> policies_;
  uint64_t max_bytes_ = uint64_t{1} << 30;
  uint64_t max_filter_memory_ = 0;  // 0 if not given
  double min_saving_ = 1;
  AdviceLimits limits_;

  std::string source_;       // of the reads, for messages
  uint64_t reads_seen_ = 0;  // at the source
  TargetFamily family_;
  std::vector<Candidate> candidates_;
  std::vector<ReadQuery> reads_;
  ReadTruth truth_;
};

}  // namespace

std::unique_ptr<Command> NewAdvise() { return std::make_unique<Advise>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
