// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/cascade/run_store.h"

#include <algorithm>
#include <utility>

#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A number that two runs or filters have in common by no more than chance.
uint64_t DrawId() {
  Random64 random(Env::Default()->NowNanos() ^
                  std::hash<std::string>()(Env::Default()->GenerateUniqueId()));
  return random.Next();
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
  const bool is_missing = s.IsNotFound();
  if (!s.ok() && !is_missing) return s;
  if (is_missing) {
    if (!create_if_missing) {
      return Status::NotFound(folder_, "holds no cascade filter");
    }
    s = fs->CreateDirIfMissing(folder_, IOOptions(), nullptr);
    if (!s.ok()) return s;
  }
  s = fs->LockFile(CascadeLockPath(folder_), IOOptions(), &lock_, nullptr);
  if (!s.ok()) return s;
  // Another process may have made the filter before it let go of the lock.
  s = ReadCascadeManifest(fs, folder_, &manifest_);
  if (s.IsNotFound()) {
    manifest_.fingerprint_bits =
        files_.fingerprint_bits == 0 ? default_bits : files_.fingerprint_bits;
    manifest_.salt = DrawId();
    files_.fingerprint_bits = manifest_.fingerprint_bits;
    return List({});
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
  DeleteUnlisted();
  return OpenRuns(runs);
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
  files_.fs->GetChildren(folder_, IOOptions(), &names, nullptr)
      .PermitUncheckedError();
  for (const std::string& name : names) {
    const std::string path = folder_ + "/" + name;
    const bool is_listed =
        std::any_of(manifest_.runs.begin(), manifest_.runs.end(),
                    [&](const CascadeManifest::ListedRun& run) {
                      return CascadeRunPath(folder_, run.file) == path;
                    });
    if (IsCascadeRunOrTemporary(name) && !is_listed) {
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

Status RunStore::List(const Runs& runs) {
  CascadeManifest manifest = manifest_;
  manifest.next_file = next_file_;
  manifest.runs.clear();
  for (const std::shared_ptr<FlashRun>& run : runs) {
    manifest.runs.push_back({run->file_number(), run->id()});
  }
  Status s = WriteCascadeManifest(files_.fs.get(), folder_, manifest);
  if (s.ok()) manifest_ = std::move(manifest);
  return s;
}

Status DestroyCascade(FileSystem* fs, const std::string& folder) {
  FileLock* lock = nullptr;
  Status s = fs->FileExists(CascadeManifestPath(folder), IOOptions(), nullptr);
  if (s.IsNotFound())
    return Status::NotFound(folder, "holds no cascade filter");
  if (s.ok())
    s = fs->LockFile(CascadeLockPath(folder), IOOptions(), &lock, nullptr);
  std::vector<std::string> names;
  if (s.ok()) s = fs->GetChildren(folder, IOOptions(), &names, nullptr);
  // The manifest goes first, so that what is left after an error is no filter.
  if (s.ok()) {
    s = fs->DeleteFile(CascadeManifestPath(folder), IOOptions(), nullptr);
  }
  for (const std::string& name : names) {
    if (s.ok() && IsCascadeRunOrTemporary(name)) {
      s = fs->DeleteFile(folder + "/" + name, IOOptions(), nullptr);
    }
  }
  if (lock != nullptr) {
    fs->UnlockFile(lock, IOOptions(), nullptr).PermitUncheckedError();
  }
  if (!s.ok()) return s;
  fs->DeleteFile(CascadeLockPath(folder), IOOptions(), nullptr)
      .PermitUncheckedError();
  // Other files may be there.
  fs->DeleteDir(folder, IOOptions(), nullptr).PermitUncheckedError();
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
