// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/db_session.h"

#include <algorithm>
#include <map>

namespace ROCKSDB_NAMESPACE::protean {

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

// No shared_ptr is taken, because releasing the last one saves the queues,
// which needs the Env and the Logger of a DB that may be closed meanwhile.
std::vector<FamilyState> DBSession::StatesIn(
    const OpenFamilies::PathFilter& selects) {
  std::vector<FamilyState> all;
  const std::lock_guard<std::mutex> lock(All().mutex);
  for (const auto& [id, db] : All().by_id) {
    for (FamilyState& family : db->families_.StatesIn(selects)) {
      all.push_back(std::move(family));
    }
  }
  return all;
}

uint64_t DBSession::PriceOf(const std::string& id, const void* family,
                            int level, const Statistics* statistics) {
  const std::lock_guard<std::mutex> lock(All().mutex);
  const auto found = All().by_id.find(id);
  const uint64_t price =
      found == All().by_id.end()
          ? 0
          : found->second->families_.PriceOf(family, level, statistics);
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

BuildCounts DBSession::BuiltFor(const void* family) const {
  const std::lock_guard<std::mutex> lock(All().mutex);
  const auto db = All().built.find(id_);
  if (db == All().built.end()) return {};
  const auto built = db->second.find(family);
  return built == db->second.end() ? BuildCounts() : built->second.counts;
}

std::string DBSession::IdOf(const std::string& db_session_id,
                            const Logger* info_log) {
  if (!db_session_id.empty() || info_log == nullptr) return db_session_id;
  return "log " + std::to_string(reinterpret_cast<uintptr_t>(info_log));
}

DBSession::~DBSession() {
  for (UsedQueue& used : queues_) used.session.reset();
  const std::lock_guard<std::mutex> lock(All().mutex);
  const auto entry = All().by_id.find(id_);
  // The DB may have been joined again meanwhile.
  if (entry != All().by_id.end() && entry->second == this) {
    All().by_id.erase(entry);
    All().built.erase(id_);
  }
}

std::vector<DBSession::UsedQueue> DBSession::TakeIdleQueues() {
  // The count of a session that is held here alone cannot rise meanwhile: new
  // holders get it from Queue.
  const auto is_idle = [](const UsedQueue& used) {
    return used.session.use_count() == 1;
  };
  std::vector<UsedQueue> taken;
  auto idle = std::count_if(queues_.begin(), queues_.end(), is_idle);
  for (auto used = queues_.begin();
       idle > static_cast<ptrdiff_t>(kMaxIdleQueues) &&
       used != queues_.end();) {
    if (is_idle(*used)) {
      taken.push_back(std::move(*used));
      used = queues_.erase(used);
      idle--;
    } else {
      ++used;
    }
  }
  return taken;
}

std::shared_ptr<SampleSession> DBSession::Queue(
    const std::shared_ptr<SampleStore>& store, const std::string& column_family,
    Env* env, Logger* logger) {
  std::vector<UsedQueue> closed;  // destroyed, and saved, without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const UsedQueue& used : queues_) {
    if (used.store == store && used.column_family == column_family) {
      return used.session;
    }
  }
  closed = TakeIdleQueues();
  queues_.push_back(
      {store, column_family, store->Open(column_family, env, logger)});
  return queues_.back().session;
}

}  // namespace ROCKSDB_NAMESPACE::protean
