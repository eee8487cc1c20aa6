// SPDX-License-Identifier: Apache-2.0

//  protean rollback: gives a DB back to RocksDB's own table and filters.

#include <chrono>
#include <cinttypes>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/replace_filters.h"
#include "rocksdb/convenience.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "table/protean_table_factory.h"
#include "tools/command.h"
#include "tools/file_facts.h"
#include "tools/opened_db.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::vector<Column> kFileColumns = {
    {"file", "file"},
    {"level", "level"},
    {"size", "size"},
    {"outcome", "outcome"},
};

// The width of lines of text.
constexpr size_t kWidth = 100;
// The speed of an estimate before anything has been rewritten.
constexpr uint64_t kUsualBytesPerSecond = 100 << 20;

constexpr char kAllowed[] =
    "allowed: a filter policy of RocksDB's own, such as bloomfilter:10 or "
    "ribbonfilter:10";

// Makes the policy that --to names.
Status MakePolicy(const std::string& to,
                  std::shared_ptr<const FilterPolicy>* policy) {
  if (to.empty()) {
    return Status::InvalidArgument(
        std::string("give --to=POLICY, the filters that the files get; ") +
        kAllowed);
  }
  ConfigOptions config;
  config.ignore_unsupported_options = false;
  config.ignore_unknown_options = false;
  const Status s = FilterPolicy::CreateFromString(config, to, policy);
  const auto refused = [&to](const std::string& why) {
    return Status::InvalidArgument("--to=" + to + " " + why + "; " + kAllowed);
  };
  if (!s.ok() || *policy == nullptr) {
    return refused("is no filter policy that RocksDB knows");
  }
  if (AsProteanFilterPolicy(policy->get()) != nullptr) {
    return refused(
        "is a filter policy of Protean, which a RocksDB without Protean does "
        "not know");
  }
  if (!IsOfRocksDB(**policy)) {
    return refused("is no filter policy of RocksDB's own");
  }
  const BlockBasedTableOptions table;
  const std::unique_ptr<FilterBitsBuilder> builder(
      (*policy)->GetBuilderWithContext(FilterBuildingContext(table)));
  return builder == nullptr ? refused("builds no filters") : Status::OK();
}

// Whether a file of the column family has a filter of Protean's. Files that
// cannot be read are left to ReplaceFilters.
bool HasProteanFilter(const TargetFamily& family) {
  for (const TargetFile& file : family.files) {
    std::unique_ptr<FileFacts> facts;
    if (!FileFacts::Read(family, file, &facts).ok()) continue;
    if (facts->filter() != nullptr) return true;
  }
  return false;
}

// A column family that is given back.
struct RolledBackFamily {
  std::string name;
  uint32_t id = 0;
  // Whether its OPTIONS name ProteanTable, rather than RocksDB's own table for
  // files with filters of Protean's.
  bool under_protean = false;
  std::string samples_file;  // of the policy of Protean; empty if none
};

// What is to be done, or has been done, in all column families.
struct Totals {
  size_t files = 0;
  uint64_t files_rewritten = 0;
  uint64_t bytes_rewritten = 0;
  uint64_t largest = 0;    // of the rewritten files
  uint64_t unwritten = 0;  // files that are damaged, or failed

  void Add(const RefreshResult& result) {
    files += result.files.size();
    files_rewritten += result.files_rewritten;
    bytes_rewritten += result.bytes_rewritten;
    for (const RefreshedFile& file : result.files) {
      if (file.outcome == RefreshOutcome::kWouldRewrite ||
          file.outcome == RefreshOutcome::kRewritten) {
        largest = std::max(largest, file.bytes);
      }
      unwritten += file.outcome == RefreshOutcome::kDamaged ||
                   file.outcome == RefreshOutcome::kFailed;
    }
  }
};

class RollbackCommand : public Command {
 public:
  const char* name() const override { return "rollback"; }
  const char* summary() const override {
    return "Gives all SST files filters of RocksDB's own, and the DB back to a "
           "RocksDB without Protean.";
  }
  const char* usage() const override {
    return "rollback --db=DIR --to=POLICY  [FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  void Choose(std::ostream& err);
  const RolledBackFamily* Find(const std::string& family) const;
  // Gives the chosen column families the filter policy: under the table that
  // the second argument says.
  enum class Under { kTheirTable, kRocksDBsTable };
  OpenedDB::Adjust WithPolicy(Under under) const;

  // What is left to be done, found out without writing anything.
  Status Estimate(std::map<std::string, RefreshResult>* results,
                  Totals* totals) const;
  std::string EstimateText(const Totals& totals) const;
  Status RewriteAll(const Totals& estimated, std::ostream& err, Output* output,
                    Totals* totals) const;
  void Print(const std::string& family, const RefreshResult& result,
             Output* output) const;
  // Makes the OPTIONS file name RocksDB's own table, and deletes what `protean
  // apply --undo` would go back to.
  Status GiveBack() const;
  void PrintEnd(Output* output) const;
  // Says which other column families keep a RocksDB without Protean from
  // loading the OPTIONS file.
  void PrintOthers(std::ostream& err) const;

  Target target_;
  RefreshOptions options_;
  std::string to_;
  bool json_ = false;
  std::shared_ptr<const FilterPolicy> policy_;
  std::vector<RolledBackFamily> families_;
};

const char* RollbackCommand::help() const {
  return R"(Any RocksDB reads the files of Protean, but asks only filters of its own. This command is the way back
without a time in which Gets are not filtered: it rewrites each file that has a filter of Protean's, or
none, into its own level, with the filter that --to names. When all files are done, the OPTIONS file names
BlockBasedTable with that filter policy, and a RocksDB without Protean opens the DB. An application that
passes its options itself must be changed to the same, and need not be changed before.

Says first how much there is to rewrite, and roughly how long that takes; --dry_run says only that. Ctrl-C
or SIGTERM stops the command after the current file. Files that have been rewritten stay so whatever ends
the command, and the same command continues with the others. Until the end, the OPTIONS file names
ProteanTable with the new filter policy, under which the filters of all files are in use.

No other process may have the DB open, except with --dry_run. An application that has the DB open can do
the same itself: SetOptions({{"table_factory.filter_policy", "bloomfilter:10"}}), then RefreshFilters of
plugin/refresh_filters.h, and BlockBasedTable in its options from then on. A TransactionDB
(allow_2pc=true in its OPTIONS file) is not rewritten: that way is for its application, too.

Column families under ProteanTable are given back, and those whose table is RocksDB's own but whose files
still have filters of Protean's. As long as one of them names ProteanTable, a RocksDB without Protean, such
as its ldb, cannot load the OPTIONS file; so with --column_family, the others are named. Files of samples
stay; they hold keys, and can be deleted. What protean apply has kept for --undo is deleted.

Exit code: 0, also if there is nothing to do; 1 if files are damaged or could not be rewritten, so that the
OPTIONS file still names ProteanTable; 2 if the command failed or was interrupted.

Examples:
  protean rollback --db=/data/db --to=bloomfilter:10 --dry_run
  protean rollback --db=/data/db --to=bloomfilter:10 --bytes_per_second=50M
  protean rollback --db=/data/db --to=ribbonfilter:10 --column_family=events
)";
}

void RollbackCommand::AddFlags(Arguments* arguments) {
  target_.AddFlags(arguments);
  arguments->Add("to", "POLICY",
                 "the filter policy of RocksDB's own that the files get, such "
                 "as bloomfilter:10 or ribbonfilter:10",
                 &to_);
  arguments->Add("dry_run", "only print what would be rewritten",
                 &options_.dry_run);
  arguments->Add("bytes_per_second", "N",
                 "rewrite at most N bytes per second on average, such as 50M; "
                 "default: no limit",
                 &options_.bytes_per_second, 1);
  arguments->Add("json", "print JSON, one object per line", &json_);
}

void RollbackCommand::Choose(std::ostream& err) {
  for (const TargetFamily& family : target_.families()) {
    RolledBackFamily chosen;
    chosen.name = family.name;
    chosen.id = family.id;
    chosen.under_protean =
        family.table_factory == ProteanTableFactory::kClassName();
    if (!chosen.under_protean && !HasProteanFilter(family)) {
      if (target_.families().size() > 1) {
        err << "left out: column family " << PrintedName(family.name)
            << " has the table factory " << family.table_factory
            << ", and no filter of Protean's\n";
      }
      continue;
    }
    if (family.has_protean_policy && family.policy()->Samples() != nullptr) {
      chosen.samples_file = family.policy()->Samples()->options().samples_file;
    }
    families_.push_back(std::move(chosen));
  }
}

const RolledBackFamily* RollbackCommand::Find(const std::string& family) const {
  for (const RolledBackFamily& chosen : families_) {
    if (chosen.name == family) return &chosen;
  }
  return nullptr;
}

OpenedDB::Adjust RollbackCommand::WithPolicy(Under under) const {
  return [this, under](ColumnFamilyDescriptor* family) {
    const RolledBackFamily* const chosen = Find(family->name);
    if (chosen == nullptr) return;
    const bool under_protean =
        chosen->under_protean && under == Under::kTheirTable;
    GiveFilterPolicy(policy_,
                     under_protean ? ProteanTableFactory::kClassName()
                                   : TableFactory::kBlockBasedTableName(),
                     &family->options);
  };
}

Status RollbackCommand::Estimate(std::map<std::string, RefreshResult>* results,
                                 Totals* totals) const {
  std::unique_ptr<OpenedDB> opened;
  Status s = OpenedDB::OpenForReading(target_.db(), target_.env(), &opened,
                                      WithPolicy(Under::kTheirTable));
  RefreshOptions dry;
  dry.dry_run = true;
  for (const RolledBackFamily& family : families_) {
    if (!s.ok()) break;
    ColumnFamilyHandle* const handle = opened->Find(family.name);
    if (handle == nullptr) continue;  // has been dropped meanwhile
    RefreshResult& result = (*results)[family.name];
    RefreshRun run(opened->db(), handle, dry, &result);
    s = ReplaceFilters(&run);
    totals->Add(result);
  }
  return s;
}

std::string RollbackCommand::EstimateText(const Totals& totals) const {
  const uint64_t speed = options_.bytes_per_second > 0
                             ? options_.bytes_per_second
                             : kUsualBytesPerSecond;
  return Format("%" PRIu64
                " of %zu files to rewrite, %s; at %s a second, that takes "
                "about %s. Room for another %s is needed on the way",
                totals.files_rewritten, totals.files,
                PrintedBytes(totals.bytes_rewritten).c_str(),
                PrintedBytes(speed).c_str(),
                PrintedSeconds(static_cast<double>(totals.bytes_rewritten) /
                               static_cast<double>(speed))
                    .c_str(),
                PrintedBytes(totals.largest).c_str());
}

Status RollbackCommand::RewriteAll(const Totals& estimated, std::ostream& err,
                                   Output* output, Totals* totals) const {
  std::unique_ptr<OpenedDB> opened;
  Status s = OpenedDB::OpenForWriting(target_.db(), target_.env(), &opened,
                                      WithPolicy(Under::kTheirTable));
  if (!s.ok()) return s;
  const Interrupt interrupt;
  Progress progress(err);
  const auto begin = std::chrono::steady_clock::now();
  uint64_t next_line = estimated.bytes_rewritten / 10;
  for (const RolledBackFamily& family : families_) {
    ColumnFamilyHandle* const handle = opened->Find(family.name);
    if (handle == nullptr) continue;
    RefreshOptions options = options_;
    options.progress = [&](const RefreshProgress& at) {
      const uint64_t done = totals->bytes_rewritten + at.bytes_rewritten;
      const bool line_is_due =
          !progress.watched() && done > 0 && done >= next_line;
      if (progress.IsDue() || line_is_due) {
        const std::chrono::duration<double> elapsed =
            std::chrono::steady_clock::now() - begin;
        const std::string text =
            PrintedName(family.name) + ": rewritten " +
            PrintedProgress(done, estimated.bytes_rewritten, elapsed.count());
        if (line_is_due) {
          err << text << std::endl;
          next_line = done + estimated.bytes_rewritten / 10;
        } else {
          progress.Show(text);
        }
      }
      return !interrupt.requested();
    };
    RefreshResult result;
    RefreshRun run(opened->db(), handle, options, &result);
    s = ReplaceFilters(&run);
    progress.Clear();
    totals->Add(result);
    Print(family.name, result, output);
    if (interrupt.requested()) {
      return Status::Incomplete(
          "interrupted; files that have been rewritten stay so, and the same "
          "command continues with the others");
    }
    if (!s.ok()) return s;
  }
  return opened->Close();
}

void RollbackCommand::Print(const std::string& family,
                            const RefreshResult& result, Output* output) const {
  output->Line("Column family " + PrintedName(family));
  std::vector<Json> rows;
  for (const RefreshedFile& file : result.files) {
    Json row;
    row["column_family"] = family;
    row["file"] = file.name;
    row["level"] = file.level;
    row["bytes"] = file.bytes;
    row["size"] = PrintedBytes(file.bytes);
    row["outcome"] = ToString(file.outcome);
    row["status"] = file.status.ok() ? "" : file.status.ToString();
    rows.push_back(std::move(row));
  }
  output->Table(kFileColumns, rows);
  for (const RefreshedFile& file : result.files) {
    if (file.status.ok()) continue;
    output->Line("  " +
                 Wrap(file.name + ": " + file.status.ToString(), 2, kWidth));
  }
  output->Line(Format("%" PRIu64 " of %zu files %s, %s\n",
                      result.files_rewritten, result.files.size(),
                      options_.dry_run ? "would be rewritten" : "rewritten",
                      PrintedBytes(result.bytes_rewritten).c_str()));
  Json totals;
  totals["column_family"] = family;
  totals["dry_run"] = options_.dry_run;
  totals["files"] = result.files.size();
  totals["files_rewritten"] = result.files_rewritten;
  totals["bytes_rewritten"] = result.bytes_rewritten;
  output->Row(totals);
}

Status RollbackCommand::GiveBack() const {
  for (const RolledBackFamily& family : families_) {
    const std::string kept = KeptOptionsFile(target_.db(), family.id);
    if (!target_.env()->FileExists(kept).ok()) continue;
    const Status s = target_.env()->DeleteFile(kept);
    if (!s.ok()) return s;
  }
  std::vector<ColumnFamilyDescriptor> written;
  return OpenedDB::ChangeOptions(target_.db(), target_.env(),
                                 WithPolicy(Under::kRocksDBsTable), &written);
}

void RollbackCommand::PrintOthers(std::ostream& err) const {
  for (const std::string& family : target_.under_protean()) {
    if (Find(family) != nullptr) continue;
    err << "column family " << PrintedName(family)
        << " still names ProteanTable, so a RocksDB without Protean cannot "
           "load the OPTIONS file: give it back, too, by protean rollback "
        << TargetFlags(target_.db(), family) << ' ' << ShellWord("--to=" + to_)
        << '\n';
  }
}

void RollbackCommand::PrintEnd(Output* output) const {
  for (const RolledBackFamily& family : families_) {
    output->Line(Wrap("Column family " + PrintedName(family.name) +
                          ": its options are now table_factory="
                          "{id=BlockBasedTable;filter_policy=" +
                          to_ + "}",
                      2, kWidth));
    if (family.samples_file.empty()) continue;
    output->Line("  " + Wrap("samples_file=" + family.samples_file +
                                 " is not used any more; it holds keys",
                             2, kWidth));
  }
}

Status RollbackCommand::Run(const std::vector<std::string>& operands,
                            std::ostream& out, std::ostream& err, bool* found) {
  if (!operands.empty()) {
    return Status::InvalidArgument("give --db=DIR; " + operands[0] +
                                   " is not a flag");
  }
  Status s = MakePolicy(to_, &policy_);
  if (s.ok()) s = target_.Open(operands);
  if (s.ok() && !options_.dry_run) s = target_.CheckForWriting();
  if (s.ok() && !options_.dry_run) {
    s = OpenedDB::CheckForWriting(target_.db(), target_.env());
    if (s.IsBusy()) {
      return Status::Busy(
          std::string(s.getState()) +
          "; close it, or let that process set its filter_policy by SetOptions "
          "and call protean::RefreshFilters; --dry_run works anyway");
    }
  }
  if (!s.ok()) return s;
  Choose(err);
  Output output(out, json_);
  if (families_.empty()) {
    output.Line(
        "Nothing to do: no column family that was looked at is under "
        "ProteanTable, and none of their files has a filter of Protean's");
    PrintOthers(err);
    return Status::OK();
  }

  std::map<std::string, RefreshResult> planned;
  Totals estimated;
  s = Estimate(&planned, &estimated);
  if (!s.ok()) return s;
  if (options_.dry_run) {
    for (const RolledBackFamily& family : families_) {
      Print(family.name, planned[family.name], &output);
    }
    output.Line(Wrap(EstimateText(estimated), 0, kWidth));
    PrintOthers(err);
    *found = estimated.unwritten > 0;
    return s;
  }
  err << EstimateText(estimated) << std::endl;
  Totals done;
  s = RewriteAll(estimated, err, &output, &done);
  if (!s.ok()) return s;

  // A file that was compacted with its neighbor, or that opening the DB has
  // flushed, has the new filter. Whether none is left is looked at all the
  // same, before the DB leaves Protean.
  Totals left;
  planned.clear();
  s = Estimate(&planned, &left);
  if (!s.ok()) return s;
  if (done.unwritten + left.unwritten + left.files_rewritten > 0) {
    *found = true;
    output.Line(Wrap(
        "The OPTIONS file still names ProteanTable, because not all files "
        "have filters of RocksDB's own. The command verify looks for damage. "
        "A DB without these filters is opened by naming BlockBasedTable "
        "in its options",
        0, kWidth));
    return s;
  }
  s = GiveBack();
  if (!s.ok()) return s;
  PrintEnd(&output);
  PrintOthers(err);
  return s;
}

}  // namespace

std::unique_ptr<Command> NewRollback() {
  return std::make_unique<RollbackCommand>();
}

}  // namespace ROCKSDB_NAMESPACE::protean
