// SPDX-License-Identifier: Apache-2.0

#include "tools/verify_fix.h"

#include <memory>

#include "table/rewrite_file.h"
#include "tools/interrupt.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::vector<Column> kFixedColumns = {
    {"column_family", "column family"},
    {"file", "file"},
    {"fix", "fix"},
    {"detail", "detail"},
};

// Why the DB could not be opened for writing, with what would work.
Status NothingFixed(const Target& target, const Status& s) {
  if (s.IsBusy()) {
    return Status::Busy(std::string(s.getState()) +
                        "; --fix rewrites files, so close the DB first");
  }
  return Status::Incomplete("nothing was fixed, since " + target.db() +
                            " cannot be opened for writing: " + s.ToString());
}

Status FixFile(const OpenedDB& opened, const std::string& column_family,
               const std::string& file) {
  ColumnFamilyHandle* const handle = opened.Find(column_family);
  if (handle == nullptr) return Status::NotFound("its column family is gone");
  const Status s = RewriteFile(opened.db(), handle, file);
  // RewriteFile also rewrites a neighbor that shares a boundary user key, which
  // may be another file of the list.
  return s.IsNotFound() ? Status::OK() : s;
}

}  // namespace

Status CheckFixable(const Target& target) {
  Status s = target.CheckForWriting();
  if (s.ok()) s = OpenedDB::CheckForWriting(target.db(), target.env());
  return s.ok() ? s : NothingFixed(target, s);
}

Status FixFiles(const Target& target,
                const std::vector<std::pair<std::string, std::string>>& files,
                std::ostream& err, Output* output, Progress* progress,
                uint64_t* unfixed) {
  for (const TargetFamily& family : target.families()) {
    WarnOfRelativeSamplesFile(family, err);
  }
  std::unique_ptr<OpenedDB> opened;
  Status s = OpenedDB::OpenForWriting(target.db(), target.env(), &opened);
  if (!s.ok()) return NothingFixed(target, s);
  const Interrupt interrupt;
  std::vector<Json> rows;
  for (const auto& [column_family, file] : files) {
    progress->Show(Format("rewriting %s, file %zu of %zu", file.c_str(),
                          rows.size() + 1, files.size()));
    s = interrupt.requested() ? Status::Incomplete("interrupted")
                              : FixFile(*opened, column_family, file);
    if (!s.ok()) ++*unfixed;
    Json row;
    row["column_family"] = column_family;
    row["file"] = file;
    row["fix"] = s.ok() ? "rewritten" : "failed";
    row["detail"] = s.ok() ? "" : s.ToString();
    rows.push_back(std::move(row));
  }
  s = opened->Close();
  progress->Clear();
  output->Table(kFixedColumns, rows);
  output->Line();
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
