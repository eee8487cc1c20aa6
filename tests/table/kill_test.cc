// SPDX-License-Identifier: Apache-2.0

//  kill -9, and power failures, at every mutation of files that happens during
//  loading, flushing, compacting, refreshing, saving samples, opening and
//  closing. Acknowledged writes are there when the DB opens again, no answer is
//  wrong, the samples are either the old or the new ones, and refreshing
//  continues.
//
//      build/kill_test     each point once, as in the tests
//      build/kill_test --gtest_filter=*Random* --seed=0 --seconds=3600

#include "filter_policy/proteus/proteus_policy.h"
#include "filter_policy/samples/query_file.h"
#include "plugin/filter_properties.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/write_batch.h"
#include "tests/table/faults/checked_reads.h"
#include "tests/table/faults/fault_file_system.h"
#include "tests/table/faults/killed_process.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// What is lost of what a killed process has left.
enum Loss { kNothing, kUnsynced, kTorn };
constexpr const char* kLossNames[] = {"kill -9", "power failure",
                                      "power failure, torn files"};

// What the killed process records for the process that checks.
struct Shared {
  std::atomic<const char*> phase;
  std::atomic<uint64_t> mutations;
  // The numbers of writes that were begun, that have returned, and that were
  // synced, since the DB was created.
  std::atomic<uint64_t> begun;
  std::atomic<uint64_t> written;
  std::atomic<uint64_t> synced;
  // Hashes of all contents of the samples file whose saving was begun.
  static constexpr uint64_t kMaxSaves = 64;
  std::atomic<uint64_t> saves;
  std::atomic<uint64_t> hashes[kMaxSaves];
  std::atomic<bool> saved;           // to the end, at least once
  std::atomic<uint64_t> lost_bytes;  // by failures of the power
};

// How a DB is opened: first with poor filters, then with better ones for the
// refresh. FILE is the samples file. SuRF takes no samples.
struct Filters {
  const char* before;
  const char* after;
};
constexpr Filters kFilters[] = {
    {"{id=protean.Proteus;bits_per_key=4;sample_every=1;samples_file=FILE}",
     "{id=protean.Proteus;bits_per_key=16;sample_every=1;samples_file=FILE}"},
    {"{id=protean.Levels;policies={bloomfilter:10,{id=protean.Proteus;"
     "bits_per_key=4;sample_every=1;samples_file=FILE}}}",
     "{id=protean.Levels;policies={bloomfilter:10,{id=protean.Proteus;"
     "bits_per_key=16;sample_every=1;samples_file=FILE}}}"},
    {"surf:0:2", "surf:0:12"}};

void CopyFolder(const std::string& from, const std::string& to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

// Each test runs in processes that this one forks. This process has no threads
// and opens no DB.
class KillTest : public ::testing::Test {
 protected:
  KillTest() { NewDB(); }

  void NewDB() {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    shared_.Clear();
  }

  // ---- The process that is killed ----

  Options NewOptions(bool after) const {
    Options options = UnthrottledFiles();
    options.target_file_size_base = 2 * kFileSize;
    options.info_log = std::make_shared<RecordingLogger>();
    std::string policy = after ? filters_.after : filters_.before;
    if (TakesSamples()) {
      policy.replace(policy.find("FILE"), strlen("FILE"), SamplesFile());
    }
    options.table_factory =
        NewTable("ProteanTable", "block_size=512;filter_policy=" + policy);
    return options;
  }
  bool TakesSamples() const {
    return strstr(filters_.before, "FILE") != nullptr;
  }
  std::string SamplesFile() const { return path_ + "/samples"; }
  static std::string CounterKey() { return "the number of writes"; }

  // Write number n, counted from 1; the same in all processes.
  void AddWrite(uint64_t n, WriteBatch* batch, Contents* contents) const {
    Random rnd(static_cast<uint32_t>(1000003 * seed_ + n));
    rnd.Next();
    const auto put = [&](const std::string& key, const std::string& value) {
      EXPECT_OK(batch->Put(key, value));
      (*contents)[key] = value;
    };
    for (int i = 0; i < 12; i++) {
      put(AnyOf(keys_, &rnd), "a value of write " + std::to_string(n));
    }
    const std::string& deleted = AnyOf(keys_, &rnd);
    EXPECT_OK(batch->Delete(deleted));
    contents->erase(deleted);
    if (rnd.OneIn(4)) {
      const size_t from = rnd.Uniform(static_cast<int>(keys_.size()) - 5);
      const std::string& lo = keys_[from];
      const std::string& hi = keys_[from + 4];
      EXPECT_OK(batch->DeleteRange(lo, hi));
      contents->erase(contents->lower_bound(lo), contents->lower_bound(hi));
    }
    put(CounterKey(), std::to_string(n));
  }
  uint64_t WritesIn(DB* db) const {
    std::string value;
    const Status s = db->Get(ReadOptions(), CounterKey(), &value);
    EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
    return s.ok() ? std::stoull(value) : 0;
  }

  static std::shared_ptr<SampleStore> StoreOf(const Options& options) {
    return ProteanPolicyOf(options)->Samples();
  }
  static auto QueueOf(const Options& options) {
    return StoreOf(options)->Queue(kDefaultColumnFamilyName, options.env,
                                   /*logger=*/nullptr);
  }

  void NoteSave(const Options& options) const {
    if (!TakesSamples()) return;
    std::string contents;
    for (const SampleQuery& query : QueueOf(options)->Snapshot()) {
      contents += QueryLine(query) + "\n";
    }
    const uint64_t index = shared_->saves;
    ASSERT_LT(index, Shared::kMaxSaves);
    shared_->hashes[index] = std::hash<std::string>()(contents);
    shared_->saves++;
  }
  // Runs all phases, until the process is killed at the mutation `kill_at`; 0
  // for not at all.
  void Live(uint64_t kill_at) const {
    const auto file_system = std::make_shared<FaultFileSystem>();
    file_system->KillAt(kill_at, &shared_->mutations, journal_);
    const std::unique_ptr<Env> env = NewCompositeEnv(file_system);
    std::unique_ptr<DB> db;
    Contents contents;
    uint64_t n = 0;
    for (const bool after : {false, true}) {
      Options options = NewOptions(after);
      options.env = env.get();
      shared_->phase = "open";
      ASSERT_OK(OpenDB(&db, options, path_));
      n = WritesIn(db.get());
      shared_->begun = shared_->written = shared_->synced = n;
      for (int file = 0; file < 2; file++) {
        shared_->phase = "load";
        for (int i = 1; i <= writes_a_file_; i++) {
          WriteBatch batch;
          AddWrite(++n, &batch, &contents);
          WriteOptions write;
          write.sync = i % 4 == 0;
          shared_->begun = n;
          ASSERT_OK(db->Write(write, &batch));
          shared_->written = n;
          if (write.sync) shared_->synced = n;
        }
        shared_->phase = "flush";
        ASSERT_OK(db->Flush(FlushOptions()));
        shared_->synced = n;
      }
      for (size_t i = n % 7; i < keys_.size(); i += 5) {
        ASSERT_FALSE(Has(db.get(), keys_[i] + '\x01'));
      }
      shared_->phase = "save samples";
      NoteSave(options);
      if (TakesSamples()) {
        ASSERT_OK(StoreOf(options)->Save(kDefaultColumnFamilyName, env.get()));
        // With nothing in the queue, it need not be saved.
        if (QueueOf(options)->size() > 0) shared_->saved = true;
      }
      if (after) {
        shared_->phase = "refresh";
        RefreshResult result;
        ASSERT_OK(
            RefreshFilters(db.get(), db->DefaultColumnFamily(), {}, &result));
        // A few writes may be too few for sampling.
        if (must_refresh_) {
          EXPECT_GT(result.files_rewritten, 0u);
        }
      }
      shared_->phase = "compaction";
      ASSERT_OK(CompactAll(db.get()));
      for (size_t i = n % 5; i < keys_.size(); i += 9) {
        ASSERT_FALSE(Has(db.get(), keys_[i] + '\x02'));
      }
      shared_->phase = "close";
      NoteSave(options);
      db.reset();
    }
  }

  // ---- The process that looks after it ----

  void LookAfter(Loss loss, uint32_t seed) const {
    Random rnd(seed);
    const bool power_fails = loss != kNothing;
    if (power_fails) {
      PowerFailure failure(journal_);
      failure.Strike(loss == kTorn ? &rnd : nullptr);
      shared_->lost_bytes += failure.lost_bytes();
    }
    CheckSamplesFile(power_fails);
    const Options options = NewOptions(/*after=*/true);
    std::unique_ptr<DB> db;
    ASSERT_OK(OpenDB(&db, options, path_));
    const uint64_t n = WritesIn(db.get());
    const uint64_t least = power_fails ? shared_->synced : shared_->written;
    EXPECT_GE(n, least) << "acknowledged writes are lost";
    EXPECT_LE(n, shared_->begun) << "writes that nobody made";
    shared_->begun = shared_->written = shared_->synced = n;
    Contents contents;
    WriteBatch ignored;
    for (uint64_t i = 1; i <= n; i++) AddWrite(i, &ignored, &contents);
    Check(db.get(), contents, rnd.Next());
    if (n > 0 && seed % goes_on_every_ == 0) {
      ASSERT_NO_FATAL_FAILURE(GoOn(db.get()));
      Check(db.get(), contents, rnd.Next());
    }
    NoteSave(options);
    db.reset();
    // Only a process that was killed while it saved samples leaves a temporary
    // file.
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      const std::string name = entry.path().filename();
      const bool is_temporary = name.find(".tmp") != std::string::npos;
      EXPECT_TRUE(!is_temporary || Slice(name).starts_with("samples.")) << name;
      if (is_temporary || name.find(".replaced.") != std::string::npos) {
        std::filesystem::remove(entry.path());
      }
    }
  }

  // Refreshing continues where it was, and so do compactions.
  void GoOn(DB* db) const {
    ASSERT_OK(db->Flush(FlushOptions()));
    RefreshResult result;
    ASSERT_OK(RefreshFilters(db, db->DefaultColumnFamily(), {}, &result));
    ASSERT_OK(CompactAll(db));
    for (const auto& [file, of_file] : PropertiesOf(db)) {
      EXPECT_EQ(1u, of_file->user_collected_properties.count(kKindProperty));
    }
  }

  void Check(DB* db, const Contents& contents, uint32_t seed) const {
    CheckedReads reads(db, contents);
    reads.Everything(keys_, seed);
    EXPECT_EQ(0u, reads.answers().failed());
  }

  // The samples file must be one that was saved completely. It may be missing
  // until one has been saved, and until the folder has been synced since then.
  void CheckSamplesFile(bool power_fails) const {
    std::string contents;
    if (!ReadFileToString(Env::Default(), SamplesFile(), &contents).ok()) {
      EXPECT_TRUE(!shared_->saved || (power_fails && !had_samples_))
          << "the samples are lost";
      return;
    }
    const uint64_t hash =
        std::hash<std::string>()(contents.substr(contents.find('\n') + 1));
    auto* const end = shared_->hashes + shared_->saves;
    EXPECT_NE(end, std::find(shared_->hashes, end, hash))
        << contents.size() << " bytes of samples";
  }

  // ---- A kill ----

  // Looks after each of the losses by itself. Returns false if the process has
  // ended before that mutation.
  bool Kill(uint64_t kill_at, const std::vector<Loss>& losses, uint32_t seed) {
    shared_->mutations = 0;
    had_samples_ = std::filesystem::exists(SamplesFile());
    const int ended = InAnotherProcess([&] { Live(kill_at); });
    const bool killed = WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL;
    EXPECT_TRUE(killed || ended == 0) << ended;
    CopyFolder(path_, left_);
    const uint64_t begun = shared_->begun;
    const uint64_t written = shared_->written;
    const uint64_t synced = shared_->synced;
    const uint64_t saves = shared_->saves;
    for (const Loss loss : losses) {
      if (loss != losses.front()) {
        CopyFolder(left_, path_);
        shared_->begun = begun;
        shared_->written = written;
        shared_->synced = synced;
        shared_->saves = saves;
      }
      EXPECT_EQ(0, InAnotherProcess([&] { LookAfter(loss, seed); }))
          << kLossNames[loss];
    }
    return killed;
  }

  uint64_t CountMutations() {
    NewDB();
    EXPECT_EQ(0, InAnotherProcess([this] { Live(0); }));
    return shared_->mutations;
  }

  const std::string path_ = test::PerThreadDBPath("kill");
  const std::string journal_ = path_ + ".journal";
  const std::string left_ = path_ + ".left";
  const Keys keys_ = HurtfulKeys(300);
  Filters filters_ = kFilters[0];
  uint64_t seed_ = 1;
  uint32_t goes_on_every_ = 1;
  bool must_refresh_ = false;
  int writes_a_file_ = 8;
  bool had_samples_ = false;  // before the process that is killed
  SharedMemory<Shared> shared_;
};

}  // namespace

TEST_F(KillTest, OnceEach) {
  for (const Filters& filters : kFilters) {
    SCOPED_TRACE(filters.before);
    filters_ = filters;
    goes_on_every_ = 3;  // for the sake of time
    // The mutations under all policies are nearly the same.
    const uint64_t step = &filters == kFilters ? 1 : 7;
    must_refresh_ = step == 1;
    const uint64_t mutations = CountMutations();
    ASSERT_FALSE(HasFailure());
    printf("%" PRIu64 " mutations\n", mutations);
    EXPECT_GT(mutations, 100u);
    std::set<std::string> met;
    uint64_t missed = 0;
    uint64_t lost = 0;
    for (uint64_t n = 1; n <= mutations; n += step) {
      SCOPED_TRACE("killed at " + std::to_string(n));
      NewDB();
      if (!Kill(n, {kNothing, kUnsynced}, static_cast<uint32_t>(n))) missed++;
      ASSERT_FALSE(HasFailure()) << shared_->phase.load();
      met.insert(shared_->phase.load());
      lost += shared_->lost_bytes;
    }
    // Background threads may delete a file earlier or later.
    EXPECT_LE(missed, mutations / 20);
    EXPECT_GT(lost, 0u);
    if (step > 1) continue;
    EXPECT_EQ((std::set<std::string>{"open", "load", "flush", "save samples",
                                     "compaction", "close", "refresh"}),
              met);
  }
}

TEST_F(KillTest, Random) {
  RandomRuns(4, [this](uint64_t seed) {
    seed_ = seed;
    Random rnd(static_cast<uint32_t>(seed));
    filters_ = kFilters[rnd.Uniform(std::size(kFilters))];
    writes_a_file_ = 4 + rnd.Uniform(30);
    const uint64_t mutations = CountMutations();
    NewDB();
    for (int life = 0; life < 5 && !HasFailure(); life++) {
      const uint64_t n = 1 + rnd.Uniform(static_cast<int>(mutations));
      const bool power_fails = rnd.OneIn(2);
      SCOPED_TRACE("life " + std::to_string(life) + ", killed at " +
                   std::to_string(n) + (power_fails ? ", no power" : ""));
      const uint32_t look = rnd.Next();
      const Loss loss_of_power = rnd.OneIn(2) ? kTorn : kUnsynced;
      Kill(n, {power_fails ? loss_of_power : kNothing}, look);
    }
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunFaultTests(argc, argv);
}
