// SPDX-License-Identifier: Apache-2.0

#include "tools/verify_files.h"

#include <algorithm>

#include "tools/blob_references.h"
#include "tools/in_parallel.h"
#include "tools/key_meter.h"

namespace ROCKSDB_NAMESPACE::protean {

std::vector<FileCheck> FileVerifier::ListNewFiles(const Target& target) {
  std::vector<FileCheck> files;
  const auto add = [&](const TargetFamily& family, const TargetFile* table,
                       const TargetBlobFile* blob_file,
                       const std::string& name) {
    if (!seen_.emplace(family.name, name).second) return;
    FileCheck check;
    check.family = &family;
    check.table = table;
    check.blob_file = blob_file;
    check.name = name;
    files.push_back(std::move(check));
  };
  for (const TargetFamily& family : target.families()) {
    for (const TargetFile& file : family.files) {
      add(family, &file, nullptr, file.name);
    }
    for (const TargetBlobFile& file : family.blob_files) {
      add(family, nullptr, &file, file.name);
    }
  }
  return files;
}

uint64_t FileVerifier::VerifyNewFiles(const Target& target,
                                      VerifyTotals* totals) {
  std::vector<FileCheck> checks = ListNewFiles(target);
  uint64_t total = 0;
  for (const FileCheck& check : checks) total += check.bytes();
  KeyMeter meter(total, &progress_);
  InParallel(checks.size(), [&](size_t i) {
    uint64_t left = checks[i].bytes();
    CheckFile(
        target,
        [&](uint64_t keys, uint64_t bytes) {
          bytes = std::min(bytes, left);
          left -= bytes;
          meter.Count(keys, bytes);
        },
        &checks[i]);
    meter.Count(0, left);
  });
  progress_.Clear();
  for (const TargetFamily& family : target.families()) {
    CompareBlobReferences(family, &checks);
    PrintFiles(family, checks, problems_only_, &output_);
  }
  uint64_t gone = 0;
  for (const FileCheck& check : checks) {
    totals->Add(check);
    gone += check.status.kind == FileStatus::Kind::kGone;
  }
  return gone;
}

Status FileVerifier::Verify(const std::vector<std::string>& operands,
                            Target* target, VerifyTotals* totals) {
  // How often the DB is looked at again if files are gone. A pass after the
  // first one is short: only what has been written meanwhile is new.
  constexpr int kPasses = 10;
  const Target closed = *target;
  uint64_t gone = 0;
  for (int i = 0; i < kPasses; i++) {
    *target = closed;
    const Status s = target->Open(operands);
    if (!s.ok()) return s;
    gone = VerifyNewFiles(*target, totals);
    if (gone == 0) return s;
  }
  // The DB compacts faster than its files can be read.
  totals->not_seen += gone;
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
