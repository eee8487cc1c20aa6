// SPDX-License-Identifier: Apache-2.0

#include "tools/opened_db.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <map>
#include <mutex>
#include <system_error>

#include "env/fs_readonly.h"
#include "file/filename.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/versions.h"
#include "tools/manifest.h"
#include "tools/output.h"

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

Status LoadOptions(const std::string& path, Env* env, bool strictly,
                   DBOptions* options,
                   std::vector<ColumnFamilyDescriptor>* families) {
  ConfigOptions config;
  config.ignore_unknown_options = !strictly;
  config.ignore_unsupported_options = !strictly;
  config.env = env;
  Status s = LoadLatestOptions(config, path, options, families);
  if (!s.ok()) {
    return Status::InvalidArgument(
        "the OPTIONS file of " + path +
        " cannot be used, so only the application itself can open it: " +
        s.ToString());
  }
  if (env != Env::Default()) options->env = env;
  // The DB that is to be opened exists.
  options->error_if_exists = false;
  // The OPTIONS file is written after the MANIFEST, so only the MANIFEST says
  // which column families there are.
  std::vector<ManifestFamily> manifest;
  s = ReadManifest(env, path, &manifest);
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

// Whether this process may create files in the folder and write to its lock.
Status CheckAccess(const std::string& path) {
  const std::string lock = LockFileName(path);
  for (const std::string& name : {path, lock}) {
    if (faccessat(AT_FDCWD, name.c_str(), W_OK, AT_EACCESS) == 0) continue;
    const int error = errno;
    if (error == ENOENT && name == lock) continue;
    return Status::IOError(name + " cannot be written (" +
                           std::system_category().message(error) +
                           "); this needs a user who may write to the DB, and "
                           "a file system that is mounted for writing");
  }
  return Status::OK();
}

// RocksDB starts a new LOG file before it takes the lock, so opening must not
// even be tried while another process has the DB open.
Status CheckLock(const std::string& path, Env* env) {
  FileLock* lock = nullptr;
  // Only the operating system's files have users.
  Status s = env == Env::Default() ? CheckAccess(path) : Status::OK();
  if (!s.ok()) return s;
  s = env->LockFile(LockFileName(path), &lock);
  if (s.ok()) return env->UnlockFile(lock);
  return Status::Busy(path +
                      " cannot be locked, probably because a process has it "
                      "open: " +
                      s.ToString());
}

// Loads the options of a DB that is to be opened for writing, and checks
// whether that can be done.
Status LoadForWriting(const std::string& path, Env* env, DBOptions* options,
                      std::vector<ColumnFamilyDescriptor>* families) {
  Status s = LoadOptions(path, env, /*strictly=*/true, options, families);
  if (s.ok()) s = CheckLock(path, env);
  if (!s.ok()) return s;
  // A TransactionDB. With a write policy other than WRITE_COMMITTED, its files
  // may hold uncommitted data, which only the TransactionDB itself can tell
  // apart. The OPTIONS file does not name the policy.
  if (options->allow_2pc) {
    return Status::NotSupported(
        path +
        " is a TransactionDB (allow_2pc=true), whose files only its "
        "application can rewrite safely: let it call "
        "protean::RefreshFilters, or CompactRange");
  }
  return s;
}

void AdjustAll(const OpenedDB::Adjust& adjust,
               std::vector<ColumnFamilyDescriptor>* families) {
  if (adjust == nullptr) return;
  for (ColumnFamilyDescriptor& family : *families) adjust(&family);
}

}  // namespace

Status OpenedDB::CheckForWriting(const std::string& path, Env* env) {
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  return LoadForWriting(path, env, &options, &families);
}

Status OpenedDB::OpenForWriting(const std::string& path, Env* env,
                                std::unique_ptr<OpenedDB>* opened,
                                const Adjust& adjust) {
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  Status s = LoadForWriting(path, env, &options, &families);
  if (!s.ok()) return s;
  AdjustAll(adjust, &families);
  std::unique_ptr<OpenedDB> opening(new OpenedDB);
  opening->env_ = std::make_unique<EnvWithoutCompactions>(options.env);
  options.env = opening->env_.get();
  s = OpenDB(&opening->db_, options, path, families, &opening->handles_);
  if (s.ok()) *opened = std::move(opening);
  return s;
}

Status OpenedDB::ChangeOptions(const std::string& path, Env* env,
                               const Adjust& adjust,
                               std::vector<ColumnFamilyDescriptor>* written) {
  std::map<std::string, std::string> set;  // by column family
  std::unique_ptr<OpenedDB> opened;
  Status s =
      OpenForWriting(path, env, &opened, [&](ColumnFamilyDescriptor* family) {
        const std::string before =
            TableText(family->options.table_factory.get());
        adjust(family);
        std::string text = TableText(family->options.table_factory.get());
        if (text != before) set[family->name] = std::move(text);
      });
  if (s.ok()) s = opened->Close();
  DBOptions options;
  if (s.ok()) s = LoadOptions(path, env, /*strictly=*/true, &options, written);
  if (!s.ok()) return s;
  for (const ColumnFamilyDescriptor& family : *written) {
    const auto changed = set.find(family.name);
    if (changed == set.end()) continue;
    const std::string text = TableText(family.options.table_factory.get());
    if (text == changed->second) continue;
    return Status::Corruption("the new OPTIONS file of " + path +
                              " has for column family " +
                              PrintedName(family.name) + " " + text +
                              " instead of " + changed->second);
  }
  return s;
}

Status OpenedDB::OpenForReading(const std::string& path, Env* env,
                                std::unique_ptr<OpenedDB>* opened,
                                const Adjust& adjust) {
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  Status s = LoadOptions(path, env, /*strictly=*/false, &options, &families);
  if (!s.ok()) return s;
  AdjustAll(adjust, &families);
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

std::string TableText(const TableFactory* table) {
  if (table == nullptr) return "nullptr";
  ConfigOptions config;
  config.delimiter = ";";
  return std::string(table->Name()) + ";" + table->ToString(config);
}

void GiveFilterPolicy(const std::shared_ptr<const FilterPolicy>& policy,
                      const std::string& table_factory,
                      ColumnFamilyOptions* options) {
  BlockBasedTableOptions table =
      *options->table_factory->GetOptions<BlockBasedTableOptions>();
  table.filter_policy = policy;
  if (table_factory == ProteanTableFactory::kClassName()) {
    options->table_factory = std::make_shared<ProteanTableFactory>(table);
  } else {
    options->table_factory.reset(NewBlockBasedTableFactory(table));
  }
}

std::string KeptOptionsFile(const std::string& db, uint32_t column_family_id) {
  return db + "/before_apply_" + std::to_string(column_family_id) + ".options";
}

}  // namespace ROCKSDB_NAMESPACE::protean
