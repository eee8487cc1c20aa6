//  What is known of an SST file and of its filter, from the file itself.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "filter_policy/filter_block.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// An SST file that has been opened apart from its DB, with its filter.
class FileFacts {
 public:
  // NotFound or PathNotFound if the file is gone, NotSupported if it is a table
  // of another kind than the block-based one, Corruption if it is damaged as a
  // whole. A damaged filter is a fact.
  static Status Read(const TargetFamily& family, const TargetFile& file,
                     std::unique_ptr<FileFacts>* facts);

  // "Proteus", "SuRF", "none", or the name of RocksDB's policy that has made
  // the filter, such as "bloomfilter".
  const std::string& kind() const { return kind_; }
  // Why the file's filter is not asked for ranges; empty if it is.
  const std::string& unfiltered() const { return unfiltered_; }
  // Whether that is because the filter is damaged.
  bool damaged() const { return damaged_; }

  uint64_t entries() const { return entries_; }
  // Distinct keys, as far as the filter knows them; else the entries.
  uint64_t keys() const { return keys_; }
  uint64_t filter_bytes() const { return filter_bytes_; }
  // 0 if there is no filter.
  double bits_per_key() const {
    return 8.0 * static_cast<double>(filter_bytes_) /
           static_cast<double>(std::max<uint64_t>(keys_, 1));
  }
  const FilterReport& report() const { return report_; }

  // Of Protean, or nullptr. It lives as long as this.
  const FilterBlock* block() const { return block_; }
  const BlockBasedFile& file() const { return separate_->file(); }

 private:
  Status Open(const TargetFamily& family, const TargetFile& file);
  void ReadFilter(const TargetFamily& family, const TargetFile& file);

  std::unique_ptr<SeparateFile> separate_;
  const FilterBlock* block_ = nullptr;
  std::string kind_ = "none";
  std::string unfiltered_;
  bool damaged_ = false;
  uint64_t entries_ = 0;
  uint64_t keys_ = 0;
  uint64_t filter_bytes_ = 0;
  FilterReport report_;
};

// What `read` returns, which reads a file. RocksDB takes some bytes for sizes
// before it knows whether they are damaged; what the standard library throws
// then is Corruption.
Status WithoutExceptions(const std::function<Status()>& read);

// Whether the status says that a file is not there (any more).
inline bool IsGone(const Status& s) {
  return s.IsNotFound() || s.IsPathNotFound();
}

}  // namespace ROCKSDB_NAMESPACE::protean
