// SPDX-License-Identifier: Apache-2.0

//  What fault tests share: reads of a DB whose contents are known, where each
//  answer is right or an error.

#pragma once

#include <filesystem>

#include "plugin/approximate_count.h"
#include "table/protean_table_factory.h"
#include "tests/table/random_runs.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

using Contents = Records;

struct Answers {
  uint64_t right = 0;
  std::map<std::string, uint64_t> errors;  // how many of each code

  uint64_t failed() const {
    uint64_t sum = 0;
    for (const auto& [code, count] : errors) sum += count;
    return sum;
  }
};

// The part of a status that does not name a file.
inline std::string CodeOf(const Status& s) {
  const std::string text = s.ToString();
  return text.substr(0, text.find(':'));
}

// Reads in every way. Wrong answers are failures of the test.
class CheckedReads {
 public:
  CheckedReads(DB* db, const Contents& contents)
      : db_(db), contents_(contents) {}

  const Answers& answers() const { return answers_; }

  const Answers& Everything(const Keys& keys, uint32_t seed) {
    Gets(keys);
    MultiGets(keys);
    Seeks(keys, seed, 200);
    Scans();
    if (db_->GetOptions().table_factory->IsInstanceOf(
            ProteanTableFactory::kClassName())) {
      Counts(keys, seed);
    }
    return answers_;
  }

  void Gets(const Keys& keys) {
    for (const std::string& key : keys) {
      std::string value;
      const Status s = db_->Get(ReadOptions(), key, &value);
      CheckPoint("Get ", key, s, value);
    }
  }

  void MultiGets(const Keys& keys) {
    constexpr size_t kBatch = 40;
    for (size_t begin = 0; begin < keys.size(); begin += kBatch) {
      const size_t size = std::min(kBatch, keys.size() - begin);
      const Keys batch(keys.begin() + begin, keys.begin() + begin + size);
      std::vector<PinnableSlice> values;
      const std::vector<Status> statuses = MultiGet(db_, batch, &values);
      for (size_t i = 0; i < size; i++) {
        CheckPoint("MultiGet ", keys[begin + i], statuses[i],
                   values[i].ToString());
      }
    }
  }

  // Makes seeks with and without bounds, and a few steps; half of the ranges
  // are so narrow that they are empty in most files.
  void Seeks(const Keys& keys, uint32_t seed, int count) {
    Random rnd(seed);
    for (int i = 0; i < count; i++) {
      std::string lo = AnyOf(keys, &rnd);
      std::string hi =
          rnd.OneIn(2) ? AnyOf(keys, &rnd) : AnyOf(Around(lo), &rnd);
      if (lo > hi) std::swap(lo, hi);
      const Slice lower(lo);
      const Slice upper(hi);
      ReadOptions read;
      const bool bounded_below = rnd.OneIn(2);
      const bool bounded_above = !rnd.OneIn(3);
      if (bounded_below) read.iterate_lower_bound = &lower;
      if (bounded_above) read.iterate_upper_bound = &upper;
      const auto first =
          bounded_below ? contents_.lower_bound(lo) : contents_.begin();
      const auto end =
          bounded_above ? contents_.lower_bound(hi) : contents_.end();
      const std::unique_ptr<Iterator> it(db_->NewIterator(read));
      const int steps = static_cast<int>(rnd.Uniform(9));
      const bool back = rnd.OneIn(3);
      // Where the first key is or, backwards, the key after the last one at or
      // below hi and within the bounds.
      const auto next = !back           ? contents_.lower_bound(lo)
                        : bounded_above ? end
                                        : contents_.upper_bound(hi);
      const auto seek = [&] {
        back ? it->SeekForPrev(hi) : it->Seek(lo);
        CheckWalk(back ? "SeekForPrev " : "Seek ", back ? hi : lo, it.get(),
                  next, back ? first : end, steps, back);
      };
      seek();
      // A failed iterator can be used again.
      if (!it->status().ok()) seek();
    }
  }

  void Scans() {
    const int all = static_cast<int>(contents_.size()) + 1;
    const auto begin = contents_.begin();
    const auto end = contents_.end();
    for (const bool back : {false, true}) {
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      back ? it->SeekToLast() : it->SeekToFirst();
      CheckWalk(back ? "backward scan" : "scan", "", it.get(),
                back ? end : begin, back ? begin : end, all, back);
    }
  }

  void Counts(const Keys& keys, uint32_t seed) {
    Random rnd(seed);
    for (int i = 0; i < 20; i++) {
      std::string lo = AnyOf(keys, &rnd);
      std::string hi = AnyOf(keys, &rnd);
      if (lo > hi) std::swap(lo, hi);
      CountResult result;
      const Status s =
          ApproximateCount(db_, ReadOptions(), db_->DefaultColumnFamily(),
                           Between(lo, hi), &result);
      const auto expected = static_cast<uint64_t>(
          std::distance(contents_.lower_bound(lo), contents_.lower_bound(hi)));
      // Keys in several runs, and deletions, may make the count too high. An
      // estimate is wrong by a few blocks.
      const uint64_t most_missing =
          result.files_estimated > 0 ? expected / 4 : 0;
      Note("Count from ", lo, s,
           result.IsExact()
               ? result.count == expected
               : result.count + result.deletions + most_missing >= expected);
    }
  }

 private:
  void CheckPoint(const char* what, const std::string& key, const Status& s,
                  const std::string& value) {
    const auto found = contents_.find(key);
    const bool is_absent = found == contents_.end();
    if (s.IsNotFound()) return Note(what, key, Status::OK(), is_absent);
    Note(what, key, s, !is_absent && found->second == value);
  }

  // Follows an iterator for a number of steps. Its first key should be the key
  // at `next` or, backwards, the key before it; then come all keys up to
  // `stop`, the bound in that direction.
  void CheckWalk(const char* what, const std::string& target, Iterator* it,
                 Contents::const_iterator next, Contents::const_iterator stop,
                 int steps, bool back) {
    for (int left = steps; left >= 0; left--) {
      const bool over = next == stop;
      if (over || !it->Valid()) {
        return Note(what, target, it->status(), over && !it->Valid());
      }
      if (back) --next;
      if (it->key() != next->first || it->value() != next->second) {
        return Note(what, target, Status::OK(), false);
      }
      if (left == 0) break;
      back ? it->Prev() : it->Next();
      if (!back) ++next;
    }
    Note(what, target, it->status(), true);
  }

  void Note(const char* what, const std::string& target, const Status& s,
            bool right) {
    if (!s.ok()) {
      answers_.errors[CodeOf(s)]++;
    } else if (right) {
      answers_.right++;
    } else {
      ADD_FAILURE() << "wrong answer: " << what << Hex(target);
    }
  }

  DB* const db_;
  const Contents& contents_;
  Answers answers_;
};

class KnownDBTest : public OwnDBTest {
 protected:
  using OwnDBTest::OwnDBTest;

  void Put(const std::string& key, const std::string& value) {
    OwnDB::Put(key, value);
    contents_[key] = value;
  }
  void Delete(const std::string& key) {
    OwnDB::Delete(key);
    contents_.erase(key);
  }
  void DeleteRange(const std::string& lo, const std::string& hi) {
    ASSERT_OK(db_->DeleteRange(WriteOptions(), lo, hi));
    contents_.erase(contents_.lower_bound(lo), contents_.lower_bound(hi));
  }
  Answers ReadAll(const Keys& keys, uint32_t seed) {
    return CheckedReads(db_.get(), contents_).Everything(keys, seed);
  }
  // Closes the DB, and leaves nothing of it.
  void Forget() {
    Close();
    std::filesystem::remove_all(path_);
    contents_.clear();
  }

  Contents contents_;
};

inline int RunFaultTests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  // Files are in memory by default, since every fault makes a new DB.
  PutOwnFolderInMemory();
  return RUN_ALL_TESTS();
}

}  // namespace ROCKSDB_NAMESPACE::protean
