#include "filter_policy/filter_registry.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "filter_policy/decimal.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kMicrosPerSecond = 1000 * 1000;

// A level as its line tells of it.
struct LevelSum {
  uint64_t files = 0;
  uint64_t used = 0;
  uint64_t keys = 0;
  uint64_t bytes = 0;
  SeekCounts seeks;
};

std::map<int, LevelSum> SumByLevel(const FilterRegistry::Contents& contents) {
  std::map<int, LevelSum> levels;
  for (const auto& [level, seeks] : contents.closed) {
    levels[level].seeks += seeks;
  }
  for (const FilterRegistry::File& file : contents.files) {
    LevelSum& sum = levels[file.level];
    sum.files++;
    sum.seeks += file.seeks;
    if (file.use != FilterUse::kUsed) continue;
    sum.used++;
    sum.keys += file.properties->num_filter_entries;
    sum.bytes += file.properties->filter_size;
  }
  return levels;
}

std::string SeeksToString(const SeekCounts& seeks, SeekKind kind) {
  const auto count = [&](SeekEvent event) { return seeks(kind, event); };
  char text[160];
  snprintf(text, sizeof(text),
           "%" PRIu64 " no, %" PRIu64 " passed, %" PRIu64 " true, %" PRIu64
           " false",
           count(SeekEvent::kNegative), count(SeekEvent::kPassed),
           count(SeekEvent::kTruePositive), count(SeekEvent::kFalsePositive));
  return text;
}

std::string LevelToString(int level, const LevelSum& sum) {
  char text[120];
  const double bits = sum.keys == 0 ? 0
                                    : 8 * static_cast<double>(sum.bytes) /
                                          static_cast<double>(sum.keys);
  snprintf(text, sizeof(text),
           " L%s %" PRIu64 " files (%" PRIu64
           " filtered, %s bits per key), closed seeks ",
           level < 0 ? "?" : std::to_string(level).c_str(), sum.files, sum.used,
           DecimalText(bits, 1).c_str());
  return text + SeeksToString(sum.seeks, SeekKind::kClosed) + ", open seeks " +
         SeeksToString(sum.seeks, SeekKind::kOpen) + ";";
}

}  // namespace

const char* ToString(FilterUse use) {
  switch (use) {
    case FilterUse::kUsed:
      return "used";
    case FilterUse::kNone:
      return "no filter";
    case FilterUse::kForeign:
      return "filter of RocksDB";
    case FilterUse::kComparator:
      return "other comparator";
    case FilterUse::kPartialKeys:
      return "no whole keys";
    case FilterUse::kUnheld:
      return "keys not held";
    case FilterUse::kDamaged:
      return "damaged";
  }
  return "unknown";
}

FilterRegistry::Contents FilterRegistry::ContentsOf(const Family& family) {
  Contents contents;
  contents.closed = family.closed;
  contents.files.reserve(family.open.size());
  for (const RegisteredFile* file : family.open) {
    const Announcement& announced = file->announcement_;
    contents.files.push_back({announced.path, announced.level, file->use(),
                              announced.properties, file->counts_.Load()});
  }
  return contents;
}

FilterRegistry::Contents FilterRegistry::Of(FamilyId family) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = families_.find(family);
  return found == families_.end() ? Contents() : ContentsOf(found->second);
}

std::vector<FilterRegistry::Contents> FilterRegistry::OfFolder(
    const std::string& begin) const {
  std::vector<Contents> found;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [id, family] : families_) {
    const bool is_there = std::any_of(
        family.open.begin(), family.open.end(), [&](const RegisteredFile* f) {
          return f->announcement_.path.compare(0, begin.size(), begin) == 0;
        });
    if (is_there) found.push_back(ContentsOf(family));
  }
  return found;
}

FilterRegistry::Family* FilterRegistry::Add(const RegisteredFile* file) {
  const Announcement& announced = file->announcement_;
  if (announced.log_period_seconds > 0) {
    log_period_seconds_.store(announced.log_period_seconds,
                              std::memory_order_relaxed);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  Family& family = families_[announced.family];
  if (!announced.family_name.empty()) {
    // Another column family where one that was dropped has been.
    if (family.open.empty() && family.name != announced.family_name) {
      family.closed.clear();
    }
    family.name = announced.family_name;
  }
  family.open.insert(file);
  return &family;
}

void FilterRegistry::Remove(const RegisteredFile* file) {
  Family* const family = file->family_;
  const std::lock_guard<std::mutex> lock(mutex_);
  family->open.erase(file);
  // A file that was opened only to look into it leaves no trace.
  const SeekCounts counts = file->counts_.Load();
  if (!counts.IsZero()) family->closed[file->announcement_.level] += counts;
}

void FilterRegistry::LogIfDue(const RegisteredFile& file) {
  const Announcement& announced = file.announcement_;
  const uint64_t period = log_period_seconds_.load(std::memory_order_relaxed);
  if (period == 0) return;
  Family* const family = file.family_;
  const uint64_t period_micros = period * kMicrosPerSecond;
  const uint64_t now = announced.env->NowMicros();
  uint64_t due = family->next_line_micros.load(std::memory_order_relaxed);
  // A line that is due later than in a period was so before the clock was set
  // back, and is due now.
  if (now < due && due - now <= period_micros) return;
  // The first one who comes writes the line, and of several the one who moves
  // the time on. At first, when nothing can be told yet, nobody does.
  if (!family->next_line_micros.compare_exchange_strong(due,
                                                        now + period_micros) ||
      due == 0) {
    return;
  }
  std::string line;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    line = family->name.empty() ? "unknown" : family->name;
    line += ":";
    for (const auto& [level, sum] : SumByLevel(ContentsOf(*family))) {
      line += LevelToString(level, sum);
    }
  }
  line.back() = '.';
  Log(InfoLogLevel::INFO_LEVEL, announced.info_log, "Protean: column family %s",
      line.c_str());
}

RegisteredFile::RegisteredFile(FilterRegistry* registry,
                               FilterRegistry::Announcement announcement,
                               FilterUse use)
    : registry_(registry),
      announcement_(std::move(announcement)),
      use_(use),
      family_(registry->Add(this)) {
  registry_->LogIfDue(*this);
}

RegisteredFile::~RegisteredFile() {
  registry_->LogIfDue(*this);
  registry_->Remove(this);
}

}  // namespace ROCKSDB_NAMESPACE::protean
