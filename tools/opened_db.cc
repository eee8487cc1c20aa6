// SPDX-License-Identifier: Apache-2.0

#include "tools/opened_db.h"

#include <algorithm>
#include <cstdarg>
#include <mutex>

#include "env/fs_readonly.h"
#include "file/filename.h"
#include "rocksdb/utilities/options_util.h"
#include "table/rocksdb_internals/versions.h"
#include "tools/manifest.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// An Env that never runs compactions. The option disable_auto_compactions would
// do the same, but RocksDB would write it to the OPTIONS file, where it would
// stay if this process died.
class EnvWithoutCompactions : public EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;

  const char* Name() const override { return "protean.EnvWithoutCompactions"; }

  void Schedule(void (*function)(void*), void* argument, Priority priority,
                void* tag, void (*unscheduled)(void*)) override {
    if (priority == Priority::HIGH) {
      EnvWrapper::Schedule(function, argument, priority, tag, unscheduled);
      return;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back({priority, tag, argument, unscheduled});
  }

  int UnSchedule(void* tag, Priority priority) override {
    if (priority == Priority::HIGH) {
      return EnvWrapper::UnSchedule(tag, priority);
    }
    std::vector<Job> removed;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto first = std::stable_partition(
          waiting_.begin(), waiting_.end(), [&](const Job& job) {
            return job.tag != tag || job.priority != priority;
          });
      removed.assign(first, waiting_.end());
      waiting_.erase(first, waiting_.end());
    }
    for (const Job& job : removed) {
      if (job.unscheduled != nullptr) job.unscheduled(job.argument);
    }
    return static_cast<int>(removed.size());
  }

 private:
  struct Job {
    Priority priority;
    void* tag;
    void* argument;
    void (*unscheduled)(void*);
  };

  std::mutex mutex_;
  std::vector<Job> waiting_;
};

class NoLog : public Logger {
 public:
  using Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

Status LoadOptions(const std::string& path, bool strictly, DBOptions* options,
                   std::vector<ColumnFamilyDescriptor>* families) {
  ConfigOptions config;
  config.ignore_unknown_options = !strictly;
  config.ignore_unsupported_options = !strictly;
  Status s = LoadLatestOptions(config, path, options, families);
  if (!s.ok()) {
    return Status::InvalidArgument(
        "the OPTIONS file of " + path +
        " cannot be used, so only the application itself can open it: " +
        s.ToString());
  }
  // The OPTIONS file is written after the MANIFEST, so only the MANIFEST says
  // which column families there are.
  std::vector<ManifestFamily> manifest;
  s = ReadManifest(Env::Default(), path, &manifest);
  if (!s.ok()) return s;
  const auto is_gone = [&manifest](const ColumnFamilyDescriptor& family) {
    return std::none_of(
        manifest.begin(), manifest.end(),
        [&family](const auto& entry) { return entry.name == family.name; });
  };
  families->erase(std::remove_if(families->begin(), families->end(), is_gone),
                  families->end());
  return s;
}

// RocksDB starts a new LOG file before it takes the lock, so opening must not
// even be tried while another process has the DB open.
Status CheckLock(const std::string& path) {
  FileLock* lock = nullptr;
  const Status s = Env::Default()->LockFile(LockFileName(path), &lock);
  if (s.ok()) return Env::Default()->UnlockFile(lock);
  return Status::Busy(path +
                      " cannot be locked, probably because a process has it "
                      "open: " +
                      s.ToString());
}

}  // namespace

Status OpenedDB::OpenForWriting(const std::string& path,
                                std::unique_ptr<OpenedDB>* opened) {
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  Status s = LoadOptions(path, /*strictly=*/true, &options, &families);
  if (s.ok()) s = CheckLock(path);
  if (!s.ok()) return s;
  // A TransactionDB. With a write policy other than WRITE_COMMITTED, its files
  // may hold uncommitted data, which only the TransactionDB itself can tell
  // apart. The OPTIONS file does not name the policy.
  if (options.allow_2pc) {
    return Status::NotSupported(
        path +
        " is a TransactionDB (allow_2pc=true), whose files only its "
        "application can rewrite safely: let it call "
        "protean::RefreshFilters, or CompactRange");
  }
  std::unique_ptr<OpenedDB> opening(new OpenedDB);
  opening->env_ = std::make_unique<EnvWithoutCompactions>(options.env);
  options.env = opening->env_.get();
  s = OpenDB(&opening->db_, options, path, families, &opening->handles_);
  if (s.ok()) *opened = std::move(opening);
  return s;
}

Status OpenedDB::OpenForReading(const std::string& path,
                                std::unique_ptr<OpenedDB>* opened) {
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  Status s = LoadOptions(path, /*strictly=*/false, &options, &families);
  if (!s.ok()) return s;
  std::unique_ptr<OpenedDB> opening(new OpenedDB);
  opening->env_ = NewCompositeEnv(
      std::make_shared<ReadOnlyFileSystem>(options.env->GetFileSystem()));
  options.env = opening->env_.get();
  options.info_log = std::make_shared<NoLog>();
  // Another process that has the DB open may delete files between the reading
  // of the MANIFEST and their opening.
  constexpr int kTries = 5;
  for (int i = 0; i < kTries; i++) {
    s = OpenReadOnly(&opening->db_, options, path, families,
                     &opening->handles_);
    if (s.ok()) break;
  }
  if (s.ok()) *opened = std::move(opening);
  return s;
}

ColumnFamilyHandle* OpenedDB::Find(const std::string& column_family) const {
  const auto found = std::find_if(handles_.begin(), handles_.end(),
                                  [&column_family](ColumnFamilyHandle* handle) {
                                    return handle->GetName() == column_family;
                                  });
  return found == handles_.end() ? nullptr : *found;
}

Status OpenedDB::Close() {
  if (db_ == nullptr) return Status::OK();
  for (ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  handles_.clear();
  const Status s = db_->Close();
  db_.reset();
  return s;
}

OpenedDB::~OpenedDB() { Close().PermitUncheckedError(); }

}  // namespace ROCKSDB_NAMESPACE::protean
