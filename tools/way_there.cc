// SPDX-License-Identifier: Apache-2.0

#include "tools/way_there.h"

#include <cinttypes>
#include <cstdlib>
#include <memory>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/options_util.h"
#include "tools/target.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string OptionOf(const FilterPolicy& policy, const std::string& name) {
  std::string value;
  if (!policy.GetOption(ConfigOptions(), name, &value).ok()) return "";
  return value;
}

}  // namespace

Status LoadTable(const std::string& file, Env* env, const std::string& name,
                 std::shared_ptr<TableFactory>* table) {
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
    *table = std::move(family.options.table_factory);
    return s;
  }
  return Status::InvalidArgument(file + " has no column family " +
                                 PrintedName(name));
}

Status WayCommand::CheckClosed() const {
  Status s = target_.CheckForWriting();
  if (s.ok()) s = OpenedDB::CheckForWriting(target_.db(), target_.env());
  return s.IsBusy() ? Status::Busy(std::string(s.getState()) + "; close it, " +
                                   WhileOpen())
                    : s;
}

Status WayCommand::Open(const std::vector<std::string>& operands) {
  if (operands.empty()) return target_.Open(operands);
  return Status::InvalidArgument("give --db=DIR; " + operands[0] +
                                 " is not a flag");
}

Status WayCommand::ChangeOptions(const OpenedDB::Adjust& adjust, Json row,
                                 Output* output) const {
  std::vector<std::string> lines;
  const Status s =
      OpenedDB::ChangeOptions(target_.db(), target_.env(), adjust, &lines);
  if (!s.ok()) return s;
  for (std::string& line : lines) line = WithoutSeeds(line);
  row["changed_lines"] = lines;
  output->Row(row);
  for (const std::string& line : lines) output->Line(line);
  output->Line();
  return s;
}

std::string SeedsFor(const AdviceSource& source, const TargetFamily& family,
                     const Candidate& candidate) {
  if (!source.save_samples.empty()) return source.save_samples;
  const ProteanFilterPolicy* policy =
      AsProteanFilterPolicy(candidate.policy.get());
  if (policy == nullptr || policy->Samples() == nullptr || source.db.empty()) {
    return "";
  }
  // The samples that the DB has saved are these reads.
  if (source.trace.empty() && source.queries.empty()) return "";
  const std::string beside = AbsolutePath(source.db);
  return beside +
         (family.name == kDefaultColumnFamilyName
              ? ""
              : "." + std::to_string(family.id)) +
         ".seeds";
}

std::string PolicyText(const Candidate& candidate,
                       const std::string& samples_file,
                       const std::string& seed_file) {
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
      Format("%g", strtod(OptionOf(*policy, "bits_per_key").c_str(), nullptr));
  for (const char* name :
       {"prefix_filter_type", "level_bits", "point_lookups_use_whole_keys",
        "false_positive_cost_micros", "filter_budget_bytes", "sample_capacity",
        "sample_every"}) {
    const std::string value = OptionOf(*policy, name);
    if (value != OptionOf(*plain, name)) {
      text += std::string(";") + name + "=" + value;
    }
  }
  if (!seed_file.empty()) text += ";seed_file=" + seed_file;
  if (!samples_file.empty()) text += ";samples_file=" + samples_file;
  return text + "}";
}

std::vector<std::string> CommandsFor(const AdviceSource& source,
                                     const TargetFamily& family,
                                     const Candidate& candidate,
                                     const std::string& policy) {
  const auto command = [&](const std::string& name) {
    return "protean " + name + " " + TargetFlags(source.db, family.name);
  };
  std::vector<std::string> commands;
  const std::string seeds = SeedsFor(source, family, candidate);
  if (!seeds.empty() && source.save_samples.empty()) {
    commands.push_back(
        command("advise") + " " +
        ShellWord(source.trace.empty()
                      ? "--queries=" + AbsolutePath(source.queries)
                      : "--trace=" + AbsolutePath(source.trace)) +
        Format(" --max_queries=%" PRIu64 " ", source.max_queries) +
        ShellWord("--policies=" + candidate.name) + " " +
        ShellWord("--save_samples=" + seeds));
  }
  commands.push_back(command("apply") + " " + ShellWord("--policy=" + policy));
  if (AsProteanFilterPolicy(candidate.policy.get()) != nullptr) {
    commands.push_back(command("refresh") + " --all");
  } else if (candidate.policy != nullptr) {
    commands.push_back(command("rollback") + " " +
                       ShellWord("--to=" + candidate.name));
  }
  return commands;
}

}  // namespace ROCKSDB_NAMESPACE::protean
