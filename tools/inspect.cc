#include "tools/inspect.h"

#include <map>

#include "tools/file_facts.h"
#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The files of a level, or of a column family.
struct Sum {
  uint64_t files = 0;
  uint64_t unfiltered = 0;
  uint64_t bytes = 0;
  uint64_t keys = 0;
  uint64_t filter_bytes = 0;
  uint64_t filtered_keys = 0;
  // Of the files that predict one, weighted by their keys.
  double predicted = 0;
  uint64_t predicting_keys = 0;

  void Add(const TargetFile& file, const FileFacts& facts) {
    files++;
    bytes += file.bytes;
    keys += facts.keys();
    filter_bytes += facts.filter_bytes();
    if (!facts.unfiltered().empty()) unfiltered++;
    if (facts.filter_bytes() > 0) filtered_keys += facts.keys();
    if (facts.report().predicted_fpr >= 0) {
      predicting_keys += facts.keys();
      predicted +=
          facts.report().predicted_fpr * static_cast<double>(facts.keys());
    }
  }

  void WriteTo(Json* row) const {
    (*row)["files"] = files;
    (*row)["unfiltered"] = unfiltered;
    (*row)["bytes"] = bytes;
    (*row)["size"] = PrintedBytes(static_cast<double>(bytes));
    (*row)["keys"] = keys;
    (*row)["filter_bytes"] = filter_bytes;
    (*row)["filter_size"] = PrintedBytes(static_cast<double>(filter_bytes));
    (*row)["bits_per_key"] =
        filtered_keys == 0 ? Json()
                           : Json(8.0 * static_cast<double>(filter_bytes) /
                                  static_cast<double>(filtered_keys));
    (*row)["predicted_fpr"] =
        predicting_keys == 0
            ? Json()
            : Json(predicted / static_cast<double>(predicting_keys));
  }
};

const std::vector<Column> kFileColumns = {
    {"file", "file"},
    {"level", "level"},
    {"keys", "keys"},
    {"size", "size"},
    {"kind", "filter"},
    {"bits_per_key", "bits/key"},
    {"predicted_fpr", "predicted FPR", 5},
    {"design", "design"},
    {"basis", "designed"},
    {"unfiltered", "ranges are not filtered, because"},
};

const std::vector<Column> kSumColumns = {
    {"level", "level"},
    {"files", "files"},
    {"unfiltered", "unfiltered"},
    {"keys", "keys"},
    {"size", "size"},
    {"filter_size", "filters"},
    {"bits_per_key", "bits/key"},
    {"predicted_fpr", "predicted FPR", 5},
};

Json RowOf(const TargetFamily& family, const TargetFile& file) {
  Json row;
  row["column_family"] = family.name;
  row["file"] = file.name;
  row["level"] = file.level < 0 ? Json() : Json(file.level);
  row["bytes"] = file.bytes;
  row["size"] = PrintedBytes(static_cast<double>(file.bytes));
  return row;
}

void AddFacts(const FileFacts& facts, Json* row) {
  const FilterReport& report = facts.report();
  (*row)["keys"] = facts.keys();
  (*row)["entries"] = facts.entries();
  (*row)["kind"] = facts.kind();
  (*row)["design"] = report.design;
  (*row)["basis"] = report.basis;
  (*row)["samples"] = report.basis.empty() ? Json() : Json(report.samples);
  (*row)["filter_bytes"] = facts.filter_bytes();
  (*row)["bits_per_key"] =
      facts.filter_bytes() == 0 ? Json() : Json(facts.bits_per_key());
  (*row)["predicted_fpr"] =
      report.predicted_fpr < 0 ? Json() : Json(report.predicted_fpr);
  (*row)["model_micros"] =
      report.basis.empty() ? Json() : Json(report.model_micros);
  (*row)["unfiltered"] = facts.unfiltered();
}

}  // namespace

const char* Inspect::help() const {
  return "For each SST file: its level, keys and size, the kind of its filter "
         "and "
         "the filter's design in\nwords, on what the design rests (sample "
         "queries, "
         "or the keys alone), its bits per key, and the\nfalse positive rate "
         "that "
         "the model predicts; or why range reads do not ask a filter of the "
         "file.\nThen the same, summed for each level.\n\n"
         "The DB may be in use: only its MANIFEST, its OPTIONS file and the "
         "filters are read.\n\n"
         "Exit code: 0 if all filters can be used or are not there on purpose, "
         "1 "
         "if a file or a filter is\ndamaged, 2 if nothing could be looked "
         "at.\n\n"
         "Examples:\n"
         "  protean inspect --db=/data/db\n"
         "  protean inspect --db=/data/db --column_family=events "
         "--levels_only\n"
         "  protean inspect /backup/000123.sst /backup/000124.sst\n"
         "  protean inspect --db=/data/db --json | jq 'select(.unfiltered != "
         "\"\") | .file'\n";
}

void Inspect::AddFlags(Arguments* arguments) {
  target_.AddFlags(arguments);
  arguments->Add("levels_only", "the sums of levels, without their files",
                 &levels_only_);
  arguments->Add("json", "one object a line, for programs", &json_);
}

Status Inspect::Run(const std::vector<std::string>& operands, std::ostream& out,
                    std::ostream& err, bool* found) {
  Status s = target_.Open(operands);
  if (!s.ok()) return s;
  for (const std::string& note : target_.notes()) err << note << '\n';
  Output output(out, json_);
  for (const TargetFamily& family : target_.families()) {
    std::vector<Json> files;
    std::map<int, Sum> levels;
    Sum all;
    for (const TargetFile& file : family.files) {
      Json row = RowOf(family, file);
      std::unique_ptr<FileFacts> facts;
      const Status read = FileFacts::Read(family, file, &facts);
      if (read.ok()) {
        AddFacts(*facts, &row);
        *found = *found || facts->damaged();
        levels[file.level].Add(file, *facts);
        all.Add(file, *facts);
      } else if (IsGone(read) && !target_.db().empty()) {
        row["unfiltered"] = "the file is gone; most likely it was compacted";
      } else {
        row["unfiltered"] = "the file is damaged: " + read.ToString();
        *found = true;
      }
      files.push_back(std::move(row));
    }
    if (!family.name.empty()) {
      output.Line(Format("Column family %s: %s%s%s", family.name.c_str(),
                         family.table_factory.c_str(),
                         family.filter_policy.empty() ? "" : ", filter_policy=",
                         family.filter_policy.c_str()));
    }
    if (!levels_only_) {
      output.Table(kFileColumns, files);
      output.Line();
    }
    std::vector<Json> sums;
    for (const auto& [level, sum] : levels) {
      Json row;
      row["column_family"] = family.name;
      row["level"] = level < 0 ? Json("-") : Json(level);
      sum.WriteTo(&row);
      sums.push_back(std::move(row));
    }
    if (!json_) {
      Json row;
      row["level"] = "all";
      all.WriteTo(&row);
      sums.push_back(std::move(row));
    }
    if (levels_only_ || !json_) output.Table(kSumColumns, sums);
    output.Line();
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
