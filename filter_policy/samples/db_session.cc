#include "filter_policy/samples/db_session.h"

#include <algorithm>
#include <iterator>
#include <map>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct OpenSessions {
  std::mutex mutex;
  struct Open {
    std::weak_ptr<DBSession> session;
    std::weak_ptr<const FilterRegistry> filters;
  };
  std::map<std::string, Open> by_id;
};

OpenSessions& Sessions() {
  static auto* const sessions = new OpenSessions;
  return *sessions;
}

}  // namespace

std::shared_ptr<DBSession> DBSession::Join(const std::string& id) {
  if (id.empty()) return std::shared_ptr<DBSession>(new DBSession(id));
  OpenSessions& sessions = Sessions();
  const std::lock_guard<std::mutex> lock(sessions.mutex);
  OpenSessions::Open& open = sessions.by_id[id];
  std::shared_ptr<DBSession> session = open.session.lock();
  if (session == nullptr) {
    session.reset(new DBSession(id));
    open = {session, session->filters_};
  }
  return session;
}

std::shared_ptr<DBSession> DBSession::Find(const std::string& id) {
  OpenSessions& sessions = Sessions();
  const std::lock_guard<std::mutex> lock(sessions.mutex);
  const auto open = sessions.by_id.find(id);
  return open == sessions.by_id.end() ? nullptr : open->second.session.lock();
}

std::vector<std::shared_ptr<const FilterRegistry>> DBSession::AllFilters() {
  OpenSessions& sessions = Sessions();
  std::vector<std::shared_ptr<const FilterRegistry>> all;
  const std::lock_guard<std::mutex> lock(sessions.mutex);
  for (const auto& [id, open] : sessions.by_id) {
    if (auto filters = open.filters.lock()) all.push_back(std::move(filters));
  }
  return all;
}

std::string DBSession::IdOf(const std::string& db_session_id,
                            const Logger* info_log) {
  if (!db_session_id.empty() || info_log == nullptr) return db_session_id;
  return "log " + std::to_string(reinterpret_cast<uintptr_t>(info_log));
}

DBSession::~DBSession() {
  for (UsedQueue& used : queues_) used.session.reset();
  OpenSessions& sessions = Sessions();
  const std::lock_guard<std::mutex> lock(sessions.mutex);
  const auto open = sessions.by_id.find(id_);
  // By now it may be another session of the same DB.
  if (open != sessions.by_id.end() && open->second.session.expired()) {
    sessions.by_id.erase(open);
  }
}

std::vector<DBSession::UsedQueue> DBSession::TakeIdle() {
  // Others only let go of a session; who takes one, asks Queue.
  const auto is_idle = [](const UsedQueue& used) {
    return used.session.use_count() == 1;
  };
  std::vector<UsedQueue> taken;
  auto idle = std::count_if(queues_.begin(), queues_.end(), is_idle);
  for (auto used = queues_.begin();
       idle > static_cast<ptrdiff_t>(kMostIdle) && used != queues_.end();) {
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
  std::vector<UsedQueue> left;  // saves without the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const UsedQueue& used : queues_) {
    if (used.store == store && used.column_family == column_family) {
      return used.session;
    }
  }
  left = TakeIdle();
  queues_.push_back(
      {store, column_family, store->Open(column_family, env, logger)});
  return queues_.back().session;
}

std::shared_ptr<DBSession::Level> DBSession::LevelOf(
    const std::string& column_family, int level) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (levels_.size() >= most_levels_) {
    for (auto known = levels_.begin(); known != levels_.end();) {
      known = known->second.use_count() == 1 ? levels_.erase(known)
                                             : std::next(known);
    }
    most_levels_ = levels_.size() + kMostIdleLevels;
  }
  std::shared_ptr<Level>& shared = levels_[{column_family, level}];
  if (shared == nullptr) shared = std::make_shared<Level>();
  return shared;
}

}  // namespace ROCKSDB_NAMESPACE::protean
