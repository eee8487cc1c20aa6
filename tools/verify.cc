// SPDX-License-Identifier: Apache-2.0

//  protean verify: checks that all files of a DB are whole, and that filters
//  find what the files hold.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "file/filename.h"
#include "rocksdb/file_checksum.h"
#include "table/rewrite_file.h"
#include "tools/blob_check.h"
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
    {"blobs", "blobs"},
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
              uint64_t number) {
  std::vector<ManifestFamily> families;
  if (!ReadManifest(target.env(), target.db(), &families).ok()) return true;
  const auto has = [number](const auto& files) {
    return std::any_of(files.begin(), files.end(), [number](const auto& file) {
      return file.number == number;
    });
  };
  for (const ManifestFamily& family : families) {
    if (family.name != column_family) continue;
    return has(family.files) || has(family.blob_files);
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
  enum class Kind {
    kFine,
    kGone,        // compacted in the meantime
    kNotChecked,  // fine, except that its filter could not be asked
    kNotSeen,     // not looked at
    kWrong,
    kFixable,  // wrong, and rewriting the file, and so its filter, would mend
               // it
  };

  const TargetFamily* family;
  // One of the two; neither for a blob file that no MANIFEST lists.
  const TargetFile* file = nullptr;
  const TargetBlobFile* blob_file = nullptr;

  Kind kind = Kind::kFine;
  uint64_t keys = 0;
  std::map<uint64_t, BlobUse> blobs = {};  // of an SST file
  BlobCheck blob_check = {};               // of a blob file
  Json row = {};

  void Begin(const std::string& name, const Json& level) {
    row["column_family"] = family->name;
    row["file"] = name;
    row["level"] = level;
    for (const char* field : {"keys", "blobs", "kind", "status", "offset",
                              "false_negatives", "first_key", "question"}) {
      row[field] = Json();
    }
    row["status"] = "ok";
    row["detail"] = "";
  }
  void Set(Kind found, const char* status, const std::string& detail) {
    kind = found;
    row["status"] = status;
    row["detail"] = detail;
  }
};

// Computes the checksum that RocksDB's standard function gives a whole file.
Status ChecksumOf(Env* env, const std::string& path, std::string* checksum) {
  constexpr size_t kChunk = 1 << 20;
  const std::unique_ptr<FileChecksumGenerator> generator =
      GetFileChecksumGenCrc32cFactory()->CreateFileChecksumGenerator({});
  std::unique_ptr<SequentialFile> file;
  Status s = env->NewSequentialFile(path, &file, EnvOptions());
  std::string scratch(kChunk, '\0');
  for (Slice chunk; s.ok();) {
    s = file->Read(kChunk, &chunk, scratch.data());
    if (!s.ok() || chunk.empty()) break;
    generator->Update(chunk.data(), chunk.size());
  }
  generator->Finalize();
  *checksum = generator->GetChecksum();
  return s;
}

// Notes that a file of a DB does not exist.
void SetAbsent(const Target& target, uint64_t number, const std::string& path,
               Finding* finding) {
  if (IsListed(target, finding->family->name, number)) {
    finding->Set(Finding::Kind::kWrong, "missing",
                 "the MANIFEST lists it, but there is no " + path);
  } else {
    finding->Set(Finding::Kind::kGone, "gone", "");
  }
}

// Verifies a table of another kind by its checksum in the MANIFEST.
void VerifyOtherTable(const TargetFamily& family, const TargetFile& file,
                      const std::string& what, Finding* finding) {
  using Kind = Finding::Kind;
  if (file.checksum_function != kStandardDbFileChecksumFuncName) {
    finding->Set(Kind::kNotSeen, "other table", what);
    return;
  }
  std::string checksum;
  const Status s = ChecksumOf(family.options.env, file.path, &checksum);
  if (!s.ok()) {
    finding->Set(Kind::kWrong, "unreadable", s.ToString());
  } else if (checksum != file.checksum) {
    finding->Set(Kind::kWrong, "damaged",
                 "its checksum is not the one in the MANIFEST");
  } else {
    finding->Set(Kind::kFine, "ok",
                 what + "; its checksum is the one in the MANIFEST");
  }
}

// Verifies an SST file.
void VerifyFile(const Target& target, KeyMeter* meter, Finding* finding) {
  using Kind = Finding::Kind;
  const TargetFamily& family = *finding->family;
  const TargetFile& file = *finding->file;
  Json& row = finding->row;
  finding->Begin(file.name, OrNull(file.level));

  std::unique_ptr<FileFacts> facts;
  const Status read = FileFacts::Read(family, file, &facts);
  if (IsGone(read) && !target.db().empty()) {
    SetAbsent(target, file.number, file.path, finding);
    return;
  }
  if (read.IsNotSupported()) {
    VerifyOtherTable(family, file, read.getState(), finding);
    return;
  }
  if (!read.ok()) {
    row["offset"] = OffsetOf(read);
    finding->Set(Kind::kWrong, read.IsCorruption() ? "damaged" : "unreadable",
                 read.ToString());
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
  finding->blobs = std::move(check.blobs);
  row["keys"] = check.keys;
  if (check.asked) row["false_negatives"] = check.false_negatives;
  if (check.false_negatives > 0) {
    row["first_key"] = PrintedKey(check.first_key);
    row["question"] = check.first_question;
  }
  if (!check.data.ok()) {
    row["offset"] = OffsetOf(check.data);
    finding->Set(Kind::kWrong,
                 check.data.IsCorruption() ? "damaged data" : "unreadable data",
                 check.data.ToString());
    return;
  }
  const bool denies = check.false_negatives > 0;
  if (facts->damaged() || denies || !check.wrong_header.empty()) {
    row["offset"] = facts->file().filter_offset();
    if (facts->damaged()) {
      finding->Set(Kind::kFixable, "damaged filter", facts->unfiltered());
    } else {
      finding->Set(Kind::kFixable, denies ? "false negatives" : "wrong header",
                   check.wrong_header);
    }
    return;
  }
  if (!check.asked && facts->filter_bytes() > 0) {
    finding->Set(
        Kind::kNotChecked, "ok",
        "its filter was not checked: it is partitioned, of an unknown policy, "
        "or of an unknown prefix extractor");
  }
}

// Verifies a blob file.
void VerifyBlobFile(const Target& target, Finding* finding) {
  const TargetBlobFile& file = *finding->blob_file;
  finding->Begin(file.name, Json());
  BlobCheck& check = finding->blob_check;
  check = CheckBlobs(*finding->family, file);
  if (IsGone(check.status)) {
    SetAbsent(target, file.number, file.path, finding);
    return;
  }
  finding->row["blobs"] = check.blobs;
  if (!check.status.ok()) {
    finding->row["offset"] = OffsetOf(check.status);
    finding->Set(
        Finding::Kind::kWrong,
        check.status.IsCorruption() ? "damaged data" : "unreadable data",
        check.status.ToString());
  }
}

// Compares the blob files of a column family with what its SST files refer to.
// Adds a finding for each blob file that the MANIFEST does not list.
void VerifyBlobUse(const TargetFamily& family, std::vector<Finding>* findings) {
  using Kind = Finding::Kind;
  std::map<uint64_t, Finding*> blob_files;
  for (Finding& finding : *findings) {
    if (finding.family == &family && finding.blob_file != nullptr) {
      blob_files[finding.blob_file->number] = &finding;
    }
  }
  std::map<uint64_t, std::string> unlisted;  // with an SST file
  for (const Finding& finding : *findings) {
    if (finding.family != &family || family.name.empty()) continue;
    for (const auto& [number, use] : finding.blobs) {
      const auto found = blob_files.find(number);
      if (found == blob_files.end()) {
        unlisted.emplace(number, finding.file->name);
      } else if (found->second->kind == Kind::kFine) {
        const Status s = CheckUse(found->second->blob_check, use);
        if (s.ok()) continue;
        found->second->Set(Kind::kWrong, "damaged data",
                           finding.file->name + ": " + s.ToString());
      }
    }
  }
  for (const auto& [number, file] : unlisted) {
    Finding finding{&family};
    const std::string path = BlobFileName("", number);
    finding.Begin(path.substr(path.rfind('/') + 1), Json());
    finding.Set(Kind::kWrong, "missing",
                file + " refers to it, but the MANIFEST does not list it");
    findings->push_back(std::move(finding));
  }
}

// Why the DB could not be opened for writing, with what would work.
Status NothingFixed(const Target& target, const Status& s) {
  if (s.IsBusy()) {
    return Status::Busy(std::string(s.getState()) +
                        "; --fix rewrites files, so close the DB first");
  }
  return Status::Incomplete("nothing was fixed, since " + target.db() +
                            " cannot be opened for writing: " + s.ToString());
}

class Verify : public Command {
 public:
  const char* name() const override { return "verify"; }
  const char* summary() const override {
    return "Checks that all SST and blob files of a DB are undamaged, and that "
           "the filter of each SST file finds every key of the file.";
  }
  const char* usage() const override {
    return "verify --db=DIR | FILE...  [FLAGS]";
  }
  const char* help() const override;
  void AddFlags(Arguments* arguments) override;
  Status Run(const std::vector<std::string>& operands, std::ostream& out,
             std::ostream& err, bool* found) override;

 private:
  // The results of passes over files.
  struct Findings {
    uint64_t files = 0;  // SST files
    uint64_t keys = 0;
    uint64_t blob_files = 0;
    uint64_t wrong = 0;
    uint64_t not_seen = 0;
    uint64_t not_checked = 0;  // filters
    uint64_t gone = 0;         // in the last pass
    std::vector<std::pair<std::string, std::string>> fixable;
    // All files verified so far, by column family and name.
    std::set<std::pair<std::string, std::string>> seen;

    void Add(const Finding& finding);
    // In words, such as "6 files with 9000 keys: all is well".
    std::string Summary() const;
  };

  // Verifies the files of the target except those that `*findings` has seen,
  // several at a time, and prints a row for each.
  void VerifyFiles(const Target& target, Output* output, Progress* progress,
                   Findings* findings) const;
  // Verifies the target, and then the files that have replaced those that are
  // gone.
  Status VerifyAll(const std::vector<std::string>& operands, Target* target,
                   Output* output, Progress* progress,
                   Findings* findings) const;
  // Whether the DB can be opened for writing at this moment.
  Status CheckFixable() const;
  // Rewrites the fixable files. Adds the number of those that cannot be
  // rewritten to `*unfixed`.
  Status Fix(const Findings& findings, std::ostream& err, Output* output,
             Progress* progress, uint64_t* unfixed) const;

  Target target_;
  bool fix_ = false;
  bool problems_only_ = false;
  bool json_ = false;
};

const char* Verify::help() const {
  return R"(Reads each SST file completely, with checksums, and asks its filter about each key of the file: about
the key itself, about ranges around it and up to the key before it, about seeks to it and to strings
below it, and about its prefix if the file was written with a prefix extractor. A filter must never
deny a key that is there. RocksDB's own filters are asked about keys and prefixes, unless they are
partitioned. Each blob file is read completely, too, and compared with the MANIFEST and with what the
SST files refer to.

The status of a file is one of
  ok
  false negatives  its filter denies keys: reads miss data
  wrong header     its filter was built from other keys
  damaged filter   its filter cannot be read, so reads do without it
  damaged data     a data block cannot be read; keys behind it were not verified
  unreadable data  the same, but because of an error of the disk or the file system
  damaged          the file is no intact SST file
  unreadable       the file cannot be opened, for instance for want of permissions, or of the library
                   that its blocks were compressed with
  missing          the MANIFEST lists the file, but it does not exist
  gone             the file was compacted in the meantime, which is fine; the files that took its place
                   are verified, too
  other table      not looked at: a PlainTable or CuckooTable, which has no checksums. If the MANIFEST has
                   a checksum of the file (file_checksum_gen_factory), that is verified instead
  cut off          the MANIFEST ends within a record

The last line says "all is well" only if everything was looked at: all SST and blob files that the
MANIFEST lists, and their filters. The write-ahead log is not looked at.

The DB may be in use, unless --fix is given. With --fix, files whose filter is wrong or damaged, and
whose data is intact, are rewritten into their own level, with the DB's own options, and verified
again. A TransactionDB (allow_2pc=true in its OPTIONS file) is not fixed, whatever its write policy:
compact it in its application.

Exit code: 0 if all is well (with --fix: afterwards) or only filters could not be checked, 1 if anything
is wrong or a file was not looked at, 2 if the command failed.

Examples:
  protean verify --db=/data/db
  protean verify --db=/data/db --column_family=events --fix
  protean verify /backup/000123.sst /backup/000124.sst
  protean verify --db=/data/db --problems_only
  protean verify --db=/data/db --json | jq 'select(.status != "ok")'
)";
}

void Verify::AddFlags(Arguments* arguments) {
  target_.AddFlags(arguments);
  arguments->Add("fix",
                 "rewrite the files whose filters are wrong or damaged, which "
                 "gives them new filters",
                 &fix_);
  arguments->Add("problems_only",
                 "print only the files that are wrong, or were not looked at "
                 "completely",
                 &problems_only_);
  arguments->Add("json", "print JSON, one object per line", &json_);
}

void Verify::Findings::Add(const Finding& finding) {
  using Kind = Finding::Kind;
  if (finding.file != nullptr) files++;
  if (finding.blob_file != nullptr) blob_files++;
  keys += finding.keys;
  switch (finding.kind) {
    case Kind::kFine:
      break;
    case Kind::kGone:
      gone++;
      break;
    case Kind::kNotChecked:
      not_checked++;
      break;
    case Kind::kNotSeen:
      not_seen++;
      break;
    case Kind::kFixable:
      fixable.emplace_back(finding.family->name, finding.file->name);
      [[fallthrough]];
    case Kind::kWrong:
      wrong++;
      break;
  }
}

std::string Verify::Findings::Summary() const {
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

void Verify::VerifyFiles(const Target& target, Output* output,
                         Progress* progress, Findings* findings) const {
  std::vector<Finding> files;
  const auto is_new = [&](const TargetFamily& family, const auto& file) {
    return findings->seen.emplace(family.name, file.name).second;
  };
  for (const TargetFamily& family : target.families()) {
    for (const TargetFile& file : family.files) {
      if (is_new(family, file)) files.push_back({&family, &file});
    }
    for (const TargetBlobFile& file : family.blob_files) {
      if (is_new(family, file)) files.push_back({&family, nullptr, &file});
    }
  }
  KeyMeter meter(progress);
  InParallel(files.size(), [&](size_t i) {
    if (files[i].file != nullptr) {
      VerifyFile(target, &meter, &files[i]);
    } else {
      VerifyBlobFile(target, &files[i]);
    }
  });
  progress->Clear();

  findings->gone = 0;
  for (const TargetFamily& family : target.families()) {
    VerifyBlobUse(family, &files);
    std::vector<Json> rows;
    for (const Finding& finding : files) {
      if (finding.family != &family) continue;
      findings->Add(finding);
      if (problems_only_ && (finding.kind == Finding::Kind::kFine ||
                             finding.kind == Finding::Kind::kGone)) {
        continue;
      }
      rows.push_back(finding.row);
    }
    if (rows.empty()) continue;
    if (!family.name.empty()) {
      output->Line("Column family " + PrintedName(family.name));
    }
    output->Table(kFileColumns, rows);
    output->Line();
  }
}

Status Verify::VerifyAll(const std::vector<std::string>& operands,
                         Target* target, Output* output, Progress* progress,
                         Findings* findings) const {
  // How often the DB is looked at again if files are gone. A pass after the
  // first one is short: only what has been written meanwhile is new.
  constexpr int kPasses = 10;
  const Target closed = *target;
  for (int i = 0; i < kPasses; i++) {
    *target = closed;
    const Status s = target->Open(operands);
    if (!s.ok()) return s;
    VerifyFiles(*target, output, progress, findings);
    if (findings->gone == 0) return s;
  }
  // The DB compacts faster than its files can be read.
  findings->not_seen += findings->gone;
  return Status::OK();
}

Status Verify::CheckFixable() const {
  Status s = target_.CheckForWriting();
  if (s.ok()) s = OpenedDB::CheckForWriting(target_.db(), target_.env());
  return s.ok() ? s : NothingFixed(target_, s);
}

Status Verify::Fix(const Findings& findings, std::ostream& err, Output* output,
                   Progress* progress, uint64_t* unfixed) const {
  for (const TargetFamily& family : target_.families()) {
    WarnOfRelativeSamplesFile(family, err);
  }
  std::unique_ptr<OpenedDB> opened;
  Status s = OpenedDB::OpenForWriting(target_.db(), target_.env(), &opened);
  if (!s.ok()) return NothingFixed(target_, s);
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
  const Target closed = target_;
  Status s = target_.Open(operands);
  // Hours of reading would be in vain if the DB could not be opened then.
  if (s.ok() && fix_) s = CheckFixable();
  if (!s.ok()) return s;
  for (const std::string& note : target_.notes()) err << note << '\n';
  Output output(out, json_);
  Progress progress(err);
  Findings findings;
  if (!target_.cut_off().empty()) {
    findings.wrong++;
    Json row;
    row["column_family"] = "";
    row["file"] = "MANIFEST";
    row["status"] = "cut off";
    row["detail"] = target_.cut_off();
    output.Table(kFileColumns, {row});
    output.Line();
  }
  target_ = closed;
  s = VerifyAll(operands, &target_, &output, &progress, &findings);
  if (!s.ok()) return s;
  output.Line(findings.Summary());
  *found = findings.wrong > 0 || findings.not_seen > 0;
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
  target_ = closed;
  Findings after;
  after.seen = std::move(findings.seen);
  s = VerifyAll(operands, &target_, &output, &progress, &after);
  if (!s.ok()) return s;
  output.Line(after.Summary());
  *found = unfixed > 0 || findings.not_seen > 0 || after.wrong > 0 ||
           after.not_seen > 0;
  return s;
}

}  // namespace

std::unique_ptr<Command> NewVerify() { return std::make_unique<Verify>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
