// SPDX-License-Identifier: Apache-2.0

#include "tools/manifest.h"

#include <map>
#include <utility>

#include "db/log_reader.h"
#include "db/version_edit.h"
#include "file/filename.h"
#include "file/sequence_file_reader.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Remembers the first damage in a log.
class DamageReporter : public log::Reader::Reporter {
 public:
  // One of the two functions overrides RocksDB's: later versions pass the
  // number of the log, too.
  // NOLINTNEXTLINE(modernize-use-override)
  virtual void Corruption(size_t /*bytes*/, const Status& s) {
    if (status_.ok()) status_ = s;
  }
  // NOLINTNEXTLINE(modernize-use-override)
  virtual void Corruption(size_t bytes, const Status& s, uint64_t /*log*/) {
    Corruption(bytes, s);
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
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
      family->second.files.erase({level, number});
    }
    for (const auto& [level, meta] : edit.GetNewFiles()) {
      ManifestFile& file = family->second.files[{level, meta.fd.GetNumber()}];
      file.number = meta.fd.GetNumber();
      file.path_id = meta.fd.GetPathId();
      file.level = level;
      file.bytes = meta.fd.GetFileSize();
      file.smallest = meta.smallest.user_key().ToString();
      file.largest = meta.largest.user_key().ToString();
      file.has_timestamps = meta.user_defined_timestamps_persisted;
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
      ManifestFamily family;
      family.id = id;
      family.name = std::move(state.name);
      family.comparator = std::move(state.comparator);
      for (auto& [place, file] : state.files) {
        family.files.push_back(std::move(file));
      }
      families->push_back(std::move(family));
    }
  }

 private:
  struct State {
    std::string name;
    std::string comparator;
    std::map<std::pair<int, uint64_t>, ManifestFile> files;
  };
  std::map<uint32_t, State> families_;
  bool has_log_number_ = false;
  bool has_next_file_ = false;
  bool has_last_sequence_ = false;
};

Status ReadManifestOnce(Env* env, const std::string& path,
                        std::vector<ManifestFamily>* families) {
  std::string current;
  Status s = ReadFileToString(env, CurrentFileName(path), &current);
  if (!s.ok()) return s;
  if (current.empty() || current.back() != '\n') {
    return Status::Corruption(CurrentFileName(path), "names no MANIFEST");
  }
  current.pop_back();
  const std::string manifest = path + "/" + current;
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
  while (s.ok() && damage.status().ok() &&
         reader.ReadRecord(&record, &scratch)) {
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
  if (s.ok()) s = damage.status();
  if (s.ok()) s = state.Check();
  if (!s.ok()) return Status::Corruption(manifest, s.ToString());
  state.MoveTo(families);
  return s;
}

}  // namespace

Status ReadManifest(Env* env, const std::string& path,
                    std::vector<ManifestFamily>* families) {
  // The DB may begin a new MANIFEST while the old one is about to be opened.
  constexpr int kTries = 5;
  Status s;
  for (int i = 0; i < kTries; i++) {
    families->clear();
    s = ReadManifestOnce(env, path, families);
    if (s.ok() || s.IsCorruption()) return s;
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
