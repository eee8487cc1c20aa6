// SPDX-License-Identifier: Apache-2.0

#include "tools/opened_db.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <map>
#include <system_error>

#include "env/fs_readonly.h"
#include "file/filename.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/versions.h"
#include "util/string_util.h"
#include "util/threadpool_imp.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// An Env that never runs compactions: they wait for threads that there are
// none of. The option disable_auto_compactions would do the same, but RocksDB
// would write it to the OPTIONS file, where it would stay if this process died.
class EnvWithoutCompactions : public EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;

  const char* Name() const override { return "protean.EnvWithoutCompactions"; }

  void Schedule(void (*function)(void*), void* argument, Priority priority,
                void* tag, void (*unscheduled)(void*)) override {
    if (priority == Priority::HIGH) {
      EnvWrapper::Schedule(function, argument, priority, tag, unscheduled);
    } else {
      waiting_[priority].Schedule(function, argument, tag, unscheduled);
    }
  }

  int UnSchedule(void* tag, Priority priority) override {
    return priority == Priority::HIGH ? EnvWrapper::UnSchedule(tag, priority)
                                      : waiting_[priority].UnSchedule(tag);
  }

 private:
  std::array<ThreadPoolImpl, Priority::TOTAL> waiting_;
};

// A log of its own tells a DB from others (DBSession::IdOf), even if nothing
// reads it.
class NoLog : public Logger {
 public:
  using Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

Status LoadOptions(const Target& target, bool strictly, DBOptions* options,
                   std::vector<ColumnFamilyDescriptor>* families) {
  ConfigOptions config;
  config.ignore_unknown_options = !strictly;
  config.ignore_unsupported_options = !strictly;
  config.env = target.env;
  Status s = LoadLatestOptions(config, target.db, options, families);
  if (!s.ok()) {
    return Status::InvalidArgument(
        "the OPTIONS file of " + target.db +
        " cannot be used, so only the application itself can open it: " +
        s.ToString());
  }
  if (target.env != Env::Default()) options->env = target.env;
  // The DB that is to be opened exists.
  options->error_if_exists = false;
  // The OPTIONS file is written after the MANIFEST, so only the MANIFEST says
  // which column families there are.
  std::vector<ManifestFamily> manifest;
  s = ReadManifest(target.env, target.db, &manifest);
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

// A table factory with all of its options, as an OPTIONS file has it.
std::string TableText(const TableFactory* table) {
  if (table == nullptr) return "nullptr";
  ConfigOptions config;
  config.delimiter = ";";
  return std::string(table->Name()) + ";" + table->ToString(config);
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
  return Status::Busy(
      path + " cannot be locked, probably because a process has it open: " +
      s.ToString());
}

// Loads the options of a DB that is to be opened for writing, and checks
// whether that can be done.
Status LoadForWriting(const Target& target, DBOptions* options,
                      std::vector<ColumnFamilyDescriptor>* families) {
  if (!target.db_paths.empty()) {
    return Status::InvalidArgument(
        "a DB whose OPTIONS file does not name its db_paths or cf_paths can be "
        "written by its application only, which knows how much each folder is "
        "to hold; --db_path is for reading");
  }
  const Status s = LoadOptions(target, /*strictly=*/true, options, families);
  if (!s.ok()) return s;
  // A TransactionDB. With a write policy other than WRITE_COMMITTED, its files
  // may hold uncommitted data, which only the TransactionDB itself can tell
  // apart. The OPTIONS file does not name the policy.
  if (options->allow_2pc) {
    return Status::NotSupported(
        target.db +
        " is a TransactionDB (allow_2pc=true), whose files only its "
        "application can rewrite safely: let it call protean::RefreshFilters, "
        "or CompactRange");
  }
  return CheckLock(target.db, target.env);
}

// Prints the changes of design below the table, which would be too wide with
// them. Many files share a change.
void PrintDesigns(const std::vector<Json>& rows, Output* output) {
  constexpr size_t kIndent = 6;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      changes;
  for (const Json& row : rows) {
    if (row["new_design"] == "") continue;
    changes[{row["old_design"], row["new_design"]}].push_back(row["file"]);
  }
  for (const auto& [designs, names] : changes) {
    std::string of;
    for (const std::string& name : names) of += (of.empty() ? "" : ", ") + name;
    output->Line("  " + Wrap(of + ":", 2));
    output->Line("    " + Wrap(designs.first, kIndent));
    output->Line("    " + Wrap("-> " + designs.second, kIndent));
  }
}

}  // namespace

Status OpenedDB::CheckForWriting(const Target& target,
                                 const std::string& while_open) {
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  const Status s = LoadForWriting(target, &options, &families);
  return s.IsBusy() ? Status::Busy(s.getState() + while_open) : s;
}

Status OpenedDB::Open(const Target& target, bool for_writing,
                      std::unique_ptr<OpenedDB>* opened, const Adjust& adjust) {
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> families;
  Status s = for_writing
                 ? LoadForWriting(target, &options, &families)
                 : LoadOptions(target, /*strictly=*/false, &options, &families);
  if (!s.ok()) return s;
  for (ColumnFamilyDescriptor& family : families) adjust(&family);
  std::unique_ptr<OpenedDB> opening(new OpenedDB);
  if (for_writing) {
    opening->env_ = std::make_unique<EnvWithoutCompactions>(options.env);
    options.env = opening->env_.get();
    s = OpenDB(&opening->db_, options, target.db, families, &opening->handles_);
  } else {
    opening->env_ = NewCompositeEnv(
        std::make_shared<ReadOnlyFileSystem>(options.env->GetFileSystem()));
    options.env = opening->env_.get();
    options.info_log = std::make_shared<NoLog>();
    // Another process that has the DB open may delete files between the reading
    // of the MANIFEST and their opening.
    constexpr int kTries = 5;
    for (int i = 0; i < kTries; i++) {
      s = OpenReadOnly(&opening->db_, options, target.db, families,
                       &opening->handles_);
      if (s.ok()) break;
    }
  }
  if (s.ok()) *opened = std::move(opening);
  return s;
}

Status OpenedDB::ChangeOptions(const Target& target, const Adjust& adjust,
                               Json row, Output* output) {
  std::string old_text;
  std::string new_text;
  Status s = ReadLatestOptions(target, &old_text);
  if (!s.ok()) return s;
  std::map<std::string, std::string> set;  // by column family
  std::unique_ptr<OpenedDB> opened;
  s = Open(target, /*for_writing=*/true, &opened,
           [&](ColumnFamilyDescriptor* family) {
             const std::string before =
                 TableText(family->options.table_factory.get());
             adjust(family);
             std::string text = TableText(family->options.table_factory.get());
             if (text != before) set[family->name] = std::move(text);
           });
  if (s.ok()) s = opened->Close();
  DBOptions options;
  std::vector<ColumnFamilyDescriptor> written;
  if (s.ok()) s = LoadOptions(target, /*strictly=*/true, &options, &written);
  if (s.ok()) s = ReadLatestOptions(target, &new_text);
  if (!s.ok()) return s;
  for (const ColumnFamilyDescriptor& family : written) {
    const auto changed = set.find(family.name);
    if (changed == set.end()) continue;
    const std::string text = TableText(family.options.table_factory.get());
    if (text == changed->second) continue;
    return Status::Corruption("the new OPTIONS file of " + target.db +
                              " has for column family " +
                              PrintedName(family.name) + " " + text +
                              " instead of " + changed->second);
  }
  std::vector<std::string> lines = DifferentLines(old_text, new_text);
  for (std::string& line : lines) line = WithoutSeeds(line);
  row["changed_lines"] = lines;
  output->Row(row);
  for (const std::string& line : lines) output->Line(line);
  output->Line();
  return s;
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

std::string KeptFile(const Target& target, const TargetFamily& family) {
  return target.db + "/before_apply_" + std::to_string(family.id) + ".options";
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

Status ReadLatestOptions(const Target& target, std::string* text) {
  std::string name;
  const Status s = GetLatestOptionsFileName(target.db, target.env, &name);
  return s.ok() ? ReadFileToString(target.env, target.db + "/" + name, text)
                : s;
}

std::vector<std::string> DifferentLines(const std::string& old_text,
                                        const std::string& new_text) {
  // How much more often the old text has each line.
  std::map<std::string, int> more;
  const std::vector<std::string> old_lines = StringSplit(old_text, '\n');
  const std::vector<std::string> new_lines = StringSplit(new_text, '\n');
  for (const std::string& line : old_lines) more[line]++;
  for (const std::string& line : new_lines) more[line]--;
  std::vector<std::string> lines;
  for (const std::string& line : old_lines) {
    if (more[line] > 0 && more[line]-- > 0) lines.push_back("- " + line);
  }
  for (const std::string& line : new_lines) {
    if (more[line] < 0 && more[line]++ < 0) lines.push_back("+ " + line);
  }
  return lines;
}

void PrintRewritten(const std::string& column_family, const Json& result,
                    bool judged, bool dry_run, const std::string& more,
                    Output* output) {
  output->Line("Column family " + PrintedName(column_family));
  std::vector<Json> rows;
  for (const Json& file : result["files"]) {
    Json& row = rows.emplace_back(
        Json{{"column_family", column_family},
             {"file", file["name"]},
             {"size", PrintedBytes(file["bytes"].get<uint64_t>())}});
    for (const char* field :
         {"level", "bytes", "entries", "outcome", "queries", "old_design",
          "new_design", "status", "old_fpr", "new_fpr"}) {
      row[field] = file[field];
    }
  }
  std::vector<Column> columns = {{"file"}, {"level"}, {"size"}, {"outcome"}};
  if (judged) {
    columns.insert(columns.end(), {{"queries", "queries"},
                                   {"old_fpr", "old FPR", 5},
                                   {"new_fpr", "new FPR", 5}});
  }
  output->Table(columns, rows);
  for (const Json& row : rows) {
    if (row["status"] == "") continue;
    output->Line("  " + Wrap(row["file"].get<std::string>() + ": " +
                                 row["status"].get<std::string>(),
                             2));
  }
  PrintDesigns(rows, output);
  output->Line(
      Format("%" PRIu64 " of %zu files %s, %s%s\n",
             result["files_rewritten"].get<uint64_t>(), rows.size(),
             dry_run ? "would be rewritten" : "rewritten",
             PrintedBytes(result["bytes_rewritten"].get<uint64_t>()).c_str(),
             more.c_str()));
  Json totals = {{"column_family", column_family},
                 {"dry_run", dry_run},
                 {"files", rows.size()}};
  for (const char* field :
       {"files_rewritten", "bytes_rewritten", "bytes_read", "samples"}) {
    totals[field] = result[field];
  }
  output->Row(totals);
}

}  // namespace ROCKSDB_NAMESPACE::protean
