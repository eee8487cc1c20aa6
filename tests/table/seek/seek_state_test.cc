// SPDX-License-Identifier: Apache-2.0

//  What an iterator keeps of a seek: its marker, its bounds and its outcomes.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rocksdb/sst_file_writer.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/seek/seek_decision.h"
#include "table/seek/seek_statistics.h"
#include "table/seek/thread_bounds.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Marker ----

constexpr SequenceNumber kSequence = kMaxSequenceNumber - 2;

TEST(MarkerTest, IsAKeyThatNoWriteHas) {
  Marker marker;
  *marker.new_user_key() = "k";
  marker.Place(Marker::Purpose::kNextKey, kSequence);
  EXPECT_EQ("k", marker.user_key());
  ParsedInternalKey parsed;
  ASSERT_OK(ParseInternalKey(marker.key(), &parsed, /*log_err_key=*/true));
  EXPECT_EQ("k", parsed.user_key);
  EXPECT_EQ(kSequence, parsed.sequence);
  EXPECT_EQ(kTypeValue, parsed.type);
}

TEST(MarkerTest, OnlyProbesMoveAndNotForEver) {
  Marker marker;
  for (const auto purpose :
       {Marker::Purpose::kNextKey, Marker::Purpose::kEnd}) {
    *marker.new_user_key() = "k";
    marker.Place(purpose, kSequence);
    EXPECT_FALSE(marker.MayMove());
    EXPECT_EQ(purpose == Marker::Purpose::kEnd, marker.IsEnd());
  }
  *marker.new_user_key() = "k";
  marker.Place(Marker::Purpose::kProbe, kSequence);
  for (int i = 0; i < Marker::kMaxMoves; i++) {
    EXPECT_TRUE(marker.MayMove());
    std::string next = "k" + std::to_string(i);
    marker.Move(&next, kSequence);
    EXPECT_EQ("k" + std::to_string(i), marker.user_key());
    EXPECT_EQ(Marker::Purpose::kProbe, marker.purpose());
  }
  EXPECT_FALSE(marker.MayMove());
  marker.set_moves(0);  // another seek
  EXPECT_TRUE(marker.MayMove());
}

// ---- SeekBounds ----

TEST(SeekBoundsTest, AreThoseOfTheReadOptionsAtTheTimeOfTheSeek) {
  Slice lower("b");
  Slice upper("d");
  ReadOptions read_options;
  read_options.iterate_lower_bound = &lower;
  read_options.iterate_upper_bound = &upper;
  SeekBounds bounds;
  EXPECT_EQ(SeekKind::kOpen, bounds.ForwardKind());
  bounds.Take(read_options);
  upper = "e";
  bounds.Take(read_options);
  EXPECT_EQ(SeekKind::kClosed, bounds.ForwardKind());
  EXPECT_FALSE(bounds.IsAtOrAboveUpper("d"));
  EXPECT_TRUE(bounds.IsAtOrAboveUpper("e"));
  EXPECT_FALSE(bounds.IsBelowLower("b"));
  EXPECT_TRUE(bounds.IsBelowLower("a"));
  EXPECT_FALSE(bounds.stops_at_upper()) << "RocksDB's iterators do that";
  EXPECT_FALSE(bounds.stops_at_lower());
}

TEST(SeekBoundsTest, TheThreadsBoundsFillTheGaps) {
  const Slice own("d");
  const Slice threads_lower("c");
  const Slice threads_upper("f");
  ReadOptions read_options;
  read_options.iterate_upper_bound = &own;
  SeekBounds bounds;
  bounds.Take(read_options);
  bounds.Add(
      std::make_shared<const ThreadBounds>(&threads_lower, &threads_upper));
  EXPECT_EQ("d", *bounds.upper());
  EXPECT_FALSE(bounds.stops_at_upper());
  EXPECT_EQ("c", *bounds.lower()) << "kept by the seek's bounds alone";
  EXPECT_TRUE(bounds.stops_at_lower());
  bounds.WaiveLower();
  EXPECT_FALSE(bounds.stops_at_lower());
  bounds.Take(ReadOptions());
  bounds.Add(nullptr);
  EXPECT_EQ(nullptr, bounds.upper());
  EXPECT_EQ(nullptr, bounds.lower());
}

// ---- SeekOutcomes ----

class FakeFile : public CountedFile {
 public:
  void Add(const SeekTally& seeks, uint32_t events) override {
    hand_overs++;
    for (size_t i = 0; i < SeekTally::kSize; i++) {
      counts[i] += seeks[i];
      events -= seeks[i];
    }
    EXPECT_EQ(0u, events);
  }
  SeekBackoff NewBackoff() override { return {&backoff_, &cached_reads_}; }
  Statistics* statistics() const override { return tickers.get(); }
  bool IsLastLevel() const override { return is_last_level; }

  SeekCounts counts;
  int hand_overs = 0;
  bool is_last_level = false;
  const std::shared_ptr<Statistics> tickers = CreateDBStatistics();

 private:
  SeekBackoff::Shared backoff_;
  SeekBackoff::CachedReads cached_reads_{0};
};

class SeekOutcomesTest : public testing::Test {
 protected:
  SeekOutcomesTest() : path_(test::PerThreadDBPath("seek_state_test.sst")) {
    SstFileWriter writer(EnvOptions(), options_);
    EXPECT_OK(writer.Open(path_));
    EXPECT_OK(writer.Put("k", "value"));
    EXPECT_OK(writer.Finish());
    EXPECT_OK(SeparateFile::Open(options_, path_, &sst_));
    inner_ = std::make_unique<FileIterator>(
        sst_->file(), read_options_,
        FileIterator::Arguments{nullptr, nullptr,
                                TableReaderCaller::kUserIterator, false});
    outcomes_ = std::make_unique<SeekOutcomes>(&file_, inner_.get());
  }
  ~SeekOutcomesTest() override {
    inner_.reset();
    sst_.reset();
    EXPECT_OK(Env::Default()->DeleteFile(path_));
  }

  void Seek(const std::string& user_key) {
    inner_->Get()->Seek(
        InternalKey(user_key, kMaxSequenceNumber, kValueTypeForSeek).Encode());
  }
  // The counts after the iterator's end.
  uint64_t Counted(SeekKind kind, SeekEvent event) {
    outcomes_.reset();
    return file_.counts(kind, event);
  }

  const Options options_;
  const ReadOptions read_options_;
  const std::string path_;
  std::unique_ptr<SeparateFile> sst_;
  std::unique_ptr<FileIterator> inner_;
  FakeFile file_;
  std::unique_ptr<SeekOutcomes> outcomes_;
};

TEST_F(SeekOutcomesTest, AreHandedOverWhenTheyAreManyAndInTheEnd) {
  for (int i = 0; i < 1023; i++) outcomes_->CountNegative(SeekKind::kClosed);
  EXPECT_EQ(0, file_.hand_overs);
  outcomes_->CountPassed(SeekKind::kOpen);
  EXPECT_EQ(1, file_.hand_overs);
  outcomes_->CountPassed(SeekKind::kOpen);
  EXPECT_EQ(1, file_.hand_overs);
  EXPECT_EQ(2u, Counted(SeekKind::kOpen, SeekEvent::kPassed));
  EXPECT_EQ(1023u, Counted(SeekKind::kClosed, SeekEvent::kNegative));
  EXPECT_EQ(2, file_.hand_overs);
  outcomes_ = std::make_unique<SeekOutcomes>(&file_, inner_.get());
  outcomes_.reset();
  EXPECT_EQ(2, file_.hand_overs) << "nothing was counted";
}

TEST_F(SeekOutcomesTest, TickersAreThoseOfTheFilesLevel) {
  Seek("k");
  for (const bool last : {false, true}) {
    file_.is_last_level = last;
    outcomes_->CountNegative(SeekKind::kClosed);
    outcomes_->CountPassed(SeekKind::kOpen);
  }
  outcomes_->RecordMatch();
  outcomes_->RecordMatch();  // of the same seek
  const Statistics& tickers = *file_.tickers;
  EXPECT_EQ(2u, tickers.getTickerCount(NON_LAST_LEVEL_SEEK_FILTERED));
  EXPECT_EQ(2u, tickers.getTickerCount(LAST_LEVEL_SEEK_FILTERED));
  EXPECT_EQ(1u, tickers.getTickerCount(LAST_LEVEL_SEEK_FILTER_MATCH));
  EXPECT_EQ(0u, tickers.getTickerCount(NON_LAST_LEVEL_SEEK_FILTER_MATCH));
}

TEST_F(SeekOutcomesTest, ClosedSeeksAreKnownAtOnce) {
  Seek("k");
  outcomes_->CountRead(SeekKind::kClosed, /*valid=*/true);
  Seek("l");
  outcomes_->CountRead(SeekKind::kClosed, /*valid=*/false);
  outcomes_->CountReadBackwards(/*found=*/false);
  EXPECT_EQ(1u, Counted(SeekKind::kClosed, SeekEvent::kTruePositive));
  EXPECT_EQ(2u, Counted(SeekKind::kClosed, SeekEvent::kFalsePositive));
}

TEST_F(SeekOutcomesTest, OpenSeeksAreKnownWhenTheNextOneBegins) {
  Seek("a");
  outcomes_->CountRead(SeekKind::kOpen, /*valid=*/true);
  outcomes_->RecordPendingOutcome();
  Seek("a");
  outcomes_->CountReached(SeekKind::kOpen, /*valid=*/true);
  EXPECT_EQ("value", inner_->Get()->value());
  outcomes_->RecordPendingOutcome();
  outcomes_->RecordPendingOutcome();
  EXPECT_EQ(1u, Counted(SeekKind::kOpen, SeekEvent::kFalsePositive))
      << "nothing asked for the value";
  EXPECT_EQ(1u, Counted(SeekKind::kOpen, SeekEvent::kTruePositive));
  EXPECT_EQ(1u, Counted(SeekKind::kOpen, SeekEvent::kReached));
}

TEST_F(SeekOutcomesTest, UselessWaitsOfOpenSeeksLeadToAPause) {
  for (int i = 0; i < 1000; i++) outcomes_->CountUselessWait(SeekKind::kClosed);
  EXPECT_TRUE(outcomes_->backoff().ShouldWait());
  for (int i = 0; i < 1000; i++) {
    outcomes_->CountUselessWait(SeekKind::kOpen);
    outcomes_->CountPassed(SeekKind::kOpen);
  }
  EXPECT_TRUE(outcomes_->backoff().ShouldWait());
  for (int i = 0; i < 1000; i++) outcomes_->CountUselessWait(SeekKind::kOpen);
  EXPECT_FALSE(outcomes_->backoff().ShouldWait());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
