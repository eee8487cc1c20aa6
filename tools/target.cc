// SPDX-License-Identifier: Apache-2.0

#include "tools/target.h"

#include <algorithm>
#include <functional>
#include <map>

#include "file/filename.h"
#include "filter_policy/filter_kinds.h"
#include "filter_policy/samples/files.h"
#include "plugin/protean.h"
#include "rocksdb/utilities/options_util.h"
#include "tools/output.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Sets the table factory that reads the column family's files, whatever filters
// they have.
void SetTableFactory(TargetFamily* family) {
  BlockBasedTableOptions table;
  const TableFactory* const factory = family->options.table_factory.get();
  if (factory != nullptr) {
    family->table_factory = factory->Name();
    const auto* own = factory->GetOptions<BlockBasedTableOptions>();
    if (own != nullptr) {
      table = *own;
      family->filter_policy =
          WithoutSeeds(PolicyText(own->filter_policy.get()));
    }
  }
  family->has_protean_policy =
      AsProteanFilterPolicy(table.filter_policy.get()) != nullptr;
  if (!family->has_protean_policy) {
    // What reads files of other policies, and takes samples.
    table.filter_policy = NewProteusFilterPolicy();
  }
  // A factory of its own: the samples belong to the process that has the DB
  // open.
  family->options.table_factory = NewProteanTableFactory(table);
}

bool IsProteanTable(const TableFactory* table) {
  return table != nullptr &&
         table->Name() == std::string(ProteanTableFactory::kClassName());
}

}  // namespace

std::shared_ptr<const FilterPolicy> PolicyOf(const TableFactory* table) {
  const auto* options =
      table == nullptr ? nullptr : table->GetOptions<BlockBasedTableOptions>();
  return options == nullptr ? nullptr : options->filter_policy;
}

Status LoadTable(const std::string& file, Env* env, const std::string& name,
                 bool strictly, std::shared_ptr<TableFactory>* table) {
  ConfigOptions config;
  config.ignore_unsupported_options = !strictly;
  config.env = env;
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  const Status s = LoadOptionsFromFile(config, file, &db_options, &families);
  if (!s.ok()) {
    return Status::InvalidArgument(file + " cannot be used: " + s.ToString());
  }
  for (ColumnFamilyDescriptor& family : families) {
    if (family.name != name) continue;
    *table = std::move(family.options.table_factory);
    return s;
  }
  return Status::InvalidArgument(file + " has no column family " +
                                 PrintedName(name));
}

std::string PolicyText(const FilterPolicy* policy) {
  if (policy == nullptr) return "nullptr";
  ConfigOptions config;
  config.delimiter = ";";
  return policy->ToString(config);
}

std::string TargetFlags(const std::string& db,
                        const std::string& column_family) {
  const std::string flags = ShellWord("--db=" + AbsolutePath(db));
  if (column_family == kDefaultColumnFamilyName) return flags;
  return flags + " " + ShellWord("--column_family=" + column_family);
}

std::string Target::WhyNotProteanTable(const TargetFamily& family,
                                       const std::string& policy) const {
  const std::string name = PrintedName(family.name);
  if (family.table_factory.empty()) {
    return "the table factory of column family " + name +
           " is not known: " + family.unknown_options;
  }
  const std::string has = "column family " + name + " has the table factory " +
                          family.table_factory +
                          (family.filter_policy.empty()
                               ? ""
                               : " with filter_policy=" + family.filter_policy);
  const std::string apply = "protean apply " + TargetFlags(db, family.name) +
                            " " + ShellWord("--policy=" + policy);
  if (family.is_under_protean()) {
    return has + ", which is no filter policy of Protean: " + apply +
           " changes that while no process has the DB open. For filters of "
           "RocksDB's own in all files, there is protean rollback";
  }
  const auto section = [&name](const std::string& table_factory) {
    return "[TableOptions/" + table_factory + " \"" + name + "\"]";
  };
  return has + "; its options need table_factory={id=ProteanTable;" +
         "filter_policy=" + policy + "}: " + apply +
         " writes that into the OPTIONS file while no process has the DB open. "
         "There, the section " +
         section(ProteanTableFactory::kClassName()) + " takes the place of " +
         section(family.table_factory);
}

void WarnOfRelativeSamplesFile(const TargetFamily& family, std::ostream& err) {
  const std::string file = family.samples_file();
  if (file.empty() || file[0] == '/') return;
  err << "samples_file=" << file << " of column family "
      << PrintedName(family.name)
      << " is a relative path: it names another file unless the working folder "
         "is the one in which the DB is opened\n";
}

void Target::AddFlags(Arguments* arguments, const char* by_default) {
  arguments->Add(
      {{"db", "DIR", &db,
        "the folder of a DB, which may be open in another process unless the "
        "text below says otherwise"},
       {"column_family", "NAME", &column_family,
        std::string("look at this column family; default: ") + by_default},
       {"db_path", "DIR,...", &db_paths,
        "the folders that the files are in, in the order of db_paths or "
        "cf_paths, if the OPTIONS file does not name them"},
       {"env_uri", "URI", &env_uri_,
        "read the files with this Env or FileSystem, such as "
        "{id=EncryptedFileSystem;provider=...}, as in an OPTIONS file"}});
}

Status Target::Open(const std::vector<std::string>& operands) {
  families.clear();
  under_protean.clear();
  notes.clear();
  env = Env::Default();
  if (db.empty() == operands.empty()) {
    return Status::InvalidArgument(
        db.empty() ? "give a DB or SST files: --db=DIR, or FILE..."
                   : "give either --db=DIR or SST files, not both; " +
                         operands[0] + " is not a flag");
  }
  if (!env_uri_.empty()) {
    ConfigOptions config;
    config.ignore_unsupported_options = false;
    Status s = Env::CreateFromUri(config, env_uri_, "", &env, &own_env_);
    if (!s.ok()) s = Env::CreateFromUri(config, "", env_uri_, &env, &own_env_);
    if (!s.ok()) {
      return Status::InvalidArgument(
          "--env_uri=" + env_uri_ +
          " names neither an Env nor a FileSystem that this program has: " +
          s.ToString());
    }
  }
  return db.empty() ? OpenFiles(operands) : OpenDB();
}

Status Target::DescribeFamily(
    const ConfigOptions& config, const Status& loaded,
    const std::vector<ColumnFamilyDescriptor>& described,
    TargetFamily* family) const {
  ColumnFamilyOptions options;
  const auto found =
      std::find_if(described.begin(), described.end(),
                   [&](const auto& d) { return d.name == family->name; });
  if (found != described.end()) options = found->options;
  family->options = Options(db_options_, options);
  if (env != Env::Default()) family->options.env = env;
  if (found == described.end()) {
    family->options.table_factory = nullptr;
    family->unknown_options =
        loaded.ok() ? "the OPTIONS file does not have the column family"
                    : "the OPTIONS file cannot be used: " + loaded.ToString();
  }
  SetTableFactory(family);
  if (!family->comparator.empty() &&
      family->comparator != family->options.comparator->Name()) {
    const Comparator* comparator = nullptr;
    family->comparator_known =
        Comparator::CreateFromString(config, family->comparator, &comparator)
            .ok() &&
        comparator != nullptr;
    family->options.comparator =
        family->comparator_known ? comparator : BytewiseComparator();
  }
  return FindFiles(family);
}

Status Target::OpenDB() {
  while (db.size() > 1 && db.back() == '/') db.pop_back();
  if (!env->FileExists(CurrentFileName(db)).ok()) {
    return Status::NotFound(db +
                            (env->FileExists(db).ok()
                                 ? " is not a DB: it has no file CURRENT"
                                 : " does not exist") +
                            "; --db names the folder of a RocksDB");
  }
  std::vector<ManifestFamily> manifest;
  Status s = ReadManifest(env, db, &manifest, &cut_off);
  if (!s.ok()) {
    return s.IsCorruption()
               ? Status::Corruption(s.ToString() +
                                    "; give SST files instead of --db")
               : s;
  }

  if (!cut_off.empty()) notes.push_back(cut_off);

  std::vector<ColumnFamilyDescriptor> described;
  ConfigOptions config;
  config.ignore_unknown_options = true;
  config.env = env;
  const Status loaded = LoadLatestOptions(config, db, &db_options_, &described);
  if (!loaded.ok()) {
    described.clear();
    db_options_ = DBOptions();
    notes.push_back(
        "the OPTIONS file cannot be used, so default options are used: " +
        loaded.ToString());
  }
  for (const ColumnFamilyDescriptor& family : described) {
    if (IsProteanTable(family.options.table_factory.get())) {
      under_protean.push_back(family.name);
    }
  }
  std::string names;
  for (ManifestFamily& entry : manifest) {
    names += (names.empty() ? "" : ", ") + PrintedName(entry.name);
    if (!column_family.empty() && entry.name != column_family) continue;
    TargetFamily family;
    static_cast<ManifestFamily&>(family) = std::move(entry);
    s = DescribeFamily(config, loaded, described, &family);
    if (!s.ok()) return s;
    families.push_back(std::move(family));
  }
  if (families.empty()) {
    return Status::InvalidArgument("there is no column family " +
                                   column_family + " in " + db +
                                   "; its column families: " + names);
  }
  return Status::OK();
}

std::string Target::LastProteanPolicy(const std::string& name) const {
  std::vector<std::string> names;
  env->GetChildren(db, &names).PermitUncheckedError();
  std::map<uint64_t, std::string, std::greater<>> files;  // newest first
  for (const std::string& child : names) {
    uint64_t number = 0;
    FileType type = kTempFile;
    if (ParseFileName(child, &number, &type) && type == kOptionsFile) {
      files[number] = db + "/" + child;
    }
  }
  for (const auto& [number, file] : files) {
    std::shared_ptr<TableFactory> table;
    const Status s = LoadTable(file, env, name, /*strictly=*/false, &table);
    if (s.ok() && IsProteanTable(table.get())) {
      return PolicyText(PolicyOf(table.get()).get());
    }
  }
  return "";
}

bool Target::IsListed(const TargetFamily& family,
                      const TargetFile& file) const {
  std::vector<ManifestFamily> manifest;
  if (!ReadManifest(env, db, &manifest).ok()) return true;
  for (const ManifestFamily& now : manifest) {
    if (now.name != family.name) continue;
    for (const TargetFile& listed : now.files) {
      if (listed.number == file.number) return true;
    }
  }
  return false;
}

bool Target::IsMissing(const TargetFamily& family,
                       const TargetFile& file) const {
  return !db.empty() && env->FileExists(file.path).IsNotFound() &&
         IsListed(family, file);
}

Status Target::FindFiles(TargetFamily* family) const {
  std::vector<std::string> folders = db_paths;
  if (folders.empty()) {
    for (const DbPath& path : family->options.cf_paths.empty()
                                  ? family->options.db_paths
                                  : family->options.cf_paths) {
      folders.push_back(path.path);
    }
  }
  if (folders.empty()) folders.push_back(db);
  bool any = family->files.empty();
  for (TargetFile& file : family->files) {
    if (file.path_id >= folders.size()) {
      return Status::InvalidArgument(
          db +
          " has files in several folders (db_paths or cf_paths), which its "
          "OPTIONS file does not name; name them all with --db_path=DIR,..., "
          "in their order, or give the SST files instead of --db");
    }
    file.path = MakeTableFileName(folders[file.path_id], file.number);
    file.name = file.path.substr(file.path.rfind('/') + 1);
    any = any || env->FileExists(file.path).ok();
  }
  // The DB may have compacted the files meanwhile.
  if (any || !IsListed(*family, family->files[0])) return Status::OK();
  if (!cut_off.empty()) {
    return Status::Corruption(
        "none of the files that the MANIFEST lists for column family " +
        PrintedName(family->name) + " exists, and " + cut_off +
        ": restore it from a backup, or give SST files instead of --db");
  }
  return Status::InvalidArgument(
      "none of the " + std::to_string(family->files.size()) +
      " files of column family " + PrintedName(family->name) + ", such as " +
      family->files[0].path +
      ", exists. If the DB keeps them in another folder (db_paths or "
      "cf_paths), which its OPTIONS file does not name, name them with "
      "--db_path=DIR,..., or give the SST files instead of --db; otherwise "
      "they are lost");
}

Status Target::OpenFiles(const std::vector<std::string>& paths) {
  if (!column_family.empty()) {
    return Status::InvalidArgument(
        "--column_family goes with --db, not with SST files");
  }
  if (!db_paths.empty()) {
    return Status::InvalidArgument("--db_path goes with --db, not with files");
  }
  TargetFamily family;
  family.options.env = env;
  family.options.table_factory = nullptr;
  SetTableFactory(&family);
  for (const std::string& path : paths) {
    TargetFile file;
    file.name = path;
    file.path = path;
    bool is_folder = false;
    // RocksDB opens what it asks about, and opening a pipe may block.
    if (CheckNoDevice(env, path).ok() &&
        env->IsDirectory(path, &is_folder).ok() && is_folder) {
      return Status::InvalidArgument(
          path + " is a folder; for the DB in it, give --db=" + path);
    }
    const Status s = env->GetFileSize(path, &file.bytes);
    if (!s.ok()) {
      return Status::NotFound(path + " cannot be read; operands are SST files",
                              s.ToString());
    }
    family.files.push_back(std::move(file));
  }
  families.push_back(std::move(family));
  return Status::OK();
}

Status MakePolicy(const std::string& flag, const std::string& spec,
                  std::shared_ptr<const FilterPolicy>* policy) {
  policy->reset();
  if (spec == "none" || spec == kNullptrString) return Status::OK();
  ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  const bool braces = spec.size() > 1 && spec[0] == '{' && spec.back() == '}';
  const std::string text = braces ? spec.substr(1, spec.size() - 2) : spec;
  const Status s = FilterPolicy::CreateFromString(strict, text, policy);
  if (s.ok() && *policy != nullptr) return s;
  const std::string reason = s.getState() == nullptr ? "" : s.getState();
  if (s.IsInvalidArgument() && !reason.empty()) {
    return Status::InvalidArgument(flag + ": " + reason);
  }
  const size_t id = text.compare(0, 3, "id=") == 0 ? 3 : 0;
  const std::string name = text.substr(id, text.find_first_of(":;", id) - id);
  std::vector<std::string> names = {"bloomfilter", "ribbonfilter"};
  for (const FilterType* type : FilterTypes()) {
    for (const PolicyType& known : type->policies) {
      names.insert(names.end(), {known.short_name, known.class_name});
    }
  }
  const std::string nearest = Nearest(name, names);
  const std::string refused = flag + "=" + spec + " is not allowed";
  // The name is known, so one of its options is not, or has a bad value.
  if (nearest == name && !reason.empty()) {
    return Status::InvalidArgument(refused + ": " + reason);
  }
  return Status::InvalidArgument(
      refused + "; the nearest policy is " + nearest + "; allowed: none, " +
      PolicyUsage(/*object_forms=*/true) +
      ", bloomfilter:BITS_PER_KEY, ribbonfilter:BITS_PER_KEY");
}

std::string WithoutSeeds(std::string text, bool counted) {
  const std::string option = "seeds=";
  for (size_t begin = 0; (begin = text.find(option, begin)) != text.npos;) {
    begin += option.size();
    const size_t end = std::min(text.find_first_of(";}", begin), text.size());
    if (begin == end) continue;
    if (!counted) {
      begin -= option.size();
      text.erase(begin, end + (text[end] == ';' ? 1 : 0) - begin);
      continue;
    }
    const auto queries =
        1 + std::count(text.begin() + begin, text.begin() + end, ',');
    text.replace(begin, end - begin,
                 "(" + std::to_string(queries) + " queries)");
  }
  return text;
}

}  // namespace ROCKSDB_NAMESPACE::protean
