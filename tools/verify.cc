// SPDX-License-Identifier: Apache-2.0

//  protean verify: checks that all files of a DB are whole, and that filters
//  find what the files hold.

#include <memory>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/target.h"
#include "tools/verify_files.h"
#include "tools/verify_fix.h"
#include "tools/verify_report.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class VerifyCommand : public Command {
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
  Target target_;
  bool fix_ = false;
  bool problems_only_ = false;
  bool json_ = false;
};

const char* VerifyCommand::help() const {
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

void VerifyCommand::AddFlags(Arguments* arguments) {
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

Status VerifyCommand::Run(const std::vector<std::string>& operands,
                          std::ostream& out, std::ostream& err, bool* found) {
  if (fix_ && !operands.empty()) {
    return Status::InvalidArgument(
        "--fix needs --db=DIR: only its DB can rewrite a file, since the "
        "MANIFEST must list the new one");
  }
  const Target closed = target_;
  Status s = target_.Open(operands);
  // Hours of reading would be in vain if the DB could not be opened then.
  if (s.ok() && fix_) s = CheckFixable(target_);
  if (!s.ok()) return s;
  for (const std::string& note : target_.notes()) err << note << '\n';
  Output output(out, json_);
  Progress progress(err);
  VerifyTotals totals;
  if (!target_.cut_off().empty()) {
    totals.wrong++;
    PrintCutOff(target_.cut_off(), &output);
  }
  FileVerifier verifier(problems_only_, &output, &progress);
  target_ = closed;
  s = verifier.Verify(operands, &target_, &totals);
  if (!s.ok()) return s;
  output.Line(totals.Summary());
  *found = totals.NeedsAttention();
  if (!fix_ || totals.wrong == 0) return s;

  uint64_t unfixed = totals.wrong - totals.fixable.size();
  if (unfixed > 0) {
    err << unfixed
        << " files cannot be fixed: their data, from which filters are built, "
           "is not intact; restore them from a backup\n";
  }
  if (totals.fixable.empty()) return s;
  output.Line();
  s = FixFiles(target_, totals.fixable, err, &output, &progress, &unfixed);
  if (!s.ok()) return s;
  // Verifies the files that have been written meanwhile.
  target_ = closed;
  VerifyTotals after;
  s = verifier.Verify(operands, &target_, &after);
  if (!s.ok()) return s;
  output.Line(after.Summary());
  *found = unfixed > 0 || totals.not_seen > 0 || after.NeedsAttention();
  return s;
}

}  // namespace

std::unique_ptr<Command> NewVerify() {
  return std::make_unique<VerifyCommand>();
}

}  // namespace ROCKSDB_NAMESPACE::protean
