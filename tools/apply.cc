// SPDX-License-Identifier: Apache-2.0

//  protean apply: makes the OPTIONS file of a DB name another filter policy.

#include "filter_policy/samples/files.h"
#include "filter_policy/samples/query_file.h"
#include "tools/command.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Makes a policy of Proteus start with these queries instead of its seed_file:
// they are a part of the OPTIONS file then, of which backups have a copy. Other
// policies stay as they are, also lists of policies that have such files.
Status PutSeedsInto(const std::vector<SampleQuery>& seeds,
                    std::shared_ptr<const FilterPolicy>* policy) {
  const ConfigOptions config;
  std::string file;
  if (!(*policy)->GetOption(config, "seed_file", &file).ok()) {
    return Status::OK();
  }
  std::shared_ptr<const FilterPolicy> changed;
  Status s = FilterPolicy::CreateFromString(config, (*policy)->ToString(config),
                                            &changed);
  // No other code has this object yet.
  if (s.ok()) {
    s = const_cast<FilterPolicy*>(changed.get())
            ->ConfigureFromMap(
                config, {{"seed_file", ""}, {"seeds", SeedsText(seeds)}});
  }
  if (s.ok()) *policy = std::move(changed);
  return s;
}

constexpr CommandText kApply = {
    "apply",
    "Changes the filter policy in the OPTIONS file of a DB, from where "
    "rollback leads back.",
    "--db=DIR --policy=POLICY", "the one named default",
    R"(Makes the OPTIONS file of a closed DB name ProteanTable with the filter policy that --policy gives, such as
the one at the end of protean advise, and leaves all other options alone. RocksDB itself opens the DB and
writes the file, which is then loaded and compared with what was asked for; the lines that differ are
printed. The OPTIONS file from before is kept in the folder of the DB, as before_apply_ID.options, with the
number of the column family: protean rollback goes back to it. Files keep their filters until they are
rewritten, which protean refresh --all does. An application that passes its options itself must be changed,
too. Up to 5,000 queries of a seed_file become the option seeds of the OPTIONS file. With --print, nothing is
changed: the call of SetOptions for a process that has the DB open is printed; otherwise no process may.

Exit code: 0, also if there is nothing to do; 2 if the command failed.

Examples:
  protean apply --db=/data/db --policy='{id=protean.Proteus;bits_per_key=12;seed_file=/data/db.seeds}'
  protean apply --db=/data/db --policy=surf:0:8 --column_family=events --print
  protean rollback --db=/data/db
)"};

class Apply : public Command {
 public:
  Apply() : Command(kApply) {
    flags_.Add({{"policy", "POLICY", &policy_text_,
                 "the filter policy, as in options; none for no filters"},
                {"print", "", &print_, "only print the call of SetOptions"}});
  }

 private:
  Status Run() override {
    Status s = OpenTarget(/*or_files=*/false);
    if (s.ok()) s = target_.DefaultFamily(&family_);
    if (s.ok()) s = MakePolicyOfFlag();
    if (s.ok() && !print_) {
      s = OpenedDB::CheckForWriting(
          target_, family_->is_under_protean() && policy_ != nullptr
                       ? "; close it, or let that process call SetOptions: "
                         "--print says how"
                       : "; close it: SetOptions cannot change that");
    }
    if (!s.ok()) return s;
    return print_ ? Print() : Write();
  }

  // Makes the policy that --policy names, and checks the files that it learns
  // from.
  Status MakePolicyOfFlag() {
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
      return Status::InvalidArgument(std::string("--policy: ") + option + "=" +
                                     file +
                                     " is a relative path, which names another "
                                     "file in another working folder; give " +
                                     AbsolutePath(file));
    }
    return ReadSamplesOfPolicy(*own->Samples());
  }

  // Refuses files of samples that cannot be used, and takes the seeds into the
  // policy if that is to be written.
  Status ReadSamplesOfPolicy(const SampleStore& store) {
    const SampleStoreOptions& samples = store.options();
    std::vector<SampleQuery> seeds;
    std::vector<SampleQuery> saved;
    std::vector<std::string> refused;
    Env* const env = target_.env;
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

  Status Print() const {
    if (!family_->is_under_protean()) {
      return Status::InvalidArgument(
          target_.WhyNotProteanTable(*family_, policy_text_) +
          "; SetOptions cannot change that");
    }
    if (policy_ == nullptr) {
      return Status::InvalidArgument(
          "SetOptions cannot take a filter policy away: RocksDB takes nullptr "
          "for the policy that is set, returns OK and changes nothing. Close "
          "the DB, and give --policy=" +
          policy_text_ + " without --print");
    }
    // SetOptions changes a policy of the same kind, and keeps the options that
    // it is not given. So all of them are named.
    const bool own = AsProteanFilterPolicy(policy_.get()) != nullptr;
    const std::string text = own ? PolicyText(policy_.get()) : policy_text_;
    out().Row({{"column_family", family_->name},
               {"set_options", {{"table_factory.filter_policy", text}}}});
    out().Line("db->SetOptions(column_family,");
    out().Line("               {{\"table_factory.filter_policy\", \"" + text +
               "\"}});");
    return Status::OK();
  }

  Status Write() {
    if (family_->table_factory.empty()) {
      return Status::InvalidArgument(
          target_.WhyNotProteanTable(*family_, policy_text_));
    }
    if (family_->filter_policy.empty()) {
      return Status::NotSupported(
          "column family " + PrintedName(family_->name) +
          " has the table factory " + family_->table_factory +
          ", whose files have no filters");
    }
    const std::string present = family_->has_protean_policy
                                    ? PolicyText(family_->policy())
                                    : family_->filter_policy;
    if (family_->is_under_protean() && present == PolicyText(policy_.get())) {
      out().Line("Nothing to do: the OPTIONS file has this filter policy");
      return Status::OK();
    }
    const std::string kept = KeptFile(target_, *family_);
    std::string text;
    Status s = ReadLatestOptions(target_, &text);
    if (s.ok()) s = WriteNewFile(target_.env, kept, text);
    if (!s.ok()) return s;
    s = OpenedDB::ChangeOptions(
        target_,
        [&](ColumnFamilyDescriptor* family) {
          if (family->name != family_->name) return;
          GiveFilterPolicy(policy_, ProteanTableFactory::kClassName(),
                           &family->options);
        },
        {{"column_family", family_->name},
         {"old_policy", family_->filter_policy},
         {"new_policy", WithoutSeeds(PolicyText(policy_.get()))},
         {"kept", kept}},
        &out());
    if (s.ok()) PrintNext();
    return s;
  }

  void PrintNext() const {
    const std::string flags = TargetFlags(target_.db, family_->name);
    out().Line("The OPTIONS file from before is " +
               KeptFile(target_, *family_) +
               ". To go back to it:\n  protean rollback " + flags);
    if (AsProteanFilterPolicy(policy_.get()) != nullptr) {
      if (!family_->has_order_of_filters() ||
          !family_->table_options().whole_key_filtering) {
        err() << "seeks in column family " << PrintedName(family_->name)
              << " are not filtered, as protean preflight explains\n";
        return;
      }
      out().Line(
          "Files get new filters when they are rewritten, by compaction or by\n"
          "  protean refresh " +
          flags + " --all");
      return;
    }
    out().Line(
        "Files keep the filters that they have until compaction rewrites "
        "them.");
    if (policy_ == nullptr) return;
    out().Line(
        "To give all files filters of RocksDB's own, and the column family "
        "RocksDB's own table:\n  protean rollback " +
        flags + " " + ShellWord("--to=" + policy_text_));
  }

  std::string policy_text_;
  bool print_ = false;
  const TargetFamily* family_ = nullptr;
  std::shared_ptr<const FilterPolicy> policy_;
};

}  // namespace

std::unique_ptr<Command> NewApply() { return std::make_unique<Apply>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
