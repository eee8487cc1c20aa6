// SPDX-License-Identifier: Apache-2.0

//  protean apply: makes the OPTIONS file of a DB name another filter policy.

#include <memory>
#include <string>
#include <vector>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/files.h"
#include "filter_policy/samples/query_file.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "table/protean_table_factory.h"
#include "tools/target.h"
#include "tools/way_there.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class ApplyCommand : public WayCommand {
 public:
  const char* name() const override { return "apply"; }
  const char* summary() const override {
    return "Changes the filter policy in the OPTIONS file of a DB, from where "
           "rollback leads back.";
  }
  const char* usage() const override {
    return "apply --db=DIR --policy=POLICY  [FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  const char* WhileOpen() const override {
    return "or let that process call SetOptions: --print says how";
  }
  // Makes the policy that --policy names, and checks the files that it learns
  // from.
  Status MakePolicyOfFlag();
  // Refuses files of samples that cannot be used, and takes the seeds into the
  // policy if that is to be written.
  Status ReadSamplesOfPolicy(const SampleStore& store);
  // Prints the call of SetOptions.
  Status Print(Output* output) const;
  Status Apply(Output* output);
  void PrintNext(Output* output) const;

  std::string policy_text_;
  bool print_ = false;
  const TargetFamily* family_ = nullptr;
  std::shared_ptr<const FilterPolicy> policy_;
};

const char* ApplyCommand::help() const {
  return R"(Makes the OPTIONS file of a closed DB name ProteanTable with the filter policy that --policy gives, such as
the one at the end of protean advise, and leaves all other options alone. RocksDB itself opens the DB and
writes the file, which is then loaded as RocksDB does and compared with what was asked for. The lines that
differ are printed.

The OPTIONS file from before is kept in the folder of the DB, as before_apply_ID.options, where ID is the
number of the column family. protean rollback goes back to it.

Existing SST files keep their filters until they are rewritten. For a policy of Protean, protean refresh
--all does that; with none, only compaction does. An application that passes its options itself must be
changed, too.

A policy that learns needs samples of queries, or does much worse. Its seed_file and samples_file must be
absolute paths, since the application may have another working folder, and a seed_file must exist. Up to
5,000 queries of the seed_file are written into the OPTIONS file itself, as the option seeds, and the DB
needs the seed_file no longer: backups and checkpoints have a copy of the OPTIONS file. They are keys that
were asked for.

With --print, nothing is changed. The call of SetOptions that changes the policy in a process that has the
DB open is printed. It names the seed_file, of which backups have no copy. Only a column family that is
under ProteanTable already can be changed so, and to none it cannot be changed: RocksDB takes nullptr for
the policy that is set.

No other process may have the DB open, except with --print.

Exit code: 0, also if there is nothing to do; 2 if the command failed.

Examples:
  protean apply --db=/data/db --policy='{id=protean.Proteus;bits_per_key=12;seed_file=/data/db.seeds}'
  protean apply --db=/data/db --policy=surf:0:8 --column_family=events --print
  protean rollback --db=/data/db
)";
}

void ApplyCommand::AddFlags(Arguments* arguments) {
  target_.AddFlags(arguments, "the one named default");
  arguments->Add("policy", "POLICY",
                 "the filter policy, as in options; none for no filters",
                 &policy_text_);
  arguments->Add("print", "only print the call of SetOptions", &print_);
  arguments->Add("json", "print JSON, one object", &json_);
}

Status ApplyCommand::MakePolicyOfFlag() {
  if (policy_text_.empty()) {
    return Status::InvalidArgument(
        "give --policy=POLICY, such as --policy=proteus:12; protean advise "
        "recommends one, and protean rollback goes back");
  }
  Status s = MakePolicy("--policy", policy_text_, &policy_);
  const ProteanFilterPolicy* own = AsProteanFilterPolicy(policy_.get());
  if (!s.ok() || own == nullptr || own->Samples() == nullptr) return s;
  const SampleStoreOptions& samples = own->Samples()->options();
  for (const auto& [option, file] :
       {std::make_pair("seed_file", samples.seed_file),
        std::make_pair("samples_file", samples.samples_file)}) {
    if (file.empty() || file[0] == '/') continue;
    return Status::InvalidArgument(
        std::string("--policy: ") + option + "=" + file +
        " is a relative path, which names another file in another working "
        "folder; give " +
        AbsolutePath(file));
  }
  return ReadSamplesOfPolicy(*own->Samples());
}

Status ApplyCommand::ReadSamplesOfPolicy(const SampleStore& store) {
  const SampleStoreOptions& samples = store.options();
  std::vector<SampleQuery> seeds;
  std::vector<SampleQuery> saved;
  std::vector<std::string> refused;
  Env* const env = target_.env();
  Status s = store.Validate(env);
  if (s.ok() && !samples.seed_file.empty()) {
    s = ReadQueryFile(env, samples.seed_file, &seeds, &refused);
  }
  if (s.ok() && !samples.samples_file.empty() &&
      env->FileExists(samples.samples_file).ok()) {
    s = ReadSavedQueries(env, samples.samples_file, &saved, &refused);
  }
  if (!s.ok()) {
    return Status::InvalidArgument("--policy: " + std::string(s.getState()));
  }
  return seeds.empty() || print_ ? s : PutSeedsInto(seeds, &policy_);
}

Status ApplyCommand::Print(Output* output) const {
  if (family_->table_factory != ProteanTableFactory::kClassName()) {
    return Status::InvalidArgument(WhyNotProteanTable(*family_, policy_text_) +
                                   "; SetOptions cannot change that");
  }
  if (policy_ == nullptr) {
    return Status::InvalidArgument(
        "SetOptions cannot take a filter policy away: RocksDB takes nullptr "
        "for the policy that is set, returns OK and changes nothing. Close "
        "the DB, and give --policy=" +
        policy_text_ + " without --print");
  }
  // SetOptions changes a policy of the same kind, and keeps the options that it
  // is not given. So all of them are named.
  const bool own = AsProteanFilterPolicy(policy_.get()) != nullptr;
  const std::string text = own ? PolicyText(policy_.get()) : policy_text_;
  Json row;
  row["column_family"] = family_->name;
  row["set_options"] = {{"table_factory.filter_policy", text}};
  output->Row(row);
  output->Line("db->SetOptions(column_family,");
  output->Line("               {{\"table_factory.filter_policy\", \"" + text +
               "\"}});");
  return Status::OK();
}

Status ApplyCommand::Apply(Output* output) {
  std::string name;
  Status s = GetLatestOptionsFileName(target_.db(), target_.env(), &name);
  const std::string file = target_.db() + "/" + name;
  ColumnFamilyOptions options;
  if (s.ok()) {
    s = LoadTable(file, target_.env(), family_->name, &options.table_factory);
  }
  if (!s.ok()) return s;
  const std::string before = TableText(options.table_factory.get());
  if (options.table_factory == nullptr ||
      options.table_factory->GetOptions<BlockBasedTableOptions>() == nullptr) {
    return Status::NotSupported("column family " + PrintedName(family_->name) +
                                " has the table factory " +
                                family_->table_factory +
                                ", whose files have no filters");
  }
  GiveFilterPolicy(policy_, ProteanTableFactory::kClassName(), &options);
  if (TableText(options.table_factory.get()) == before) {
    output->Line("Nothing to do: the OPTIONS file has this filter policy");
    return s;
  }
  const std::string kept = KeptFile(family_->id);
  std::string text;
  s = ReadFileToString(target_.env(), file, &text);
  if (s.ok()) s = WriteNewFile(target_.env(), kept, text);
  if (!s.ok()) return s;
  Json row;
  row["column_family"] = family_->name;
  row["old_policy"] = family_->filter_policy;
  row["new_policy"] = WithoutSeeds(PolicyText(policy_.get()));
  row["kept"] = kept;
  s = ChangeOptions(
      [&](ColumnFamilyDescriptor* family) {
        if (family->name != family_->name) return;
        family->options.table_factory = options.table_factory;
      },
      row, output);
  if (s.ok()) PrintNext(output);
  return s;
}

void ApplyCommand::PrintNext(Output* output) const {
  const std::string flags = TargetFlags(target_.db(), family_->name);
  output->Line("The OPTIONS file from before is " + KeptFile(family_->id) +
               ". To go back to it:\n  protean rollback " + flags);
  if (AsProteanFilterPolicy(policy_.get()) != nullptr) {
    output->Line(
        "Files get new filters when they are rewritten, by compaction or by\n"
        "  protean refresh " +
        flags + " --all");
    return;
  }
  output->Line(
      "Files keep the filters that they have until compaction rewrites them.");
  if (policy_ == nullptr) return;
  output->Line(
      "To give all files filters of RocksDB's own, and the column family "
      "RocksDB's own table:\n  protean rollback " +
      flags + " " + ShellWord("--to=" + policy_text_));
}

Status ApplyCommand::Run(const std::vector<std::string>& operands,
                         std::ostream& out, std::ostream& /*err*/,
                         bool* /*found*/) {
  Status s = Open(operands);
  if (s.ok()) s = target_.DefaultFamily(&family_);
  if (s.ok()) s = MakePolicyOfFlag();
  if (s.ok() && !print_) s = CheckClosed();
  if (!s.ok()) return s;
  Output output(out, json_);
  return print_ ? Print(&output) : Apply(&output);
}

}  // namespace

std::unique_ptr<Command> NewApply() { return std::make_unique<ApplyCommand>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
