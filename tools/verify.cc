// SPDX-License-Identifier: Apache-2.0

//  protean verify: checks that filters find what their files hold.

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "table/filter_trial.h"
#include "tools/command.h"
#include "tools/file_facts.h"
#include "tools/opened_db.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- What is said of a file ----

struct FileStatus {
  enum class Kind {
    kFine,
    kGone,        // compacted in the meantime
    kNotChecked,  // fine, except that its filter could not be asked
    kNotSeen,     // not looked at
    kWrong,
    kFixable,  // wrong, but a rewrite of the file makes a new filter
  };

  Kind kind = Kind::kFine;
  // The words for it, which the command's help explains.
  std::string words = "ok";
  std::string detail{};
  // Where the block that is wrong begins, if that is known.
  std::optional<uint64_t> offset{};
};
using Kind = FileStatus::Kind;

// An SST file, and what was found out about it.
struct FileCheck {
  const TargetFamily* family = nullptr;
  const TargetFile* file = nullptr;
  FileStatus status;
  // The kind of its filter (FileFacts::kind) if the file could be opened, and
  // its keys.
  std::optional<std::string> filter_kind;
  std::optional<KeyCheck> keys;
};

// The offset of the block that RocksDB's message names.
std::optional<uint64_t> OffsetOf(const Status& damage) {
  constexpr char kMark[] = " offset ";
  const std::string text = damage.ToString();
  const size_t mark = text.rfind(kMark);
  if (mark == std::string::npos) return std::nullopt;
  char* end = nullptr;
  const char* const digits = text.c_str() + mark + sizeof(kMark) - 1;
  const uint64_t offset = strtoull(digits, &end, 10);
  if (end == digits) return std::nullopt;
  return offset;
}

// A block-based table, of which all was read, as far as possible.
FileStatus StatusOfTable(const FileFacts& facts, const KeyCheck& check) {
  if (!check.data.ok()) {
    return {Kind::kWrong,
            check.data.IsCorruption() ? "damaged data" : "unreadable data",
            check.data.ToString(), OffsetOf(check.data)};
  }
  const auto fixable = [&facts](const char* words, const std::string& detail) {
    return FileStatus{Kind::kFixable, words, detail,
                      facts.file().filter_offset()};
  };
  if (facts.damaged) return fixable("damaged filter", facts.unfiltered);
  if (check.false_negatives > 0) {
    return fixable("false negatives", check.wrong_header);
  }
  if (!check.wrong_header.empty()) {
    return fixable("wrong header", check.wrong_header);
  }
  if (check.asked || facts.filter_bytes == 0) return {};
  return {Kind::kNotChecked, "ok",
          "its filter was not checked: it is partitioned, of an unknown "
          "policy, or of an unknown prefix extractor"};
}

// Counts the keys and bytes that all threads have read, and shows how far that
// is, and how fast.
class ReadMeter {
 public:
  ReadMeter(uint64_t total_bytes, Progress* progress)
      : total_bytes_(total_bytes), progress_(*progress) {}

  void Count(uint64_t keys, uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    keys_ += keys;
    bytes_ += bytes;
    if (!progress_.IsDue()) return;
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - begin_;
    progress_.Show(PrintedProgress(bytes_, total_bytes_, elapsed.count()) +
                   Format("; %" PRIu64 " keys, %.1f M/s", keys_,
                          static_cast<double>(keys_) / 1e6 / elapsed.count()));
  }

 private:
  const std::chrono::steady_clock::time_point begin_ =
      std::chrono::steady_clock::now();
  const uint64_t total_bytes_;
  std::mutex mutex_;
  Progress& progress_;
  uint64_t keys_ = 0;
  uint64_t bytes_ = 0;
};

// Reads the keys of a file and asks its filter about them. May be called for
// several files at a time.
void CheckFile(const Target& target, ReadMeter* meter, FileCheck* check) {
  const TargetFamily& family = *check->family;
  const TargetFile& file = *check->file;
  std::unique_ptr<FileFacts> facts;
  const Status opened = FileFacts::Read(family, file, &facts);
  if (IsGone(opened) && !target.db().empty()) {
    check->status = {Kind::kGone, "gone"};
    if (target.IsMissing(family, file)) {
      check->status = {Kind::kWrong, "missing",
                       "the MANIFEST lists it, but there is no " + file.path};
    }
  } else if (opened.IsNotSupported()) {
    check->status = {Kind::kNotSeen, "other table", opened.getState()};
  } else if (!opened.ok()) {
    check->status = {Kind::kWrong,
                     opened.IsCorruption() ? "damaged" : "unreadable",
                     opened.ToString(), OffsetOf(opened)};
  }
  uint64_t left = file.bytes;
  if (opened.ok()) {
    check->filter_kind = facts->kind;
    KeyCheck& keys = check->keys.emplace();
    const double bytes_of_key =
        static_cast<double>(file.bytes) /
        static_cast<double>(std::max<uint64_t>(facts->entries, 1));
    const auto report = [&](uint64_t read) {
      const uint64_t bytes = std::min(
          left,
          static_cast<uint64_t>(bytes_of_key * static_cast<double>(read)));
      left -= bytes;
      meter->Count(read, bytes);
    };
    const Status read = WithoutExceptions([&] {
      keys = CheckKeys(*facts, family, report);
      return keys.data;
    });
    keys.data = read;
    check->status = StatusOfTable(*facts, keys);
  }
  meter->Count(0, left);
}

// ---- What is printed ----

const std::vector<Column> kVerifiedColumns = {
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

Json RowOf(const FileCheck& check) {
  Json row;
  row["column_family"] = check.family->name;
  row["file"] = check.file->name;
  row["level"] = OrNull(check.file->level);
  row["keys"] = check.keys ? Json(check.keys->keys) : Json();
  row["kind"] = check.filter_kind ? Json(*check.filter_kind) : Json();
  row["status"] = check.status.words;
  row["offset"] = check.status.offset ? Json(*check.status.offset) : Json();
  const bool asked = check.keys && check.keys->asked;
  row["false_negatives"] = asked ? Json(check.keys->false_negatives) : Json();
  const bool denies = check.keys && check.keys->false_negatives > 0;
  row["first_key"] = denies ? Json(PrintedKey(check.keys->first_key)) : Json();
  row["question"] = denies ? Json(check.keys->first_question) : Json();
  row["detail"] = check.status.detail;
  return row;
}

// The sums over all files that were checked.
struct VerifyTotals {
  uint64_t files = 0;
  uint64_t keys = 0;
  uint64_t wrong = 0;
  uint64_t not_seen = 0;
  uint64_t not_checked = 0;  // filters
  // The wrong ones that can be fixed, by column family and name.
  std::vector<std::pair<std::string, std::string>> fixable;

  void Add(const FileCheck& check) {
    files++;
    if (check.keys) keys += check.keys->keys;
    const Kind kind = check.status.kind;
    not_checked += kind == Kind::kNotChecked;
    not_seen += kind == Kind::kNotSeen;
    wrong += kind == Kind::kWrong || kind == Kind::kFixable;
    if (kind == Kind::kFixable) {
      fixable.emplace_back(check.family->name, check.file->name);
    }
  }
  // Returns true if an operator has to look at something.
  bool NeedsAttention() const { return wrong > 0 || not_seen > 0; }
  // In words, such as "6 files with 9000 keys: all is well".
  std::string Summary() const;
};

std::string VerifyTotals::Summary() const {
  std::string text =
      Format("%" PRIu64 " files with %" PRIu64 " keys", files, keys);
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

// What verify does not look at, and how to.
std::string LeftToRocksDB(const Target& target) {
  const std::string db = target.db().empty() ? "DIR" : target.db();
  return "Left to RocksDB: values in blob files and checksums of whole files "
         "(DB::VerifyChecksum, DB::VerifyFileChecksums), the write-ahead log "
         "and the MANIFEST (ldb " +
         ShellWord("--db=" + db) + " checkconsistency)";
}

// ---- Fixing ----

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

// Whether the DB of the target can be opened for writing at this moment. An
// error says why not, and what would work.
Status CheckFixable(const Target& target) {
  Status s = target.CheckForWriting();
  if (s.ok()) s = OpenedDB::CheckForWriting(target.db(), target.env());
  return s.ok() ? s : NothingFixed(target, s);
}

constexpr Command::Text kVerify = {
    "verify",
    "Checks that the filter of each SST file finds every key of the file.",
    "--db=DIR | FILE...", "all of them",
    R"(Asks the filter of each SST file about each key of the file: about the key itself, about ranges around it
and up to the key before it, about seeks to it and to strings below it, and about its prefix if the file
was written with a prefix extractor. RocksDB's own filters are asked about keys and prefixes, unless they are
partitioned. The keys are read with checksums. The DB may be in use, unless --fix is given: it rewrites files
whose filter is wrong or damaged, and whose data is intact, into their own level, and verifies them again.
A TransactionDB (allow_2pc=true in its OPTIONS file) is not fixed, whatever its write policy: compact it in
its application.

The status of a file is one of
  ok               its filter finds every key
  false negatives  its filter denies keys: reads miss data
  wrong header     its filter was built from other keys
  damaged filter   its filter cannot be read, so reads do without it
  damaged data     a data block cannot be read; keys behind it were not verified
  unreadable data  the same, but because of an error of the disk or the file system
  damaged          the file is no intact SST file
  unreadable       the file cannot be opened, for instance for want of permissions, or of the library
                   that its blocks were compressed with
  missing          the MANIFEST lists the file, but it does not exist
  gone             compacted in the meantime, which is fine; what took its place is verified, too
  other table      not looked at: a PlainTable or CuckooTable, which has no filter for ranges
  cut off          the MANIFEST ends within a record

Exit code: 0 if all is well (with --fix: afterwards) or only filters could not be checked, 1 if anything
is wrong or a file was not looked at, 2 if the command failed.

Examples:
  protean verify --db=/data/db --problems_only
  protean verify --db=/data/db --column_family=events --fix
  protean verify /backup/000123.sst /backup/000124.sst
)"};

class Verify : public Command {
 public:
  Verify() : Command(kVerify) {}

 private:
  void AddFlags(Arguments* arguments) override;
  Status Run() override;

  // Verifies the files of the target, and then the files that have replaced
  // those that are gone. Files that have been verified before are left out.
  // Prints a row for each file, and adds it to `*totals`. Returns an error only
  // if the target cannot be opened. `closed` is the target before that.
  Status VerifyAll(const Target& closed, VerifyTotals* totals);
  // Verifies the files that have not been verified, several at a time. Returns
  // the number of those that are gone.
  uint64_t VerifyNewFiles(VerifyTotals* totals);
  void Print(const TargetFamily& family,
             const std::vector<FileCheck>& checks) const;
  // Rewrites what `before` says can be fixed, and verifies the result.
  Status Fix(const Target& closed, const VerifyTotals& before);
  // Rewrites these files, by column family and name, with the DB's own options,
  // and prints what became of each. Adds the number of those that could not be
  // rewritten to `*unfixed`. Ctrl-C ends the work after the current file.
  // Returns an error if the DB cannot be opened, or cannot be closed.
  Status Rewrite(const std::vector<std::pair<std::string, std::string>>& files,
                 uint64_t* unfixed) const;

  bool fix_ = false;
  bool problems_only_ = false;
  // All files verified so far, by column family and name.
  std::set<std::pair<std::string, std::string>> seen_;
};

void Verify::AddFlags(Arguments* arguments) {
  arguments->Add("fix",
                 "rewrite the files whose filters are wrong or damaged, which "
                 "gives them new filters",
                 &fix_);
  arguments->Add("problems_only",
                 "print only the files that are wrong, or were not looked at "
                 "completely",
                 &problems_only_);
}

void Verify::Print(const TargetFamily& family,
                   const std::vector<FileCheck>& checks) const {
  std::vector<Json> rows;
  for (const FileCheck& check : checks) {
    if (check.family != &family) continue;
    const bool is_well =
        check.status.kind == Kind::kFine || check.status.kind == Kind::kGone;
    if (!problems_only_ || !is_well) rows.push_back(RowOf(check));
  }
  if (rows.empty()) return;
  if (!family.name.empty()) {
    out().Line("Column family " + PrintedName(family.name));
  }
  out().Table(kVerifiedColumns, rows);
  out().Line();
}

uint64_t Verify::VerifyNewFiles(VerifyTotals* totals) {
  std::vector<FileCheck> checks;
  uint64_t bytes = 0;
  for (const TargetFamily& family : target_.families()) {
    for (const TargetFile& file : family.files) {
      if (!seen_.emplace(family.name, file.name).second) continue;
      checks.emplace_back();
      checks.back().family = &family;
      checks.back().file = &file;
      bytes += file.bytes;
    }
  }
  {
    Progress progress(err());
    ReadMeter meter(bytes, &progress);
    InParallel(checks.size(),
               [&](size_t i) { CheckFile(target_, &meter, &checks[i]); });
  }
  for (const TargetFamily& family : target_.families()) Print(family, checks);
  uint64_t gone = 0;
  for (const FileCheck& check : checks) {
    totals->Add(check);
    gone += check.status.kind == Kind::kGone;
  }
  return gone;
}

Status Verify::VerifyAll(const Target& closed, VerifyTotals* totals) {
  // How often the DB is looked at again if files are gone. A pass after the
  // first one is short: only what has been written meanwhile is new.
  constexpr int kPasses = 10;
  uint64_t gone = 0;
  for (int i = 0; i < kPasses; i++) {
    target_ = closed;
    const Status s = target_.Open(operands_);
    if (!s.ok()) return s;
    gone = VerifyNewFiles(totals);
    if (gone == 0) return s;
  }
  // The DB compacts faster than its files can be read.
  totals->not_seen += gone;
  return Status::OK();
}

Status Verify::Rewrite(
    const std::vector<std::pair<std::string, std::string>>& files,
    uint64_t* unfixed) const {
  for (const TargetFamily& family : target_.families()) {
    WarnOfRelativeSamplesFile(family, err());
  }
  std::unique_ptr<OpenedDB> opened;
  Status s = OpenedDB::OpenForWriting(target_.db(), target_.env(), &opened);
  if (!s.ok()) return NothingFixed(target_, s);
  const Interrupt interrupt;
  Progress progress(err());
  std::vector<Json> rows;
  for (const auto& [column_family, file] : files) {
    progress.Show(Format("rewriting %s, file %zu of %zu", file.c_str(),
                         rows.size() + 1, files.size()));
    s = interrupt.requested() ? Status::Incomplete("interrupted")
                              : FixFile(*opened, column_family, file);
    if (!s.ok()) ++*unfixed;
    rows.push_back({{"column_family", column_family},
                    {"file", file},
                    {"fix", s.ok() ? "rewritten" : "failed"},
                    {"detail", s.ok() ? "" : s.ToString()}});
  }
  s = opened->Close();
  progress.Clear();
  out().Table(kFixedColumns, rows);
  out().Line();
  return s;
}

Status Verify::Fix(const Target& closed, const VerifyTotals& before) {
  uint64_t unfixed = before.wrong - before.fixable.size();
  if (unfixed > 0) {
    err() << unfixed
          << " files cannot be fixed: their data, from which filters are "
             "built, is not intact; restore them from a backup\n";
  }
  if (before.fixable.empty()) return Status::OK();
  out().Line();
  Status s = Rewrite(before.fixable, &unfixed);
  if (!s.ok()) return s;
  // Verifies the files that have been written meanwhile.
  VerifyTotals after;
  s = VerifyAll(closed, &after);
  if (!s.ok()) return s;
  out().Line(after.Summary());
  found_ = unfixed > 0 || before.not_seen > 0 || after.NeedsAttention();
  return s;
}

Status Verify::Run() {
  if (fix_ && !operands_.empty()) {
    return Status::InvalidArgument(
        "--fix needs --db=DIR: only its DB can rewrite a file, since the "
        "MANIFEST must list the new one");
  }
  const Target closed = target_;
  Status s = OpenTarget(/*or_files=*/true);
  // Hours of reading would be in vain if the DB could not be opened then.
  if (s.ok() && fix_) s = CheckFixable(target_);
  if (!s.ok()) return s;
  VerifyTotals totals;
  if (!target_.cut_off().empty()) {
    totals.wrong++;
    const Json row = {{"column_family", ""},
                      {"file", "MANIFEST"},
                      {"status", "cut off"},
                      {"detail", target_.cut_off()}};
    out().Table(kVerifiedColumns, {row});
    out().Line();
  }
  s = VerifyAll(closed, &totals);
  if (!s.ok()) return s;
  out().Line(totals.Summary());
  out().Line(LeftToRocksDB(target_));
  found_ = totals.NeedsAttention();
  return fix_ && totals.wrong > 0 ? Fix(closed, totals) : s;
}

}  // namespace

std::unique_ptr<Command> NewVerify() { return std::make_unique<Verify>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
