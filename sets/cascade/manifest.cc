// SPDX-License-Identifier: Apache-2.0

#include "sets/cascade/manifest.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <set>

#include "filter_policy/samples/files.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The magic number, the version, and the checksum of all that follows.
constexpr uint64_t kMagic = 0x6e614d7361436e50;  // "PnCasMan"
constexpr uint32_t kVersion = 1;
constexpr size_t kListedRunBytes = 16;
constexpr uint64_t kMaxManifestBytes = 64 << 20;

constexpr char kManifest[] = "MANIFEST";
constexpr char kRunSuffix[] = ".run";
constexpr char kTemporarySuffix[] = ".tmp";

std::string Encode(const CascadeManifest& manifest) {
  std::string body;
  PutFixed32(&body, manifest.fingerprint_bits);
  PutFixed64(&body, manifest.salt);
  PutFixed64(&body, manifest.next_file);
  PutFixed64(&body, manifest.runs.size());
  for (const CascadeManifest::ListedRun& run : manifest.runs) {
    PutFixed64(&body, run.file);
    PutFixed64(&body, run.id);
  }
  std::string encoded;
  PutFixed64(&encoded, kMagic);
  PutFixed32(&encoded, kVersion);
  PutFixed32(&encoded, crc32c::Mask(crc32c::Value(body.data(), body.size())));
  return encoded + body;
}

bool IsPossible(const CascadeManifest& manifest) {
  std::set<uint64_t> files;
  for (const CascadeManifest::ListedRun& run : manifest.runs) {
    if (run.file >= manifest.next_file || !files.insert(run.file).second) {
      return false;
    }
  }
  return manifest.fingerprint_bits >= kMinFingerprintBits &&
         manifest.fingerprint_bits <= kMaxFingerprintBits;
}

bool Decode(Slice input, CascadeManifest* manifest) {
  uint64_t magic;
  uint32_t version;
  uint32_t checksum;
  if (!GetFixed64(&input, &magic) || magic != kMagic ||
      !GetFixed32(&input, &version) || version != kVersion ||
      !GetFixed32(&input, &checksum) ||
      checksum != crc32c::Mask(crc32c::Value(input.data(), input.size()))) {
    return false;
  }
  uint64_t runs;
  if (!GetFixed32(&input, &manifest->fingerprint_bits) ||
      !GetFixed64(&input, &manifest->salt) ||
      !GetFixed64(&input, &manifest->next_file) || !GetFixed64(&input, &runs)) {
    return false;
  }
  if (input.size() % kListedRunBytes != 0 ||
      input.size() / kListedRunBytes != runs) {
    return false;
  }
  manifest->runs.clear();
  for (CascadeManifest::ListedRun run;
       GetFixed64(&input, &run.file) && GetFixed64(&input, &run.id);) {
    manifest->runs.push_back(run);
  }
  return IsPossible(*manifest);
}

}  // namespace

std::string CascadeManifestPath(const std::string& folder) {
  return folder + "/" + kManifest;
}
std::string CascadeLockPath(const std::string& folder) {
  return folder + "/LOCK";
}
std::string CascadeRunPath(const std::string& folder, uint64_t file) {
  char name[32];
  snprintf(name, sizeof(name), "%06" PRIu64 "%s", file, kRunSuffix);
  return folder + "/" + name;
}

bool IsCascadeRun(const std::string& name) {
  return Slice(name).ends_with(kRunSuffix) &&
         name.find_first_not_of("0123456789") ==
             name.size() - strlen(kRunSuffix);
}
bool IsCascadeRunOrTemporary(const std::string& name) {
  return IsCascadeRun(name) ||
         name == std::string(kManifest) + kTemporarySuffix;
}

Status SyncFolder(FileSystem* fs, const std::string& folder) {
  std::unique_ptr<FSDirectory> directory;
  Status s = fs->NewDirectory(folder, IOOptions(), &directory, nullptr);
  return s.ok() ? Status(directory->Fsync(IOOptions(), nullptr)) : s;
}

Status WriteCascadeManifest(FileSystem* fs, const std::string& folder,
                            const CascadeManifest& manifest,
                            bool* may_be_written) {
  *may_be_written = false;
  const std::string path = CascadeManifestPath(folder);
  const std::string temporary = path + kTemporarySuffix;
  Status s = WriteStringToFile(fs, Encode(manifest), temporary,
                               /*should_sync=*/true);
  // The folder is synced twice, so that a machine that loses its power has the
  // runs when it has the manifest that lists them, and then the manifest.
  if (s.ok()) s = SyncFolder(fs, folder);
  if (s.ok()) {
    *may_be_written = true;
    s = fs->RenameFile(temporary, path, IOOptions(), nullptr);
  }
  return s.ok() ? SyncFolder(fs, folder) : s;
}

Status ReadCascadeManifest(FileSystem* fs, const std::string& folder,
                           CascadeManifest* manifest) {
  const std::string path = CascadeManifestPath(folder);
  Status s = fs->FileExists(path, IOOptions(), /*dbg=*/nullptr);
  if (!s.ok()) return s;
  std::string encoded;
  s = ReadPlainFile(fs, path, kMaxManifestBytes, &encoded);
  if (!s.ok()) return s;
  return Decode(encoded, manifest)
             ? Status::OK()
             : Status::Corruption(path,
                                  "is damaged, or not the manifest of a "
                                  "cascade filter of this version");
}

}  // namespace ROCKSDB_NAMESPACE::protean
