// SPDX-License-Identifier: Apache-2.0

#include "tools/blob_references.h"

#include <map>
#include <string>

#include "file/filename.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A blob file that an SST file refers to, but the MANIFEST does not list.
FileCheck UnlistedBlobFile(const TargetFamily& family, uint64_t number,
                           const std::string& referring) {
  const std::string path = BlobFileName("", number);
  FileCheck check;
  check.family = &family;
  check.name = path.substr(path.rfind('/') + 1);
  check.status.kind = FileStatus::Kind::kWrong;
  check.status.words = "missing";
  check.status.detail =
      referring + " refers to it, but the MANIFEST does not list it";
  return check;
}

}  // namespace

void CompareBlobReferences(const TargetFamily& family,
                           std::vector<FileCheck>* checks) {
  // SST files given by path do not tell where their blob files are.
  if (family.name.empty()) return;
  std::map<uint64_t, FileCheck*> blob_files;
  for (FileCheck& check : *checks) {
    if (check.family == &family && check.blob_file != nullptr) {
      blob_files[check.blob_file->number] = &check;
    }
  }
  std::map<uint64_t, std::string> unlisted;  // with an SST file
  for (const FileCheck& check : *checks) {
    if (check.family != &family || !check.keys) continue;
    for (const auto& [number, use] : check.keys->blobs) {
      const auto found = blob_files.find(number);
      if (found == blob_files.end()) {
        unlisted.emplace(number, check.name);
        continue;
      }
      FileStatus& status = found->second->status;
      if (status.kind != FileStatus::Kind::kFine) continue;
      const Status s = CheckUse(*found->second->blobs, use);
      if (s.ok()) continue;
      status.kind = FileStatus::Kind::kWrong;
      status.words = "damaged data";
      status.detail = check.name + ": " + s.ToString();
    }
  }
  for (const auto& [number, referring] : unlisted) {
    checks->push_back(UnlistedBlobFile(family, number, referring));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
