// SPDX-License-Identifier: Apache-2.0

//  protean apply: changes the filter policy in the OPTIONS file of a DB, and
//  takes that back.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "file/filename.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/query_file.h"
#include "filter_policy/samples/replace_file.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "table/protean_table_factory.h"
#include "tools/command.h"
#include "tools/opened_db.h"
#include "tools/options_diff.h"
#include "tools/output.h"
#include "tools/policy_flag.h"
#include "tools/target.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The options strictly as an OPTIONS file has them, or InvalidArgument.
Status LoadFamily(const std::string& file, Env* env, const std::string& name,
                  ColumnFamilyOptions* options) {
  ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  config.env = env;
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  const Status s = LoadOptionsFromFile(config, file, &db_options, &families);
  if (!s.ok()) {
    return Status::InvalidArgument(file + " cannot be used: " + s.ToString());
  }
  for (ColumnFamilyDescriptor& family : families) {
    if (family.name != name) continue;
    *options = std::move(family.options);
    return s;
  }
  return Status::InvalidArgument(file + " has no column family " +
                                 PrintedName(name));
}

// The filter policy of a column family; nullptr if it has none.
const FilterPolicy* PolicyOf(const ColumnFamilyOptions& options) {
  const auto* table =
      options.table_factory == nullptr
          ? nullptr
          : options.table_factory->GetOptions<BlockBasedTableOptions>();
  return table == nullptr ? nullptr : table->filter_policy.get();
}

class ApplyCommand : public Command {
 public:
  const char* name() const override { return "apply"; }
  const char* summary() const override {
    return "Changes the filter policy in the OPTIONS file of a DB, or takes "
           "that back.";
  }
  const char* usage() const override {
    return "apply --db=DIR --policy=POLICY | --undo  [FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  Status ChooseFamily();
  // Makes the policy that --policy names, and checks the files that it learns
  // from.
  Status MakePolicyOfFlag();
  // Refuses files of samples that cannot be used, and takes the seeds into the
  // policy if that is to be written.
  Status ReadSamplesOfPolicy(const SampleStore& store);
  void PrintCall(Output* output) const;
  // Makes the column family have this table, by opening the DB, and checks that
  // the new OPTIONS file names it and `policy`, which was asked for. Stores in
  // what the files differ.
  Status SetTable(const std::shared_ptr<TableFactory>& table,
                  const FilterPolicy* policy);
  Status Apply(Output* output);
  Status Undo(Output* output);
  Status LatestFile(std::string* path) const;
  std::string KeptFile() const {
    return KeptOptionsFile(target_.db(), family_.id);
  }
  void PrintChange(Output* output) const;

  Target target_;
  std::string policy_text_;
  bool print_ = false;
  bool undo_ = false;
  bool json_ = false;
  TargetFamily family_;
  std::shared_ptr<const FilterPolicy> policy_;
  std::string written_policy_;  // according to the new OPTIONS file
  std::vector<std::string> changed_lines_;
};

const char* ApplyCommand::help() const {
  return R"(Makes the OPTIONS file of a closed DB name ProteanTable with the filter policy that --policy gives, such as
the one at the end of protean advise, and leaves all other options alone. RocksDB itself opens the DB and
writes the file, which is then loaded as RocksDB does and compared with what was asked for. The lines that
differ are printed.

The OPTIONS file from before is kept in the folder of the DB, as before_apply_ID.options, where ID is the
number of the column family. With --undo, its table and filter policy are those of the DB again, and it is
deleted, as it is by protean rollback. Files that have got new filters meanwhile keep them: any policy of
Protean reads them, and protean rollback gives filters of RocksDB's own to a DB that leaves Protean.

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
  protean apply --db=/data/db --undo
)";
}

void ApplyCommand::AddFlags(Arguments* arguments) {
  target_.AddFlags(arguments, "the one named default");
  arguments->Add("policy", "POLICY",
                 "the filter policy, as in options; none for no filters",
                 &policy_text_);
  arguments->Add("print", "only print the call of SetOptions", &print_);
  arguments->Add("undo",
                 "give the column family the table and filter policy that it "
                 "had before the last change",
                 &undo_);
  arguments->Add("json", "print JSON, one object", &json_);
}

Status ApplyCommand::ChooseFamily() {
  for (const TargetFamily& family : target_.families()) {
    if (target_.families().size() == 1 ||
        family.name == kDefaultColumnFamilyName) {
      family_ = family;
      return Status::OK();
    }
  }
  return Status::InvalidArgument("name a column family: --column_family");
}

Status ApplyCommand::MakePolicyOfFlag() {
  if (policy_text_.empty()) {
    return Status::InvalidArgument(
        "give --policy=POLICY, such as --policy=proteus:12, or --undo; protean "
        "advise recommends one");
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

void ApplyCommand::PrintCall(Output* output) const {
  // SetOptions changes a policy of the same kind, and keeps the options that it
  // is not given. So all of them are named.
  std::string text = policy_text_;
  if (AsProteanFilterPolicy(policy_.get()) != nullptr) {
    text = PolicyText(policy_.get());
  }
  Json row;
  row["column_family"] = family_.name;
  row["set_options"] = {{"table_factory.filter_policy", text}};
  output->Row(row);
  output->Line("db->SetOptions(column_family,");
  output->Line("               {{\"table_factory.filter_policy\", \"" + text +
               "\"}});");
}

Status ApplyCommand::LatestFile(std::string* path) const {
  std::string name;
  const Status s = GetLatestOptionsFileName(target_.db(), target_.env(), &name);
  if (!s.ok()) {
    return Status::NotFound(target_.db() +
                            " has no OPTIONS file: " + s.ToString());
  }
  *path = target_.db() + "/" + name;
  return s;
}

Status ApplyCommand::SetTable(const std::shared_ptr<TableFactory>& table,
                              const FilterPolicy* policy) {
  std::string old_file;
  std::string old_text;
  std::vector<ColumnFamilyDescriptor> written;
  Status s = LatestFile(&old_file);
  if (s.ok()) s = ReadFileToString(target_.env(), old_file, &old_text);
  if (s.ok()) {
    s = OpenedDB::ChangeOptions(
        target_.db(), target_.env(),
        [&](ColumnFamilyDescriptor* family) {
          if (family->name != family_.name) return;
          family->options.table_factory = table;
        },
        &written);
  }
  std::string new_file;
  std::string new_text;
  if (s.ok()) s = LatestFile(&new_file);
  if (s.ok()) s = ReadFileToString(target_.env(), new_file, &new_text);
  if (!s.ok()) return s;
  for (const ColumnFamilyDescriptor& family : written) {
    if (family.name != family_.name) continue;
    written_policy_ = PolicyText(PolicyOf(family.options));
  }
  if (written_policy_ != PolicyText(policy)) {
    return Status::Corruption(
        new_file + " has filter_policy=" + WithoutSeeds(written_policy_) +
        " instead of " + WithoutSeeds(PolicyText(policy)));
  }
  changed_lines_ = DifferentLines(old_text, new_text);
  for (std::string& line : changed_lines_) line = WithoutSeeds(line);
  return s;
}

void ApplyCommand::PrintChange(Output* output) const {
  Json row;
  row["column_family"] = family_.name;
  row["old_policy"] = family_.filter_policy;
  row["new_policy"] = WithoutSeeds(written_policy_);
  row["kept"] = undo_ ? "" : KeptFile();
  row["changed_lines"] = changed_lines_;
  output->Row(row);
  for (const std::string& line : changed_lines_) output->Line(line);
  output->Line();
}

Status ApplyCommand::Apply(Output* output) {
  std::string file;
  Status s = LatestFile(&file);
  ColumnFamilyOptions options;
  if (s.ok()) s = LoadFamily(file, target_.env(), family_.name, &options);
  if (!s.ok()) return s;
  const std::string before = TableText(options.table_factory.get());
  if (options.table_factory == nullptr ||
      options.table_factory->GetOptions<BlockBasedTableOptions>() == nullptr) {
    return Status::NotSupported("column family " + PrintedName(family_.name) +
                                " has the table factory " +
                                family_.table_factory +
                                ", whose files have no filters");
  }
  GiveFilterPolicy(policy_, ProteanTableFactory::kClassName(), &options);
  if (TableText(options.table_factory.get()) == before) {
    output->Line("Nothing to do: the OPTIONS file has this filter policy");
    return s;
  }
  std::string text;
  s = ReadFileToString(target_.env(), file, &text);
  if (s.ok()) s = WriteNewFile(target_.env(), KeptFile(), text);
  if (s.ok()) s = SetTable(options.table_factory, policy_.get());
  if (!s.ok()) return s;
  PrintChange(output);
  const std::string flags = TargetFlags(target_.db(), family_.name);
  output->Line("The OPTIONS file from before is " + KeptFile() +
               ". To go back to it:\n  protean apply " + flags + " --undo");
  if (AsProteanFilterPolicy(policy_.get()) != nullptr) {
    output->Line(
        "Files get new filters when they are rewritten, by compaction or by\n"
        "  protean refresh " +
        flags + " --all");
    return s;
  }
  output->Line(
      "Files keep the filters that they have until compaction rewrites them.");
  if (policy_ != nullptr) {
    output->Line(
        "To give all files filters of RocksDB's own, and the column family "
        "RocksDB's own table:\n  protean rollback " +
        flags + " " + ShellWord("--to=" + policy_text_));
  }
  return s;
}

Status ApplyCommand::Undo(Output* output) {
  if (!target_.env()->FileExists(KeptFile()).ok()) {
    return Status::NotFound("there is nothing to undo: " + KeptFile() +
                            " does not exist");
  }
  ColumnFamilyOptions options;
  Status s = LoadFamily(KeptFile(), target_.env(), family_.name, &options);
  if (s.ok()) s = SetTable(options.table_factory, PolicyOf(options));
  if (s.ok()) s = target_.env()->DeleteFile(KeptFile());
  if (!s.ok()) return s;
  PrintChange(output);
  output->Line("Files keep the filters that they have got meanwhile.");
  return s;
}

Status ApplyCommand::Run(const std::vector<std::string>& operands,
                         std::ostream& out, std::ostream& /*err*/,
                         bool* /*found*/) {
  if (!operands.empty()) {
    return Status::InvalidArgument("give --db=DIR; " + operands[0] +
                                   " is not a flag");
  }
  if (undo_ && (print_ || !policy_text_.empty())) {
    return Status::InvalidArgument("--undo goes with --db alone");
  }
  Status s = target_.Open(operands);
  if (s.ok()) s = ChooseFamily();
  if (s.ok() && !undo_) s = MakePolicyOfFlag();
  if (!s.ok()) return s;
  Output output(out, json_);
  if (print_) {
    if (family_.table_factory != ProteanTableFactory::kClassName()) {
      return Status::InvalidArgument(WhyNotProteanTable(family_, policy_text_) +
                                     "; SetOptions cannot change that");
    }
    if (policy_ == nullptr) {
      return Status::InvalidArgument(
          "SetOptions cannot take a filter policy away: RocksDB takes nullptr "
          "for the policy that is set, returns OK and changes nothing. Close "
          "the DB, and give --policy=" +
          policy_text_ + " without --print");
    }
    PrintCall(&output);
    return s;
  }
  s = target_.CheckForWriting();
  if (s.ok()) s = OpenedDB::CheckForWriting(target_.db(), target_.env());
  if (s.IsBusy()) {
    return Status::Busy(std::string(s.getState()) +
                        "; close it, or let that process call SetOptions: "
                        "--print says how");
  }
  if (!s.ok()) return s;
  return undo_ ? Undo(&output) : Apply(&output);
}

}  // namespace

std::unique_ptr<Command> NewApply() { return std::make_unique<ApplyCommand>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
