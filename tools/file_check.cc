// SPDX-License-Identifier: Apache-2.0

#include "tools/file_check.h"

#include <algorithm>
#include <memory>

#include "rocksdb/file_checksum.h"
#include "tools/file_checksum.h"
#include "tools/file_facts.h"
#include "tools/manifest.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Looks for a file that does not exist in what the MANIFEST lists now.
FileStatus CheckAbsentFile(const Target& target, const TargetFamily& family,
                           uint64_t number, const std::string& path) {
  return StatusOfAbsentFile(
      IsListed(target.env(), target.db(), family.name, number), path);
}

// Checks a table of another kind by its checksum in the MANIFEST.
FileStatus CheckOtherTable(const TargetFamily& family, const TargetFile& file,
                           const std::string& table) {
  if (file.checksum_function != kStandardDbFileChecksumFuncName) {
    return StatusOfOtherTable(table);
  }
  std::string checksum;
  const Status s =
      ComputeFileChecksum(family.options.env, file.path, &checksum);
  return StatusOfOtherTable(table, s, checksum == file.checksum);
}

void CheckTable(const Target& target, const ReportRead& progress,
                FileCheck* check) {
  const TargetFamily& family = *check->family;
  const TargetFile& file = *check->table;
  std::unique_ptr<FileFacts> facts;
  const Status opened = FileFacts::Read(family, file, &facts);
  if (IsGone(opened) && !target.db().empty()) {
    check->status = CheckAbsentFile(target, family, file.number, file.path);
    return;
  }
  if (opened.IsNotSupported()) {
    check->status = CheckOtherTable(family, file, opened.getState());
    return;
  }
  if (!opened.ok()) {
    check->status = StatusOfUnopenedFile(opened);
    return;
  }
  check->filter_kind = facts->kind();
  KeyCheck& keys = check->keys.emplace();
  const double bytes_of_key =
      static_cast<double>(file.bytes) /
      static_cast<double>(std::max<uint64_t>(facts->entries(), 1));
  const auto report = [&](uint64_t read_keys) {
    progress(read_keys, static_cast<uint64_t>(bytes_of_key *
                                              static_cast<double>(read_keys)));
  };
  const Status read = WithoutExceptions([&] {
    keys = CheckKeys(*facts, family, report);
    return keys.data;
  });
  keys.data = read;
  check->status = StatusOfTable(*facts, keys);
}

void CheckBlobFile(const Target& target, FileCheck* check) {
  const TargetBlobFile& file = *check->blob_file;
  const BlobCheck blobs = CheckBlobs(*check->family, file);
  if (IsGone(blobs.status)) {
    check->status =
        CheckAbsentFile(target, *check->family, file.number, file.path);
    return;
  }
  if (!blobs.status.ok()) check->status = StatusOfUnreadData(blobs.status);
  check->blobs = blobs;
}

}  // namespace

void CheckFile(const Target& target, const ReportRead& progress,
               FileCheck* check) {
  if (check->table != nullptr) {
    CheckTable(target, progress, check);
  } else {
    CheckBlobFile(target, check);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
