// SPDX-License-Identifier: Apache-2.0

//  protean explain: which files a read would look at, and why.

#include <map>
#include <optional>

#include "filter_policy/filter_block.h"
#include "filter_policy/samples/query_file.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/comparator.h"
#include "tools/command.h"
#include "tools/file_facts.h"
#include "tools/opened_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const std::vector<Column> kColumns = {{"file"},
                                      {"level"},
                                      {"design", "filter"},
                                      {"answer", "says"},
                                      {"outcome", "read?"},
                                      {"why", "because"},
                                      {"refresh", "in a refresh"},
                                      {"old_fpr", "old FPR", 5},
                                      {"new_fpr", "new FPR", 5}};

// The outcomes of a file in a read.
constexpr char kNotOpened[] = "no";
constexpr char kSkipped[] = "skipped";
constexpr char kRead[] = "read";
constexpr char kInVain[] = "in vain";

// Stores the first key that the file has of the read, deletions included.
Status FindFirst(const FileFacts& facts, const SampleQuery& read,
                 std::optional<std::string>* key) {
  const ReadOptions options;  // outlives the iterator
  const std::unique_ptr<InternalIterator> it =
      facts.file().NewIterator(options, /*keys_only=*/true);
  it->Seek(FirstEntryOf(read.lo, /*timestamp_size=*/0));
  if (it->Valid() &&
      !IsInverted(ExtractUserKey(it->key()), read.hi, read.hi_inclusive)) {
    *key = ExtractUserKey(it->key()).ToString();
  }
  return it->status();
}

// What the filter answers that such a read asks; nothing if there is none. A
// Get asks for one key, inclusive.
std::optional<bool> Ask(const FileFacts& facts, const TargetFamily& family,
                        const SampleQuery& read) {
  using FilterState = BlockBasedFile::FilterState;
  const BlockBasedFile& file = facts.file();
  const bool is_own = facts.filter() != nullptr;
  // RocksDB's own table finds only filters of its policy's kind.
  if (family.table_factory == TableFactory::kBlockBasedTableName() &&
      family.has_protean_policy != is_own) {
    return {};
  }
  if (!read.hi_inclusive) {
    return facts.unfiltered.empty() && family.is_under_protean()
               ? facts.filter()->RangeMayMatch(read.lo, read.hi, false)
               : AskedFilter::Of(file, family.options.prefix_extractor.get())
                     .PrefixMayMatch(read.lo, read.hi);
  }
  if (facts.damaged || !file.whole_key_filtering() ||
      (file.filter_state() != FilterState::kFull &&
       file.filter_state() != FilterState::kPartitioned)) {
    return {};
  }
  return is_own ? facts.filter()->KeyMayMatch(read.lo)
                : AskedFilter::Of(file).MayMatch(read);
}

constexpr CommandText kExplain = {
    "explain",
    "Explains a read: which files it looks at, what each filter says, and "
    "which reads are in vain.",
    "--db=DIR --start=KEY [--limit=KEY]", "default",
    R"(Prints for each SST file, in the order in which a read meets them, what becomes of it in a seek to --start
with the upper bound --limit, or without --limit in a Get of --start:

  no        the file's first and last keys say that nothing is there
  skipped   the filter says so
  read      a data block is read, and has something in the range, if only a deletion
  in vain   a data block is read, and has nothing there: a false positive, or no filter is asked

With --refresh, it also prints what protean refresh would do with each of these files, for all of the DB's
samples: whether it would be rewritten, and the false positive rates of its old and its new filter. That takes
reading the keys of the files.

With a prefix extractor, the seek is one with auto_prefix_mode. One with prefix_same_as_start may skip more.

A key is text, or 0x and hexadecimal digits. What is in memtables or in the block cache is not known. A Get
stops at the first file that has the key; the files after it are listed, too. The DB may be in use.

Exit code: 0 if nothing is read in vain; 1 if something is; 2 if the command failed.

Examples:
  protean explain --db=/data/db --start=user:42 --limit=user:43
  protean explain --db=/data/db --column_family=events --start=0x00000065 --refresh
)"};

class Explain : public Command {
 public:
  Explain() : Command(kExplain) {
    flags_.Add(
        {{"start", "KEY", &start_, "the key of a Get, or where a seek begins"},
         {"limit", "KEY", &limit_,
          "the upper bound of a seek, which does not belong to the range"},
         {"refresh", "", &refresh_, "also say what a refresh would change"}});
  }

 private:
  Status Run() override {
    Status s = OpenTarget(/*or_files=*/false);
    const TargetFamily* family = nullptr;
    if (s.ok()) s = target_.DefaultFamily(&family);
    SampleQuery read;
    if (s.ok()) s = MakeRead(*family, &read);
    if (!s.ok()) return s;
    for (const std::string& note : target_.notes) err() << note << '\n';
    std::vector<TargetFile> files = family->files;
    // The newest files of level 0 are read first.
    std::reverse(files.begin(),
                 std::find_if(files.begin(), files.end(),
                              [](const auto& file) { return file.level > 0; }));
    std::vector<Json> rows;
    std::map<std::string, size_t> with;  // files, by their outcome
    for (const TargetFile& file : files) {
      Json row;
      s = ExplainFile(*family, file, read, &row);
      if (IsGone(s) && !target_.IsMissing(*family, file))
        continue;  // compacted
      if (!s.ok()) return s;
      with[row["outcome"].get<std::string>()]++;
      // Most files of a large DB are of no interest to people.
      if (json_ || row["outcome"] != kNotOpened) rows.push_back(std::move(row));
    }
    const size_t in_vain = with[kInVain];
    found_ = in_vain > 0;
    if (refresh_) s = AddRefresh(*family, read, &rows);
    if (!s.ok()) return s;
    out().Table(kColumns, rows);
    const size_t opened = files.size() - with[kNotOpened];
    out().Line(
        Format("%zu of %zu files may have such keys; filters skip %zu, %zu are "
               "read, %zu of them in vain",
               opened, files.size(), with[kSkipped], opened - with[kSkipped],
               in_vain));
    if (in_vain > 0 && !refresh_) {
      out().Line(
          "What new filters would change: --refresh, and protean advise");
    }
    return Status::OK();
  }

  Status MakeRead(const TargetFamily& family, SampleQuery* read) const {
    if (start_.empty()) {
      return Status::InvalidArgument(
          "give --start=KEY, and --limit=KEY for a range; 0x is the empty key");
    }
    const bool is_get = limit_.empty();
    for (const auto& [text, key] :
         {std::make_pair(&start_, &read->lo),
          std::make_pair(is_get ? &start_ : &limit_, &read->hi)}) {
      if (!ParseKey(*text, key)) {
        return Status::InvalidArgument(
            *text + " is no key: after 0x come pairs of hexadecimal digits");
      }
    }
    read->hi_inclusive = is_get;
    if (!is_get && read->lo >= read->hi) {
      return Status::InvalidArgument("--limit=" + limit_ +
                                     " must be greater than --start=" + start_);
    }
    if (!family.comparator.empty() &&
        family.comparator != BytewiseComparator()->Name()) {
      return Status::NotSupported(
          "column family " + PrintedName(family.name) + " has the comparator " +
          family.comparator +
          "; only reads in bytewise order, without timestamps, are explained");
    }
    return Status::OK();
  }

  Status ExplainFile(const TargetFamily& family, const TargetFile& file,
                     const SampleQuery& read, Json* row) const {
    *row = {{"column_family", family.name},
            {"file", file.name},
            {"level", OrNull(file.level)},
            {"design", ""},
            {"answer", ""},
            {"outcome", kNotOpened},
            {"first_key", Json()},
            {"why", ""}};
    if (LiesBeyond(read, file.smallest, file.largest)) {
      (*row)["why"] = "its keys are from " + PrintedKey(file.smallest) +
                      " to " + PrintedKey(file.largest);
      return Status::OK();
    }
    std::unique_ptr<FileFacts> facts;
    Status s = FileFacts::Read(family, file, &facts);
    std::optional<std::string> first;
    if (s.ok()) s = FindFirst(*facts, read, &first);
    if (!s.ok()) return s;
    const std::optional<bool> answer = Ask(*facts, family, read);
    const bool may_match = answer.value_or(true);
    (*row)["outcome"] = !may_match ? kSkipped : first ? kRead : kInVain;
    if (answer) {
      (*row)["design"] =
          facts->report.design.empty() ? facts->kind : facts->report.design;
      (*row)["answer"] = may_match ? "perhaps" : "nothing there";
    }
    if (first) {
      (*row)["first_key"] = PrintedKey(*first);
      (*row)["why"] = "it has " + PrintedKey(*first);
    } else if (!answer) {
      (*row)["why"] =
          "no filter is asked: " + (facts->unfiltered.empty()
                                        ? "the table is " + family.table_factory
                                        : facts->unfiltered);
    } else if (may_match) {
      (*row)["why"] = "a false positive" + (facts->report.basis.empty()
                                                ? std::string()
                                                : "; the filter was designed " +
                                                      facts->report.basis);
    }
    return Status::OK();
  }

  Status AddRefresh(const TargetFamily& family, const SampleQuery& read,
                    std::vector<Json>* rows) const {
    RefreshOptions options;
    options.dry_run = true;
    options.start = read.lo;
    options.limit = read.hi;
    if (read.hi_inclusive) options.limit->push_back('\0');
    std::unique_ptr<OpenedDB> opened;
    RefreshResult result;
    Status s = OpenedDB::Open(target_, /*for_writing=*/false, &opened);
    if (!s.ok()) return s;
    ColumnFamilyHandle* const handle = opened->Find(family.name);
    if (handle == nullptr)
      return Status::InvalidArgument("it has been dropped");
    s = RefreshFilters(opened->db(), handle, options, &result);
    if (!s.ok()) return s;
    for (const RefreshedFile& file : result.files) {
      for (Json& row : *rows) {
        if (row["file"] != file.name || row["outcome"] == kNotOpened) continue;
        row["refresh"] = ToString(file.outcome);
        row["old_fpr"] = OrNull(file.old_fpr);
        row["new_fpr"] = OrNull(file.new_fpr);
      }
    }
    return opened->Close();
  }

  std::string start_;
  std::string limit_;
  bool refresh_ = false;
};

}  // namespace

std::unique_ptr<Command> NewExplain() { return std::make_unique<Explain>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
