// SPDX-License-Identifier: Apache-2.0

//  The target of a command: the column families of a DB, or some SST files. No
//  DB is opened: the MANIFEST says which files there are, and the OPTIONS file
//  how they are read. A process that has the DB open does not notice; files
//  that it deletes meanwhile are found to be gone.

#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "tools/arguments.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanFilterPolicy;

struct TargetFile {
  std::string name;  // such as 000123.sst, or the path as given
  std::string path;
  uint64_t number = 0;
  int level = -1;  // -1 if unknown, as for files given by path
  uint64_t bytes = 0;
  // User keys. The keys and the number are unknown if the level is.
  std::string smallest;
  std::string largest;
};

struct TargetFamily {
  uint32_t id = 0;
  std::string name;
  // The options by which the files are read: the column family's own, except
  // for the table factory. That is ProteanTable with a policy of Protean, which
  // opens all filters. For files given by path, the default options.
  Options options;
  // The column family's own table factory and filter policy, according to the
  // OPTIONS file; empty if unknown.
  std::string table_factory;
  std::string filter_policy;
  // Whether that filter policy is one of Protean's.
  bool has_protean_policy = false;
  // The name of the comparator; empty if unknown. If this program does not know
  // the comparator, `options` have the bytewise one instead.
  std::string comparator;
  bool comparator_known = true;
  std::vector<TargetFile> files;  // by level and number

  // The policy in `options`, which is one of Protean's.
  const ProteanFilterPolicy* policy() const;
  // The table's options in `options`.
  const BlockBasedTableOptions& table_options() const;
};

// Warns if the samples are saved in a file whose path is relative, and so
// depends on the working folder.
void WarnOfRelativeSamplesFile(const TargetFamily& family, std::ostream& err);

class Target {
 public:
  // Adds --db and --column_family. `by_default` says which column families the
  // command looks at if --column_family is not given.
  void AddFlags(Arguments* arguments, const char* by_default = "all of them");

  // Finds the column families and files. Either --db is given, or `operands`,
  // which are paths of SST files. InvalidArgument or NotFound says what was
  // wrong and what would work.
  Status Open(const std::vector<std::string>& operands);

  // The selected column families: all unless --column_family is given. SST
  // files given by path form one family without a name.
  const std::vector<TargetFamily>& families() const { return families_; }

  // The folder of the DB; empty for SST files given by path.
  const std::string& db() const { return db_; }
  const std::string& column_family() const { return column_family_; }
  // Notes for the operator on how the DB was read, one line each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Status OpenDB();
  // Returns InvalidArgument if none of the family's files is where it should
  // be.
  Status CheckFolder(const TargetFamily& family) const;
  Status OpenFiles(const std::vector<std::string>& paths);

  std::string db_;
  std::string column_family_;
  DBOptions db_options_;  // from the OPTIONS file
  std::vector<TargetFamily> families_;
  std::vector<std::string> notes_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
