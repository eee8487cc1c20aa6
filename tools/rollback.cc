// SPDX-License-Identifier: Apache-2.0

//  protean rollback: goes back to what was before protean apply, or to
//  RocksDB's own table and filters.

#include <cinttypes>

#include "plugin/refresh_run.h"
#include "tools/command.h"
#include "tools/file_facts.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The speed of an estimate before anything has been rewritten.
constexpr uint64_t kUsualBytesPerSecond = 100 << 20;

constexpr char kAllowed[] =
    "allowed: a filter policy of RocksDB's own, such as bloomfilter:10 or "
    "ribbonfilter:10";

Status MakeStockPolicy(const std::string& to,
                       std::shared_ptr<const FilterPolicy>* policy) {
  const Status s = MakePolicy("--to", to, policy);
  const auto refused = [&to](const std::string& why) {
    return Status::InvalidArgument("--to=" + to + " " + why + "; " + kAllowed);
  };
  if (!s.ok() || *policy == nullptr) {
    return refused(
        "is no filter policy that RocksDB knows; the nearest is " +
        Nearest(to.substr(0, to.find(':')), {"bloomfilter", "ribbonfilter"}));
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

// Returns true if a file of the column family has a filter of Protean's. Files
// that cannot be read are left to ReplaceFilters.
bool HasProteanFilter(const TargetFamily& family) {
  for (const TargetFile& file : family.files) {
    std::unique_ptr<FileFacts> facts;
    const Status s = FileFacts::Read(family, file, &facts);
    if (s.ok() && facts->filter() != nullptr) return true;
  }
  return false;
}

// A column family that is given back.
struct RolledBackFamily {
  const TargetFamily* target = nullptr;
  // What its files get; nullptr if they stay as they are.
  std::shared_ptr<const FilterPolicy> policy{};
  // The table that was there before; nullptr for RocksDB's own, with the
  // options of the present one.
  std::shared_ptr<TableFactory> kept{};
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

constexpr CommandText kRollback = {
    "rollback",
    "Goes back to what was before apply, or gives the DB back to a RocksDB "
    "without Protean.",
    "--db=DIR [--to=POLICY]", "all of them",
    R"(Any RocksDB reads the files of Protean, but asks only filters of its own. This command is the way back
without a time in which Gets are not filtered: it rewrites each file that has a filter of Protean's, or
none, into its own level, with the filter that --to names. When all files are done, the OPTIONS file names
BlockBasedTable with that filter policy, and a RocksDB without Protean opens the DB, if all column families
are given back. Without --to, the column families get the table and filter policy back that they had before
the last protean apply, and files are rewritten only if that was a filter policy of RocksDB's own. Says first
how much there is to rewrite, and roughly how long that takes; --dry_run says only that. Ctrl-C or SIGTERM
stops the command after the current file, and the same command continues with the others. No other process
may have the DB open, except with --dry_run. A TransactionDB (allow_2pc=true in its OPTIONS file) is not
rewritten. An application that passes its options itself must be changed to the same.

Exit code: 0, also if there is nothing to do; 1 if files are damaged or could not be rewritten, so that the
OPTIONS file still names ProteanTable; 2 if the command failed or was interrupted.

Examples:
  protean rollback --db=/data/db
  protean rollback --db=/data/db --to=bloomfilter:10 --dry_run
  protean rollback --db=/data/db --to=ribbonfilter:10 --column_family=events --bytes_per_second=50M
)"};

class Rollback : public Command {
 public:
  Rollback() : Command(kRollback) {
    flags_.Add({{"to", "POLICY", &to_,
                 "the filter policy of RocksDB's own that the files get, such "
                 "as bloomfilter:10 or ribbonfilter:10; default: what was "
                 "there before protean apply"},
                {"dry_run", "", &options_.dry_run,
                 "only print what would be rewritten"},
                {"bytes_per_second", "N", &options_.bytes_per_second,
                 "rewrite at most N bytes per second on average, such as 50M; "
                 "default: no limit",
                 1}});
  }

 private:
  Status Run() override {
    std::shared_ptr<const FilterPolicy> policy;
    Status s = to_.empty() ? Status::OK() : MakeStockPolicy(to_, &policy);
    if (s.ok()) s = OpenTarget(/*or_files=*/false);
    if (s.ok() && !options_.dry_run) {
      s = OpenedDB::CheckForWriting(
          target_,
          "; close it, or let that process set its filter_policy by SetOptions "
          "and call protean::RefreshFilters; --dry_run works anyway");
    }
    if (s.ok() && to_.empty()) s = ChooseKept();
    if (!s.ok()) return s;
    if (policy != nullptr) ChooseForTo(policy);
    if (families_.empty()) {
      out().Line(
          "Nothing to do: no column family that was looked at is under "
          "ProteanTable, and none of their files has a filter of Protean's");
    } else if (std::any_of(families_.begin(), families_.end(),
                           [](const auto& f) { return f.policy != nullptr; })) {
      s = Rewrite();
    }
    if (s.ok() && !families_.empty() && !options_.dry_run && !found_) {
      s = GiveBack();
    }
    if (s.ok() && (options_.dry_run || !found_)) PrintOthers();
    return s;
  }

  void ChooseForTo(const std::shared_ptr<const FilterPolicy>& policy) {
    for (const TargetFamily& family : target_.families) {
      if (family.is_under_protean() || HasProteanFilter(family)) {
        families_.push_back({&family, policy});
      } else if (target_.families.size() > 1) {
        err() << "left out: column family " << PrintedName(family.name)
              << " has the table factory " << family.table_factory
              << ", and no filter of Protean's\n";
      }
    }
  }

  Status ChooseKept() {
    for (const TargetFamily& family : target_.families) {
      const std::string file = KeptFile(target_, family);
      if (!target_.env->FileExists(file).ok()) continue;
      RolledBackFamily chosen = {&family};
      const Status s = LoadTable(file, target_.env, family.name,
                                 /*strictly=*/true, &chosen.kept);
      if (!s.ok()) return s;
      const std::shared_ptr<const FilterPolicy> policy =
          PolicyOf(chosen.kept.get());
      if (policy != nullptr && IsOfRocksDB(*policy)) chosen.policy = policy;
      families_.push_back(std::move(chosen));
    }
    if (!families_.empty()) return Status::OK();
    return Status::NotFound(
        "there is nothing to go back to: " +
        KeptFile(target_, target_.families[0]) +
        " does not exist. Give --to=POLICY, the filters that the files get; " +
        kAllowed);
  }

  const RolledBackFamily* Find(const std::string& family) const {
    for (const RolledBackFamily& chosen : families_) {
      if (chosen.target->name == family) return &chosen;
    }
    return nullptr;
  }

  // Gives the chosen column families their policies under their present tables,
  // as files are rewritten, or the tables that they end with.
  OpenedDB::Adjust Adjust(bool at_the_end) const {
    return [this, at_the_end](ColumnFamilyDescriptor* family) {
      const RolledBackFamily* const chosen = Find(family->name);
      if (chosen == nullptr) return;
      if (at_the_end && chosen->kept != nullptr) {
        family->options.table_factory = chosen->kept;
      } else if (at_the_end || chosen->policy != nullptr) {
        GiveFilterPolicy(chosen->policy,
                         !at_the_end && chosen->target->is_under_protean()
                             ? ProteanTableFactory::kClassName()
                             : TableFactory::kBlockBasedTableName(),
                         &family->options);
      }
    };
  }

  // Rewrites the files of the chosen column families of a DB that has been
  // opened, or says what that would do, and prints it if `progress` is given.
  Status ReplaceAll(const OpenedDB& opened, const RefreshOptions& options,
                    Progress* progress, Totals* totals) const {
    for (const RolledBackFamily& family : families_) {
      const std::string& name = family.target->name;
      ColumnFamilyHandle* const handle = opened.Find(name);
      // The column family may have been dropped meanwhile.
      if (handle == nullptr || family.policy == nullptr) continue;
      RefreshResult result;
      RefreshRun run(opened.db(), handle, options, &result);
      const Status s = ReplaceFilters(&run);
      totals->Add(result);
      if (progress != nullptr) {
        progress->Clear();
        PrintRewritten(name, Json::parse(result.ToJson(), nullptr, false),
                       /*judged=*/false, options.dry_run, /*more=*/"", &out());
      }
      if (!s.ok()) return s;
    }
    return Status::OK();
  }

  // What is left to be done, found out without writing anything.
  Status Estimate(Progress* progress, Totals* totals) const {
    std::unique_ptr<OpenedDB> opened;
    const Status s = OpenedDB::Open(target_, /*for_writing=*/false, &opened,
                                    Adjust(/*at_the_end=*/false));
    RefreshOptions dry;
    dry.dry_run = true;
    return s.ok() ? ReplaceAll(*opened, dry, progress, totals) : s;
  }

  std::string EstimateText(const Totals& totals) const {
    const uint64_t speed = options_.bytes_per_second > 0
                               ? options_.bytes_per_second
                               : kUsualBytesPerSecond;
    return Format("%" PRIu64
                  " of %zu files to rewrite, %s; at %s a second, that takes "
                  "about %s. Room for another %s is needed on the way",
                  totals.files_rewritten, totals.files,
                  PrintedBytes(totals.bytes_rewritten).c_str(),
                  PrintedBytes(speed).c_str(),
                  PrintedSeconds(Ratio(totals.bytes_rewritten, speed)).c_str(),
                  PrintedBytes(totals.largest).c_str());
  }

  Status RewriteAll(const Totals& estimated, Totals* totals) const {
    std::unique_ptr<OpenedDB> opened;
    Status s = OpenedDB::Open(target_, /*for_writing=*/true, &opened,
                              Adjust(/*at_the_end=*/false));
    if (!s.ok()) return s;
    const Interrupt interrupt;
    Progress progress(err());
    uint64_t next_line = estimated.bytes_rewritten / 10;
    RefreshOptions options = options_;
    options.progress = [&](const RefreshProgress& at) {
      const uint64_t done = totals->bytes_rewritten + at.bytes_rewritten;
      const bool line_is_due =
          !progress.watched() && done > 0 && done >= next_line;
      if (progress.IsDue() || line_is_due) {
        const std::string text =
            "rewritten " + PrintedProgress(done, estimated.bytes_rewritten,
                                           progress.seconds());
        progress.Show(text);
        if (line_is_due) err() << text << std::endl;
        if (line_is_due) next_line = done + estimated.bytes_rewritten / 10;
      }
      return !interrupt.requested();
    };
    s = ReplaceAll(*opened, options, &progress, totals);
    if (interrupt.requested()) {
      return Status::Incomplete(
          "interrupted; files that have been rewritten stay so, and the same "
          "command continues with the others");
    }
    return s.ok() ? opened->Close() : s;
  }

  // Makes the OPTIONS file name the tables, and deletes the kept files.
  Status GiveBack() const {
    Json row;
    for (const RolledBackFamily& family : families_) {
      row["column_families"].push_back(family.target->name);
    }
    Status s = OpenedDB::ChangeOptions(target_, Adjust(/*at_the_end=*/true),
                                       row, &out());
    for (const RolledBackFamily& family : families_) {
      const std::string kept = KeptFile(target_, *family.target);
      if (s.ok() && target_.env->FileExists(kept).ok()) {
        s = target_.env->DeleteFile(kept);
      }
      if (!s.ok()) return s;
      const std::string policy =
          family.kept == nullptr
              ? to_
              : WithoutSeeds(PolicyText(PolicyOf(family.kept.get()).get()));
      out().Line(Wrap("Column family " + PrintedName(family.target->name) +
                          ": its options are now table_factory={id=" +
                          (family.kept == nullptr ? "BlockBasedTable"
                                                  : family.kept->Name()) +
                          ";filter_policy=" + policy + "}",
                      2));
      if (family.policy == nullptr) {
        out().Line("  Files keep the filters that they have got meanwhile.");
      }
      const std::string samples_file = family.target->samples_file();
      if (to_.empty() || samples_file.empty()) continue;
      out().Line("  " + Wrap("samples_file=" + samples_file +
                                 " is not used any more; it holds keys",
                             2));
    }
    return s;
  }

  // Rewrites the files. Sets `found_` if some are left that could not be
  // rewritten; the DB must not leave Protean then.
  Status Rewrite() {
    Totals estimated;
    Progress none(err());
    Status s = Estimate(options_.dry_run ? &none : nullptr, &estimated);
    if (!s.ok()) return s;
    if (options_.dry_run) {
      out().Line(Wrap(EstimateText(estimated), 0));
      found_ = estimated.unwritten > 0;
      return s;
    }
    err() << EstimateText(estimated) << std::endl;
    Totals done;
    s = RewriteAll(estimated, &done);
    // A file that was compacted with its neighbor, or that opening the DB has
    // flushed, has the new filter. Whether none is left is looked at all the
    // same, before the DB leaves Protean.
    Totals left;
    if (s.ok()) s = Estimate(nullptr, &left);
    found_ = done.unwritten + left.unwritten + left.files_rewritten > 0;
    if (!s.ok() || !found_) return s;
    out().Line(
        Wrap("The OPTIONS file still names ProteanTable, because not all files "
             "have filters of RocksDB's own. The command verify looks for "
             "damage. A DB without these filters is opened by naming "
             "BlockBasedTable in its options",
             0));
    return s;
  }

  // Says which other column families keep a RocksDB without Protean from
  // loading the OPTIONS file.
  void PrintOthers() const {
    if (to_.empty()) return;
    for (const std::string& family : target_.under_protean) {
      if (Find(family) != nullptr) continue;
      err() << "column family " << PrintedName(family)
            << " still names ProteanTable, so a RocksDB without Protean cannot "
               "load the OPTIONS file: give it back, too, by protean rollback "
            << TargetFlags(target_.db, family) << ' '
            << ShellWord("--to=" + to_) << '\n';
    }
  }

  RefreshOptions options_;
  std::string to_;
  std::vector<RolledBackFamily> families_;
};

}  // namespace

std::unique_ptr<Command> NewRollback() { return std::make_unique<Rollback>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
