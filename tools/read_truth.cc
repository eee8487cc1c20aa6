// SPDX-License-Identifier: Apache-2.0

#include "tools/read_truth.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "db/dbformat.h"
#include "rocksdb/perf_context.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "tools/file_facts.h"

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
  RunCursor(const TargetFamily& family, std::vector<uint32_t> files,
            size_t* files_gone)
      : family_(family), files_(std::move(files)), files_gone_(files_gone) {}

  // Begins a read. Sets `*asked` to false if no file of the run can have keys
  // for it.
  Status Begin(const ReadQuery& read, bool* asked) {
    read_ = &read;
    backwards_ = IsBackwards(read.kind);
    valid_ = false;
    question_ = Question();
    const size_t place = FileFor(read);
    *asked = place < files_.size();
    if (!*asked) return Status::OK();
    question_.file = files_[place];
    Status s = Open(place);
    *asked = s.ok() && open_ != nullptr;
    if (!*asked) return s;
    read_options_ = ReadOptions();
    read_options_.total_order_seek = true;
    upper_ = read.bound;
    if (read.kind == ReadKind::kClosedSeek) {
      read_options_.iterate_upper_bound = &upper_;
    }
    const uint32_t before = DataBlocksRead();
    it_ = open_->file().NewIterator(read_options_, /*keys_only=*/false);
    if (backwards_) {
      const InternalKey target =
          read.inclusive ? InternalKey(read.target, 0, kValueTypeForSeekForPrev)
                         : InternalKey(read.target, kMaxSequenceNumber,
                                       kValueTypeForSeekForPrev);
      it_->SeekForPrev(target.Encode());
    } else {
      const InternalKey target(read.target, kMaxSequenceNumber,
                               kValueTypeForSeek);
      it_->Seek(target.Encode());
    }
    s = Settle();
    question_.blocks += DataBlocksRead() - before;
    question_.found = valid_;
    if (valid_) question_.first_key = user_key().ToString();
    return s;
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
  Status NewestVersion(SequenceNumber* number, ValueType* type) {
    UnPackSequenceAndType(ExtractInternalKeyFooter(it_->key()), number, type);
    if (!backwards_) return Status::OK();
    // Backwards, the oldest version comes first.
    const std::string key = user_key().ToString();
    Status s;
    while (s.ok() && valid_ && user_key() == key) {
      UnPackSequenceAndType(ExtractInternalKeyFooter(it_->key()), number, type);
      const uint32_t before = DataBlocksRead();
      it_->Prev();
      s = Settle();
      question_.blocks += DataBlocksRead() - before;
    }
    return s;
  }

  // Moves past all versions of `key`, the key at the position.
  Status Pass(const std::string& key) {
    Status s;
    const uint32_t before = DataBlocksRead();
    while (s.ok() && valid_ && user_key() == key) {
      it_->Next();
      s = Settle();
    }
    question_.blocks += DataBlocksRead() - before;
    return s;
  }

  // Ends the read. The open file stays open for the next read.
  void End() { it_.reset(); }

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

  // Opens the file at that place in the run. OK without a file if it is gone.
  Status Open(size_t place) {
    if (place_ == place) return Status::OK();
    it_.reset();
    open_.reset();
    place_ = place;
    const Status s = FileFacts::Read(family_, File(place), &open_);
    if (s.ok()) return s;
    if (IsGone(s)) {
      ++*files_gone_;
      return Status::OK();
    }
    return Status::Corruption(File(place).path +
                              " cannot be read: " + s.ToString());
  }

  // Moves to the next file at the end of this one.
  Status Settle() {
    valid_ = false;
    while (it_ != nullptr && !it_->Valid()) {
      if (!it_->status().ok()) {
        return Status::Corruption(
            File(place_).path + " cannot be read: " + it_->status().ToString());
      }
      if (read_->kind == ReadKind::kGet ||
          it_->UpperBoundCheckResult() == IterBoundCheck::kOutOfBound ||
          (backwards_ ? place_ == 0 : place_ + 1 == files_.size())) {
        return Status::OK();
      }
      const size_t next = backwards_ ? place_ - 1 : place_ + 1;
      if (read_->kind == ReadKind::kClosedSeek &&
          File(next).smallest >= read_->bound) {
        return Status::OK();
      }
      const Status s = Open(next);
      if (!s.ok() || open_ == nullptr) return s;
      it_ = open_->file().NewIterator(read_options_, /*keys_only=*/false);
      if (backwards_) {
        it_->SeekToLast();
      } else {
        it_->SeekToFirst();
      }
    }
    if (it_ == nullptr) return Status::OK();
    switch (read_->kind) {
      case ReadKind::kGet:
        valid_ = user_key() == read_->target;
        break;
      case ReadKind::kClosedSeek:
        valid_ = user_key().compare(read_->bound) < 0;
        break;
      case ReadKind::kClosedSeekForPrev:
        valid_ = user_key().compare(read_->bound) >= 0;
        break;
      default:
        valid_ = true;
    }
    return Status::OK();
  }

  const TargetFamily& family_;
  const std::vector<uint32_t> files_;  // in the order of their keys
  size_t* const files_gone_;

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
std::vector<RunCursor> MakeRuns(const TargetFamily& family,
                                size_t* files_gone) {
  std::vector<RunCursor> runs;
  std::map<int, std::vector<uint32_t>> levels;
  for (size_t i = family.files.size(); i-- > 0;) {
    const auto file = static_cast<uint32_t>(i);
    if (family.files[i].level > 0) {
      levels[family.files[i].level].push_back(file);
    } else {
      runs.emplace_back(family, std::vector<uint32_t>{file}, files_gone);
    }
  }
  for (auto& [level, files] : levels) {
    std::sort(files.begin(), files.end(), [&](uint32_t a, uint32_t b) {
      return family.files[a].smallest < family.files[b].smallest;
    });
    runs.emplace_back(family, std::move(files), files_gone);
  }
  return runs;
}

// One read of all sorted runs.
class Search {
 public:
  Search(std::vector<RunCursor>* runs, const ReadQuery& read, uint32_t number)
      : runs_(*runs), read_(read), number_(number) {}

  Status Run(std::vector<Question>* questions, ReadTruth::End* end) {
    const Status s = read_.kind == ReadKind::kGet ? Get() : Seek(end);
    for (RunCursor* run : asked_) {
      Question& question = questions->emplace_back(run->question());
      question.read = number_;
      question.in_vain = IsInVain(question, *end);
      run->End();
    }
    return s;
  }

 private:
  // Asks the runs one after the other until one has the key.
  Status Get() {
    for (RunCursor& run : runs_) {
      bool asked = false;
      Status s = run.Begin(read_, &asked);
      if (!s.ok()) return s;
      if (!asked) continue;
      asked_.push_back(&run);
      if (!run.Valid()) continue;
      SequenceNumber number = 0;
      ValueType type = kTypeValue;
      s = run.NewestVersion(&number, &type);
      if (!s.ok() || type != kTypeMerge) return s;
    }
    return Status::OK();
  }

  // Asks all runs for their next key, until the nearest of these keys has not
  // been deleted.
  Status Seek(ReadTruth::End* end) {
    for (RunCursor& run : runs_) {
      bool asked = false;
      const Status s = run.Begin(read_, &asked);
      if (!s.ok()) return s;
      if (asked) asked_.push_back(&run);
    }
    const bool backwards = IsBackwards(read_.kind);
    for (int i = 0; i < kMaxDeleted; i++) {
      std::string nearest;
      bool found = false;
      for (const RunCursor* run : asked_) {
        if (!run->Valid()) continue;
        const int order = found ? run->user_key().compare(nearest) : 0;
        if (!found || (backwards ? order > 0 : order < 0)) {
          nearest = run->user_key().ToString();
        }
        found = true;
      }
      if (!found) return Status::OK();
      bool deleted = false;
      const Status s = VisitKey(nearest, &deleted);
      if (!s.ok()) return s;
      if (!deleted) {
        end->found = true;
        end->key = nearest;
        return s;
      }
    }
    return Status::OK();
  }

  Status VisitKey(const std::string& key, bool* deleted) {
    SequenceNumber newest = 0;
    std::vector<RunCursor*> holders;
    for (RunCursor* run : asked_) {
      if (!run->Valid() || run->user_key() != key) continue;
      SequenceNumber number = 0;
      ValueType type = kTypeValue;
      const Status s = run->NewestVersion(&number, &type);
      if (!s.ok()) return s;
      if (holders.empty() || number > newest) {
        newest = number;
        *deleted = IsDeletion(type);
      }
      holders.push_back(run);
    }
    if (!*deleted) return Status::OK();
    for (RunCursor* run : holders) {
      const Status s = run->Pass(key);
      if (!s.ok()) return s;
    }
    return Status::OK();
  }

  bool IsInVain(const Question& question, const ReadTruth::End& end) const {
    switch (read_.kind) {
      case ReadKind::kClosedSeek:
      case ReadKind::kOpenSeek:
        return !question.found || (end.found && question.first_key > end.key);
      case ReadKind::kOpenSeekForPrev:
        return false;  // RocksDB asks no filter
      default:
        return !question.found;
    }
  }

  std::vector<RunCursor>& runs_;
  const ReadQuery& read_;
  const uint32_t number_;
  std::vector<RunCursor*> asked_;
};

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
  std::vector<RunCursor> runs = MakeRuns(family, &truth->files_gone);
  // In the order of their targets, so that each file of a run is opened once.
  std::vector<uint32_t> order(reads.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return reads[a].target < reads[b].target;
  });
  for (size_t i = 0; i < order.size(); i++) {
    const uint32_t read = order[i];
    const Status s = Search(&runs, reads[read], read)
                         .Run(&truth->questions, &truth->ends[read]);
    if (!s.ok()) return s;
    if (i % 256 == 0) progress(Ratio(i, order.size()));
  }
  std::stable_sort(
      truth->questions.begin(), truth->questions.end(),
      [](const Question& a, const Question& b) { return a.read < b.read; });
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
