// SPDX-License-Identifier: Apache-2.0

#include "tools/manifest.h"

#include <map>
#include <utility>

#include "db/log_reader.h"
#include "db/manifest_ops.h"
#include "db/version_edit.h"
#include "file/filename.h"
#include "file/sequence_file_reader.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Remembers the first damage in a log.
struct DamageReporter : log::Reader::Reporter {
  // One of the two functions overrides RocksDB's: later versions pass the
  // number of the log, too.
  // NOLINTNEXTLINE(modernize-use-override)
  virtual void Corruption(size_t /*bytes*/, const Status& s) {
    if (status.ok()) status = s;
  }
  // NOLINTNEXTLINE(modernize-use-override)
  virtual void Corruption(size_t bytes, const Status& s, uint64_t /*log*/) {
    Corruption(bytes, s);
  }

  Status status;
};

// The column families of a MANIFEST, by their numbers.
class ManifestState {
 public:
  Status Apply(const VersionEdit& edit) {
    has_log_number_ |= edit.HasLogNumber();
    has_next_file_ |= edit.HasNextFile();
    has_last_sequence_ |= edit.HasLastSequence();
    const uint32_t id = edit.GetColumnFamily();
    if (edit.IsColumnFamilyAdd())
      families_[id].name = edit.GetColumnFamilyName();
    if (edit.IsColumnFamilyDrop()) {
      families_.erase(id);
      return Status::OK();
    }
    // A new DB does not record that it has the default column family.
    if (id == 0 && families_[id].name.empty()) {
      families_[id].name = kDefaultColumnFamilyName;
    }
    const auto family = families_.find(id);
    if (family == families_.end()) {
      return Status::Corruption("it adds files to an unknown column family");
    }
    if (edit.HasComparatorName()) {
      family->second.comparator = edit.GetComparatorName();
    }
    for (const auto& [level, number] : edit.GetDeletedFiles()) {
      family->second.by_place.erase({level, number});
    }
    for (const auto& [level, meta] : edit.GetNewFiles()) {
      TargetFile& file = family->second.by_place[{level, meta.fd.GetNumber()}];
      file.number = meta.fd.GetNumber();
      file.path_id = meta.fd.GetPathId();
      file.level = level;
      file.bytes = meta.fd.GetFileSize();
      file.smallest = meta.smallest.user_key().ToString();
      file.largest = meta.largest.user_key().ToString();
    }
    return Status::OK();
  }

  // Whether RocksDB would open the DB, as far as it needs more than intact
  // records.
  Status Check() const {
    return has_log_number_ && has_next_file_ && has_last_sequence_
               ? Status::OK()
               : Status::Corruption(
                     "it ends before the numbers of the log, of the next file "
                     "and of the last change");
  }

  void MoveTo(std::vector<ManifestFamily>* families) {
    for (auto& [id, state] : families_) {
      state.id = id;
      for (auto& [place, file] : state.by_place) {
        state.files.push_back(std::move(file));
      }
      families->push_back(std::move(state));
    }
  }

 private:
  struct State : ManifestFamily {
    std::map<std::pair<int, uint64_t>, TargetFile> by_place;
  };
  std::map<uint32_t, State> families_;
  bool has_log_number_ = false;
  bool has_next_file_ = false;
  bool has_last_sequence_ = false;
};

// What is behind the last whole record of a MANIFEST, in words; empty if it
// ends there, perhaps with zeros.
std::string TellOfEnd(Env* env, const std::string& manifest, uint64_t whole) {
  std::string contents;
  uint64_t size = 0;
  if (!env->GetFileSize(manifest, &size).ok() || size <= whole ||
      !ReadFileToString(env, manifest, &contents).ok() ||
      contents.size() <= whole ||
      contents.find_first_not_of('\0', whole) == std::string::npos) {
    return "";
  }
  return manifest + " ends within a record: it has " +
         std::to_string(contents.size() - whole) + " bytes behind offset " +
         std::to_string(whole) +
         ", where its last whole record ends. If no process was writing to it "
         "just now, the last change of the DB is lost";
}

Status ReadManifestOnce(Env* env, const std::string& path,
                        std::vector<ManifestFamily>* families,
                        std::string* cut_off) {
  std::string manifest;
  uint64_t number = 0;
  Status s = GetCurrentManifestPath(path, env->GetFileSystem().get(),
                                    /*is_retry=*/false, &manifest, &number);
  if (s.IsCorruption()) {
    return Status::Corruption(
        CurrentFileName(path),
        "names no MANIFEST: it is damaged, or the DB's files are encrypted, "
        "and then --env_uri must name an Env that can read them");
  }
  if (!s.ok()) return s;
  std::unique_ptr<SequentialFileReader> file;
  s = SequentialFileReader::Create(env->GetFileSystem(), manifest,
                                   FileOptions(), &file, nullptr, nullptr);
  if (!s.ok()) return s;
  DamageReporter damage;
  log::Reader reader(/*info_log=*/nullptr, std::move(file), &damage,
                     /*checksum=*/true, /*log_num=*/0);
  ManifestState state;
  std::vector<VersionEdit> group;
  Slice record;
  std::string scratch;
  uint64_t whole = 0;  // the end of the last record
  while (s.ok() && damage.status.ok() && reader.ReadRecord(&record, &scratch)) {
    whole = reader.LastRecordEnd();
    group.emplace_back();
    VersionEdit& edit = group.back();
    s = edit.DecodeFrom(record);
    // An atomic group counts only once all of it has been read.
    if (edit.IsInAtomicGroup() && edit.GetRemainingEntries() > 0) continue;
    for (const VersionEdit& complete : group) {
      if (s.ok()) s = state.Apply(complete);
    }
    group.clear();
  }
  if (s.ok()) s = damage.status;
  if (s.ok()) s = state.Check();
  if (!s.ok()) return Status::Corruption(manifest, s.ToString());
  if (cut_off != nullptr) {
    *cut_off = TellOfEnd(env, manifest, whole);
  }
  state.MoveTo(families);
  return s;
}

}  // namespace

Status ReadManifest(Env* env, const std::string& path,
                    std::vector<ManifestFamily>* families,
                    std::string* cut_off) {
  // The DB may begin a new MANIFEST while the old one is about to be opened.
  constexpr int kTries = 5;
  Status s;
  for (int i = 0; i < kTries; i++) {
    families->clear();
    s = ReadManifestOnce(env, path, families, cut_off);
    // A record may have been about to be written.
    const bool ends_whole = cut_off == nullptr || cut_off->empty();
    if ((s.ok() && ends_whole) || s.IsCorruption()) return s;
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
