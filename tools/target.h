// SPDX-License-Identifier: Apache-2.0

//  The target of a command: the column families of a DB, or some SST files; and
//  filter policies that a flag names. No DB is opened: the MANIFEST says which
//  files there are, and the OPTIONS file how they are read. A process that has
//  the DB open does not notice; files that it deletes meanwhile are found to be
//  gone.

#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/query_queue.h"
#include "rocksdb/comparator.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"
#include "table/protean_table_factory.h"
#include "tools/arguments.h"
#include "tools/manifest.h"

namespace ROCKSDB_NAMESPACE::protean {

struct TargetFamily : ManifestFamily {
  // The options by which the files are read: the column family's own, except
  // for the table factory. That is ProteanTable with a policy of Protean, which
  // opens all filters. For files given by path, the default options.
  Options options;
  // The column family's own table factory and filter policy, according to the
  // OPTIONS file; empty if unknown, and then `unknown_options` says why.
  std::string table_factory;
  std::string filter_policy;
  std::string unknown_options;
  // Whether that filter policy is one of Protean's.
  bool has_protean_policy = false;
  // If this program does not know the comparator, `options` have the bytewise
  // one instead.
  bool comparator_known = true;

  // Returns true if the OPTIONS file names ProteanTable.
  bool is_under_protean() const {
    return table_factory == ProteanTableFactory::kClassName();
  }
  // Returns false if no seek is filtered, whatever the options.
  bool has_order_of_filters() const {
    return comparator_known && IsOrderOfFilters(options.comparator);
  }
  // The table's options in `options`, and the policy, which is one of
  // Protean's.
  const BlockBasedTableOptions& table_options() const {
    return *options.table_factory->GetOptions<BlockBasedTableOptions>();
  }
  const ProteanFilterPolicy* policy() const {
    return AsProteanFilterPolicy(table_options().filter_policy.get());
  }
  // The samples of the column family's own policy; nullptr if that takes none.
  std::shared_ptr<SampleStore> samples() const {
    return has_protean_policy ? policy()->Samples() : nullptr;
  }
  // The option samples_file of that policy; empty if it has none.
  std::string samples_file() const {
    return samples() == nullptr ? "" : samples()->options().samples_file;
  }
};

// The filter policy of a table; nullptr if it has none.
std::shared_ptr<const FilterPolicy> PolicyOf(const TableFactory* table);

// Loads the table factory of a column family as an OPTIONS file has it, if need
// be without what this program does not have, unless `strictly`.
// InvalidArgument if that cannot be done.
Status LoadTable(const std::string& file, Env* env, const std::string& name,
                 bool strictly, std::shared_ptr<TableFactory>* table);

// A filter policy as an options string, or at least its name, such as
// "bloomfilter:10:false"; "nullptr" for none.
std::string PolicyText(const FilterPolicy* policy);

// The flags that name a DB and one of its column families on a command line.
std::string TargetFlags(const std::string& db,
                        const std::string& column_family);

// Warns if the samples are saved in a file whose path is relative, and so
// depends on the working folder.
void WarnOfRelativeSamplesFile(const TargetFamily& family, std::ostream& err);

class Target {
 public:
  // Adds --db, --column_family, --db_path and --env_uri. `by_default` says
  // which column families the command looks at if --column_family is not given.
  void AddFlags(Arguments* arguments, const char* by_default);

  // Finds the column families and files. Either --db is given, or `operands`,
  // which are paths of SST files. InvalidArgument or NotFound says what was
  // wrong and what would work. May be called again, to look once more.
  Status Open(const std::vector<std::string>& operands);

  // The only column family, or the one named default. InvalidArgument if there
  // is neither.
  Status DefaultFamily(const TargetFamily** family) const {
    for (const TargetFamily& each : families) {
      *family = &each;
      if (families.size() == 1 || each.name == kDefaultColumnFamilyName) {
        return Status::OK();
      }
    }
    return Status::InvalidArgument("name a column family: --column_family");
  }

  // The filter policy of the newest OPTIONS file that names ProteanTable for
  // the column family: RocksDB keeps the last ones. Empty if none of them does.
  std::string LastProteanPolicy(const std::string& name) const;
  // Why the column family is not under ProteanTable with a policy of Protean,
  // and how its options get `policy`, such as "proteus:12".
  std::string WhyNotProteanTable(const TargetFamily& family,
                                 const std::string& policy) const;
  // Returns true if the file does not exist, although the MANIFEST lists it at
  // this moment: compaction has not taken it away.
  bool IsMissing(const TargetFamily& family, const TargetFile& file) const;

  // What Open has found.

  std::string db;             // its folder; empty for SST files given by path
  std::string column_family;  // as it is given
  std::vector<std::string> db_paths;  // of --db_path
  // The selected column families: all unless --column_family is given. SST
  // files given by path form one family without a name.
  std::vector<TargetFamily> families;
  // All column families of the DB whose OPTIONS name ProteanTable, selected or
  // not.
  std::vector<std::string> under_protean;
  // The Env that the files are read with. It lives as long as this object and
  // its copies.
  Env* env = Env::Default();
  // What the end of the MANIFEST lacks, in words; empty if it lacks nothing.
  std::string cut_off;
  // Notes for the operator on how the DB was read, one line each.
  std::vector<std::string> notes;

 private:
  Status OpenDB();
  // Completes a column family that the MANIFEST lists. `described` are those of
  // the OPTIONS file, and `loaded` is what loading that returned.
  Status DescribeFamily(const ConfigOptions& config, const Status& loaded,
                        const std::vector<ColumnFamilyDescriptor>& described,
                        TargetFamily* family) const;
  // Sets the names and paths of the family's files. Returns InvalidArgument if
  // none of them is where it should be.
  Status FindFiles(TargetFamily* family) const;
  // Returns true if the MANIFEST lists the file at this moment, or cannot be
  // read any more.
  bool IsListed(const TargetFamily& family, const TargetFile& file) const;
  Status OpenFiles(const std::vector<std::string>& paths);

  std::string env_uri_;
  std::shared_ptr<Env> own_env_;  // nullptr for the default
  DBOptions db_options_;          // from the OPTIONS file
};

// Makes the policy of an options string, in its short or its object form, with
// or without braces; nullptr for none. InvalidArgument names the flag and says
// what is allowed.
Status MakePolicy(const std::string& flag, const std::string& spec,
                  std::shared_ptr<const FilterPolicy>* policy);

// A text that may have policies in it, for people: the seeds of a policy are
// counted, and not listed; or left out, so that it can be typed.
std::string WithoutSeeds(std::string text, bool counted = true);

}  // namespace ROCKSDB_NAMESPACE::protean
