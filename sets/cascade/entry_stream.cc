// SPDX-License-Identifier: Apache-2.0

#include "sets/cascade/entry_stream.h"

#include <utility>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A stream with the entries that are read ahead of it.
class BufferedStream {
 public:
  explicit BufferedStream(std::unique_ptr<EntryStream> stream)
      : stream_(std::move(stream)), buffer_(kBuffered) {}

  // Returns true if there is a next entry.
  bool Fill() {
    if (next_ < end_) return true;
    next_ = 0;
    end_ = stream_->Read(buffer_.data(), buffer_.size());
    return end_ > 0;
  }

  // The entries that are there.
  const Entry* begin() const { return buffer_.data() + next_; }
  const Entry* end() const { return buffer_.data() + end_; }
  // Takes all entries before `entry` off.
  void SkipTo(const Entry* entry) {
    next_ = static_cast<size_t>(entry - buffer_.data());
  }

  Status status() const { return stream_->status(); }

 private:
  static constexpr size_t kBuffered = 1024;

  const std::unique_ptr<EntryStream> stream_;
  std::vector<Entry> buffer_;
  size_t next_ = 0;
  size_t end_ = 0;
};

// Merges two streams.
class MergedStream : public EntryStream {
 public:
  MergedStream(std::unique_ptr<EntryStream> newer,
               std::unique_ptr<EntryStream> older)
      : newer_(std::move(newer)), older_(std::move(older)) {}

  size_t Read(Entry* entries, size_t capacity) override {
    Entry* out = entries;
    Entry* const out_end = entries + capacity;
    while (out < out_end && status().ok()) {
      const bool has_newer = newer_.Fill();
      const bool has_older = older_.Fill();
      if (!has_newer && !has_older) break;
      if (has_newer && has_older) {
        out = Merge(out, out_end);
      } else {
        out = Copy(has_newer ? &newer_ : &older_, out, out_end);
      }
    }
    return static_cast<size_t>(out - entries);
  }

  Status status() const override {
    const Status s = newer_.status();
    return s.ok() ? older_.status() : s;
  }

 private:
  // Merges until one of the buffers is empty or the output is full.
  Entry* Merge(Entry* out, Entry* out_end) {
    const Entry* newer = newer_.begin();
    const Entry* older = older_.begin();
    while (newer < newer_.end() && older < older_.end() && out < out_end) {
      // Which of two hashes is smaller cannot be predicted, so nothing branches
      // on it.
      const bool take_newer = newer->fingerprint <= older->fingerprint;
      const bool take_older = older->fingerprint <= newer->fingerprint;
      *out = take_newer ? *newer : *older;
      if (take_newer && take_older) *out = Combine(*older, *newer);
      newer += take_newer;
      older += take_older;
      out++;
    }
    newer_.SkipTo(newer);
    older_.SkipTo(older);
    return out;
  }

  static Entry* Copy(BufferedStream* from, Entry* out, const Entry* out_end) {
    const Entry* entry = from->begin();
    while (entry < from->end() && out < out_end) *out++ = *entry++;
    from->SkipTo(entry);
    return out;
  }

  BufferedStream newer_;
  BufferedStream older_;
};

// Leaves out what has no effect.
class EffectiveStream : public EntryStream {
 public:
  EffectiveStream(std::unique_ptr<EntryStream> stream, bool drop_deletes)
      : stream_(std::move(stream)), drop_deletes_(drop_deletes) {}

  size_t Read(Entry* entries, size_t capacity) override {
    for (;;) {
      const size_t read = stream_->Read(entries, capacity);
      size_t kept = 0;
      for (size_t i = 0; i < read; i++) {
        Entry entry = entries[i];
        if (drop_deletes_) entry.deletes = 0;
        entries[kept] = entry;
        kept += !entry.IsNothing();
      }
      // An empty answer would mean the end.
      if (kept > 0 || read == 0) return kept;
    }
  }

  Status status() const override { return stream_->status(); }

 private:
  const std::unique_ptr<EntryStream> stream_;
  const bool drop_deletes_;
};

}  // namespace

std::unique_ptr<EntryStream> MergeStreams(
    std::vector<std::unique_ptr<EntryStream>> newest_first, bool drop_deletes) {
  // Small parts are new ones: merging from the newest on passes their entries
  // through more merges, and those of the large, old ones through one.
  std::unique_ptr<EntryStream> merged = std::move(newest_first.front());
  for (size_t i = 1; i < newest_first.size(); i++) {
    merged = std::make_unique<MergedStream>(std::move(merged),
                                            std::move(newest_first[i]));
  }
  return std::make_unique<EffectiveStream>(std::move(merged), drop_deletes);
}

}  // namespace ROCKSDB_NAMESPACE::protean
