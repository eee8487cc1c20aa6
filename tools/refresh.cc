// SPDX-License-Identifier: Apache-2.0

//  protean refresh: rewrites files whose filters no longer suit the queries.

#include <cinttypes>

#include "plugin/facts.h"
#include "plugin/refresh_filters.h"
#include "tools/command.h"
#include "tools/live_request.h"
#include "tools/opened_db.h"
#include "tools/reads.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Returns true if the DB would be opened with samples.
bool HasSamples(const TargetFamily& family) {
  const std::shared_ptr<SampleStore> store = family.samples();
  return store != nullptr &&
         store->Queue(family.name, family.options.env, nullptr)->size() > 0;
}

std::string WhyNotWithoutSamples(const TargetFamily& family) {
  uint64_t bytes = 0;
  for (const TargetFile& file : family.files) bytes += file.bytes;
  return Format(
      "column family %s has no samples of queries, so its %zu files, %s, would "
      "be read and perhaps rewritten for queries that are generated from their "
      "keys; %sgive --without_samples if that is what you want, or see first "
      "with --dry_run",
      PrintedName(family.name).c_str(), family.files.size(),
      PrintedBytes(bytes).c_str(),
      family.samples() != nullptr ? "give --samples=FILE; or " : "");
}

constexpr CommandText kRefresh = {
    "refresh",
    "Rewrites the SST files whose filters would do much better if they were "
    "designed for current queries.",
    "--db=DIR", "all of them",
    R"(A filter is designed when its file is written, for the queries of that time. This command finds the
files whose filters do badly with current queries and would do better if they were rebuilt, and
rewrites them into their own level, those with the largest gain per byte first. Current queries are
the samples that the DB has saved (samples_file of the filter policy), and those of --samples; a column
family without any is left alone unless --without_samples or --all is given. With --all, all files are
rewritten whose filters are not of the present policy, as after protean apply; the same command does the rest
after an interruption. With --live, the process that has the DB open does it, within the limits of its
protean::FilterRefresher (plugin/refresh_filters.h); otherwise no other process may have the DB open, except
with --dry_run. A TransactionDB (allow_2pc=true in its OPTIONS file) is not rewritten,
whatever its write policy: refresh it in its application.

Prints for each file what was done, the number of queries that it was judged by, and the false positive
rates of its old and its new filter for them. With --json, an object without "file" ends each column
family: its totals. Ctrl-C or SIGTERM stops the command after the current file.

Exit code: 0, 1 if files are damaged or could not be rewritten, 2 if the command failed or was
interrupted.

Examples:
  protean refresh --db=/data/db --dry_run
  protean refresh --live --db=/data/db --all --levels=5,6 --bytes_per_second=50M
  protean refresh --db=/data/db --column_family=events --samples=today.queries
)"};

class Refresh : public Command {
 public:
  Refresh() : Command(kRefresh) {
    live_.AddFlags(&flags_);
    flags_.Add(
        {{"levels", "N,...", &levels_,
          "only files of these levels, such as 0,1; default: all levels"},
         {"start", "KEY", &start_,
          "only files that may have keys from KEY on, which is text, or "
          "hexadecimal behind 0x; default: the first key"},
         {"limit", "KEY", &limit_,
          "only files that may have keys below KEY; default: no limit"},
         {"parallel", "N", &parallel_,
          "rewrite up to N files at the same time; default: 1, with --live as "
          "many as the application allows",
          1, RefreshOptions::kMaxParallelRewrites},
         {"dry_run", "", &options_.dry_run,
          "only print what would be rewritten"},
         {"all", "", &options_.all_files,
          "rewrite all files that have filters of another policy or size, "
          "whatever these do, such as after protean apply"},
         {"max_bytes", "N", &options_.max_bytes,
          "rewrite files of at most N bytes in all, such as 20G; default: no "
          "limit",
          1},
         {"bytes_per_second", "N", &options_.bytes_per_second,
          "read and rewrite at most N bytes per second on average, such as "
          "50M; default: no limit",
          1},
         {"min_gain", "X", &options_.min_gain,
          "rewrite a file only if its false positive rate falls by at least X, "
          "from 0 to 1; default: 0.02",
          0, 1},
         {"samples", "FILE", &samples_,
          "queries to use besides the samples that the DB has saved, one per "
          "line: key, or lo<TAB>hi. Except in a dry run, they become samples "
          "of the DB"},
         {"without_samples", "", &without_samples_,
          "refresh column families that have no samples, too, by queries that "
          "are generated from the keys"}});
  }

 private:
  Status Run() override {
    Status s = OpenTarget(/*or_files=*/false);
    if (s.ok()) s = SetOptions();
    std::vector<std::string> families;
    if (s.ok()) s = Choose(&families);
    if (s.ok() && !live_.live) s = Open();
    if (s.ok()) s = RefreshAll(families);
    return s.ok() && opened_ != nullptr ? opened_->Close() : s;
  }

  // Finds the column families that can be refreshed; another process decides
  // itself. Returns InvalidArgument if there is none, or if --samples could
  // apply to several.
  Status Choose(std::vector<std::string>* families) const {
    if (live_.live && !samples_.empty()) {
      return Status::InvalidArgument(
          "--samples and --live do not go together: the process that has the "
          "DB open uses its own samples");
    }
    std::string why;
    for (const TargetFamily& family : target_.families) {
      if (live_.live) {
        families->push_back(family.name);
        continue;
      }
      if (!family.is_under_protean() || !family.has_protean_policy) {
        why = target_.WhyNotProteanTable(family, "proteus:12");
      } else if (!family.comparator_known) {
        why = "column family " + PrintedName(family.name) +
              " has the comparator " + family.comparator +
              ", which this program does not know";
      } else if (!samples_.empty() && family.samples() == nullptr) {
        why = "the filter policy of column family " + PrintedName(family.name) +
              " takes no samples; --samples needs one that does, such as "
              "filter_policy=proteus:12";
      } else if (samples_.empty() && !without_samples_ && !options_.all_files &&
                 !options_.dry_run && !HasSamples(family)) {
        why = WhyNotWithoutSamples(family);
      } else {
        families->push_back(family.name);
        WarnOfRelativeSamplesFile(family, err());
        if (!samples_.empty() && !options_.dry_run &&
            family.samples_file().empty()) {
          err() << "column family " << PrintedName(family.name)
                << " saves no samples, so files written later do not use "
                   "these; samples_file in its filter_policy would save them\n";
        }
        continue;
      }
      if (target_.families.size() > 1) err() << "left out: " << why << '\n';
    }
    if (families->empty()) return Status::InvalidArgument(why);
    if (!samples_.empty() && families->size() > 1) {
      return Status::InvalidArgument(
          "--samples needs --column_family=NAME: the queries of one column "
          "family say nothing about another");
    }
    return Status::OK();
  }

  // Completes the options by the flags that are text.
  Status SetOptions() {
    // What is not asked of another process is limited by its application alone.
    if (live_.live) {
      options_.max_parallel_rewrites = RefreshOptions::kMaxParallelRewrites;
      options_.payback_seconds = RefreshOptions::kMaxPaybackSeconds;
    }
    if (parallel_ > 0) {
      options_.max_parallel_rewrites = static_cast<uint32_t>(parallel_);
    }
    Status s = options_.Set("levels", levels_);
    if (s.ok()) s = options_.Set("start", start_);
    if (s.ok()) s = options_.Set("limit", limit_);
    if (!s.ok()) {
      const std::string why = s.getState();
      return Status::InvalidArgument("--" + why.substr(why.find(": ") + 2));
    }
    if (options_.start && options_.limit &&
        *options_.limit <= *options_.start) {
      return Status::InvalidArgument("--limit=" + limit_ +
                                     " must be greater than --start=" + start_);
    }
    return live_.live || live_.socket.empty()
               ? s
               : Status::InvalidArgument("--socket=PATH goes with --live");
  }

  Status Open() {
    Status s;
    if (!samples_.empty()) s = ReadQueries(samples_, err(), &queries_);
    const bool writes = !options_.dry_run;
    if (s.ok() && writes) {
      s = OpenedDB::CheckForWriting(
          target_,
          "; close it, or let that process call protean::RefreshFilters or run "
          "a protean::FilterRefresher, which --live asks; --dry_run works "
          "anyway");
    }
    return s.ok() ? OpenedDB::Open(target_, writes, &opened_) : s;
  }

  Status RefreshAll(const std::vector<std::string>& families) {
    const Interrupt interrupt;
    Progress progress(err());
    RefreshOptions options = options_;
    bool any = false;
    Status s;
    for (const std::string& family : families) {
      Json result;
      const Watch watch = [&](const Json* at) {
        if (at != nullptr && progress.IsDue()) {
          progress.Show(ProgressLine(family, *at));
        }
        return !interrupt.requested();
      };
      s = live_.live ? RefreshLive(family, options, watch, &result)
                     : RefreshHere(family, options, watch, &result);
      progress.Clear();
      if (!s.ok() && (!result.is_object() || result["files"].empty())) {
        // Nothing was done, perhaps for a reason that other families do not
        // have.
        const bool is_answer =
            s.IsInvalidArgument() || s.IsAborted() || s.IsCorruption();
        if (families.size() == 1 || interrupt.requested() || s.IsIncomplete() ||
            (live_.live && !is_answer)) {
          return s;
        }
        err() << "left out: column family " << PrintedName(family) << ": "
              << (live_.live ? s.getState() : s.ToString()) << '\n';
        continue;
      }
      any = true;
      options.max_bytes -= std::min(options.max_bytes,
                                    result["bytes_rewritten"].get<uint64_t>());
      Print(family, result);
      if (interrupt.requested()) {
        return Status::Incomplete(
            "interrupted; files that were not reached are unchanged, and the "
            "same command continues with them");
      }
      if (!s.ok()) return s;
    }
    return any ? Status::OK() : s;
  }

  // Refreshes a column family of the DB that is open here, and stores the
  // RefreshResult as JSON; null if there is none.
  Status RefreshHere(const std::string& family, const RefreshOptions& options,
                     const Watch& watch, Json* result) const {
    ColumnFamilyHandle* const handle = opened_->Find(family);
    if (handle == nullptr) {
      return Status::InvalidArgument("it has been dropped meanwhile");
    }
    if (!queries_.empty()) {
      // Choose has left out policies that take no samples.
      const Options own = opened_->db()->GetOptions(handle);
      const std::shared_ptr<QueryQueue> queue =
          OwnPolicyOf(own)->Samples()->Queue(family, opened_->db()->GetEnv(),
                                             /*logger=*/nullptr);
      for (const SampleQuery& query : queries_) queue->Add(query);
    }
    const auto begin = std::chrono::steady_clock::now();
    RefreshOptions watched = options;
    watched.progress = [&](const RefreshProgress& at) {
      const std::chrono::duration<double> elapsed =
          std::chrono::steady_clock::now() - begin;
      Json now = Json::parse(RecordOf(at).ToJson());
      now["seconds"] = elapsed.count();
      return watch(&now);
    };
    RefreshResult refreshed;
    const Status s = RefreshFilters(opened_->db(), handle, watched, &refreshed);
    *result = Json::parse(refreshed.ToJson(), nullptr, false);
    return s;
  }

  // Refreshes a column family in the process that has the DB open, and stores
  // the RefreshResult as RefreshHere does.
  Status RefreshLive(const std::string& family, const RefreshOptions& options,
                     const Watch& watch, Json* result) const {
    LiveParameters parameters;
    Status s = StringToMap(options.ToString(), &parameters);
    parameters["column_family"] = family;
    parameters["without_samples"] = without_samples_ ? "true" : "false";
    std::string body;
    if (s.ok()) {
      s = AskLive(target_, live_, "POST /refresh", parameters, watch, &body);
    }
    if (!s.ok()) return s;
    Json answer = Json::parse(body, nullptr, false);
    if (answer.is_object()) *result = answer["result"];
    if (!result->is_object()) {
      return Status::Corruption("the answer has no result");
    }
    return answer["error"] == ""
               ? s
               : Status::Aborted(answer["error"].get<std::string>());
  }

  // How far the refresh of a column family is, in a line.
  std::string ProgressLine(const std::string& column_family,
                           const Json& at) const {
    const auto bytes = [&at](const char* name) {
      return at[name].get<uint64_t>();
    };
    // Reading a file counts as one half of the work, since files may all be
    // read before the first one is rewritten.
    const uint64_t decided = bytes("bytes_decided");
    const uint64_t done =
        (decided + std::max(decided, bytes("bytes_read"))) / 2;
    return PrintedName(column_family) + ": " +
           PrintedProgress(done, bytes("bytes"), at["seconds"].get<double>()) +
           "; " + PrintedBytes(bytes("bytes_read")) + " read, " +
           PrintedBytes(bytes("bytes_rewritten")) +
           (options_.dry_run ? " to rewrite" : " rewritten");
  }

  // Prints a RefreshResult, given as its JSON. Sets `found_` if it has a file
  // that needs attention.
  void Print(const std::string& column_family, const Json& result) {
    for (const Json& file : result["files"]) {
      found_ = found_ ||
               file["outcome"] == ToString(RefreshOutcome::kDamaged) ||
               file["outcome"] == ToString(RefreshOutcome::kFailed);
    }
    const auto samples = result["samples"].get<uint64_t>();
    PrintRewritten(
        column_family, result, /*judged=*/true, options_.dry_run,
        "; " + PrintedBytes(result["bytes_read"].get<uint64_t>()) + " read; " +
            (samples == 0 ? "no samples, so judged by generated queries"
                          : Format("judged by %" PRIu64 " samples", samples)),
        &out());
  }

  LiveFlags live_;
  std::string levels_;
  std::string start_;
  std::string limit_;
  uint64_t parallel_ = 0;  // 0 if it is not given
  RefreshOptions options_;
  std::string samples_;
  bool without_samples_ = false;

  std::unique_ptr<OpenedDB> opened_;  // nullptr with --live
  std::vector<SampleQuery> queries_;  // of --samples
};

}  // namespace

std::unique_ptr<Command> NewRefresh() { return std::make_unique<Refresh>(); }

}  // namespace ROCKSDB_NAMESPACE::protean
