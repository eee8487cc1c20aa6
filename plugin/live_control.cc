// SPDX-License-Identifier: Apache-2.0

#include "plugin/live_control.h"

#include <algorithm>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/read_file.h"
#include "filter_policy/samples/replace_file.h"
#include "plugin/filter_statistics.h"
#include "plugin/live_limits.h"
#include "plugin/utf8_text.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using State = LiveAnswer::State;

constexpr std::chrono::seconds kPollPeriod(1);
// The answer to a refresh is replaced this often, as a sign of life, too.
constexpr uint64_t kPollsPerBeat = 2;
constexpr uint64_t kPollsPerCleaning = 60 * 60;
constexpr int64_t kAbandonedSeconds = 60 * 60;

LiveAnswer Made(State state, const std::string& message,
                const std::string& body = "") {
  LiveAnswer answer;
  answer.state = state;
  answer.message = message;
  answer.body = body;
  return answer;
}

// The filter policy of a column family; nullptr if it is not one of Protean's.
// `options` must live as long as the policy is used.
const ProteanFilterPolicy* PolicyOf(const Options& options) {
  const auto* table =
      options.table_factory->GetOptions<BlockBasedTableOptions>();
  return table == nullptr ? nullptr
                          : AsProteanFilterPolicy(table->filter_policy.get());
}

// Whether filters would be designed without any sample query.
bool LacksSamples(DB* db, ColumnFamilyHandle* column_family) {
  const Options options = db->GetOptions(column_family);
  const ProteanFilterPolicy* policy = PolicyOf(options);
  if (policy == nullptr) return false;  // RocksDB's filters need no design
  const std::shared_ptr<SampleStore> store = policy->Samples();
  return store == nullptr ||
         store->Queue(column_family->GetName(), db->GetEnv(),
                      /*logger=*/nullptr)
                 ->size() == 0;
}

LiveAnswer StatisticsOf(DB* db, const std::vector<LiveFamily*>& families,
                        LiveRequest::Format format) {
  std::vector<FilterStatistics> all(families.size());
  for (size_t i = 0; i < families.size(); i++) {
    const Status s =
        GetFilterStatistics(db, families[i]->column_family(), &all[i]);
    if (!s.ok()) return Made(State::kFailed, s.ToString());
  }
  std::string body;
  if (format == LiveRequest::Format::kPrometheus) {
    body = ToPrometheus(all);
  } else {
    for (const FilterStatistics& statistics : all) {
      body += format == LiveRequest::Format::kJson ? statistics.ToJson() + "\n"
                                                   : statistics.ToString();
    }
  }
  return Made(State::kDone, "", body);
}

LiveAnswer SaveSamples(DB* db, const std::vector<LiveFamily*>& families) {
  std::string body = "{";
  for (const LiveFamily* family : families) {
    ColumnFamilyHandle* const handle = family->column_family();
    const std::string& name = handle->GetName();
    const Options options = db->GetOptions(handle);
    const ProteanFilterPolicy* policy = PolicyOf(options);
    const std::shared_ptr<SampleStore> store =
        policy == nullptr ? nullptr : policy->Samples();
    if (store == nullptr || store->options().samples_file.empty()) {
      if (families.size() > 1) continue;
      return Made(State::kRefused,
                  "the filter policy of column family " + name +
                      " has no samples_file to save the samples in");
    }
    const Status s = store->Save(name, db->GetEnv());
    if (!s.ok()) return Made(State::kFailed, s.ToString());
    body += (body.size() > 1 ? ",\"" : "\"") + JsonText(name) + "\":\"" +
            JsonText(store->SamplesFile(name)) + "\"";
  }
  return body.size() == 1
             ? Made(State::kRefused, "no filter policy has a samples_file")
             : Made(State::kDone, "", body + "}");
}

}  // namespace

// ---- LiveRefresh ----

bool LiveRefresh::Progress(const RefreshProgress& progress) {
  const std::lock_guard<std::mutex> lock(mutex_);
  answer_.progress = progress;
  return !stopped_;
}

void LiveRefresh::End(const Status& status, const RefreshResult& result) {
  const std::lock_guard<std::mutex> lock(mutex_);
  answer_.state = status.ok() ? State::kDone : State::kFailed;
  if (status.IsIncomplete() && !stopped_) {
    answer_.message =
        "the process that has the DB open has ended the refresh, most likely "
        "since it closes the DB; files that have been rewritten stay so, and "
        "the same command continues with the others";
  } else if (!status.ok()) {
    answer_.message = status.ToString();
  }
  answer_.body = result.ToJson();
}

LiveAnswer LiveRefresh::Answer() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  LiveAnswer answer = answer_;
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - began_;
  answer.seconds = elapsed.count();
  return answer;
}

// ---- LiveControl ----

std::shared_ptr<LiveControl> LiveControl::Of(DB* db) {
  static std::mutex mutex;
  // Not destroyed when the process ends: DBs may be closed later.
  static auto& controls = *new std::map<DB*, std::weak_ptr<LiveControl>>;
  DB* const root = db->GetRootDB();
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto entry = controls.begin(); entry != controls.end();) {
    entry = entry->second.expired() ? controls.erase(entry) : ++entry;
  }
  std::shared_ptr<LiveControl> control = controls[root].lock();
  if (control == nullptr) {
    control = std::make_shared<LiveControl>(root);
    controls[root] = control;
  }
  return control;
}

LiveControl::LiveControl(DB* db) : db_(db), thread_([this] { Loop(); }) {}

LiveControl::~LiveControl() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void LiveControl::Add(LiveFamily* family) {
  const std::lock_guard<std::mutex> lock(mutex_);
  // The last one answers if a column family has several.
  families_[family->column_family()->GetName()] = family;
}

void LiveControl::Remove(LiveFamily* family) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = families_.find(family->column_family()->GetName());
  if (entry != families_.end() && entry->second == family) {
    families_.erase(entry);
  }
  AnswerRefreshes();
}

void LiveControl::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_.wait_for(lock, kPollPeriod, [this] { return ends_; })) {
    if (polls_ % kPollsPerCleaning == 0) DeleteAbandonedAnswers();
    if (!refreshes_.empty()) AnswerRefreshes();
    if (!families_.empty()) Poll();
    polls_++;
  }
}

void LiveControl::Poll() {
  Env* const env = db_->GetEnv();
  const std::string file = LiveRequestFile(db_->GetName());
  if (!env->FileExists(file).ok()) return;
  std::string text;
  Status s = ReadPlainFile(env, file, LiveRequest::kMaxBytes, &text);
  if (!s.ok() && !s.IsInvalidArgument()) {
    // Perhaps the one who asks is about to give the file to this process.
    LogOnce("a request cannot be read: " + s.ToString());
    return;
  }
  LiveRequest request;
  if (s.ok()) s = LiveRequest::Parse(text, &request);
  // A request that cannot be deleted would be obeyed again and again.
  const Status deleted = env->DeleteFile(file);
  if (!deleted.ok()) {
    LogOnce("a request cannot be taken: " + deleted.ToString());
    return;
  }
  int64_t now = 0;
  if (s.ok() && env->GetCurrentTime(&now).ok() &&
      (request.written_seconds < now - LiveRequest::kMaxAgeSeconds ||
       request.written_seconds > now + LiveRequest::kMaxAgeSeconds)) {
    s = Status::InvalidArgument(
        "the request was not written now, or the clocks of this process and of "
        "the one who asks differ");
  }
  if (!s.ok()) {
    LogOnce("a request was refused: " + s.ToString());
    if (!request.id.empty()) {
      Write(request.id, Made(State::kRefused, s.getState()));
    }
    return;
  }
  logged_.clear();
  Write(request.id, Handle(request));
}

std::vector<LiveFamily*> LiveControl::Chosen(const LiveRequest& request) const {
  std::vector<LiveFamily*> chosen;
  for (const auto& [name, family] : families_) {
    if (request.column_family.empty() || request.column_family == name) {
      chosen.push_back(family);
    }
  }
  return chosen;
}

LiveAnswer LiveControl::NoFamily(const LiveRequest& request) const {
  std::string names;
  for (const auto& [name, family] : families_) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return Made(
      State::kRefused,
      "column family " + request.column_family +
          " has no FilterRefresher in this process; with one: " + names);
}

LiveAnswer LiveControl::Handle(const LiveRequest& request) {
  using Kind = LiveRequest::Kind;
  if (request.kind == Kind::kStop) {
    for (const std::shared_ptr<LiveRefresh>& refresh : refreshes_) {
      if (refresh->id != request.stopped_id) continue;
      refresh->Stop();
      return Made(State::kDone, "");
    }
    return Made(State::kRefused, "that refresh is not running");
  }
  const std::vector<LiveFamily*> chosen = Chosen(request);
  if (chosen.empty()) return NoFamily(request);
  switch (request.kind) {
    case Kind::kRefresh:
      return BeginRefresh(request);
    case Kind::kSaveSamples:
      return SaveSamples(db_, chosen);
    default:
      return StatisticsOf(db_, chosen, request.format);
  }
}

LiveAnswer LiveControl::BeginRefresh(const LiveRequest& request) {
  const std::vector<LiveFamily*> chosen = Chosen(request);
  if (chosen.size() > 1) {
    return Made(State::kRefused, "a refresh is of one column family");
  }
  LiveFamily* const family = chosen[0];
  const Comparator* const order = family->column_family()->GetComparator();
  RefreshOptions options;
  const Status s =
      LimitRefresh(family->options(), request.refresh, *order, &options);
  if (!s.ok()) return Made(State::kRefused, s.getState());
  if (!request.without_samples && !options.dry_run && !options.all_files &&
      LacksSamples(db_, family->column_family())) {
    return Made(State::kRefused,
                "column family " + family->column_family()->GetName() +
                    " has no samples of queries, so its files would be read "
                    "and perhaps rewritten for queries that are generated from "
                    "their keys; give --without_samples if that is what you "
                    "want, or see first with --dry_run");
  }
  const auto refresh = std::make_shared<LiveRefresh>(request.id, options);
  if (!family->Begin(refresh)) {
    return Made(State::kRefused, "a refresh of column family " +
                                     family->column_family()->GetName() +
                                     " is running");
  }
  Log(InfoLogLevel::INFO_LEVEL, db_->GetDBOptions().info_log,
      "Protean: an operator asked for a refresh of column family %s",
      family->column_family()->GetName().c_str());
  refreshes_.push_back(refresh);
  // AnswerRefreshes alone says that it has ended, and forgets it.
  return Made(State::kRunning, "");
}

void LiveControl::AnswerRefreshes() {
  for (auto entry = refreshes_.begin(); entry != refreshes_.end();) {
    const LiveAnswer answer = (*entry)->Answer();
    const bool runs = answer.state == State::kRunning;
    if (!runs || polls_ % kPollsPerBeat == 0) Write((*entry)->id, answer);
    entry = runs ? ++entry : refreshes_.erase(entry);
  }
}

void LiveControl::Write(const std::string& id, const LiveAnswer& answer) {
  const Status s = WriteNewFile(
      db_->GetEnv(), LiveAnswerFile(db_->GetName(), id), answer.ToText());
  if (!s.ok()) LogOnce("an answer cannot be written: " + s.ToString());
}

void LiveControl::DeleteAbandonedAnswers() {
  Env* const env = db_->GetEnv();
  int64_t now = 0;
  std::vector<std::string> names;
  if (!env->GetCurrentTime(&now).ok() ||
      !env->GetChildren(db_->GetName(), &names).ok()) {
    return;
  }
  for (const std::string& name : names) {
    if (!Slice(name).starts_with(kLiveAnswerPrefix)) continue;
    const std::string file = db_->GetName() + "/" + name;
    uint64_t modified = 0;
    if (env->GetFileModificationTime(file, &modified).ok() &&
        static_cast<int64_t>(modified) < now - kAbandonedSeconds) {
      env->DeleteFile(file).PermitUncheckedError();
    }
  }
}

void LiveControl::LogOnce(const std::string& line) {
  if (line == logged_) return;
  logged_ = line;
  Log(InfoLogLevel::WARN_LEVEL, db_->GetDBOptions().info_log, "Protean: %s",
      line.c_str());
}

}  // namespace ROCKSDB_NAMESPACE::protean
