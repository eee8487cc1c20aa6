// SPDX-License-Identifier: Apache-2.0

#include "tools/file_facts.h"

#include <exception>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/read_file.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
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

std::string FilterSize(uint64_t offset, uint64_t size) {
  return std::to_string(size) + " bytes at offset " + std::to_string(offset);
}

}  // namespace

Status WithoutExceptions(const std::function<Status()>& read) {
  try {
    return read();
  } catch (const std::exception& e) {
    return Status::Corruption("reading it throws an exception", e.what());
  }
}

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
    const char* kind = OtherKindOf(family.options.env, file.path);
    if (kind != nullptr) s = Status::NotSupported(std::string("it is ") + kind);
  } else if (s.IsNotSupported()) {
    // Something that this build of RocksDB lacks, such as a compression
    // library.
    s = Status::IOError(s.ToString());
  }
  return s;
}

Status FileFacts::Open(const TargetFamily& family, const TargetFile& file) {
  Status s = SeparateFile::Open(family.options, file.path, &separate_);
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
    s = SeparateFile::Open(options, file.path, &separate_);
    if (!s.ok()) return s;
  }
  ReadFilter(family, file);
  return s;
}

std::unique_ptr<InternalIterator> FileFacts::NewIterator(
    const ReadOptions& options, bool keys_only) const {
  return std::unique_ptr<InternalIterator>(file().table()->NewIterator(
      options, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
      /*skip_filters=*/true, TableReaderCaller::kUncategorized,
      /*compaction_readahead_size=*/0, /*allow_unprepared_value=*/keys_only));
}

void FileFacts::ReadFilter(const TargetFamily& family,
                           const TargetFile& target) {
  using FilterState = BlockBasedFile::FilterState;
  const BlockBasedFile& file = separate_->file();
  const auto properties = file.table()->GetTableProperties();
  entries_ = properties->num_entries;
  keys_ = entries_;
  filter_bytes_ = properties->filter_size;
  if (filter_bytes_ == 0) {
    unfiltered_ = "written without a filter";
    if (family.options.optimize_filters_for_hits &&
        target.level == family.options.num_levels - 1) {
      unfiltered_ += ", because of optimize_filters_for_hits in the last level";
    } else if (properties->filter_policy_name.empty()) {
      unfiltered_ += " policy";
    }
    return;
  }
  kind_ = properties->filter_policy_name;
  if (file.filter_state() == FilterState::kUnreadable) {
    damaged_ = true;
    unfiltered_ = "the filter block cannot be read: " +
                  FilterSize(file.filter_offset(), filter_bytes_);
    return;
  }
  if (AsProteanFilterPolicy(file.filter_policy()) == nullptr ||
      file.filter_state() == FilterState::kNone) {
    unfiltered_ = "RocksDB's own filter, which filters Get only";
    return;
  }
  filter_ = SeparateFilter::Open(file);
  if (!filter_->status().ok()) {
    damaged_ = true;
    unfiltered_ = filter_->status().ToString() + ": " +
                  FilterSize(file.filter_offset(), filter_bytes_);
    return;
  }
  const FilterBlockHeader& header = filter_->header();
  keys_ = header.num_keys;
  kind_ = FindFilterType(header.kind)->name;
  report_ = filter_->report();
  if (header.kind == FilterKind::kAlwaysTrue) {
    unfiltered_ = "no filter can hold its keys";
    const auto reason =
        properties->user_collected_properties.find(kDesignProperty);
    if (reason != properties->user_collected_properties.end()) {
      unfiltered_ += ": " + reason->second;
    }
  } else if (!IsBytewise(ComparatorOf(family, *properties))) {
    unfiltered_ = "the comparator is " + ComparatorOf(family, *properties);
  } else if (!file.whole_key_filtering()) {
    unfiltered_ = "whole_key_filtering=false: the filter has prefixes only";
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
