// SPDX-License-Identifier: Apache-2.0

//  A DB that a command opens with the DB's own options, for what cannot be done
//  with the files alone.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/status.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

class OpenedDB {
 public:
  // Changes the options of a column family before the DB is opened.
  using Adjust = std::function<void(ColumnFamilyDescriptor*)>;
  // Opens the existing DB of a target, with all of its column families and the
  // options of its latest OPTIONS file.
  //
  // For writing, RocksDB does what it does whenever it opens a DB: it replays
  // the WAL, flushes the memtables, and starts new MANIFEST, OPTIONS and LOG
  // files. The options stay the same, unless `adjust` is given: the OPTIONS
  // file then has what that makes of them. The DB starts no compactions of its
  // own while it is open. Returns what CheckForWriting returns, without having
  // touched anything.
  //
  // For reading, the DB is opened even if another process has it open. Nothing
  // is written, not even when the DB is closed. Things that the OPTIONS file
  // names but this program does not have are left out.
  static Status Open(
      const Target& target, bool for_writing, std::unique_ptr<OpenedDB>* opened,
      const Adjust& adjust = [](ColumnFamilyDescriptor*) {});

  // Opens the DB for writing, which makes the OPTIONS file have what
  // `adjust` makes of the options, and closes it. Then reads the file as
  // RocksDB does when it loads options, and prints the lines that differ from
  // the file before (DifferentLines); `row` has the other fields for programs.
  // Returns Corruption if a column family has another table than was set.
  static Status ChangeOptions(const Target& target, const Adjust& adjust,
                              Json row, Output* output);

  // Whether the DB can be opened for writing at this moment; nothing is
  // touched. Returns Busy if a process (including this one) has the DB open,
  // with `while_open`, how one goes on then; and IOError if this process may
  // not write to its folder. Returns InvalidArgument if --db_path is given, or
  // if the OPTIONS file is missing or names something that this program does
  // not have, such as a merge operator of the application: files written
  // without it would be wrong. Returns NotSupported for a TransactionDB
  // (allow_2pc), since its uncommitted data might be taken for committed.
  static Status CheckForWriting(const Target& target,
                                const std::string& while_open = "");

  ~OpenedDB() { Close().PermitUncheckedError(); }

  OpenedDB(const OpenedDB&) = delete;
  OpenedDB& operator=(const OpenedDB&) = delete;

  DB* db() const { return db_.get(); }
  // Returns nullptr if there is no such column family.
  ColumnFamilyHandle* Find(const std::string& column_family) const {
    for (ColumnFamilyHandle* const handle : handles_) {
      if (handle->GetName() == column_family) return handle;
    }
    return nullptr;
  }

  // Closes the DB, for callers that need to know whether that works. Nothing
  // else may be called afterwards.
  Status Close();

 private:
  OpenedDB() = default;

  std::unique_ptr<Env> env_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> handles_;
};

// Where the OPTIONS file from before the last `protean apply` to a column
// family is kept. RocksDB takes it for a file of the application's.
std::string KeptFile(const Target& target, const TargetFamily& family);

// Gives a column family the filter policy, under ProteanTable or
// BlockBasedTable as `table_factory` says; its other options of the table stay
// as they are. nullptr is no policy, so new files get no filters. REQUIRES: its
// table is one of these.
void GiveFilterPolicy(const std::shared_ptr<const FilterPolicy>& policy,
                      const std::string& table_factory,
                      ColumnFamilyOptions* options);

// Reads the latest OPTIONS file of a DB.
Status ReadLatestOptions(const Target& target, std::string* text);

// The lines that one of two texts has more often than the other, wherever:
// those of the old text, which begin with "- ", and then those of the new one
// with "+ ".
std::vector<std::string> DifferentLines(const std::string& old_text,
                                        const std::string& new_text);

// Prints what became of the files of a column family that is open, with the
// rates of their filters if they are `judged`, and the sums, of which `more`
// has the rest of the line. `result` is a RefreshResult, as its ToJson() has
// it.
void PrintRewritten(const std::string& column_family, const Json& result,
                    bool judged, bool dry_run, const std::string& more,
                    Output* output);

}  // namespace ROCKSDB_NAMESPACE::protean
