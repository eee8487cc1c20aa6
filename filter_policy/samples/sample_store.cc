// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/samples/sample_store.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <locale>

#include "filter_policy/samples/files.h"
#include "filter_policy/samples/query_file.h"
#include "rocksdb/db.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

void Warn(Logger* logger, const std::string& message) {
  Log(InfoLogLevel::WARN_LEVEL, logger, "Protean: %s", message.c_str());
}

// Limits the warnings, so that a file of bad lines does not fill the log.
void WarnOfRefused(Logger* logger, const std::vector<std::string>& refused) {
  constexpr size_t kMaxWarnings = 10;
  for (size_t i = 0; i < refused.size() && i < kMaxWarnings; i++) {
    Warn(logger, refused[i]);
  }
  if (refused.size() > kMaxWarnings) {
    Warn(logger, "and " + std::to_string(refused.size() - kMaxWarnings) +
                     " more such lines");
  }
}

// Returns OK without any query if the file does not exist.
Status ReadIfExists(Env* env, const std::string& file,
                    std::vector<SampleQuery>* queries,
                    std::vector<std::string>* refused, uint64_t* fingerprint) {
  if (file.empty() || env->FileExists(file).IsNotFound()) return Status::OK();
  return ReadSavedQueries(env, file, queries, refused, fingerprint);
}

}  // namespace

std::string SampleStore::SamplesFile(const std::string& column_family) const {
  if (options_.samples_file.empty() ||
      column_family == kDefaultColumnFamilyName) {
    return options_.samples_file;
  }
  std::string name;
  for (const char c : column_family) {
    const bool plain = std::isalnum(c, std::locale::classic());
    name +=
        plain ? std::string(1, c) : "%" + Slice(&c, 1).ToString(/*hex=*/true);
  }
  if (name.size() > kMaxNameBytes) {
    // The hyphen is no plain character, so the name cannot be that of another
    // column family.
    char rest[18];
    snprintf(rest, sizeof(rest), "-%016" PRIx64,
             Hash64(column_family.data(), column_family.size()));
    name.resize(kMaxNameBytes - strlen(rest));
    name += rest;
  }
  return options_.samples_file + "." + name;
}

Status SampleStore::Validate(Env* env) const {
  for (const auto& [option, file] :
       {std::make_pair("seed_file=", options_.seed_file),
        std::make_pair("samples_file=", options_.samples_file)}) {
    const Status s = file.empty() ? Status::OK() : CheckNoDevice(env, file);
    if (!s.ok()) {
      return Status::InvalidArgument(
          option + std::string(s.getState()) +
          "; allowed: the name of a file, which need not exist");
    }
  }
  const std::string& saved = options_.samples_file;
  if (!saved.empty()) {
    const std::string folder = saved.substr(0, saved.rfind('/'));
    const char* const wrong = saved[0] != '/' ? "is a relative path"
                              : !folder.empty() && !env->FileExists(folder).ok()
                                  ? "is in a folder that does not exist"
                                  : nullptr;
    if (wrong != nullptr) {
      return Status::InvalidArgument(
          "samples_file=" + saved + " " + wrong +
          "; allowed: the absolute path of a file in a folder that exists");
    }
  }
  std::vector<SampleQuery> seeds;
  return ParseSeeds(options_.seeds, &seeds);
}

void SampleStore::SetLimits(size_t capacity, uint32_t sample_every) {
  const std::lock_guard<std::mutex> lock(mutex_);
  options_.sample_capacity = capacity;
  options_.sample_every = sample_every;
  for (auto& entry : entries_) {
    entry.second.queue->SetLimits(capacity, sample_every);
  }
}

void SampleStore::ReadSeeds(Env* env) {
  if (seeds_read_) return;
  seeds_read_ = true;
  Status s;
  if (!options_.seed_file.empty()) {
    s = ReadQueryFile(env, options_.seed_file, &seeds_, &bad_seeds_);
    if (s.ok()) return;
    bad_seeds_.push_back("the DB does without its seed_file: " + s.ToString());
  }
  s = ParseSeeds(options_.seeds, &seeds_);
  if (!s.ok()) bad_seeds_.push_back(s.ToString());
}

SampleStore::Entry* SampleStore::GetEntry(const std::string& column_family,
                                          Env* env, Logger* logger) {
  const auto found = entries_.find(column_family);
  if (found != entries_.end()) return &found->second;
  // The queue that has been idle for longest goes, if there are too many.
  size_t idle = 0;
  auto oldest = entries_.end();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->second.holders > 0) continue;
    idle++;
    if (oldest == entries_.end() || it->second.left < oldest->second.left) {
      oldest = it;
    }
  }
  if (idle > kMaxIdle) entries_.erase(oldest);
  Entry& entry = entries_[column_family];
  entry.queue =
      std::make_shared<QueryQueue>(options_.sample_capacity, options_.sample_every);
  entry.queue->CountIn(/*cap=*/nullptr);
  const std::string file = SamplesFile(column_family);
  std::vector<SampleQuery> restored;
  std::vector<std::string> refused;
  Status s = ReadIfExists(env, file, &restored, &refused, &entry.file);
  entry.may_save = !file.empty() && s.ok();
  if (!s.ok()) Warn(logger, "samples are not restored: " + s.ToString());
  WarnOfRefused(logger, refused);
  if (!restored.empty()) {
    // The restored queries include the seeds that were still in the queue.
    for (SampleQuery& query : restored) entry.queue->Add(std::move(query));
  } else {
    ReadSeeds(env);
    for (const SampleQuery& query : seeds_) entry.queue->Add(query);
  }
  if (logger != nullptr) {
    WarnOfRefused(logger, bad_seeds_);
    bad_seeds_.clear();
  }
  entry.saved = entry.queue->recorded();
  return &entry;
}

std::shared_ptr<QueryQueue> SampleStore::Queue(const std::string& column_family,
                                               Env* env, Logger* logger) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return GetEntry(column_family, env, logger)->queue;
}

std::shared_ptr<QueryQueue> SampleStore::Open(
    const std::string& column_family, Env* env, Logger* logger,
    const std::shared_ptr<Cache>& cap) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry* const entry = GetEntry(column_family, env, logger);
  if (entry->holders++ == 0 && cap != nullptr) {
    entry->queue->CountIn(cap);
  }
  const auto close = [store = shared_from_this(), queue = entry->queue,
                      column_family, env, logger](QueryQueue*) {
    store->Close(column_family, env, logger);
  };
  return {entry->queue.get(), close};
}

Status SampleStore::Save(const std::string& column_family, Env* env) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = entries_.find(column_family);
  return entry == entries_.end()
             ? Status::OK()
             : SaveEntry(column_family, &entry->second, env);
}

Status SampleStore::SaveEntry(const std::string& column_family, Entry* entry,
                              Env* env) {
  const uint64_t recorded = entry->queue->recorded();
  if (!entry->may_save || recorded == entry->saved) return Status::OK();
  const std::string file = SamplesFile(column_family);
  std::vector<SampleQuery> queries = entry->queue->Snapshot();
  std::vector<SampleQuery> others;
  std::vector<std::string> refused;
  uint64_t fingerprint = 0;
  Status s = ReadIfExists(env, file, &others, &refused, &fingerprint);
  if (s.ok() && fingerprint != 0 && fingerprint != entry->file) {
    const size_t added =
        std::min<uint64_t>(recorded - entry->saved, queries.size());
    others.insert(others.end(), queries.end() - static_cast<ptrdiff_t>(added),
                  queries.end());
    QueryQueue all(options_.sample_capacity);
    for (SampleQuery& query : others) all.Add(std::move(query));
    queries = all.Snapshot();
  }
  if (s.ok()) s = WriteQueryFile(env, file, queries, &entry->file);
  if (s.ok()) entry->saved = recorded;
  return s;
}

void SampleStore::Close(const std::string& column_family, Env* env,
                        Logger* logger) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[column_family];
  if (--entry.holders > 0) return;
  entry.left = ++closes_;
  for (const auto& then : when_closed_) then(column_family);
  const Status s = SaveEntry(column_family, &entry, env);
  if (!s.ok()) {
    Warn(logger, "samples of column family " + column_family +
                     " are not saved: " + s.ToString());
  } else if (entry.may_save) {
    // Opening the DB again restores the file, which may have been changed
    // meanwhile.
    entries_.erase(column_family);
    return;
  }
  // The cache need not outlive the DB.
  entry.queue->CountIn(/*cap=*/nullptr);
}

void SampleStore::WhenClosed(std::function<void(const std::string&)> then) {
  const std::lock_guard<std::mutex> lock(mutex_);
  when_closed_.push_back(std::move(then));
}

}  // namespace ROCKSDB_NAMESPACE::protean
