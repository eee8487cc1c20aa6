// SPDX-License-Identifier: Apache-2.0

//  The plan of a run: the kind of DB, its column families, and options that
//  both twins share. Only Protean's twin has filters.

#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rocksdb/comparator.h"
#include "rocksdb/options.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/transaction_db.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/dice.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- What later versions of RocksDB have ----

// Large columns of entities are kept in blob files, too.
constexpr bool kColumnsMayBeBlobs = PROTEAN_ROCKSDB_AT_LEAST(11, 0);

// Scans of several ranges that are announced. (There are some from 10.5 on, but
// with other rules of what may be announced, and what may follow.)
#if PROTEAN_ROCKSDB_AT_LEAST(11, 7)
#define PROTEAN_TESTS_MULTI_SCAN 1
#else
#define PROTEAN_TESTS_MULTI_SCAN 0
#endif
constexpr bool kHasMultiScan = PROTEAN_TESTS_MULTI_SCAN != 0;

// ---- Keys ----

// The keys of a column family, out of families that hurt, and strings around
// them.
class KeyPool {
 public:
  KeyPool() = default;
  // Keys of one family, about `size` of them, of `shortest` bytes or more.
  KeyPool(Dice* dice, const Comparator* order, size_t size, size_t shortest);

  const std::vector<std::string>& keys() const { return keys_; }
  const Comparator* order() const { return order_; }
  const std::string& name() const { return name_; }

  bool Less(const std::string& a, const std::string& b) const {
    return order_->CompareWithoutTimestamp(a, /*a_has_ts=*/false, b,
                                           /*b_has_ts=*/false) < 0;
  }
  // Compares as Less does.
  auto less() const {
    return [this](const std::string& a, const std::string& b) {
      return Less(a, b);
    };
  }

  const std::string& Pick(Dice* dice) const { return dice->In(keys_); }
  // A key, a string next to one, or one that has nothing to do with them; if
  // there is a `domain`, one that lies in it.
  std::string PickAround(Dice* dice,
                         const SliceTransform* domain = nullptr) const;
  // A key after `from`, mostly within a few keys.
  std::string PickAfter(Dice* dice, const std::string& from) const;
  // Both of them.
  std::pair<std::string, std::string> PickRange(Dice* dice) const {
    const std::string begin = PickAround(dice);
    return {begin, PickAfter(dice, begin)};
  }

 private:
  std::string AnyString(Dice* dice) const;

  std::vector<std::string> keys_;  // in the order of order_
  const Comparator* order_ = nullptr;
  size_t shortest_ = 0;
  std::string name_;
};

// ---- Plans ----

enum class DbKind {
  kPlain,
  kOptimistic,
  kWriteCommitted,
  kWritePrepared,
  kWriteUnprepared
};

struct FamilyPlan {
  std::string name;
  KeyPool pool;
  size_t shortest_key;
  bool timestamps;

  // These are drawn again when the DBs are reopened.
  ColumnFamilyOptions options;
  std::array<std::string, 2> tables;  // strings of the table factories
  bool multi_scans;                   // may be read by CompareMultiScan

  // The keys of `pool` that are put only when they are absent, and deleted by
  // SingleDelete only, as that function requires.
  std::vector<bool> single_delete;
  std::vector<bool> is_put;  // of those

  // The extractor, if all keys of the pool lie in its domain.
  const SliceTransform* Domain() const;
};

struct RunPlan {
  // `live` allows flushes and compactions in the background.
  RunPlan(Dice* dice, const std::string& directory, bool control, bool live);

  // Changes the options that may differ from one opening of the DBs to the
  // next.
  void DrawAgain(Dice* dice);
  std::string ToString() const;

  bool Transactional() const { return kind != DbKind::kPlain; }
  bool Pessimistic() const {
    return Transactional() && kind != DbKind::kOptimistic;
  }
  // Before they are committed.
  bool WritesEarly() const {
    return kind == DbKind::kWritePrepared || kind == DbKind::kWriteUnprepared;
  }

  std::string directory;
  // Both twins are stock RocksDB: a difference is a mistake of the test, or
  // nondeterminism in RocksDB.
  bool control;
  DbKind kind;
  // Only the run itself compacts and flushes, so that the twins have the same
  // files, and answers that depend on the files can be compared.
  bool frozen;
  bool in_memory;
  bool range_deletes;
  bool disable_wal;
  int num_operations;
  DBOptions db_options;
  TransactionDBOptions transaction_options;
  std::vector<FamilyPlan> families;

 private:
  void DrawFamily(Dice* dice, FamilyPlan* family);
  void DrawExtractor(Dice* dice, FamilyPlan* family);
  void DrawTables(Dice* dice, FamilyPlan* family);
  std::string DrawPolicy(Dice* dice, const FamilyPlan& family) const;
};

}  // namespace ROCKSDB_NAMESPACE::protean
