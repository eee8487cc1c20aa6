// SPDX-License-Identifier: Apache-2.0

//  The way to a filter policy of Protean's and back. protean apply and protean
//  rollback both make the OPTIONS file name another table with another filter
//  policy. On the way there, the OPTIONS file from before is kept; on the way
//  back, files first get filters of RocksDB's own.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tools/command.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// What both directions share.
class WayCommand : public Command {
 protected:
  // `while_open` says of a DB that another process has open how that process
  // can go this way.
  WayCommand(const Text& text, const char* while_open)
      : Command(text), while_open_(while_open) {}

  // Whether the DB is closed and can be written; an error says what would work.
  Status CheckClosed() const;
  // Where the OPTIONS file from before the last `protean apply` to a column
  // family is kept. RocksDB takes it for a file of the application's.
  std::string KeptFile(uint32_t column_family_id) const {
    return target_.db() + "/before_apply_" + std::to_string(column_family_id) +
           ".options";
  }
  // Makes the OPTIONS file have what `adjust` makes of the options, and prints
  // what has changed in it; `row` has the other fields for programs.
  Status ChangeOptions(const OpenedDB::Adjust& adjust, Json row) const;

 private:
  const char* const while_open_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
