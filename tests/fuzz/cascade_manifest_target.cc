// SPDX-License-Identifier: Apache-2.0

//  Reads a manifest of a cascade filter: as it is, with the right checksum, and
//  with the right number of runs as well.

#include <set>

#include "sets/cascade/manifest.h"
#include "tests/fuzz/byte_input.h"
#include "tests/fuzz/cascade_page.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/text_env.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const char kFolder[] = "folder";

// docs/file_format.md.
constexpr size_t kManifestChecksumAt = 12;
constexpr size_t kBodyAt = 16;
constexpr size_t kNumRunsAt = 36;
constexpr size_t kRunsAt = 44;
constexpr size_t kRunBytes = 16;

std::string WithChecksum(std::string file) {
  if (file.size() >= kBodyAt) {
    SetChecksum(Slice(file.data() + kBodyAt, file.size() - kBodyAt),
                file.data() + kManifestChecksumAt);
  }
  return file;
}

std::string WithNumberOfRuns(std::string file) {
  if (file.size() >= kRunsAt) {
    EncodeFixed64(file.data() + kNumRunsAt,
                  (file.size() - kRunsAt) / kRunBytes);
  }
  return file;
}

std::string Write(TextFileSystem* fs, const CascadeManifest& manifest) {
  bool may_be_written = false;
  Check(WriteCascadeManifest(fs, kFolder, manifest, &may_be_written).ok() &&
            may_be_written,
        "a manifest is written");
  return fs->files()[CascadeManifestPath(kFolder)];
}

void Read(TextFileSystem* fs, const std::string& file) {
  fs->files().clear();
  fs->files()[CascadeManifestPath(kFolder)] = file;
  CascadeManifest manifest;
  const Status s = ReadCascadeManifest(fs, kFolder, &manifest);
  if (!s.ok()) {
    Check(s.IsCorruption(), "a manifest is read, or is Corruption");
    return;
  }
  Check(manifest.fingerprint_bits >= kMinFingerprintBits &&
            manifest.fingerprint_bits <= kMaxFingerprintBits,
        "fingerprints have bits that are possible");
  std::set<uint64_t> numbers;
  for (const CascadeManifest::ListedRun& run : manifest.runs) {
    Check(run.file < manifest.next_file && numbers.insert(run.file).second,
          "each run has a file of its own, which no later run gets");
  }
  Check(Write(fs, manifest) == file, "what is read is written unchanged");
  Check(fs->files().size() == 1, "no temporary file is left");
}

void Run(const uint8_t* data, size_t size) {
  static auto* const fs = new TextFileSystem;
  const std::string file(reinterpret_cast<const char*>(data), size);
  Read(fs, file);
  Read(fs, WithChecksum(file));
  Read(fs, WithChecksum(WithNumberOfRuns(file)));
}

std::vector<std::string> Seeds() {
  TextFileSystem fs;
  CascadeManifest manifest;
  manifest.fingerprint_bits = 44;
  manifest.salt = 0x0123456789abcdef;
  std::vector<std::string> seeds = {Write(&fs, manifest)};
  for (uint64_t file = 1; file <= 3; file++) {
    manifest.runs.insert(manifest.runs.begin(), {file, file << 60 | file});
    manifest.next_file = file + 1;
    seeds.push_back(Write(&fs, manifest));
  }
  return seeds;
}

}  // namespace

const FuzzTarget kCascadeManifestTarget = {"cascade_manifest", Run, MutateBytes,
                                           CrossBytes, Seeds};

}  // namespace ROCKSDB_NAMESPACE::protean
