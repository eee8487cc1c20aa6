// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "db/dbformat.h"
#include "rocksdb/perf_context.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "tools/file_facts.h"
#include "tools/reads.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Maximum number of deleted keys that a seek skips; the seek then ends.
constexpr int kMaxDeleted = 10000;

bool IsBackwards(ReadKind kind) {
  return kind == ReadKind::kClosedSeekForPrev ||
         kind == ReadKind::kOpenSeekForPrev;
}

// Number of data blocks that this thread has read so far. Nothing is cached
// while the truth is found.
uint32_t DataBlocksRead() {
  const PerfContext& perf = *get_perf_context();
  return static_cast<uint32_t>(
      perf.block_read_count - perf.index_block_read_count -
      perf.filter_block_read_count - perf.compression_dict_block_read_count);
}

// The position of a read in a sorted run. One file is open at a time.
class RunCursor {
 public:
  // An error ends what a run has, and is stored in `*status`.
  RunCursor(const TargetFamily& family, std::vector<uint32_t> files,
            size_t* files_gone, Status* status)
      : family_(family),
        files_(std::move(files)),
        files_gone_(files_gone),
        status_(status) {}

  // Begins a read. Returns false if no file of the run can have keys for it.
  bool Begin(const ReadQuery& read) {
    read_ = &read;
    backwards_ = IsBackwards(read.kind);
    valid_ = false;
    question_ = Question();
    const size_t place = FileFor(read);
    if (place == files_.size() || !Open(place)) return false;
    question_.file = files_[place];
    read_options_ = ReadOptions();
    read_options_.total_order_seek = true;
    upper_ = read.bound;
    if (read.kind == ReadKind::kClosedSeek) {
      read_options_.iterate_upper_bound = &upper_;
    }
    Move([&] {
      it_ = open_->file().NewIterator(read_options_, /*keys_only=*/false);
      const InternalKey target(
          read.target, backwards_ && read.inclusive ? 0 : kMaxSequenceNumber,
          backwards_ ? kValueTypeForSeekForPrev : kValueTypeForSeek);
      backwards_ ? it_->SeekForPrev(target.Encode())
                 : it_->Seek(target.Encode());
    });
    question_.found = valid_;
    if (valid_) question_.first_key = user_key().ToString();
    return true;
  }

  // REQUIRES, for all of the following: the read has asked a file.

  // All but the number of the read, and whether it asks in vain.
  const Question& question() const { return question_; }

  // Returns true if the position is at a key that the read looks for.
  bool Valid() const { return valid_; }
  // REQUIRES: Valid()
  Slice user_key() const { return ExtractUserKey(it_->key()); }

  // The newest version of the key. If the read goes backwards, moves before the
  // key, as RocksDB's own iterator does.
  std::pair<SequenceNumber, ValueType> NewestVersion() {
    const std::string key = user_key().ToString();
    std::pair<SequenceNumber, ValueType> newest;
    do {
      UnPackSequenceAndType(ExtractInternalKeyFooter(it_->key()), &newest.first,
                            &newest.second);
      // Backwards, the oldest version comes first.
      if (backwards_) Move([this] { it_->Prev(); });
    } while (backwards_ && valid_ && user_key() == key);
    return newest;
  }

  // Moves past all versions of `key`, if it is the key at the position.
  void Pass(const std::string& key) {
    while (valid_ && user_key() == key) Move([this] { it_->Next(); });
  }

 private:
  const TargetFile& File(size_t i) const { return family_.files[files_[i]]; }

  // The place of the file that RocksDB would look into, or the number of files
  // if there is none.
  size_t FileFor(const ReadQuery& read) const {
    if (IsBackwards(read.kind)) {
      // The last file that begins at or below the target.
      const auto behind = std::partition_point(
          files_.begin(), files_.end(), [&](uint32_t file) {
            const int order = family_.files[file].smallest.compare(read.target);
            return read.inclusive ? order <= 0 : order < 0;
          });
      return behind == files_.begin()
                 ? files_.size()
                 : static_cast<size_t>(behind - files_.begin()) - 1;
    }
    const auto first =
        std::partition_point(files_.begin(), files_.end(), [&](uint32_t file) {
          return family_.files[file].largest < read.target;
        });
    const auto place = static_cast<size_t>(first - files_.begin());
    if (read.kind == ReadKind::kGet && place < files_.size() &&
        File(place).smallest > read.target) {
      return files_.size();
    }
    return place;
  }

  // The first file that cannot be read is the one that is told of.
  void Fail(const Status& s) {
    status_->UpdateIfOk(Status::Corruption(File(place_).path +
                                           " cannot be read: " + s.ToString()));
  }

  // Opens the file at that place in the run. Returns false if it is gone, or
  // cannot be read.
  bool Open(size_t place) {
    if (place_ == place) return open_ != nullptr;
    it_.reset();
    open_.reset();
    place_ = place;
    const Status s = FileFacts::Read(family_, File(place), &open_);
    if (IsGone(s)) {
      ++*files_gone_;
    } else if (!s.ok()) {
      Fail(s);
    }
    return s.ok();
  }

  // Moves the iterator by `move`, then to where the read finds a key, and
  // counts the blocks.
  template <typename MoveIterator>
  void Move(const MoveIterator& move) {
    const uint32_t before = DataBlocksRead();
    move();
    valid_ = Settle();
    question_.blocks += DataBlocksRead() - before;
  }

  // Moves to the next file at the end of this one. Returns true if the position
  // is at a key that the read looks for.
  bool Settle() {
    while (!it_->Valid()) {
      if (!it_->status().ok()) {
        Fail(it_->status());
        return false;
      }
      if (read_->kind == ReadKind::kGet ||
          it_->UpperBoundCheckResult() == IterBoundCheck::kOutOfBound ||
          (backwards_ ? place_ == 0 : place_ + 1 == files_.size())) {
        return false;
      }
      const size_t next = backwards_ ? place_ - 1 : place_ + 1;
      if (read_->kind == ReadKind::kClosedSeek &&
          File(next).smallest >= read_->bound) {
        return false;
      }
      if (!Open(next)) return false;
      it_ = open_->file().NewIterator(read_options_, /*keys_only=*/false);
      backwards_ ? it_->SeekToLast() : it_->SeekToFirst();
    }
    switch (read_->kind) {
      case ReadKind::kGet:
        return user_key() == read_->target;
      case ReadKind::kClosedSeek:
        return user_key().compare(read_->bound) < 0;
      case ReadKind::kClosedSeekForPrev:
        return user_key().compare(read_->bound) >= 0;
      default:
        return true;
    }
  }

  const TargetFamily& family_;
  const std::vector<uint32_t> files_;  // in the order of their keys
  size_t* const files_gone_;
  Status* const status_;

  // The file at `place_`, if that is one; nullptr if it is gone.
  std::unique_ptr<FileFacts> open_;
  size_t place_ = std::numeric_limits<size_t>::max();

  const ReadQuery* read_ = nullptr;
  bool backwards_ = false;
  Slice upper_;
  ReadOptions read_options_;
  std::unique_ptr<InternalIterator> it_;
  Question question_;
  bool valid_ = false;
};

// All sorted runs, from newest to oldest.
std::vector<RunCursor> MakeRuns(const TargetFamily& family, size_t* files_gone,
                                Status* status) {
  std::vector<RunCursor> runs;
  // The files of each run. The key is the level; files of level 0 are a run
  // each, under a number below 0 that is lower for newer files.
  std::map<int64_t, std::vector<uint32_t>> by_age;
  for (auto i = static_cast<uint32_t>(family.files.size()); i-- > 0;) {
    const int level = family.files[i].level;
    by_age[level > 0 ? level : -1 - int64_t{i}].push_back(i);
  }
  for (auto& [age, files] : by_age) {
    std::sort(files.begin(), files.end(), [&](uint32_t a, uint32_t b) {
      return family.files[a].smallest < family.files[b].smallest;
    });
    runs.emplace_back(family, std::move(files), files_gone, status);
  }
  return runs;
}

// Asks the runs one after the other until one has the key. Returns those that
// were asked.
std::vector<RunCursor*> Get(const ReadQuery& read,
                            std::vector<RunCursor>* runs) {
  std::vector<RunCursor*> asked;
  for (RunCursor& run : *runs) {
    if (!run.Begin(read)) continue;
    asked.push_back(&run);
    if (run.Valid() && run.NewestVersion().second != kTypeMerge) break;
  }
  return asked;
}

// Moves the runs past the key if its newest version is a deletion.
bool PassIfDeleted(const std::string& key,
                   const std::vector<RunCursor*>& runs) {
  std::optional<SequenceNumber> newest;
  bool is_deleted = false;
  for (RunCursor* run : runs) {
    if (!run->Valid() || run->user_key() != key) continue;
    const auto [number, type] = run->NewestVersion();
    if (newest < number) {
      newest = number;
      is_deleted = IsDeletion(type);
    }
  }
  if (!is_deleted) return false;
  for (RunCursor* run : runs) run->Pass(key);
  return true;
}

// Asks all runs for their next key, until the nearest of these keys has not
// been deleted. Returns the runs that were asked.
std::vector<RunCursor*> Seek(const ReadQuery& read,
                             std::vector<RunCursor>* runs,
                             ReadTruth::End* end) {
  std::vector<RunCursor*> asked;
  for (RunCursor& run : *runs) {
    if (run.Begin(read)) asked.push_back(&run);
  }
  const bool backwards = IsBackwards(read.kind);
  for (int i = 0; i < kMaxDeleted && !*end; i++) {
    const RunCursor* nearest = nullptr;
    for (const RunCursor* run : asked) {
      if (!run->Valid()) continue;
      const int order =
          nearest == nullptr ? 0 : run->user_key().compare(nearest->user_key());
      if (nearest == nullptr || (backwards ? order > 0 : order < 0)) {
        nearest = run;
      }
    }
    if (nearest == nullptr) break;
    const std::string key = nearest->user_key().ToString();
    if (!PassIfDeleted(key, asked)) *end = key;
  }
  return asked;
}

bool IsInVain(const ReadQuery& read, const Question& question,
              const ReadTruth::End& end) {
  // RocksDB asks no filter.
  if (read.kind == ReadKind::kOpenSeekForPrev) return false;
  return !question.found ||
         (IsForwardSeek(read) && end && question.first_key > *end);
}

}  // namespace

Status FindKeyRanges(TargetFamily* family) {
  for (TargetFile& file : family->files) {
    if (file.level >= 0) continue;
    std::unique_ptr<FileFacts> facts;
    Status s = FileFacts::Read(*family, file, &facts);
    if (s.ok()) {
      const std::unique_ptr<InternalIterator> it =
          facts->file().NewIterator(ReadOptions(), /*keys_only=*/false);
      it->SeekToFirst();
      if (it->Valid()) file.smallest = ExtractUserKey(it->key()).ToString();
      it->SeekToLast();
      if (it->Valid()) file.largest = ExtractUserKey(it->key()).ToString();
      s = it->status();
    }
    if (!s.ok()) {
      return Status::Corruption(
          file.path + " cannot be read as an SST file: " + s.ToString());
    }
  }
  return Status::OK();
}

Status FindTruth(const TargetFamily& family,
                 const std::vector<ReadQuery>& reads,
                 const ReportShare& progress, ReadTruth* truth) {
  *truth = ReadTruth();
  truth->ends.resize(reads.size());
  Status s;
  std::vector<RunCursor> runs = MakeRuns(family, &truth->files_gone, &s);
  // In the order of their targets, so that each file of a run is opened once.
  std::vector<uint32_t> order(reads.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return reads[a].target < reads[b].target;
  });
  for (size_t i = 0; i < order.size(); i++) {
    const ReadQuery& read = reads[order[i]];
    ReadTruth::End* const end = &truth->ends[order[i]];
    for (RunCursor* run : read.kind == ReadKind::kGet
                              ? Get(read, &runs)
                              : Seek(read, &runs, end)) {
      Question& question = truth->questions.emplace_back(run->question());
      question.read = order[i];
      question.in_vain = IsInVain(read, question, *end);
    }
    if (!s.ok()) return s;
    if (i % 256 == 0) progress(Ratio(i, order.size()));
  }
  std::stable_sort(
      truth->questions.begin(), truth->questions.end(),
      [](const Question& a, const Question& b) { return a.read < b.read; });
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
