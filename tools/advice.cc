// SPDX-License-Identifier: Apache-2.0

#include "tools/advice.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdlib>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The kind of a policy. Policies of one kind with ascending sizes are
// successive budgets, unless their sizes count as equal.
std::string KindOf(const std::string& policy) {
  return policy.substr(0, policy.find_first_of(":;"));
}

const ReplayKind* AbsentGets(const ReplayResult& result) {
  for (const ReplayKind& kind : result.kinds) {
    if (kind.name == kGetsOfAbsentKeys) return &kind;
  }
  return nullptr;
}

// The blocks that each bit per key saves from one result to another, which has
// more bits.
double SavingPerBit(const ReplayResult& from, const ReplayResult& to) {
  const double more = to.all.BitsPerKey() - from.all.BitsPerKey();
  return more <= 0 ? 0 : (from.blocks_per_read - to.blocks_per_read) / more;
}

// The best of the allowed results, of which there is at least one.
size_t Best(const std::vector<ReplayResult>& results,
            const std::vector<bool>& allowed, double worth) {
  const auto next_after = [&](size_t from, double least) {
    size_t next = from;
    double most = least;
    for (size_t i = kNoFilters + 1; i < results.size(); i++) {
      if (!allowed[i]) continue;
      const double saving = SavingPerBit(results[from], results[i]);
      if (saving > most) {
        most = saving;
        next = i;
      }
    }
    return next;
  };
  size_t best = kNoFilters;
  if (!allowed[kNoFilters]) {
    best = next_after(kNoFilters, -AdviceLimits::kNoLimit);
  }
  while (true) {
    const size_t next = next_after(best, worth);
    if (next == best) return best;
    best = next;
  }
}

// For each result, the blocks saved by each bit per key that it has beyond the
// next smaller budget of its kind, or beyond no filter if it is the smallest;
// -1 where there is no such number.
std::vector<double> SavedPerBit(const std::vector<ReplayResult>& results) {
  std::vector<double> saved(results.size(), -1);
  for (size_t i = kNoFilters + 1; i < results.size(); i++) {
    const double bits = results[i].all.BitsPerKey();
    size_t smaller = kNoFilters;
    for (size_t j = kNoFilters + 1; j < results.size(); j++) {
      const double other = results[j].all.BitsPerKey();
      if (KindOf(results[j].name) == KindOf(results[i].name) &&
          kAsGood * other < bits && other > results[smaller].all.BitsPerKey()) {
        smaller = j;
      }
    }
    if (bits <= results[smaller].all.BitsPerKey()) continue;
    saved[i] = SavingPerBit(results[smaller], results[i]);
  }
  return saved;
}

const std::vector<Column> kPolicyColumns = {
    {"policy", "policy"},
    {"bits_per_key", "bits/key"},
    {"filter_size", "filters"},
    {"filter_ns_per_op", "filter ns/op", 0},
    {"build_ns_per_key", "build ns/key", 0},
    {"build_cpu_seconds", "build CPU s"},
    {"build_memory", "build memory"},
    {"predicted_fpr", "predicted FPR", 5},
    {"measured_fpr", "measured FPR", 5},
    {"blocks_per_op", "blocks/op", 4},
    {"saved_per_bit", "saved by a bit", 4},
};

const std::vector<Column> kLevelColumns = {
    {"policy", "policy"},
    {"level", "level"},
    {"files", "files"},
    {"keys", "keys"},
    {"bits_per_key", "bits/key"},
    {"asked_in_vain_per_op", "asked in vain/op", 3},
    {"predicted_fpr", "predicted FPR", 5},
    {"measured_fpr", "measured FPR", 5},
    {"blocks_per_op", "blocks/op", 4},
};

const std::vector<Column> kKindColumns = {
    {"kind", "kind of read"},
    {"reads", "reads"},
    {"blocks_per_op_none", "without filters", 4},
    {"blocks_per_op_as_it_is", "now", 4},
    {"blocks_per_op", "then", 4},
};

}  // namespace

double LimitUse::Share() const {
  if (allowed == AdviceLimits::kNoLimit) return 0;
  if (allowed > 0) return needs / allowed;
  return needs > 0 ? AdviceLimits::kNoLimit : 1;
}

std::string LimitUse::Text() const {
  if (flag == "max_get_blocks") {
    return Format("needs %.4f blocks for a Get of an absent key, but --%s=%g",
                  needs, flag.c_str(), allowed);
  }
  if (flag == "max_filter_memory") {
    return Format("takes %s of filters, but --%s is %s",
                  PrintedBytes(needs).c_str(), flag.c_str(),
                  PrintedBytes(allowed).c_str());
  }
  return Format("takes %.3g seconds of CPU to build, but --%s=%g", needs,
                flag.c_str(), allowed);
}

LimitUse TightestLimit(const ReplayResult& result, const AdviceLimits& limits) {
  const ReplayKind* const gets = AbsentGets(result);
  const LimitUse uses[] = {
      {"max_get_blocks", gets == nullptr ? 0 : gets->BlocksPerRead(),
       limits.get_blocks},
      {"max_filter_memory", result.all.filter_bytes, limits.filter_memory},
      {"max_build_cpu", result.all.build_nanos * 1e-9, limits.build_cpu}};
  return *std::max_element(std::begin(uses), std::end(uses),
                           [](const LimitUse& a, const LimitUse& b) {
                             return a.Share() < b.Share();
                           });
}

bool HasAbsentGets(const ReplayResult& result) {
  return AbsentGets(result) != nullptr;
}

Recommendation Recommend(const std::vector<ReplayResult>& results,
                         const AdviceLimits& limits, double min_saving) {
  const double worth = min_saving / 100 * results[kNoFilters].blocks_per_read;
  Recommendation recommended;
  recommended.without_limits =
      Best(results, std::vector<bool>(results.size(), true), worth);
  std::vector<bool> allowed(results.size());
  bool any = false;
  size_t nearest = kNoFilters;
  for (size_t i = kNoFilters; i < results.size(); i++) {
    const LimitUse use = TightestLimit(results[i], limits);
    allowed[i] = !use.exceeds();
    any = any || allowed[i];
    if (use.Share() < TightestLimit(results[nearest], limits).Share()) {
      nearest = i;
    }
  }
  recommended.obeys = any;
  recommended.result = any ? Best(results, allowed, worth) : nearest;
  return recommended;
}

void PrintNothingMeasured(const TargetFamily& family, const std::string& source,
                          const std::vector<ReadQuery>& reads, Output* output) {
  const auto [first, last] = std::minmax_element(
      reads.begin(), reads.end(), [](const ReadQuery& a, const ReadQuery& b) {
        return a.target < b.target;
      });
  std::string smallest = family.files[0].smallest;
  std::string largest = family.files[0].largest;
  for (const TargetFile& file : family.files) {
    smallest = std::min(smallest, file.smallest);
    largest = std::max(largest, file.largest);
  }
  const std::string why = Format(
      "of the %zu reads from %s, none that was replayed asks a file that could "
      "be read. They are for keys from %s to %s, and the files have keys from "
      "%s to %s",
      reads.size(), source.c_str(), PrintedKey(first->target).c_str(),
      PrintedKey(last->target).c_str(), PrintedKey(smallest).c_str(),
      PrintedKey(largest).c_str());
  Json row = {{"row", "nothing"}};
  row["column_family"] = family.name;
  row["reads"] = reads.size();
  row["reason"] = why;
  output->Row(row);
  output->Line("Nothing was measured, so there is no advice: " + why);
}

Json AdviceTables::RowOf(const std::string& policy,
                         const ReplaySum& sum) const {
  const auto reads =
      static_cast<double>(std::max<uint64_t>(report_.replayed, 1));
  Json row;
  row["column_family"] = family_.name;
  row["policy"] = policy;
  row["bits_per_key"] = sum.BitsPerKey();
  row["predicted_fpr"] = OrNull(sum.PredictedRate());
  row["measured_fpr"] =
      sum.in_vain == 0 ? Json() : Json(sum.FalsePositiveRate());
  row["blocks_per_op"] = static_cast<double>(sum.blocks) / reads;
  row["asked_in_vain_per_op"] = static_cast<double>(sum.in_vain) / reads;
  row["keys"] = static_cast<uint64_t>(sum.keys);
  row["filter_bytes"] = static_cast<uint64_t>(sum.filter_bytes);
  row["filter_size"] = PrintedBytes(sum.filter_bytes);
  const bool is_built = sum.build_nanos > 0;
  row["build_ns_per_key"] =
      is_built ? Json(sum.build_nanos / sum.keys) : Json();
  row["build_memory_bytes"] = is_built ? Json(sum.build_memory) : Json();
  row["build_memory"] =
      is_built ? Json(PrintedBytes(sum.build_memory)) : Json();
  row["build_cpu_seconds"] = is_built ? Json(sum.build_nanos * 1e-9) : Json();
  return row;
}

void AdviceTables::PrintNotes(const ReadTruth& truth, size_t missing) const {
  if (report_.levels_settled) {
    output_->Line(
        "Filters of small levels have the size that level_bits=kAuto gives "
        "them once all files have been rewritten");
  }
  if (report_.built().built_files < report_.results[kAsItIs].all.files) {
    output_->Line(
        "The other files are assumed to be like these, level by level");
  }
  if (report_.files_not_asked > 0) {
    output_->Line(
        Format("As it is: %zu files have filters that the column family's "
               "filter policy does not know, so reads do not ask them",
               report_.files_not_asked));
  }
  if (report_.range_deletions > 0) {
    output_->Line("Range deletions are ignored");
  }
  if (family_.options.prefix_extractor != nullptr) {
    output_->Line("All seeks are replayed in total order (total_order_seek)");
  }
  if (missing > 0) {
    output_->Line(Format("%zu files are missing, and left out", missing));
  }
  const size_t gone = std::max(truth.files_gone, report_.files_gone);
  if (gone > missing) {
    output_->Line(Format("%zu files have been compacted, and are left out",
                         gone - missing));
  }
}

void AdviceTables::PrintReads(const std::string& source, uint64_t seen,
                              const std::vector<ReadQuery>& reads,
                              const ReadTruth& truth, size_t missing) const {
  if (!family_.name.empty()) {
    output_->Line("Column family " + PrintedName(family_.name) + ": " +
                  family_.table_factory +
                  ", filter_policy=" + family_.filter_policy);
  }
  std::array<size_t, kReadKinds> kinds{};
  for (const ReadQuery& read : reads) kinds[static_cast<size_t>(read.kind)]++;
  std::string text;
  for (size_t kind = 0; kind < kReadKinds; kind++) {
    if (kinds[kind] == 0) continue;
    text += Format("%s%zu %s", text.empty() ? "" : ", ", kinds[kind],
                   ToString(static_cast<ReadKind>(kind)));
  }
  output_->Line(
      "Reads from " + source + ": " + text +
      (seen > reads.size() ? ", chosen from " + std::to_string(seen) : ""));
  const ReplaySum& all = report_.results[kAsItIs].all;
  output_->Line(Format(
      "%" PRIu64
      " of them are replayed; the others teach the filters, with "
      "%" PRIu64 " samples. Filters are built for %zu of %zu files, %s of %s",
      report_.replayed, report_.taught, report_.built().built_files, all.files,
      PrintedBytes(report_.built().built_bytes).c_str(),
      PrintedBytes(all.bytes).c_str()));
  size_t asking = 0;
  for (size_t i = 0; i < truth.questions.size(); i++) {
    asking += i == 0 || truth.questions[i].read != truth.questions[i - 1].read;
  }
  if (asking < reads.size()) {
    output_->Line(Format(
        "%zu of the %zu reads ask a file; no file can have keys for the others",
        asking, reads.size()));
  }
  PrintNotes(truth, missing);
  output_->Line();
}

void AdviceTables::PrintPolicies() const {
  const std::vector<double> saved = SavedPerBit(report_.results);
  std::vector<Json> rows;
  for (size_t i = 0; i < report_.results.size(); i++) {
    const ReplayResult& result = report_.results[i];
    Json row = {{"row", "policy"}};
    row.update(RowOf(result.name, result.all));
    row["filter_ns_per_op"] = result.asking_nanos_per_read;
    row["saved_per_bit"] = saved[i] == -1 ? Json() : Json(saved[i]);
    rows.push_back(std::move(row));
  }
  output_->Table(kPolicyColumns, rows);
  output_->Line();
}

void AdviceTables::PrintKinds(size_t recommended) const {
  std::vector<Json> rows;
  std::string worse;
  for (size_t i = 0; i < report_.results.size(); i++) {
    if (!output_->as_json() && i != recommended) continue;
    for (size_t k = 0; k < report_.results[i].kinds.size(); k++) {
      const ReplayKind& kind = report_.results[i].kinds[k];
      const double then = kind.BlocksPerRead();
      const double now = report_.results[kAsItIs].kinds[k].BlocksPerRead();
      Json row = {{"row", "kind"}};
      row["column_family"] = family_.name;
      row["policy"] = report_.results[i].name;
      row["recommended"] = i == recommended;
      row["kind"] = kind.name;
      row["reads"] = kind.reads;
      row["blocks_per_op"] = then;
      row["blocks_per_op_as_it_is"] = now;
      row["blocks_per_op_none"] =
          report_.results[kNoFilters].kinds[k].BlocksPerRead();
      rows.push_back(std::move(row));
      if (i == recommended && then > kAsGood * now) {
        worse += Format("%s%s (%.4f, now %.4f)", worse.empty() ? "" : ", ",
                        kind.name.c_str(), then, now);
      }
    }
  }
  output_->Table(kKindColumns, rows);
  if (!worse.empty()) {
    output_->Line("These reads will need more blocks than now: " + worse);
  }
  output_->Line();
}

void AdviceTables::PrintLevels(size_t recommended) const {
  std::vector<Json> levels;
  for (size_t i = 0; i < report_.results.size(); i++) {
    if (!output_->as_json() && i != kAsItIs && i != recommended) continue;
    const ReplayResult& result = report_.results[i];
    for (const auto& [level, sum] : result.levels) {
      Json row = {{"row", "level"}};
      row.update(RowOf(result.name, sum));
      row["level"] = OrNull(level);
      row["files"] = sum.files;
      levels.push_back(std::move(row));
    }
  }
  output_->Table(kLevelColumns, levels);
  output_->Line();
}

// ---- The way there ----

namespace {

std::string OptionOf(const FilterPolicy& policy, const std::string& name) {
  std::string value;
  if (!policy.GetOption(ConfigOptions(), name, &value).ok()) return "";
  return value;
}

// The file of samples that a policy which learns is to start with; empty if
// the policy learns nothing, or has the samples that the DB has saved.
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

}  // namespace

std::string PolicyText(const AdviceSource& source, const TargetFamily& family,
                       const Candidate& candidate) {
  const std::string samples_file = family.samples_file();
  const std::string seed_file = SeedsFor(source, family, candidate);
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
        "false_positive_cost_micros", "queries_per_key", "filter_budget_bytes",
        "sample_capacity", "sample_every"}) {
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
                                     const Candidate& candidate) {
  if (source.db.empty()) return {};
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
  commands.push_back(
      command("apply") + " " +
      ShellWord("--policy=" + PolicyText(source, family, candidate)));
  if (AsProteanFilterPolicy(candidate.policy.get()) != nullptr) {
    commands.push_back(command("refresh") + " --all");
  } else if (candidate.policy != nullptr) {
    commands.push_back(command("rollback") + " " +
                       ShellWord("--to=" + candidate.name));
  }
  return commands;
}

}  // namespace ROCKSDB_NAMESPACE::protean
