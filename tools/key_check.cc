// SPDX-License-Identifier: Apache-2.0

#include "tools/key_check.h"

#include <algorithm>

#include "db/dbformat.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/convenience.h"
#include "rocksdb/slice_transform.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The prefix extractor that the file was written with, or nullptr.
std::shared_ptr<const SliceTransform> PrefixExtractorOf(
    const BlockBasedFile& file, const TargetFamily& family) {
  const auto properties = file.table()->GetTableProperties();
  if (properties == nullptr || properties->prefix_extractor_name.empty() ||
      properties->prefix_extractor_name == "nullptr") {
    return nullptr;
  }
  const std::string& name = properties->prefix_extractor_name;
  const auto& own = family.options.prefix_extractor;
  if (own != nullptr && own->AsString() == name) return own;
  std::shared_ptr<const SliceTransform> made;
  const Status s =
      SliceTransform::CreateFromString(ConfigOptions(), name, &made);
  return s.ok() ? made : nullptr;
}

// Stores a string a little below `key`; returns false if there is none. For a
// number, the string is the number before it, since real queries look like
// that.
bool JustBelow(const Slice& key, std::string* below) {
  if (key.empty()) return false;
  below->assign(key.data(), key.size());
  if (below->back() == '\0') {
    below->pop_back();
  } else {
    below->back() = static_cast<char>(below->back() - 1);
  }
  return true;
}

// Stores a string a little above `key`.
void JustAbove(const Slice& key, std::string* above) {
  above->assign(key.data(), key.size());
  if (key.empty() || above->back() == '\xff') {
    above->push_back('\0');
  } else {
    above->back() = static_cast<char>(above->back() + 1);
  }
}

// The questions that the filter of a file is asked about each key of the file.
class Questions {
 public:
  Questions(const FileFacts& facts, const TargetFamily& family)
      : separate_(facts.filter()),
        filter_(separate_ == nullptr ? nullptr : separate_->range_filter()),
        prefixes_(PrefixExtractorOf(facts.file(), family)),
        // Without whole_key_filtering, only prefixes were added to the filter.
        whole_keys_(facts.file().whole_key_filtering()) {
    if (separate_ == nullptr &&
        facts.file().filter_state() == BlockBasedFile::FilterState::kFull) {
      reader_ = facts.file().GetHeldFilter();
    }
    asked_for_prefixes_ =
        separate_ != nullptr &&
        (separate_->header().flags & FilterBlockHeader::kAskedForPrefixes) != 0;
  }

  bool any() const {
    return (reader_ != nullptr || separate_ != nullptr) &&
           (whole_keys_ || prefixes_ != nullptr);
  }

  // Returns the question that the filter answers wrongly, or nullptr.
  // `previous` is nullptr for the first key.
  const char* Denied(const Slice& key, const std::string* previous) {
    if (!any()) return nullptr;
    if (prefixes_ != nullptr && prefixes_->InDomain(key) &&
        !MayMatch(prefixes_->Transform(key))) {
      return "its prefix";
    }
    if (!whole_keys_) return nullptr;
    if (!MayMatch(key)) return "the key";
    return filter_ == nullptr ? nullptr : DeniedRange(key, previous);
  }

 private:
  bool MayMatch(const Slice& entry) const {
    return separate_ != nullptr ? separate_->MayMatch(entry)
                                : reader_->MayMatch(entry);
  }

  // The filter is asked about a range that ends or begins at the key, about the
  // whole gap before the key, and about a seek. Shapes that differ only in
  // detail take turns, which is twice as fast: a fault in one of them shows at
  // many keys.
  const char* DeniedRange(const Slice& key, const std::string* previous) {
    if (asked_for_prefixes_ && !filter_->KeyMayMatch(key)) return "the key";
    if (!filter_->MayHaveKeyAtOrAbove(key)) return "keys from it on";
    if (previous != nullptr && !GapMayMatch(*previous, key)) {
      return "the gap before it";
    }
    turn_ = (turn_ + 1) % 6;
    const bool has_below = JustBelow(key, &below_);
    if (turn_ % 2 == 0 && SkipsOver(key, key)) return "a seek to it";
    if (turn_ % 2 == 1 && has_below && SkipsOver(below_, key)) {
      return "a seek to key-1";
    }
    if (turn_ % 3 == 0) {
      return filter_->RangeMayMatch(key, key, true) ? nullptr : "[key, key]";
    }
    if (turn_ % 3 == 1 && has_below) {
      return filter_->RangeMayMatch(below_, key, true) ? nullptr
                                                       : "[key-1, key]";
    }
    JustAbove(key, &above_);
    return filter_->RangeMayMatch(key, above_, false) ? nullptr
                                                      : "[key, key+1)";
  }

  // Whether the filter allows a key between the two, or at `key`, for either
  // order of keys.
  bool GapMayMatch(const std::string& previous, const Slice& key) {
    if (key.compare(previous) < 0) {
      return filter_->RangeMayMatch(key, previous, false);
    }
    above_.assign(previous);
    above_.push_back('\0');
    return filter_->RangeMayMatch(above_, key, true);
  }

  // Whether a seek to `target` would miss `key`.
  bool SkipsOver(const Slice& target, const Slice& key) {
    return !filter_->LowerBound(target, &skip_) || key.compare(skip_) < 0;
  }

  FilterBitsReader* reader_ = nullptr;  // of another policy
  const SeparateFilter* const separate_;
  const FileRangeFilter* const filter_;
  const std::shared_ptr<const SliceTransform> prefixes_;
  const bool whole_keys_;
  // If set, the reader takes whole keys for prefixes.
  bool asked_for_prefixes_ = false;
  unsigned turn_ = 0;
  std::string below_;
  std::string above_;
  std::string skip_;
};

// What is wrong in the header, given the number of keys, the smallest and the
// largest one; empty if nothing is.
std::string CheckHeader(const SeparateFilter& filter, uint64_t keys,
                        const Slice& smallest, const Slice& largest) {
  const FilterBlockHeader& header = filter.header();
  const auto stored = [](const Slice& key) {
    return Slice(key.data(),
                 std::min(key.size(), FilterBlockHeader::kMaxStoredKey));
  };
  if (header.num_keys != keys) {
    return "it was built from " + std::to_string(header.num_keys) +
           " keys, the file has " + std::to_string(keys);
  }
  if (filter.range_filter() == nullptr || keys == 0) return "";
  if (header.smallest != stored(smallest)) {
    return "its smallest key is not the file's";
  }
  if (header.largest != stored(largest)) {
    return "its largest key is not the file's";
  }
  return "";
}

}  // namespace

KeyCheck CheckKeys(const FileFacts& facts, const TargetFamily& family,
                   const std::function<void(uint64_t keys)>& progress) {
  constexpr uint64_t kKeysPerReport = 1 << 16;
  const BlockBasedFile& file = facts.file();
  KeyCheck check;
  Questions questions(facts, family);
  check.asked = questions.any();

  ReadOptions read_options(/*_verify_checksums=*/true, /*_fill_cache=*/false);
  read_options.total_order_seek = true;
  read_options.readahead_size = 2 << 20;
  const std::unique_ptr<InternalIterator> it =
      facts.NewIterator(read_options, /*keys_only=*/true);
  const size_t timestamp_size = file.user_comparator()->timestamp_size();
  std::string first;
  std::string last;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const Slice key =
        ExtractUserKeyAndStripTimestamp(it->key(), timestamp_size);
    if (check.keys > 0 && key == last) continue;
    const char* denied =
        questions.Denied(key, check.keys == 0 ? nullptr : &last);
    if (denied != nullptr) {
      if (check.false_negatives++ == 0) {
        check.first_key = key.ToString();
        check.first_question = denied;
      }
    }
    if (check.keys++ == 0) first = key.ToString();
    last.assign(key.data(), key.size());
    if (check.keys % kKeysPerReport == 0) progress(kKeysPerReport);
  }
  progress(check.keys % kKeysPerReport);
  check.data = it->status();
  if (check.data.ok() && facts.filter() != nullptr && !facts.damaged() &&
      file.whole_key_filtering()) {
    const bool ascending = Slice(first).compare(last) <= 0;
    check.wrong_header =
        CheckHeader(*facts.filter(), check.keys, ascending ? first : last,
                    ascending ? last : first);
  }
  return check;
}

}  // namespace ROCKSDB_NAMESPACE::protean
