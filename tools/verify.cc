// SPDX-License-Identifier: Apache-2.0

//  protean verify: checks that filters find what the files hold.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "table/rewrite_file.h"
#include "tools/command.h"
#include "tools/file_facts.h"
#include "tools/interrupt.h"
#include "tools/key_check.h"
#include "tools/manifest.h"
#include "tools/opened_db.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::vector<Column> kFileColumns = {
    {"file", "file"},
    {"level", "level"},
    {"keys", "keys"},
    {"kind", "filter"},
    {"status", "status"},
    {"offset", "offset"},
    {"false_negatives", "false negatives"},
    {"first_key", "first key denied"},
    {"question", "asked for"},
    {"detail", "detail"},
};

const std::vector<Column> kFixColumns = {
    {"column_family", "column family"},
    {"file", "file"},
    {"fix", "fix"},
    {"detail", "detail"},
};

// The offset of the block that RocksDB's message names, or null.
Json OffsetOf(const Status& damage) {
  constexpr char kMark[] = " offset ";
  const std::string text = damage.ToString();
  const size_t mark = text.rfind(kMark);
  if (mark == std::string::npos) return Json();
  char* end = nullptr;
  const char* const digits = text.c_str() + mark + sizeof(kMark) - 1;
  const uint64_t offset = strtoull(digits, &end, 10);
  return end == digits ? Json() : Json(offset);
}

// Whether the DB's MANIFEST lists a file at this moment.
bool IsListed(const Target& target, const std::string& column_family,
              const TargetFile& file) {
  std::vector<ManifestFamily> families;
  if (!ReadManifest(Env::Default(), target.db(), &families).ok()) return true;
  for (const ManifestFamily& family : families) {
    if (family.name != column_family) continue;
    return std::any_of(family.files.begin(), family.files.end(),
                       [&file](const ManifestFile& listed) {
                         return listed.number == file.number;
                       });
  }
  return false;
}

// Counts the keys of all threads, and shows the speed.
class KeyMeter {
 public:
  explicit KeyMeter(Progress* progress) : progress_(*progress) {}

  void Count(uint64_t keys) {
    const std::lock_guard<std::mutex> lock(mutex_);
    keys_ += keys;
    if (!progress_.IsDue()) return;
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - begin_;
    progress_.Show(Format("%" PRIu64 " keys, %.1f M/s", keys_,
                          static_cast<double>(keys_) / 1e6 / elapsed.count()));
  }

 private:
  const std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
  std::mutex mutex_;
  Progress& progress_;
  uint64_t keys_ = 0;
};

// Calls `work` with each number below `count`, in as many threads as the
// machine has cores.
void InParallel(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  try {
    for (size_t i = 1; i < std::min(count, cores); i++) {
      threads.emplace_back(run);
    }
  } catch (const std::system_error&) {
    // No more threads can be created.
  }
  run();
  for (std::thread& thread : threads) thread.join();
}

// A file, and the result of its verification.
struct Finding {
  const TargetFamily* family;
  const TargetFile* file;
  Json row = {};
  uint64_t keys = 0;
  bool is_wrong = false;
  // Whether rewriting the file, and so its filter, would mend it.
  bool is_fixable = false;
};

// Verifies a file.
void VerifyFile(const Target& target, KeyMeter* meter, Finding* finding) {
  const TargetFamily& family = *finding->family;
  const TargetFile& file = *finding->file;
  Json& row = finding->row;
  row["column_family"] = family.name;
  row["file"] = file.name;
  row["level"] = OrNull(file.level);
  for (const char* field : {"keys", "kind", "status", "offset",
                            "false_negatives", "first_key", "question"}) {
    row[field] = Json();
  }
  row["detail"] = "";
  const auto finish = [&](const char* status, const std::string& detail) {
    row["status"] = status;
    row["detail"] = detail;
    finding->is_wrong = true;
  };

  std::unique_ptr<FileFacts> facts;
  const Status read = FileFacts::Read(family, file, &facts);
  if (IsGone(read) && !target.db().empty()) {
    if (IsListed(target, family.name, file)) {
      finish("missing", "the MANIFEST lists it, but there is no " + file.path);
    } else {
      row["status"] = "gone";
    }
    return;
  }
  if (read.IsNotSupported()) {
    row["status"] = "other table";
    row["detail"] = read.getState();
    return;
  }
  if (!read.ok()) {
    row["offset"] = OffsetOf(read);
    finish(read.IsCorruption() ? "damaged" : "unreadable", read.ToString());
    return;
  }
  row["kind"] = facts->kind();

  KeyCheck check;
  const Status checked = WithoutExceptions([&] {
    check = CheckKeys(*facts, family,
                      [meter](uint64_t keys) { meter->Count(keys); });
    return check.data;
  });
  check.data = checked;
  finding->keys = check.keys;
  row["keys"] = check.keys;
  if (check.asked) row["false_negatives"] = check.false_negatives;
  if (check.false_negatives > 0) {
    row["first_key"] = PrintedKey(check.first_key);
    row["question"] = check.first_question;
  }
  if (!check.data.ok()) {
    row["offset"] = OffsetOf(check.data);
    finish(check.data.IsCorruption() ? "damaged data" : "unreadable data",
           check.data.ToString());
    return;
  }
  const bool denies = check.false_negatives > 0;
  if (facts->damaged() || denies || !check.wrong_header.empty()) {
    finding->is_fixable = true;
    row["offset"] = facts->file().filter_offset();
    if (facts->damaged()) {
      finish("damaged filter", facts->unfiltered());
    } else {
      finish(denies ? "false negatives" : "wrong header", check.wrong_header);
    }
    return;
  }
  row["status"] = "ok";
  if (!check.asked && facts->filter_bytes() > 0) {
    row["detail"] =
        "its filter was not checked: it is partitioned, of an unknown policy, "
        "or of an unknown prefix extractor";
  }
}

class Verify : public Command {
 public:
  const char* name() const override { return "verify"; }
  const char* summary() const override {
    return "Checks that the filter of each SST file finds every key of the "
           "file, and that the file is undamaged.";
  }
  const char* usage() const override {
    return "verify --db=DIR | FILE...  [FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  // The result of a pass over files.
  struct Findings {
    uint64_t files = 0;
    uint64_t keys = 0;
    uint64_t wrong = 0;
    std::vector<std::pair<std::string, std::string>> fixable;
    // All files verified so far, by column family and name.
    std::set<std::pair<std::string, std::string>> seen;
  };

  // Verifies the files of the target except those that `*findings` has seen,
  // several at a time, and prints a row for each.
  void VerifyFiles(const Target& target, Output* output, Progress* progress,
                   Findings* findings) const;
  // Rewrites the fixable files. Adds the number of those that cannot be
  // rewritten to `*unfixed`.
  Status Fix(const Findings& findings, std::ostream& err, Output* output,
             Progress* progress, uint64_t* unfixed) const;

  Target target_;
  bool fix_ = false;
  bool json_ = false;
};

const char* Verify::help() const {
  return R"(Reads each SST file completely, with checksums, and asks its filter about each key of the file: about
the key itself, about ranges around it and up to the key before it, about seeks to it and to strings
below it, and about its prefix if the file was written with a prefix extractor. A filter must never
deny a key that is there. RocksDB's own filters are asked about keys and prefixes, unless they are
partitioned.

The status of a file is one of
  ok
  false negatives  its filter denies keys: reads miss data
  wrong header     its filter was built from other keys
  damaged filter   its filter cannot be read, so reads do without it
  damaged data     a data block cannot be read; keys behind it were not verified
  damaged          the file cannot be opened
  missing          the MANIFEST lists the file, but it does not exist
  gone             the file was compacted in the meantime, which is fine
  other table      a PlainTable or CuckooTable, which is not verified

The DB may be in use, unless --fix is given. With --fix, files whose filter is wrong or damaged, and
whose data is intact, are rewritten into their own level, with the DB's own options, and verified
again. A TransactionDB (allow_2pc=true in its OPTIONS file) is not fixed, whatever its write policy:
compact it in its application.

Exit code: 0 if all is well (with --fix: afterwards), 1 if anything is wrong, 2 if the command failed.

Examples:
  protean verify --db=/data/db
  protean verify --db=/data/db --column_family=events --fix
  protean verify /backup/000123.sst /backup/000124.sst
  protean verify --db=/data/db --json | jq 'select(.status != "ok")'
)";
}

void Verify::AddFlags(Arguments* arguments) {
  target_.AddFlags(arguments);
  arguments->Add("fix",
                 "rewrite the files whose filters are wrong or damaged, which "
                 "gives them new filters",
                 &fix_);
  arguments->Add("json", "print JSON, one object per line", &json_);
}

void Verify::VerifyFiles(const Target& target, Output* output,
                         Progress* progress, Findings* findings) const {
  std::vector<Finding> files;
  for (const TargetFamily& family : target.families()) {
    for (const TargetFile& file : family.files) {
      if (findings->seen.emplace(family.name, file.name).second) {
        files.push_back({&family, &file});
      }
    }
  }
  KeyMeter meter(progress);
  InParallel(files.size(),
             [&](size_t i) { VerifyFile(target, &meter, &files[i]); });
  progress->Clear();

  std::vector<Json> rows;
  for (size_t i = 0; i < files.size(); i++) {
    const Finding& finding = files[i];
    findings->files++;
    findings->keys += finding.keys;
    if (finding.is_wrong) findings->wrong++;
    if (finding.is_fixable) {
      findings->fixable.emplace_back(finding.family->name, finding.file->name);
    }
    rows.push_back(finding.row);
    if (i + 1 < files.size() && files[i + 1].family == finding.family) continue;
    if (!finding.family->name.empty()) {
      output->Line("Column family " + finding.family->name);
    }
    output->Table(kFileColumns, rows);
    output->Line();
    rows.clear();
  }
}

Status Verify::Fix(const Findings& findings, std::ostream& err, Output* output,
                   Progress* progress, uint64_t* unfixed) const {
  for (const TargetFamily& family : target_.families()) {
    WarnOfRelativeSamplesFile(family, err);
  }
  std::unique_ptr<OpenedDB> opened;
  Status s = OpenedDB::OpenForWriting(target_.db(), &opened);
  if (s.IsBusy()) {
    return Status::Busy(std::string(s.getState()) +
                        "; --fix rewrites files, so close the DB first");
  }
  if (!s.ok()) {
    return Status::Incomplete("nothing was fixed, since " + target_.db() +
                              " cannot be opened for writing: " + s.ToString());
  }
  const Interrupt interrupt;
  std::vector<Json> rows;
  for (const auto& [column_family, file] : findings.fixable) {
    Json row;
    row["column_family"] = column_family;
    row["file"] = file;
    progress->Show("rewriting " + file);
    ColumnFamilyHandle* const handle = opened->Find(column_family);
    if (interrupt.requested()) {
      s = Status::Incomplete("interrupted");
    } else if (handle == nullptr) {
      s = Status::NotFound("its column family is gone");
    } else {
      s = RewriteFile(opened->db(), handle, file);
      // RewriteFile also rewrites a neighbor that shares a boundary user key,
      // which may be another file of this list.
      if (s.IsNotFound()) s = Status::OK();
    }
    if (!s.ok()) ++*unfixed;
    row["fix"] = s.ok() ? "rewritten" : "failed";
    row["detail"] = s.ok() ? "" : s.ToString();
    rows.push_back(std::move(row));
  }
  s = opened->Close();
  progress->Clear();
  output->Table(kFixColumns, rows);
  output->Line();
  return s;
}

Status Verify::Run(const std::vector<std::string>& operands, std::ostream& out,
                   std::ostream& err, bool* found) {
  if (fix_ && !operands.empty()) {
    return Status::InvalidArgument(
        "--fix needs --db=DIR: only its DB can rewrite a file, since the "
        "MANIFEST must list the new one");
  }
  Target again = target_;
  Status s = target_.Open(operands);
  if (!s.ok()) return s;
  for (const std::string& note : target_.notes()) err << note << '\n';
  Output output(out, json_);
  Progress progress(err);
  Findings findings;
  VerifyFiles(target_, &output, &progress, &findings);
  const auto summarize = [&output](const Findings& of) {
    output.Line(Format(
        "%" PRIu64 " files with %" PRIu64 " keys: %s", of.files, of.keys,
        of.wrong == 0 ? "all is well"
                      : Format("%" PRIu64 " are not well", of.wrong).c_str()));
  };
  summarize(findings);
  *found = findings.wrong > 0;
  if (!fix_ || findings.wrong == 0) return s;

  uint64_t unfixed = findings.wrong - findings.fixable.size();
  if (unfixed > 0) {
    err << unfixed
        << " files cannot be fixed: their data, from which filters are built, "
           "is not intact; restore them from a backup\n";
  }
  if (findings.fixable.empty()) return s;
  output.Line();
  s = Fix(findings, err, &output, &progress, &unfixed);
  if (!s.ok()) return s;
  // Verifies the files that have been written meanwhile.
  s = again.Open(operands);
  if (!s.ok()) return s;
  Findings after;
  after.seen = std::move(findings.seen);
  VerifyFiles(again, &output, &progress, &after);
  summarize(after);
  *found = unfixed > 0 || after.wrong > 0;
  return s;
}

}  // namespace

std::unique_ptr<Command> NewVerify() { return std::make_unique<Verify>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
