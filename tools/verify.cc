// SPDX-License-Identifier: Apache-2.0

//  protean verify: checks that filters find what their files hold.

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "table/filter_trial.h"
#include "tools/command.h"
#include "tools/file_facts.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- What is said of a file ----

enum class Kind {
  kFine,
  kGone,        // compacted in the meantime
  kNotChecked,  // fine, except that its filter could not be asked
  kNotSeen,     // not looked at
  kWrong,
  kFixable,  // wrong, but a rewrite of the file makes a new filter
};

// An SST file, and what was found out about it.
struct FileCheck {
  FileCheck(const TargetFamily& its_family, const TargetFile& its_file)
      : family(&its_family), file(&its_file) {
    row = {{"column_family", family->name},
           {"file", file->name},
           {"level", OrNull(file->level)},
           {"keys", Json()},
           {"kind", Json()},
           {"status", "ok"},
           {"offset", Json()},
           {"false_negatives", Json()},
           {"first_key", Json()},
           {"question", Json()},
           {"detail", ""}};
  }

  // `words` are those that the command's help explains. `offset` is where the
  // block that is wrong begins, if that is known.
  void Set(Kind its_kind, const char* words, const std::string& detail = "",
           const Json& offset = Json()) {
    kind = its_kind;
    row["status"] = words;
    row["detail"] = detail;
    row["offset"] = offset;
  }

  const TargetFamily* family;
  const TargetFile* file;
  Kind kind = Kind::kFine;
  uint64_t keys = 0;
  Json row;
};

// The offset of the block that RocksDB's message names, if it names one.
Json OffsetOf(const Status& damage) {
  const std::string text = damage.ToString();
  const size_t mark = std::min(text.rfind(" offset "), text.size());
  uint64_t offset = 0;
  const bool known =
      sscanf(text.c_str() + mark, " offset %" SCNu64, &offset) == 1;
  return OrNull(known, offset);
}

// Says what was found out about a block-based table, of which all was read, as
// far as possible.
void Judge(const FileFacts& facts, const KeyCheck& keys, FileCheck* check) {
  check->keys = keys.keys;
  check->row["keys"] = keys.keys;
  check->row["kind"] = facts.kind;
  if (keys.asked) check->row["false_negatives"] = keys.false_negatives;
  if (keys.false_negatives > 0) {
    check->row["first_key"] = PrintedKey(keys.first_key);
    check->row["question"] = keys.first_question;
  }
  const auto set_fixable = [&](const char* words, const std::string& detail) {
    check->Set(Kind::kFixable, words, detail, facts.file().filter_offset());
  };
  if (!keys.data.ok()) {
    check->Set(Kind::kWrong,
               keys.data.IsCorruption() ? "damaged data" : "unreadable data",
               keys.data.ToString(), OffsetOf(keys.data));
  } else if (facts.damaged) {
    set_fixable("damaged filter", facts.unfiltered);
  } else if (keys.false_negatives > 0) {
    set_fixable("false negatives", keys.wrong_header);
  } else if (!keys.wrong_header.empty()) {
    set_fixable("wrong header", keys.wrong_header);
  } else if (!keys.asked && facts.filter_bytes > 0) {
    check->Set(Kind::kNotChecked, "ok",
               "its filter was not checked: it is partitioned, of an unknown "
               "policy, or of an unknown prefix extractor");
  }
}

// Called with the keys and bytes that have been read. Thread safe.
using CountRead = std::function<void(uint64_t keys, uint64_t bytes)>;

// Reads the keys of a file and asks its filter about them. May be called for
// several files at a time.
void CheckFile(const Target& target, const CountRead& count, FileCheck* check) {
  const TargetFamily& family = *check->family;
  const TargetFile& file = *check->file;
  std::unique_ptr<FileFacts> facts;
  const Status opened = FileFacts::Read(family, file, &facts);
  if (IsGone(opened) && !target.db.empty()) {
    check->Set(Kind::kGone, "gone");
    if (target.IsMissing(family, file)) {
      check->Set(Kind::kWrong, "missing",
                 "the MANIFEST lists it, but there is no " + file.path);
    }
  } else if (opened.IsNotSupported()) {
    check->Set(Kind::kNotSeen, "other table", opened.getState());
  } else if (!opened.ok()) {
    check->Set(Kind::kWrong, opened.IsCorruption() ? "damaged" : "unreadable",
               opened.ToString(), OffsetOf(opened));
  }
  uint64_t left = file.bytes;
  if (opened.ok()) {
    const double bytes_of_key = Ratio(file.bytes, facts->entries);
    const auto report = [&](uint64_t read) {
      const uint64_t bytes = std::min(
          left,
          static_cast<uint64_t>(bytes_of_key * static_cast<double>(read)));
      left -= bytes;
      count(read, bytes);
    };
    Judge(*facts, CheckKeys(*facts, report), check);
  }
  count(0, left);
}

// Calls `work` with each number below `count`, several at a time, and returns
// when all calls have returned.
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

// ---- What is printed ----

const std::vector<Column> kVerifiedColumns = {{"file"},
                                              {"level"},
                                              {"keys"},
                                              {"kind", "filter"},
                                              {"status"},
                                              {"offset"},
                                              {"false_negatives"},
                                              {"first_key", "first key denied"},
                                              {"question", "asked for"},
                                              {"detail"}};

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
    keys += check.keys;
    not_checked += check.kind == Kind::kNotChecked;
    not_seen += check.kind == Kind::kNotSeen;
    wrong += check.kind == Kind::kWrong || check.kind == Kind::kFixable;
    if (check.kind == Kind::kFixable) {
      fixable.emplace_back(check.family->name, check.file->name);
    }
  }
  // Returns true if an operator has to look at something.
  bool NeedsAttention() const { return wrong > 0 || not_seen > 0; }

  // In words, such as "6 files with 9000 keys: all is well".
  std::string Summary() const {
    std::string text =
        Format("%" PRIu64 " files with %" PRIu64 " keys", files, keys);
    std::string results;
    const auto add = [&results](uint64_t count, const char* what) {
      if (count == 0) return;
      results +=
          (results.empty() ? "" : "; ") + Format("%" PRIu64, count) + what;
    };
    add(wrong, " are not well");
    add(not_seen, " were not looked at");
    add(not_checked, " filters were not checked");
    if (results.empty()) return text + ": all is well";
    return text + (wrong > 0 ? ": " : ": nothing wrong was found, but ") +
           results;
  }
};

// ---- Fixing ----

const std::vector<Column> kFixedColumns = {
    {"column_family"}, {"file"}, {"fix"}, {"detail"}};

// Why the DB could not be opened for writing, with what would work.
Status NothingFixed(const Target& target, const Status& s) {
  if (s.IsBusy()) {
    return Status::Busy(std::string(s.getState()) +
                        "; --fix rewrites files, so close the DB first");
  }
  return Status::Incomplete("nothing was fixed, since " + target.db +
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

constexpr CommandText kVerify = {
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
  Verify() : Command(kVerify) {
    flags_.Add({{"fix", "", &fix_,
                 "rewrite the files whose filters are wrong or damaged, which "
                 "gives them new filters"},
                {"problems_only", "", &problems_only_,
                 "print only the files that are wrong, or were not looked at "
                 "completely"}});
  }

 private:
  Status Run() override {
    if (fix_ && !operands_.empty()) {
      return Status::InvalidArgument(
          "--fix needs --db=DIR: only its DB can rewrite a file, since the "
          "MANIFEST must list the new one");
    }
    Status s = OpenTarget(/*or_files=*/true);
    // Hours of reading would be in vain if the DB could not be opened then.
    if (s.ok() && fix_) {
      s = OpenedDB::CheckForWriting(target_);
      if (!s.ok()) s = NothingFixed(target_, s);
    }
    if (!s.ok()) return s;
    VerifyTotals totals;
    if (!target_.cut_off.empty()) {
      totals.wrong++;
      const Json row = {{"column_family", ""},
                        {"file", "MANIFEST"},
                        {"status", "cut off"},
                        {"detail", target_.cut_off}};
      out().Table(kVerifiedColumns, {row});
      out().Line();
    }
    s = VerifyAll(&totals);
    if (!s.ok()) return s;
    out().Line(totals.Summary());
    out().Line(
        "Left to RocksDB: values in blob files and checksums of whole files "
        "(DB::VerifyChecksum, DB::VerifyFileChecksums), the write-ahead log "
        "and the MANIFEST (ldb " +
        ShellWord("--db=" + (target_.db.empty() ? "DIR" : target_.db)) +
        " checkconsistency)");
    found_ = totals.NeedsAttention();
    return fix_ && totals.wrong > 0 ? Fix(totals) : s;
  }

  // Verifies the files of the target, and then the files that have replaced
  // those that are gone. Files that have been verified before are left out.
  // Prints a row for each file, and adds it to `*totals`. Returns an error only
  // if the target cannot be opened.
  Status VerifyAll(VerifyTotals* totals) {
    // How often the DB is looked at again if files are gone. A pass after the
    // first one is short: only what has been written meanwhile is new.
    constexpr int kPasses = 10;
    uint64_t gone = 0;
    for (int i = 0; i < kPasses; i++) {
      const Status s = target_.Open(operands_);
      if (!s.ok()) return s;
      gone = VerifyNewFiles(totals);
      if (gone == 0) return s;
    }
    // The DB compacts faster than its files can be read.
    totals->not_seen += gone;
    return Status::OK();
  }

  // Verifies the files that have not been verified, several at a time. Returns
  // the number of those that are gone.
  uint64_t VerifyNewFiles(VerifyTotals* totals) {
    std::vector<FileCheck> checks;
    uint64_t bytes = 0;
    for (const TargetFamily& family : target_.families) {
      for (const TargetFile& file : family.files) {
        if (!seen_.emplace(family.name, file.name).second) continue;
        checks.emplace_back(family, file);
        bytes += file.bytes;
      }
    }
    Progress progress(err());
    std::mutex mutex;
    uint64_t keys_read = 0;
    uint64_t bytes_read = 0;
    const CountRead count = [&](uint64_t more_keys, uint64_t more_bytes) {
      const std::lock_guard<std::mutex> lock(mutex);
      keys_read += more_keys;
      bytes_read += more_bytes;
      if (!progress.IsDue()) return;
      const double seconds = progress.seconds();
      progress.Show(PrintedProgress(bytes_read, bytes, seconds) +
                    Format("; %" PRIu64 " keys, %.1f M/s", keys_read,
                           static_cast<double>(keys_read) / 1e6 / seconds));
    };
    InParallel(checks.size(),
               [&](size_t i) { CheckFile(target_, count, &checks[i]); });
    progress.Clear();
    for (const TargetFamily& family : target_.families) Print(family, checks);
    uint64_t gone = 0;
    for (const FileCheck& check : checks) {
      totals->Add(check);
      gone += check.kind == Kind::kGone;
    }
    return gone;
  }

  void Print(const TargetFamily& family,
             const std::vector<FileCheck>& checks) const {
    std::vector<Json> rows;
    for (const FileCheck& check : checks) {
      if (check.family != &family) continue;
      const bool is_well =
          check.kind == Kind::kFine || check.kind == Kind::kGone;
      if (!problems_only_ || !is_well) rows.push_back(check.row);
    }
    if (rows.empty()) return;
    if (!family.name.empty()) {
      out().Line("Column family " + PrintedName(family.name));
    }
    out().Table(kVerifiedColumns, rows);
    out().Line();
  }

  // Rewrites what `before` says can be fixed, and verifies the result.
  Status Fix(const VerifyTotals& before) {
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
    s = VerifyAll(&after);
    if (!s.ok()) return s;
    out().Line(after.Summary());
    found_ = unfixed > 0 || before.not_seen > 0 || after.NeedsAttention();
    return s;
  }

  // Rewrites these files, by column family and name, with the DB's own options,
  // and prints what became of each. Adds the number of those that could not be
  // rewritten to `*unfixed`. Ctrl-C ends the work after the current file.
  // Returns an error if the DB cannot be opened, or cannot be closed.
  Status Rewrite(const std::vector<std::pair<std::string, std::string>>& files,
                 uint64_t* unfixed) const {
    for (const TargetFamily& family : target_.families) {
      WarnOfRelativeSamplesFile(family, err());
    }
    std::unique_ptr<OpenedDB> opened;
    Status s = OpenedDB::Open(target_, /*for_writing=*/true, &opened);
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

  bool fix_ = false;
  bool problems_only_ = false;
  // All files verified so far, by column family and name.
  std::set<std::pair<std::string, std::string>> seen_;
};

}  // namespace

std::unique_ptr<Command> NewVerify() { return std::make_unique<Verify>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
