// SPDX-License-Identifier: Apache-2.0

#include "sets/cascade/run_store.h"

#include <algorithm>
#include <utility>

#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A number that two runs or filters have in common by no more than chance.
// (FilterSalt::Draw may be fixed, and then draws one number again and again.)
uint64_t DrawId() {
  Random64 random(Env::Default()->NowNanos() ^
                  std::hash<std::string>()(Env::Default()->GenerateUniqueId()));
  return random.Next();
}

Status NoFilter(const std::string& folder) {
  return Status::NotFound(folder, "holds no cascade filter");
}

// The names of the runs in a folder, and of manifests that were not finished.
Status ListRuns(FileSystem* fs, const std::string& folder,
                std::vector<std::string>* names) {
  std::vector<std::string> all;
  const Status s = fs->GetChildren(folder, IOOptions(), &all, nullptr);
  for (const std::string& name : all) {
    if (IsCascadeRunOrTemporary(name)) names->push_back(name);
  }
  return s;
}

}  // namespace

RunStore::RunStore(const RunFiles& files, std::string folder,
                   std::shared_ptr<Cache> cache)
    : files_(files), folder_(std::move(folder)), cache_(std::move(cache)) {}

void RunStore::Unlock() {
  if (lock_ == nullptr) return;
  files_.fs->UnlockFile(lock_, IOOptions(), /*dbg=*/nullptr)
      .PermitUncheckedError();
  lock_ = nullptr;
}

Status RunStore::Open(bool create_if_missing, uint32_t default_bits,
                      Runs* runs) {
  FileSystem* fs = files_.fs.get();
  Status s = fs->FileExists(CascadeManifestPath(folder_), IOOptions(), nullptr);
  if (s.IsNotFound() && !create_if_missing) return NoFilter(folder_);
  if (s.IsNotFound()) s = fs->CreateDirIfMissing(folder_, IOOptions(), nullptr);
  if (!s.ok()) return s;
  s = fs->LockFile(CascadeLockPath(folder_), IOOptions(), &lock_, nullptr);
  // Another process may have made or destroyed the filter before.
  if (s.ok()) s = ReadCascadeManifest(fs, folder_, &manifest_);
  if (s.IsNotFound()) {
    return create_if_missing ? Create(default_bits) : NoFilter(folder_);
  }
  if (!s.ok()) return s;
  if (files_.fingerprint_bits != 0 &&
      files_.fingerprint_bits != manifest_.fingerprint_bits) {
    return Status::InvalidArgument(
        folder_, "holds a filter of " +
                     std::to_string(manifest_.fingerprint_bits) +
                     " bits a fingerprint, not " +
                     std::to_string(files_.fingerprint_bits));
  }
  files_.fingerprint_bits = manifest_.fingerprint_bits;
  next_file_ = manifest_.next_file;
  s = OpenRuns(runs);
  // A manifest that is of another time does not say what can go.
  if (s.ok()) DeleteUnlisted();
  return s;
}

Status RunStore::Create(uint32_t default_bits) {
  std::vector<std::string> names;
  Status s = ListRuns(files_.fs.get(), folder_, &names);
  for (const std::string& name : names) {
    // A manifest is there before the first run. Without one, keys would be
    // forgotten, and the runs be overwritten.
    if (IsCascadeRun(name)) {
      return Status::Corruption(folder_ + "/" + name,
                                "is a run, but there is no manifest");
    }
  }
  if (!s.ok()) return s;
  manifest_.fingerprint_bits =
      files_.fingerprint_bits == 0 ? default_bits : files_.fingerprint_bits;
  manifest_.salt = DrawId();
  files_.fingerprint_bits = manifest_.fingerprint_bits;
  bool may_be_listed;
  s = List({}, &may_be_listed);
  // The name of the folder is to last, too.
  const size_t slash = folder_.find_last_of('/');
  if (s.ok() && slash != std::string::npos && slash > 0) {
    s = SyncFolder(files_.fs.get(), folder_.substr(0, slash));
  }
  return s;
}

Status RunStore::OpenRuns(Runs* runs) {
  for (const CascadeManifest::ListedRun& listed : manifest_.runs) {
    const std::string file = CascadeRunPath(folder_, listed.file);
    std::shared_ptr<FlashRun> run;
    Status s =
        FlashRun::Open(files_, file, listed.file, listed.id, cache_, &run);
    if (s.IsPathNotFound() || s.IsNotFound()) {
      return Status::Corruption(file, "is listed in the manifest, and missing");
    }
    if (!s.ok()) return s;
    runs->push_back(std::move(run));
  }
  return Status::OK();
}

void RunStore::DeleteUnlisted() {
  std::vector<std::string> names;
  ListRuns(files_.fs.get(), folder_, &names).PermitUncheckedError();
  for (const std::string& name : names) {
    const std::string path = folder_ + "/" + name;
    const bool is_listed =
        std::any_of(manifest_.runs.begin(), manifest_.runs.end(),
                    [&](const CascadeManifest::ListedRun& run) {
                      return CascadeRunPath(folder_, run.file) == path;
                    });
    if (!is_listed) {
      files_.fs->DeleteFile(path, IOOptions(), nullptr).PermitUncheckedError();
    }
  }
}

Status RunStore::Write(EntryStream* entries, uint64_t expected_entries,
                       const std::atomic<bool>& stop,
                       std::shared_ptr<FlashRun>* run) {
  constexpr size_t kAtOnce = 1024;
  const uint64_t number = next_file_.fetch_add(1);
  const uint64_t id = DrawId();
  const std::string file = CascadeRunPath(folder_, number);
  std::unique_ptr<RunWriter> writer;
  Status s = RunWriter::Create(files_, file, id, expected_entries, &writer);
  std::vector<Entry> read(kAtOnce);
  while (s.ok()) {
    const size_t count = entries->Read(read.data(), read.size());
    if (count == 0) break;
    for (size_t i = 0; i < count && s.ok(); i++) s = writer->Add(read[i]);
    if (s.ok() && stop.load(std::memory_order_relaxed)) {
      s = Status::ShutdownInProgress();
    }
  }
  if (s.ok()) s = entries->status();
  if (s.ok() && writer->entries() > 0) {
    s = writer->Finish();
    if (s.ok()) s = FlashRun::Open(files_, file, number, id, cache_, run);
    if (s.ok()) bytes_written_ += (*run)->file_bytes();
  }
  const bool is_empty = writer != nullptr && writer->entries() == 0;
  writer.reset();
  if (!s.ok() || is_empty) {
    files_.fs->DeleteFile(file, IOOptions(), nullptr).PermitUncheckedError();
  }
  return s;
}

Status RunStore::List(const Runs& runs, bool* may_be_listed) {
  CascadeManifest manifest = manifest_;
  manifest.next_file = next_file_;
  manifest.runs.clear();
  for (const std::shared_ptr<FlashRun>& run : runs) {
    manifest.runs.push_back({run->file_number(), run->id()});
  }
  const Status s =
      WriteCascadeManifest(files_.fs.get(), folder_, manifest, may_be_listed);
  // Other threads read the salt, which stays as it is.
  if (s.ok()) manifest_.runs = std::move(manifest.runs);
  return s;
}

Status DestroyCascade(FileSystem* fs, const std::string& folder) {
  std::vector<std::string> names;
  Status s = ListRuns(fs, folder, &names);
  if (s.IsNotFound() || s.IsPathNotFound()) return NoFilter(folder);
  if (!s.ok()) return s;
  const std::string manifest = CascadeManifestPath(folder);
  s = fs->FileExists(manifest, IOOptions(), nullptr);
  // An earlier call may have been interrupted.
  const bool has_manifest = s.ok();
  if (s.IsNotFound()) s = names.empty() ? NoFilter(folder) : Status::OK();
  if (!s.ok()) return s;
  FileLock* lock = nullptr;
  s = fs->LockFile(CascadeLockPath(folder), IOOptions(), &lock, nullptr);
  if (!s.ok()) return s;
  // The manifest goes first, so that what is left after an error is no filter.
  if (has_manifest) s = fs->DeleteFile(manifest, IOOptions(), nullptr);
  if (s.ok()) s = SyncFolder(fs, folder);
  for (const std::string& name : names) {
    if (s.ok()) s = fs->DeleteFile(folder + "/" + name, IOOptions(), nullptr);
  }
  // A process that waits for the lock finds another file.
  if (s.ok()) s = fs->DeleteFile(CascadeLockPath(folder), IOOptions(), nullptr);
  fs->UnlockFile(lock, IOOptions(), nullptr).PermitUncheckedError();
  // Other files may be there.
  if (s.ok()) {
    fs->DeleteDir(folder, IOOptions(), nullptr).PermitUncheckedError();
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
