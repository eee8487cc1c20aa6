// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/open_families.h"

#include <algorithm>
#include <map>

#include "filter_policy/protean_filter_policy.h"
#include "monitoring/statistics_impl.h"
#include "rocksdb/db.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- DB session ----

namespace {

struct OpenSessions {
  std::mutex mutex;
  // A session removes its entry in its destructor, so all pointers are valid
  // while the mutex is held. The last shared_ptr may be gone by then.
  std::map<std::string, DBSession*> by_id;

  struct Built {
    std::string family_name;
    BuildCounts counts;
  };
  // The filters that were built for the column families of a DB. The first one
  // is built before the DB opens a file, and so before there is a session.
  std::map<std::string, std::map<const void*, Built>> built;
};

OpenSessions& All() {
  static auto* const all = new OpenSessions;
  return *all;
}

}  // namespace

FamilyState DBSession::StateOf(const Family& family) {
  FamilyState state;
  state.refreshes = family.refreshes;
  for (const auto& [number, level] : family.levels) {
    const GetCounts gets = level.gets.Load();
    // A file that was opened only to be inspected leaves no trace.
    if (!level.closed_files.IsZero() || !gets.IsZero()) {
      state.levels[number] = {level.closed_files, gets};
    }
  }
  state.open_files.reserve(family.open_files.size());
  for (const OpenFile* file : family.open_files) {
    state.open_files.push_back(file->State());
  }
  return state;
}

FamilyState DBSession::StateOf(const void* family) const {
  FamilyState state;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = families_.find(family);
    if (found != families_.end()) state = StateOf(found->second);
  }
  // Other DBs need not wait for the walk over the files.
  const std::lock_guard<std::mutex> lock_all(All().mutex);
  const auto db = All().built.find(id_);
  if (db == All().built.end()) return state;
  const auto built = db->second.find(family);
  if (built != db->second.end()) state.builds = built->second.counts;
  return state;
}

// No shared_ptr is taken, because releasing the last one saves the queues,
// which needs the Env and the Logger of a DB that may be closed meanwhile.
std::vector<FamilyState> DBSession::StatesIn(const PathFilter& selects) {
  std::vector<FamilyState> found;
  const std::lock_guard<std::mutex> lock_all(All().mutex);
  for (const auto& [id, db] : All().by_id) {
    const std::lock_guard<std::mutex> lock(db->mutex_);
    for (const auto& [address, family] : db->families_) {
      const bool is_there =
          std::any_of(family.open_files.begin(), family.open_files.end(),
                      [&](const OpenFile* file) {
                        return selects(file->description_.path);
                      });
      if (is_there) found.push_back(StateOf(family));
    }
  }
  return found;
}

void DBSession::WithRefreshes(
    const void* family,
    const std::function<void(RefreshCounts*, RefreshMemory*)>& function) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Family& entry = families_[family];
  function(&entry.refreshes, &entry.refresh_memory);
}

uint64_t DBSession::PriceOf(const void* family, int level,
                            const Statistics* statistics) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const double file_micros = file_read_time_.Update(statistics);
  const auto found = families_.find(family);
  if (found == families_.end()) return 0;
  const auto of_level = found->second.levels.find(level);
  if (of_level == found->second.levels.end()) return 0;
  return of_level->second.price.Update(of_level->second.gets.Load().reads,
                                       file_micros);
}

void DBSession::Add(OpenFile* file) {
  const FileDescription& description = file->description_;
  if (description.log_period_seconds > 0) {
    log_period_seconds_.StoreRelaxed(description.log_period_seconds);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  Family& family = families_[description.family];
  if (!description.family_name.empty()) {
    // A new column family may be at the address of one that was dropped.
    if (family.open_files.empty() && family.name != description.family_name) {
      family.levels.clear();
    }
    family.name = description.family_name;
  }
  file->family_ = &family;
  file->level_ = &family.levels[description.level];
  family.open_files.insert(file);
}

void DBSession::Remove(const OpenFile& file) {
  const std::lock_guard<std::mutex> lock(mutex_);
  file.family_->open_files.erase(&file);
  file.level_->closed_files += file.Counts();
}

void DBSession::LogIfDue(const OpenFile& file) {
  constexpr uint64_t kMicrosPerSecond = 1000 * 1000;
  const FileDescription& description = file.description_;
  const uint64_t period = log_period_seconds_.LoadRelaxed();
  if (period == 0) return;
  Family* const family = file.family_;
  const uint64_t period_micros = period * kMicrosPerSecond;
  const uint64_t now = description.env->NowMicros();
  uint64_t due = family->next_line_micros.load(std::memory_order_relaxed);
  // If the line is due later than one period from now, the clock has been set
  // back, and the line is due now.
  if (now < due && due - now <= period_micros) return;
  // Among several threads, the one that advances the time writes the line. The
  // first call writes none, because nothing has been counted yet.
  if (!family->next_line_micros.compare_exchange_strong(due,
                                                        now + period_micros) ||
      due == 0) {
    return;
  }
  std::string name;
  std::string line;
  LevelSums total;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    name = family->name.empty() ? "unknown" : family->name;
    line = ToLogLine(SumByLevel(StateOf(*family), &total));
  }
  Log(InfoLogLevel::INFO_LEVEL, description.info_log,
      "Protean: column family %s:%s", name.c_str(), line.c_str());
  const SeekCounts& seeks = total.counts.seeks;
  if (SeeksAreUnbounded(seeks.All(SeekKind::kOpen),
                        seeks.All(SeekKind::kClosed)) &&
      !family->warned_of_unbounded.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, description.info_log,
        "Protean: column family %s: nearly all seeks come without an upper "
        "bound, and then filters can seldom tell that nothing is there; set "
        "ReadOptions::iterate_upper_bound",
        name.c_str());
  }
}

bool SeeksAreUnbounded(uint64_t unbounded, uint64_t bounded) {
  constexpr uint64_t kEnough = 10'000;
  constexpr uint64_t kNearlyAll = 20;
  return unbounded >= kEnough && unbounded >= kNearlyAll * bounded;
}

std::shared_ptr<DBSession> DBSession::Join(const std::string& id) {
  if (id.empty()) return std::shared_ptr<DBSession>(new DBSession(id));
  const std::lock_guard<std::mutex> lock(All().mutex);
  DBSession*& entry = All().by_id[id];
  std::shared_ptr<DBSession> db;
  if (entry != nullptr) db = entry->weak_from_this().lock();
  if (db == nullptr) {
    db.reset(new DBSession(id));
    entry = db.get();
  }
  return db;
}

std::shared_ptr<DBSession> DBSession::Find(const std::string& id) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  const auto found = All().by_id.find(id);
  return found == All().by_id.end() ? nullptr
                                    : found->second->weak_from_this().lock();
}

uint64_t DBSession::PriceOf(const std::string& id, const void* family,
                            int level, const Statistics* statistics) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  const auto found = All().by_id.find(id);
  if (found == All().by_id.end()) return kUsualPrice;
  const uint64_t price = found->second->PriceOf(family, level, statistics);
  return price == 0 ? kUsualPrice : price;
}

void DBSession::AddBuilt(const std::string& id, const void* family,
                         const std::string& family_name,
                         const BuildCounts& counts) {
  // Not many DBs are closed after they have built filters and before they have
  // opened a file.
  constexpr size_t kMaxWithoutSession = 64;
  if (id.empty()) return;
  const std::lock_guard<std::mutex> lock(All().mutex);
  auto& built = All().built;
  for (auto db = built.begin();
       built.size() > All().by_id.size() + kMaxWithoutSession &&
       db != built.end();) {
    db = All().by_id.count(db->first) > 0 ? ++db : built.erase(db);
  }
  OpenSessions::Built& of_family = built[id][family];
  // A new column family may be at the address of one that was dropped.
  if (of_family.family_name != family_name) of_family = {family_name, {}};
  of_family.counts += counts;
}

std::string DBSession::IdOf(const std::string& db_session_id,
                            const Logger* info_log) {
  if (!db_session_id.empty() || info_log == nullptr) return db_session_id;
  return "log " + std::to_string(reinterpret_cast<uintptr_t>(info_log));
}

DBSession::~DBSession() {
  for (UsedQueue& used : queues_) used.queue.reset();
  const std::lock_guard<std::mutex> lock(All().mutex);
  const auto entry = All().by_id.find(id_);
  // The DB may have been joined again meanwhile.
  if (entry != All().by_id.end() && entry->second == this) {
    All().by_id.erase(entry);
    All().built.erase(id_);
  }
}

MissCache* DBSession::RememberMisses(size_t bytes,
                                     const std::shared_ptr<Cache>& cap) {
  if (MissCache* const made = misses()) return made;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (owned_misses_ == nullptr) {
    misses_memory_.emplace(cap);
    bytes = std::min(bytes, misses_memory_->RoomForTable());
    if (!misses_memory_->Resize(bytes)) bytes = 0;
    // Without room, there is one set.
    owned_misses_ = std::make_unique<MissCache>(bytes);
    misses_.store(owned_misses_.get(), std::memory_order_release);
  }
  return owned_misses_.get();
}

std::shared_ptr<QueryQueue> DBSession::Queue(
    const std::shared_ptr<SampleStore>& store, const std::string& column_family,
    const FileDescription& file) {
  std::vector<UsedQueue> closed;  // destroyed, and saved, without the lock
  const std::lock_guard<std::mutex> lock(queues_mutex_);
  for (const UsedQueue& used : queues_) {
    if (used.store == store && used.column_family == column_family) {
      return used.queue;
    }
  }
  // The count of a queue that is held here alone cannot rise meanwhile: new
  // holders get it from this function.
  const auto is_idle = [](const UsedQueue& used) {
    return used.queue.use_count() == 1;
  };
  for (auto idle = std::count_if(queues_.begin(), queues_.end(), is_idle);
       idle > static_cast<ptrdiff_t>(kMaxIdleQueues); idle--) {
    const auto used = std::find_if(queues_.begin(), queues_.end(), is_idle);
    closed.push_back(std::move(*used));
    queues_.erase(used);
  }
  queues_.push_back(
      {store, column_family,
       store->Open(column_family, file.env, file.info_log, file.memory_cap)});
  return queues_.back().queue;
}

// ---- Open file ----

OpenFile::OpenFile(const std::string& db_session_id,
                   FileDescription description, FilterUse use,
                   const ProteanFilterPolicy* policy)
    : db_(DBSession::Join(
          DBSession::IdOf(db_session_id, description.info_log))),
      description_(std::move(description)),
      use_(use) {
  const FileDescription& file = description_;
  // A file that was written outside of the DB names no column family.
  const std::string& family =
      file.family_name.empty() ? kDefaultColumnFamilyName : file.family_name;
  const auto samples = policy == nullptr ? nullptr : policy->Samples();
  if (samples != nullptr) {
    queue_ = db_->Queue(samples, family, file);
  }
  const auto trees = policy == nullptr || use != FilterUse::kUsed
                         ? nullptr
                         : policy->Filters();
  if (trees != nullptr && file.level >= 0) {
    FileFilter filter;
    filter.level = file.level;
    filter.keys = file.properties->num_filter_entries;
    filter.bits = 8 * file.properties->filter_size;
    GetKeyRange(file.properties->user_collected_properties, &filter.smallest,
                &filter.largest);
    tree_entry_ = trees->Add({file.info_log, family}, filter);
  }
  db_->Add(this);
  db_->LogIfDue(*this);
}

OpenFile::~OpenFile() {
  db_->LogIfDue(*this);
  db_->Remove(*this);
}

double OpenFile::ShareReadInVain(AskedFor asked_for) const {
  uint64_t found = 0;
  uint64_t in_vain = 0;
  if (asked_for == AskedFor::kGet) {
    const GetCounts gets = level_->gets.Load();
    found = gets.true_positives;
    in_vain = gets.positives - gets.true_positives;
  } else {
    const SeekCounts seeks = counts_.Load();
    found = seeks(SeekKind::kClosed, SeekEvent::kTruePositive);
    in_vain = seeks(SeekKind::kClosed, SeekEvent::kFalsePositive);
  }
  if (found + in_vain == 0) return 1;
  const ReadCounts reads = level_->gets.Load().reads;
  const double from_file = reads.all() == 0
                               ? 1
                               : static_cast<double>(reads.from_file) /
                                     static_cast<double>(reads.all());
  return from_file * static_cast<double>(in_vain) /
         static_cast<double>(found + in_vain);
}

bool OpenFile::Report(const char* what, const Status& why,
                      std::atomic<bool>* reported) const {
  if (description_.filter_loads != nullptr) {
    description_.filter_loads->AddFailed();
  }
  if (reported->exchange(true)) return false;
  Log(InfoLogLevel::WARN_LEVEL, description_.info_log,
      "ProteanTable: %s is read without %s: %s", description_.path.c_str(),
      what, why.ToString().c_str());
  return true;
}

void OpenFile::ReportDamage(const char* what, const Status& why) {
  // RocksDB counts only the damage that it finds itself.
  if (Report(what, why, &damage_reported_) && why.IsCorruption()) {
    RecordTick(description_.statistics, BLOCK_CHECKSUM_MISMATCH_COUNT);
  }
}

void OpenFile::ReportUnreadPart(const Status& why) {
  // Reads that may not go to the file, or run out of time, do not fail.
  if (why.IsCorruption()) {
    Report(kPart, why, &damage_reported_);
  } else if (why.IsIOError() || why.IsMemoryLimit()) {
    Report("a part of its filter while that cannot be read", why,
           &failure_reported_);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
