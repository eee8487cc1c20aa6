// SPDX-License-Identifier: Apache-2.0

#include "tools/file_facts.h"

#include <algorithm>
#include <exception>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/files.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/slice_transform.h"
#include "table/format.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The name of the comparator that the file was written with; empty if unknown.
std::string ComparatorOf(const TargetFamily& family,
                         const TableProperties& properties) {
  return properties.comparator_name.empty() ? family.comparator
                                            : properties.comparator_name;
}

bool IsBytewise(const std::string& comparator) {
  return comparator.empty() || comparator == BytewiseComparator()->Name() ||
         comparator == BytewiseComparatorWithU64Ts()->Name();
}

// Describes a table of one of RocksDB's other kinds; nullptr for any other
// file.
const char* OtherKindOf(Env* env, const std::string& path) {
  std::unique_ptr<RandomAccessFile> file;
  uint64_t size = 0;
  char scratch[kMagicNumberLengthByte];
  Slice end;
  if (!env->GetFileSize(path, &size).ok() || size < sizeof(scratch) ||
      !env->NewRandomAccessFile(path, &file, EnvOptions()).ok() ||
      !file->Read(size - sizeof(scratch), sizeof(scratch), &end, scratch)
           .ok() ||
      end.size() < sizeof(scratch)) {
    return nullptr;
  }
  const uint64_t magic = DecodeFixed64(end.data());
  if (magic == kPlainTableMagicNumber ||
      magic == kLegacyPlainTableMagicNumber) {
    return "a PlainTable, which has no filter for ranges";
  }
  return magic == kCuckooTableMagicNumber ? "a CuckooTable, which has no filter"
                                          : nullptr;
}

// Stores a string a little below `key`; returns false if there is none. For a
// number, the string is the number before it, since real queries look like
// that.
bool JustBelow(const Slice& key, std::string* below) {
  if (key.empty()) return false;
  below->assign(key.data(), key.size());
  if (below->back() == '\0') {
    below->pop_back();
  } else {
    below->back() = static_cast<char>(below->back() - 1);
  }
  return true;
}

// Stores a string a little above `key`.
void JustAbove(const Slice& key, std::string* above) {
  above->assign(key.data(), key.size());
  if (key.empty() || above->back() == '\xff') {
    above->push_back('\0');
  } else {
    above->back() = static_cast<char>(above->back() + 1);
  }
}

// The questions that the filter of a file is asked about each key of the file.
class Questions {
 public:
  explicit Questions(const FileFacts& facts)
      : reader_(facts.file().filter_state() ==
                        BlockBasedFile::FilterState::kFull
                    ? facts.file().GetHeldFilter()
                    : nullptr),
        filter_(facts.filter() != nullptr && facts.filter()->CanFilter()
                    ? facts.filter()
                    : nullptr),
        prefixes_(facts.file().prefix_extractor()),
        // Without whole_key_filtering, only prefixes were added to the filter.
        whole_keys_(facts.file().whole_key_filtering()),
        asked_for_prefixes_(facts.filter() != nullptr &&
                            (facts.filter()->header().flags &
                             FilterBlockHeader::kAskedForPrefixes) != 0) {}

  bool any() const {
    return reader_ != nullptr && (whole_keys_ || prefixes_ != nullptr);
  }

  // Returns the question that the filter answers wrongly, or nullptr.
  // `previous` is nullptr for the first key.
  const char* Denied(const Slice& key, const std::string* previous) {
    if (!any()) return nullptr;
    if (prefixes_ != nullptr && prefixes_->InDomain(key) &&
        !reader_->MayMatch(prefixes_->Transform(key))) {
      return "its prefix";
    }
    if (!whole_keys_) return nullptr;
    if (!reader_->MayMatch(key)) return "the key";
    return filter_ == nullptr ? nullptr : DeniedRange(key, previous);
  }

 private:
  // The filter is asked about a range that ends or begins at the key, about the
  // whole gap before the key, and about a seek. Shapes that differ only in
  // detail take turns, which is twice as fast: a fault in one of them shows at
  // many keys.
  const char* DeniedRange(const Slice& key, const std::string* previous) {
    if (asked_for_prefixes_ && !filter_->KeyMayMatch(key)) return "the key";
    if (!filter_->MayHaveKeyAtOrAbove(key)) return "keys from it on";
    if (previous != nullptr && !GapMayMatch(*previous, key)) {
      return "the gap before it";
    }
    turn_ = (turn_ + 1) % 6;
    const bool has_below = JustBelow(key, &below_);
    if (turn_ % 2 == 0 && SkipsOver(key, key)) return "a seek to it";
    if (turn_ % 2 == 1 && has_below && SkipsOver(below_, key)) {
      return "a seek to key-1";
    }
    if (turn_ % 3 == 0) {
      return filter_->RangeMayMatch(key, key, true) ? nullptr : "[key, key]";
    }
    if (turn_ % 3 == 1 && has_below) {
      return filter_->RangeMayMatch(below_, key, true) ? nullptr
                                                       : "[key-1, key]";
    }
    JustAbove(key, &above_);
    return filter_->RangeMayMatch(key, above_, false) ? nullptr
                                                      : "[key, key+1)";
  }

  // Returns true if the filter allows a key between the two, or at `key`, for
  // either order of keys.
  bool GapMayMatch(const std::string& previous, const Slice& key) {
    if (key.compare(previous) < 0) {
      return filter_->RangeMayMatch(key, previous, false);
    }
    above_.assign(previous);
    above_.push_back('\0');
    return filter_->RangeMayMatch(above_, key, true);
  }

  // Returns true if a seek to `target` would miss `key`.
  bool SkipsOver(const Slice& target, const Slice& key) {
    return !filter_->LowerBound(target, &skip_) || key.compare(skip_) < 0;
  }

  FilterBitsReader* const reader_;       // of any policy
  const FileRangeFilter* const filter_;  // if it is one of Protean's
  const SliceTransform* const prefixes_;
  const bool whole_keys_;
  // If set, the reader takes whole keys for prefixes.
  const bool asked_for_prefixes_;
  unsigned turn_ = 0;
  std::string below_;
  std::string above_;
  std::string skip_;
};

// Returns the result of `read`, which reads a file. RocksDB trusts some sizes
// before it knows whether they are damaged; an exception that the standard
// library then throws is returned as Corruption.
template <typename Read>
Status WithoutExceptions(const Read& read) {
  try {
    return read();
  } catch (const std::exception& e) {
    return Status::Corruption("reading it throws an exception", e.what());
  }
}

// What is wrong in the header, given the number of keys, the smallest and the
// largest one; empty if nothing is.
std::string CheckHeader(const FilterBlock& filter, uint64_t keys,
                        const Slice& smallest, const Slice& largest) {
  const FilterBlockHeader& header = filter.header();
  const auto stored = [](const Slice& key) {
    return Slice(key.data(),
                 std::min(key.size(), FilterBlockHeader::kMaxStoredKey));
  };
  if (header.num_keys != keys) {
    return "it was built from " + std::to_string(header.num_keys) +
           " keys, the file has " + std::to_string(keys);
  }
  if (!filter.CanFilter() || keys == 0) return "";
  if (header.smallest != stored(smallest)) {
    return "its smallest key is not the file's";
  }
  if (header.largest != stored(largest)) {
    return "its largest key is not the file's";
  }
  return "";
}

}  // namespace

Status FileFacts::Read(const TargetFamily& family, const TargetFile& file,
                       std::unique_ptr<FileFacts>* facts) {
  // Opening a device or a pipe could block forever.
  Status s = CheckNoDevice(family.options.env, file.path);
  if (!s.ok()) return Status::Corruption(s.getState());
  std::unique_ptr<FileFacts> read(new FileFacts);
  s = WithoutExceptions([&] { return read->Open(family, file); });
  if (s.ok()) {
    *facts = std::move(read);
  } else if (s.IsCorruption()) {
    const char* other = OtherKindOf(family.options.env, file.path);
    if (other != nullptr) {
      s = Status::NotSupported(std::string("it is ") + other);
    }
  } else if (s.IsNotSupported()) {
    // Something that this build of RocksDB lacks, such as a compression
    // library.
    s = Status::IOError(s.ToString());
  }
  return s;
}

Status FileFacts::Open(const TargetFamily& family, const TargetFile& file) {
  Status s = BlockBasedFile::OpenApart(family.options, file.path, &file_);
  if (!s.ok()) return s;
  // If the file was given without its DB, only the file itself knows the format
  // of its keys.
  const auto properties = this->file().table()->GetTableProperties();
  const std::string name = ComparatorOf(family, *properties);
  Options options = family.options;
  options.persist_user_defined_timestamps =
      properties->user_defined_timestamps_persisted != 0;
  if (family.comparator.empty() && !name.empty() &&
      name != options.comparator->Name() &&
      Comparator::CreateFromString(ConfigOptions(), name, &options.comparator)
          .ok()) {
    s = BlockBasedFile::OpenApart(options, file.path, &file_);
    if (!s.ok()) return s;
  }
  ReadFilter(family);
  return s;
}

void FileFacts::ReadFilter(const TargetFamily& family) {
  using FilterState = BlockBasedFile::FilterState;
  const BlockBasedFile& file = *file_;
  const auto properties = file.table()->GetTableProperties();
  entries = properties->num_entries;
  keys = entries;
  filter_bytes = properties->filter_size;
  if (filter_bytes == 0) {
    unfiltered = "written without a filter";
    if (properties->filter_policy_name.empty()) {
      unfiltered += " policy";
    } else if (family.options.optimize_filters_for_hits) {
      unfiltered += ", because of optimize_filters_for_hits";
    }
    return;
  }
  kind = properties->filter_policy_name;
  filter_ = file.GetHeldBlock();
  const bool unreadable = file.filter_state() == FilterState::kUnreadable;
  damaged = unreadable || (filter_ != nullptr && !filter_->status().ok());
  if (damaged) {
    unfiltered = (unreadable ? "the filter block cannot be read"
                             : filter_->status().ToString()) +
                 ": " + std::to_string(filter_bytes) + " bytes at offset " +
                 std::to_string(file.filter_offset());
    return;
  }
  if (filter_ == nullptr) {
    const bool in_parts =
        file.filter_state() == FilterState::kPartitioned &&
        AsProteanFilterPolicy(file.filter_policy()) != nullptr;
    unfiltered = in_parts ? "partitions of RocksDB's table, which filter "
                          : "RocksDB's own filter, which filters ";
    unfiltered += file.prefix_extractor() == nullptr
                      ? "Get only"
                      : "Get, and seeks within a prefix";
    return;
  }
  const FilterBlockHeader& header = filter_->header();
  keys = header.num_keys;
  kind = FindFilterType(header.kind)->name;
  report = ReportOf(file);
  if (header.kind == FilterKind::kAlwaysTrue) {
    unfiltered = "no filter can hold its keys";
    const std::string reason =
        PropertyText(properties->user_collected_properties, kDesignProperty);
    if (!reason.empty()) unfiltered += ": " + reason;
  } else if (!IsBytewise(ComparatorOf(family, *properties))) {
    unfiltered = "the comparator is " + ComparatorOf(family, *properties);
  } else if (!file.whole_key_filtering()) {
    unfiltered = "whole_key_filtering=false: the filter has prefixes only";
  }
}

KeyCheck CheckKeys(const FileFacts& facts,
                   const std::function<void(uint64_t keys)>& progress) {
  constexpr uint64_t kKeysPerReport = 1 << 16;
  const BlockBasedFile& file = facts.file();
  KeyCheck check;
  Questions questions(facts);
  check.asked = questions.any();

  std::string first;
  std::string last;
  const auto check_key = [&](const Slice& key) {
    if (check.keys > 0 && key == last) return true;
    const char* denied =
        questions.Denied(key, check.keys == 0 ? nullptr : &last);
    if (denied != nullptr && check.false_negatives++ == 0) {
      check.first_key = key.ToString();
      check.first_question = denied;
    }
    if (check.keys++ == 0) first = key.ToString();
    last.assign(key.data(), key.size());
    if (check.keys % kKeysPerReport == 0) progress(kKeysPerReport);
    return true;
  };
  check.data = WithoutExceptions([&] {
    const Status s = ReadKeys(file, check_key);
    progress(check.keys % kKeysPerReport);
    return s;
  });
  if (check.data.ok() && facts.filter() != nullptr && !facts.damaged &&
      file.whole_key_filtering()) {
    const bool ascending = Slice(first).compare(last) <= 0;
    check.wrong_header =
        CheckHeader(*facts.filter(), check.keys, ascending ? first : last,
                    ascending ? last : first);
  }
  return check;
}

}  // namespace ROCKSDB_NAMESPACE::protean
