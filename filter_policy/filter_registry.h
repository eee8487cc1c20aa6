//  The files that a DB has open, by column family, with what their filters are
//  and how they do. A file that is closed leaves its counts to its level, so
//  that the sums of a level never fall while the DB is open.
//
//  Now and then there is a line about it in the DB's log. RocksDB does not call
//  anybody when it dumps its own statistics, and a thread for it would surprise
//  whoever runs the process; so the line is written by whoever hands counts
//  over, or opens or closes a file, once the period is over. A DB that is idle
//  writes none.

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "filter_policy/seek_counts.h"
#include "port/port.h"
#include "rocksdb/env.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether seeks ask the filter of a file, and why not.
enum class FilterUse : uint8_t {
  kUsed,
  kNone,         // there is none that the column family's policy knows
  kForeign,      // RocksDB made it; it goes on answering Get
  kComparator,   // the keys are in another order than the filters need
  kPartialKeys,  // whole_key_filtering=false
  kUnheld,       // it could not hold the file's keys, and knows nothing
  kDamaged,      // or it could not be read
};
inline constexpr size_t kFilterUses = 7;

// In a few words, such as "no filter"; "used" for kUsed.
const char* ToString(FilterUse use);

class RegisteredFile;

// Thread safe.
class FilterRegistry {
 public:
  // What tells a column family from all others of the DB.
  using FamilyId = const void*;

  struct File {
    std::string path;
    int level = -1;  // that it was opened for; negative if unknown
    FilterUse use = FilterUse::kNone;
    std::shared_ptr<const TableProperties> properties;
    SeekCounts seeks;
  };

  struct Contents {
    std::vector<File> files;           // that are open
    std::map<int, SeekCounts> closed;  // of those that were, by level
  };

  // How a file says that it is open, and where lines about it go.
  struct Announcement {
    FamilyId family = nullptr;
    std::string family_name;
    std::string path;
    int level = -1;
    std::shared_ptr<const TableProperties> properties;
    Env* env = nullptr;
    Logger* info_log = nullptr;
    uint64_t log_period_seconds = 0;  // 0 if unknown, or if there are none
  };

  FilterRegistry() = default;
  FilterRegistry(const FilterRegistry&) = delete;
  FilterRegistry& operator=(const FilterRegistry&) = delete;

  Contents Of(FamilyId family) const;
  // Of each column family that has an open file whose path begins so.
  std::vector<Contents> OfFolder(const std::string& begin) const;

 private:
  friend class RegisteredFile;

  // A column family that is dropped leaves its own behind; RocksDB tells nobody
  // when it goes.
  struct Family {
    std::string name;
    std::set<const RegisteredFile*> open;
    std::map<int, SeekCounts> closed;
    std::atomic<uint64_t> next_line_micros{0};
  };

  Family* Add(const RegisteredFile* file);
  void Remove(const RegisteredFile* file);
  void LogIfDue(const RegisteredFile& file);

  // These require mutex_.
  static Contents ContentsOf(const Family& family);

  // RocksDB does not tell all table factories. What one of a DB's files knows,
  // goes for all.
  std::atomic<uint64_t> log_period_seconds_{0};
  mutable std::mutex mutex_;
  std::map<FamilyId, Family> families_;
};

// An open file, for as long as this object lives. The registry, and the Env and
// Logger of the announcement, outlive it. Thread safe.
class RegisteredFile {
 public:
  RegisteredFile(FilterRegistry* registry,
                 FilterRegistry::Announcement announcement, FilterUse use);
  ~RegisteredFile();

  RegisteredFile(const RegisteredFile&) = delete;
  RegisteredFile& operator=(const RegisteredFile&) = delete;

  // Adds a tally that sums up to so many events.
  void Add(const SeekTally& seeks, uint32_t events) {
    counts_.Add(seeks, events);
    // May lose steps, which does not matter.
    const uint32_t steps = 1 + hand_overs_.load(std::memory_order_relaxed);
    hand_overs_.store(steps, std::memory_order_relaxed);
    if (steps % kHandOversPerLook == 0) registry_->LogIfDue(*this);
  }

  FilterUse use() const { return use_.load(std::memory_order_relaxed); }
  // What comes out only when the filter is read.
  void SetUse(FilterUse use) {
    if (this->use() != use) use_.store(use, std::memory_order_relaxed);
  }

 private:
  friend class FilterRegistry;

  // Between two looks at the clock.
  static constexpr uint32_t kHandOversPerLook = 64;

  FilterRegistry* const registry_;
  const FilterRegistry::Announcement announcement_;
  std::atomic<FilterUse> use_;
  // Apart from what every seek reads.
  alignas(CACHE_LINE_SIZE) SharedSeekCounts counts_;
  std::atomic<uint32_t> hand_overs_{0};
  FilterRegistry::Family* const family_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
