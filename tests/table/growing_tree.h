// SPDX-License-Identifier: Apache-2.0

//  A DB that RocksDB compacts by itself while it grows, and the sizes of its
//  filters, level by level.

#pragma once

#include <cstdio>

#include "filter_policy/filter_budget.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// Keys, and the filters that they have.
struct FilterSize {
  double keys = 0;
  double bytes = 0;
  double files = 0;
  double without = 0;  // files without a filter
  double PerKey() const { return 8 * bytes / keys; }
  FilterSize& operator+=(const FilterSize& other) {
    keys += other.keys;
    bytes += other.bytes;
    files += other.files;
    without += other.without;
    return *this;
  }
};

class GrowingTreeTest : public OwnDBTest {
 protected:
  static constexpr int kKeysPerFlush = 2000;
  // A filter consists of whole cache lines, and says in 32 bytes that there is
  // none.
  static constexpr double kRoundedBytes = 64;

  GrowingTreeTest() : OwnDBTest(Options()) {
    options_.compression = kNoCompression;
    options_.max_bytes_for_level_base = 256 << 10;
    options_.target_file_size_base = 128 << 10;
    options_.level_compaction_dynamic_level_bytes = false;
    options_.max_bytes_for_level_multiplier = 4;
  }

  // A random one, or one above all keys so far.
  std::string NextKey(bool ascending = false) {
    return Digits(ascending ? (next_ += 1 + random_.Uniform(80000))
                            : random_.Next() % 10000000000);
  }
  // Writes a file of new keys.
  void WriteNewFile(bool ascending = false,
                    ColumnFamilyHandle* family = nullptr) {
    if (family == nullptr) family = db_->DefaultColumnFamily();
    WriteBatch batch;
    for (int i = 0; i < kKeysPerFlush; i++) {
      ASSERT_OK(batch.Put(family, NextKey(ascending), value_));
    }
    ASSERT_OK(db_->Write(WriteOptions(), &batch));
    ASSERT_OK(db_->Flush(FlushOptions(), family));
  }
  void CompactAndWait() {
    Compact();
    WaitForCompactions();
  }

  // The sizes of the filters of the live files, by level.
  std::map<int, FilterSize> Levels() {
    const TablePropertiesCollection properties = PropertiesOf(db_.get());
    std::map<int, FilterSize> levels;
    for (const LiveFileMetaData& file : Files()) {
      const auto found = properties.find(file.db_path + file.name);
      if (found == properties.end()) continue;  // compacted meanwhile
      FilterSize& size = levels[file.level];
      size.keys += static_cast<double>(found->second->num_entries);
      size.bytes += static_cast<double>(found->second->filter_size);
      size.files++;
      const auto& user = found->second->user_collected_properties;
      const auto kind = user.find("protean.kind");
      if (kind != user.end() && kind->second == "none") {
        EXPECT_EQ("filter_budget_bytes is used up", user.at("protean.design"));
        size.without++;
      }
    }
    return levels;
  }
  FilterSize Total() {
    FilterSize total;
    for (const auto& [level, size] : Levels()) total += size;
    return total;
  }
  void Print() {
    for (const auto& [level, size] : Levels()) {
      printf("L%d: %.0f keys, %.3f bits; ", level, size.keys, size.PerKey());
    }
    printf("total %.0f bytes, %.3f bits\n", Total().bytes, Total().PerKey());
  }

  std::string value_ = std::string(40, 'v');
  Random64 random_{31};
  uint64_t next_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
