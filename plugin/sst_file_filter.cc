// SPDX-License-Identifier: Apache-2.0

#include "plugin/sst_file_filter.h"

#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/separate_file.h"
#include "table/separate_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class SeparateSstFilter final : public SstFileFilter {
 public:
  explicit SeparateSstFilter(std::unique_ptr<SeparateFile> file)
      : file_(std::move(file)),
        filter_(FilterKnowsKeysInOrder(file_->file())
                    ? SeparateFilter::Open(file_->file())
                    : nullptr),
        order_(*file_->file().user_comparator()) {}

  bool KeyMayExist(const Slice& key) const override {
    const FileRangeFilter* const filter = RangeFilter();
    return filter == nullptr || filter->KeyMayMatch(key);
  }
  bool RangeMayExist(const RangePtr& range) const override {
    const auto& [start, limit] = range;
    if (start != nullptr && limit != nullptr &&
        order_.CompareWithoutTimestamp(*start, /*a_has_ts=*/false, *limit,
                                       /*b_has_ts=*/false) >= 0) {
      return false;
    }
    const FileRangeFilter* const filter = RangeFilter();
    if (filter == nullptr) return true;
    if (limit == nullptr) {
      return start == nullptr || filter->MayHaveKeyAtOrAbove(*start);
    }
    // No key is below the empty one.
    return filter->RangeMayMatch(start == nullptr ? Slice() : *start, *limit,
                                 /*hi_inclusive=*/false);
  }

 private:
  // Nullptr if no filter can answer.
  const FileRangeFilter* RangeFilter() const {
    return filter_ == nullptr ? nullptr : filter_->range_filter();
  }

  const std::unique_ptr<SeparateFile> file_;
  const std::shared_ptr<const SeparateFilter> filter_;
  const Comparator& order_;
};

}  // namespace

Status SstFileFilter::Open(const Options& options, const std::string& path,
                           std::unique_ptr<SstFileFilter>* opened) {
  opened->reset();
  Status s = RequireProteanTable("SstFileFilter", "the Options object",
                                 options.table_factory.get());
  if (!s.ok()) return s;
  std::unique_ptr<SeparateFile> file;
  s = SeparateFile::Open(options, path, &file);
  if (s.ok()) *opened = std::make_unique<SeparateSstFilter>(std::move(file));
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
