// SPDX-License-Identifier: Apache-2.0

#include "tools/verify_report.h"

#include <cinttypes>
#include <optional>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::vector<Column> kVerifiedColumns = {
    {"file", "file"},
    {"level", "level"},
    {"keys", "keys"},
    {"blobs", "blobs"},
    {"kind", "filter"},
    {"status", "status"},
    {"offset", "offset"},
    {"false_negatives", "false negatives"},
    {"first_key", "first key denied"},
    {"question", "asked for"},
    {"detail", "detail"},
};

// A value, or null if there is none.
template <typename T>
Json ValueOrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json RowOf(const FileCheck& check) {
  Json row;
  row["column_family"] = check.family->name;
  row["file"] = check.name;
  row["level"] = check.table == nullptr ? Json() : OrNull(check.table->level);
  row["keys"] = check.keys ? Json(check.keys->keys) : Json();
  row["blobs"] = check.blobs ? Json(check.blobs->blobs) : Json();
  row["kind"] = ValueOrNull(check.filter_kind);
  row["status"] = check.status.words;
  row["offset"] = ValueOrNull(check.status.offset);
  const bool asked = check.keys && check.keys->asked;
  row["false_negatives"] = asked ? Json(check.keys->false_negatives) : Json();
  const bool denies = check.keys && check.keys->false_negatives > 0;
  row["first_key"] = denies ? Json(PrintedKey(check.keys->first_key)) : Json();
  row["question"] = denies ? Json(check.keys->first_question) : Json();
  row["detail"] = check.status.detail;
  return row;
}

}  // namespace

void VerifyTotals::Add(const FileCheck& check) {
  using Kind = FileStatus::Kind;
  if (check.table != nullptr) files++;
  if (check.blob_file != nullptr) blob_files++;
  if (check.keys) keys += check.keys->keys;
  switch (check.status.kind) {
    case Kind::kFine:
    case Kind::kGone:
      break;
    case Kind::kNotChecked:
      not_checked++;
      break;
    case Kind::kNotSeen:
      not_seen++;
      break;
    case Kind::kFixable:
      fixable.emplace_back(check.family->name, check.name);
      [[fallthrough]];
    case Kind::kWrong:
      wrong++;
      break;
  }
}

std::string VerifyTotals::Summary() const {
  std::string text =
      Format("%" PRIu64 " files with %" PRIu64 " keys", files, keys);
  if (blob_files > 0) text += Format(", %" PRIu64 " blob files", blob_files);
  std::string results;
  const auto add = [&results](uint64_t count, const char* what) {
    if (count == 0) return;
    results += (results.empty() ? "" : "; ") + Format("%" PRIu64, count) + what;
  };
  add(wrong, " are not well");
  add(not_seen, " were not looked at");
  add(not_checked, " filters were not checked");
  if (results.empty()) return text + ": all is well";
  return text + (wrong > 0 ? ": " : ": nothing wrong was found, but ") +
         results;
}

void PrintFiles(const TargetFamily& family,
                const std::vector<FileCheck>& checks, bool problems_only,
                Output* output) {
  std::vector<Json> rows;
  for (const FileCheck& check : checks) {
    if (check.family != &family) continue;
    if (problems_only && !check.status.IsProblem()) continue;
    rows.push_back(RowOf(check));
  }
  if (rows.empty()) return;
  if (!family.name.empty()) {
    output->Line("Column family " + PrintedName(family.name));
  }
  output->Table(kVerifiedColumns, rows);
  output->Line();
}

void PrintCutOff(const std::string& cut_off, Output* output) {
  Json row;
  row["column_family"] = "";
  row["file"] = "MANIFEST";
  row["status"] = "cut off";
  row["detail"] = cut_off;
  output->Table(kVerifiedColumns, {row});
  output->Line();
}

}  // namespace ROCKSDB_NAMESPACE::protean
