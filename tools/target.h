//  What a command looks at: the column families of a DB, or some SST files.
//  Looking opens no DB: the MANIFEST tells which files there are and the
//  OPTIONS file how they are read, so a process that has the DB open does not
//  notice, and files that it deletes meanwhile are found gone.

#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "rocksdb/options.h"
#include "table/rocksdb_internals.h"
#include "tools/arguments.h"

namespace ROCKSDB_NAMESPACE::protean {

struct TargetFile {
  std::string name;  // such as 000123.sst, or the path as it was given
  std::string path;
  uint64_t number = 0;
  int level = -1;  // -1 if unknown, as for files that are given
  uint64_t bytes = 0;
  // User keys; the range and the number are unknown if the level is.
  std::string smallest;
  std::string largest;
};

struct TargetFamily {
  uint32_t id = 0;
  std::string name;
  // How its files are read: the column family's own options, but the table
  // factory is ProteanTable, with a policy of Protean, by which all filters are
  // opened. The default ones for files that are given.
  Options options;
  // The table factory and filter policy that it has, as in the OPTIONS file;
  // empty if they are unknown.
  std::string table_factory;
  std::string filter_policy;
  // Whether that policy is one of Protean's.
  bool has_protean_policy = false;
  // The name of its comparator; empty if unknown. `options` have the bytewise
  // one in place of one that this program does not know.
  std::string comparator;
  bool comparator_known = true;
  std::vector<TargetFile> files;  // by level and number
};

// Says so if samples are saved in a file that is not the same one in every
// working folder.
void WarnOfRelativeSamplesFile(const TargetFamily& family, std::ostream& err);

class Target {
 public:
  // --db and --column_family. The command says which families it looks at if
  // none is named.
  void AddFlags(Arguments* arguments, const char* by_default = "all of them");

  // Finds out what there is: either --db is given, or `operands`, which are
  // paths of SST files. InvalidArgument or NotFound says what was wrong and
  // what would work.
  Status Open(const std::vector<std::string>& operands);

  // Those asked for: all unless --column_family is given. Files that are given
  // are one, whose name is empty.
  const std::vector<TargetFamily>& families() const { return families_; }

  // The folder, or empty.
  const std::string& db() const { return db_; }
  const std::string& column_family() const { return column_family_; }
  // Of the whole DB, from its OPTIONS file.
  const DBOptions& db_options() const { return db_options_; }
  // What the operator should know of how it was opened; lines.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Status OpenDB();
  // InvalidArgument if none of a family's files is where they should be.
  Status CheckFolder(const TargetFamily& family) const;
  Status OpenFiles(const std::vector<std::string>& paths);

  std::string db_;
  std::string column_family_;
  DBOptions db_options_;
  std::vector<TargetFamily> families_;
  std::vector<std::string> notes_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
