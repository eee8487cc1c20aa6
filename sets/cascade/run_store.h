// SPDX-License-Identifier: Apache-2.0

//  The folder of a cascade filter: its lock, its manifest and its runs. A run
//  is written, synced, and then listed; a run that is not listed any more is
//  deleted after its last reader.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "sets/cascade/manifest.h"
#include "sets/cascade/run_file.h"

namespace ROCKSDB_NAMESPACE::protean {

// The newest first.
using Runs = std::vector<std::shared_ptr<FlashRun>>;

class RunStore {
 public:
  // `files` has the bits of new filters, or 0 to accept any and make filters of
  // `default_bits`; fingerprint_bits() has what was found.
  RunStore(const RunFiles& files, std::string folder,
           std::shared_ptr<Cache> cache);
  ~RunStore() { Unlock(); }

  // Locks the folder, and opens what the manifest lists, or makes a filter.
  // Deletes what a process that died has left. The errors are those of
  // CascadeFilter::Open.
  Status Open(bool create_if_missing, uint32_t default_bits, Runs* runs);

  // Writes a run of about `entries` entries, and opens it. `*run` is nullptr if
  // there are no entries. Stops with ShutdownInProgress when `stop` is true. If
  // it fails, nothing is left of it. Thread safe.
  Status Write(EntryStream* entries, uint64_t expected_entries,
               const std::atomic<bool>& stop, std::shared_ptr<FlashRun>* run);

  // Lists these runs in the manifest, instead of those listed before. If it
  // fails, the manifest is as it was or, if `*may_be_listed` is true, may have
  // the new list; then the files of both must stay. Calls must not overlap.
  Status List(const Runs& runs, bool* may_be_listed);

  // Lets others open the folder; nothing may be written from then on.
  void Unlock();

  uint32_t fingerprint_bits() const { return files_.fingerprint_bits; }
  uint64_t salt() const { return manifest_.salt; }
  uint64_t bytes_written() const { return bytes_written_.load(); }

 private:
  Status Create(uint32_t default_bits);
  Status OpenRuns(Runs* runs);
  void DeleteUnlisted();

  RunFiles files_;
  const std::string folder_;
  const std::shared_ptr<Cache> cache_;
  FileLock* lock_ = nullptr;
  CascadeManifest manifest_;
  std::atomic<uint64_t> next_file_{1};
  std::atomic<uint64_t> bytes_written_{0};
};

// CascadeFilter::Destroy.
Status DestroyCascade(FileSystem* fs, const std::string& folder);

}  // namespace ROCKSDB_NAMESPACE::protean
