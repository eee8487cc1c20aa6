// SPDX-License-Identifier: Apache-2.0

#include "tools/live_request.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "file/filename.h"
#include "filter_policy/samples/read_file.h"
#include "filter_policy/samples/replace_file.h"
#include "rocksdb/file_system.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookPeriod(50);
// The answer to a refresh changes every few seconds as long as its process
// lives.
constexpr std::chrono::seconds kMaxSilence(60);

// The owner of the DB's files, if that is another user than this process's.
// The process that has the DB open most likely runs as that user.
std::optional<struct stat> OtherOwner(const Target& target) {
  struct stat current;
  if (!target.env()->GetFileSystem()->IsInstanceOf(
          FileSystem::kDefaultName()) ||
      stat(CurrentFileName(target.db()).c_str(), &current) != 0 ||
      current.st_uid == geteuid()) {
    return std::nullopt;
  }
  return current;
}

// One request and its answer.
class Exchange {
 public:
  Exchange(const Target& target, const LiveRequest& request)
      : target_(target),
        env_(target.env()),
        request_(request),
        request_file_(LiveRequestFile(target.db())) {
    request_.id = env_->GenerateUniqueId();
  }

  const std::string& id() const { return request_.id; }

  // Whether another request is in the way. One that nothing has taken in time
  // is deleted.
  bool IsSlotTaken() const {
    if (!env_->FileExists(request_file_).ok()) return false;
    uint64_t modified = 0;
    int64_t now = 0;
    if (env_->GetFileModificationTime(request_file_, &modified).ok() &&
        env_->GetCurrentTime(&now).ok() &&
        static_cast<int64_t>(modified) < now - LiveRequest::kMaxAgeSeconds) {
      env_->DeleteFile(request_file_).PermitUncheckedError();
      return false;
    }
    return true;
  }

  Status Send() {
    const std::optional<struct stat> owner = OtherOwner(target_);
    if (owner.has_value() && geteuid() != 0) {
      return Status::IOError(
          "the files of the DB belong to user " +
          std::to_string(owner->st_uid) +
          ", as whom its process most likely runs, and who could not read a "
          "request of user " +
          std::to_string(geteuid()) + "; ask as that user, or as root");
    }
    Status s = env_->GetCurrentTime(&request_.written_seconds);
    const std::string text = request_.ToText();
    if (s.ok() && text.size() > LiveRequest::kMaxBytes) {
      s = Status::InvalidArgument(
          "the request has " + std::to_string(text.size()) +
          " bytes, and a process takes up to " +
          std::to_string(LiveRequest::kMaxBytes) + "; give shorter keys");
    }
    return s.ok() ? WriteNewFile(env_, request_file_, text,
                                 owner.has_value() ? &*owner : nullptr)
                  : s;
  }

  // Whether the request could still be deleted: nothing has taken it.
  bool Withdraw() const {
    std::string text;
    LiveRequest waiting;
    return ReadPlainFile(env_, request_file_, LiveRequest::kMaxBytes, &text)
               .ok() &&
           LiveRequest::Parse(text, &waiting).ok() &&
           waiting.id == request_.id && env_->DeleteFile(request_file_).ok();
  }

  // NotFound if there is no answer yet. An answer that will not be replaced is
  // deleted.
  Status Read(LiveAnswer* answer, std::string* text) const {
    const std::string file = LiveAnswerFile(target_.db(), request_.id);
    if (!env_->FileExists(file).ok()) return Status::NotFound();
    Status s = ReadPlainFile(env_, file, LiveAnswer::kMaxBytes, text);
    if (s.ok()) s = LiveAnswer::Parse(*text, answer);
    if (!s.ok() || answer->state != LiveAnswer::State::kRunning) DeleteAnswer();
    return s;
  }
  void DeleteAnswer() const {
    env_->DeleteFile(LiveAnswerFile(target_.db(), request_.id))
        .PermitUncheckedError();
  }

 private:
  const Target& target_;
  Env* const env_;
  LiveRequest request_;
  const std::string request_file_;
};

// What can be done with a DB that no process has open.
const char* WithoutProcess(LiveRequest::Kind kind) {
  switch (kind) {
    case LiveRequest::Kind::kRefresh:
    case LiveRequest::Kind::kStop:
      return "; without --live, protean refresh works on a DB that no process "
             "has open";
    case LiveRequest::Kind::kSaveSamples:
      return "; a DB that is closed has saved its samples, which protean "
             "samples show prints";
    case LiveRequest::Kind::kStatistics:
      break;
  }
  return "; what the files alone tell is shown by protean inspect";
}

Status Unanswered(const Target& target, LiveRequest::Kind kind,
                  uint64_t seconds) {
  return Status::TimedOut(
      "no process with a FilterRefresher has the DB " + target.db() +
      " open: nothing took the request within " + std::to_string(seconds) +
      " s, so it was withdrawn" + WithoutProcess(kind));
}

}  // namespace

void LiveFlags::AddFlags(Arguments* arguments) {
  arguments->Add("live",
                 "ask the process that has the DB open, which must have a "
                 "protean::FilterRefresher of the column family",
                 &live_);
  arguments->Add("timeout", "N",
                 "with --live, wait N seconds for a process to take the "
                 "request; default: 10",
                 &timeout_seconds_);
}

Status AskLive(const Target& target, const LiveFlags& flags,
               LiveRequest request,
               const std::function<bool(const LiveAnswer*)>& watch,
               LiveAnswer* answer) {
  const std::chrono::seconds timeout(
      std::min(flags.timeout_seconds(), uint64_t{24} * 60 * 60));
  Exchange exchange(target, request);
  auto begin = Clock::now();
  while (exchange.IsSlotTaken()) {
    if (!watch(nullptr)) return Status::Incomplete("interrupted");
    if (Clock::now() - begin > timeout) {
      return Status::Busy("another request for the DB " + target.db() +
                          " waits to be taken; no process with a "
                          "FilterRefresher has the DB open, or try again");
    }
    std::this_thread::sleep_for(kLookPeriod);
  }
  Status s = exchange.Send();
  if (!s.ok()) return s;

  begin = Clock::now();
  auto changed = begin;
  std::string last;
  bool taken = false;
  bool stopped = false;
  for (;; std::this_thread::sleep_for(kLookPeriod)) {
    std::string text;
    s = exchange.Read(answer, &text);
    const bool answered = s.ok();
    if (!s.ok() && !s.IsNotFound()) return s;
    if (answered && answer->state != LiveAnswer::State::kRunning) return s;
    if (answered && text != last) {
      last = std::move(text);
      changed = Clock::now();
    }
    const bool goes_on = watch(answered ? answer : nullptr);
    if (!answered && !taken && (!goes_on || Clock::now() - begin > timeout)) {
      if (exchange.Withdraw()) {
        return goes_on
                   ? Unanswered(target, request.kind, flags.timeout_seconds())
                   : Status::Incomplete(
                         "interrupted; the request was withdrawn");
      }
      // The answer is being written.
      taken = true;
      changed = Clock::now();
    }
    if ((answered || taken) && Clock::now() - changed > kMaxSilence) {
      exchange.DeleteAnswer();
      return Status::TimedOut(
          "the process that took the request has been "
          "silent for a minute; it may have ended");
    }
    if (answered && !goes_on && !stopped) {
      stopped = true;
      LiveRequest stop;
      stop.kind = LiveRequest::Kind::kStop;
      stop.stopped_id = exchange.id();
      LiveAnswer ignored;
      s = AskLive(
          target, flags, stop, [](const LiveAnswer*) { return true; },
          &ignored);
      if (!s.ok()) return s;
    }
  }
}

Status StatusOf(const LiveAnswer& answer) {
  switch (answer.state) {
    case LiveAnswer::State::kRunning:
    case LiveAnswer::State::kDone:
      return Status::OK();
    case LiveAnswer::State::kFailed:
      return Status::Aborted(answer.message);
    case LiveAnswer::State::kRefused:
      return Status::InvalidArgument(answer.message);
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
