// SPDX-License-Identifier: Apache-2.0

//  The way to a filter policy of Protean's and back. protean apply and protean
//  rollback both make the OPTIONS file name another table with another filter
//  policy. On the way there, the OPTIONS file from before is kept; on the way
//  back, files first get filters of RocksDB's own. protean advise says which
//  commands lead to the filters that it recommends.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/filter_replay.h"
#include "tools/opened_db.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// Loads the table factory of a column family strictly as an OPTIONS file has
// it. InvalidArgument if that cannot be done.
Status LoadTable(const std::string& file, Env* env, const std::string& name,
                 std::shared_ptr<TableFactory>* table);

// What both directions share.
class WayCommand : public Command {
 protected:
  // Says of a DB that another process has open how that process can go this
  // way.
  virtual const char* WhileOpen() const = 0;

  // Whether the DB is closed and can be written; an error says what would work.
  Status CheckClosed() const;
  Status Open(const std::vector<std::string>& operands);
  // Where the OPTIONS file from before the last `protean apply` to a column
  // family is kept. RocksDB takes it for a file of the application's.
  std::string KeptFile(uint32_t column_family_id) const {
    return target_.db() + "/before_apply_" + std::to_string(column_family_id) +
           ".options";
  }
  // Makes the OPTIONS file have what `adjust` makes of the options, and prints
  // what has changed in it; `row` has the other fields for programs.
  Status ChangeOptions(const OpenedDB::Adjust& adjust, Json row,
                       Output* output) const;

  Target target_;
  bool json_ = false;
};

// Where protean advise has its DB and its reads from, as its flags say; empty
// what was not given.
struct AdviceSource {
  std::string db;
  std::string trace;
  std::string queries;
  std::string save_samples;
  uint64_t max_queries = 20000;
};

// The file of samples that a policy which learns is to start with; empty if
// the policy learns nothing, or has the samples that the DB has saved.
std::string SeedsFor(const AdviceSource& source, const TargetFamily& family,
                     const Candidate& candidate);

// The policy as an options string. A policy that learns gets the files that it
// learns from.
std::string PolicyText(const Candidate& candidate,
                       const std::string& samples_file,
                       const std::string& seed_file);

// The commands that give the DB the recommended filters, in their order.
// `policy` is the candidate's PolicyText.
std::vector<std::string> CommandsFor(const AdviceSource& source,
                                     const TargetFamily& family,
                                     const Candidate& candidate,
                                     const std::string& policy);

}  // namespace ROCKSDB_NAMESPACE::protean
