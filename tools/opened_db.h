//  A DB that a command opens, with its own options, for what the files alone
//  cannot do.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

class OpenedDB {
 public:
  // Opens the DB in the folder `path`, which must be there, with all of its
  // column families and the options of its latest OPTIONS file. RocksDB does
  // what it does at every opening: it replays the log, flushes what it finds
  // there, and begins new MANIFEST, OPTIONS and LOG files. The options stay as
  // they are. Compactions of its own do not start while it is open.
  //
  // Busy if a process (this one, say) has it open; then nothing has been
  // touched. InvalidArgument if the OPTIONS file is missing or names something
  // that this program does not have, such as a merge operator of the
  // application: files written without it would be wrong. A DB of transactions
  // looks like any other here; one whose write policy is not WRITE_COMMITTED
  // must not be opened, since what is not committed yet would be taken for
  // committed.
  static Status OpenForWriting(const std::string& path,
                               std::unique_ptr<OpenedDB>* opened);

  // Opens it to read, whoever has it open. Nothing is written, not even when it
  // is closed. What the OPTIONS file names and this program does not have is
  // left out.
  static Status OpenForReading(const std::string& path,
                               std::unique_ptr<OpenedDB>* opened);

  ~OpenedDB();

  OpenedDB(const OpenedDB&) = delete;
  OpenedDB& operator=(const OpenedDB&) = delete;

  DB* db() const { return db_.get(); }
  // Nullptr if there is no such column family.
  ColumnFamilyHandle* Find(const std::string& column_family) const;

  // Closes it, for those who want to know whether that works. Nothing else may
  // be called afterwards.
  Status Close();

 private:
  OpenedDB() = default;

  std::unique_ptr<Env> env_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> handles_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
