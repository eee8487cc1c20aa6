// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/open_families.h"

#include <algorithm>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string NameOf(const OpenFamilies::Family& family) {
  return family.name.empty() ? "unknown" : family.name;
}

}  // namespace

FamilyState OpenFamilies::StateOf(const Family& family) {
  FamilyState state;
  for (const auto& [number, level] : family.levels) {
    // A file that was opened only to be inspected leaves no trace.
    if (!level.closed_files.IsZero()) {
      state.closed_files[number] = level.closed_files;
    }
    if (const GetCounts gets = level.gets.Load(); !gets.IsZero()) {
      state.gets[number] = gets;
    }
  }
  state.open_files.reserve(family.open_files.size());
  for (const File* file : family.open_files) {
    state.open_files.push_back(file->State());
  }
  return state;
}

FamilyState OpenFamilies::StateOf(const void* family) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = families_.find(family);
  return found == families_.end() ? FamilyState() : StateOf(found->second);
}

std::vector<FamilyState> OpenFamilies::StatesIn(
    const PathFilter& selects) const {
  std::vector<FamilyState> found;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [id, family] : families_) {
    const bool is_there = std::any_of(
        family.open_files.begin(), family.open_files.end(),
        [&](const File* file) { return selects(file->description.path); });
    if (is_there) found.push_back(StateOf(family));
  }
  return found;
}

uint64_t OpenFamilies::PriceOf(const void* family, int level,
                               const Statistics* statistics) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const double file_micros = file_read_time_.Update(statistics);
  const auto found = families_.find(family);
  if (found == families_.end()) return 0;
  const auto of_level = found->second.levels.find(level);
  if (of_level == found->second.levels.end()) return 0;
  return of_level->second.price.Update(of_level->second.gets.LoadReads(),
                                       file_micros);
}

void OpenFamilies::Add(File* file) {
  const FileDescription& description = file->description;
  if (description.log_period_seconds > 0) {
    log_period_seconds_.store(description.log_period_seconds,
                              std::memory_order_relaxed);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  Family& family = families_[description.family];
  if (!description.family_name.empty()) {
    // A new column family may be at the address of one that was dropped.
    if (family.open_files.empty() && family.name != description.family_name) {
      family.levels.clear();
    }
    family.name = description.family_name;
  }
  file->family = &family;
  file->level = &family.levels[description.level];
  family.open_files.insert(file);
}

void OpenFamilies::Remove(File* file) {
  const std::lock_guard<std::mutex> lock(mutex_);
  file->family->open_files.erase(file);
  file->level->closed_files += file->Counts();
}

void OpenFamilies::LogIfDue(const File& file) {
  constexpr uint64_t kMicrosPerSecond = 1000 * 1000;
  const FileDescription& description = file.description;
  const uint64_t period = log_period_seconds_.load(std::memory_order_relaxed);
  if (period == 0) return;
  Family* const family = file.family;
  const uint64_t period_micros = period * kMicrosPerSecond;
  const uint64_t now = description.env->NowMicros();
  uint64_t due = family->next_line_micros.load(std::memory_order_relaxed);
  // If the line is due later than one period from now, the clock has been set
  // back, and the line is due now.
  if (now < due && due - now <= period_micros) return;
  // Among several threads, the one that advances the time writes the line. The
  // first call writes none, because nothing has been counted yet.
  if (!family->next_line_micros.compare_exchange_strong(due,
                                                        now + period_micros) ||
      due == 0) {
    return;
  }
  std::string line;
  LevelSums total;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    line =
        NameOf(*family) + ":" + ToLogLine(SumByLevel(StateOf(*family), &total));
  }
  Log(InfoLogLevel::INFO_LEVEL, description.info_log,
      "Protean: column family %s", line.c_str());
  const SeekCounts& seeks = total.counts.seeks;
  if (SeeksAreUnbounded(seeks.All(SeekKind::kOpen),
                        seeks.All(SeekKind::kClosed)) &&
      !family->warned_of_unbounded.exchange(true)) {
    Log(InfoLogLevel::WARN_LEVEL, description.info_log,
        "Protean: column family %s: nearly all seeks come without an upper "
        "bound, and then filters can seldom tell that nothing is there; set "
        "ReadOptions::iterate_upper_bound",
        NameOf(*family).c_str());
  }
}

bool SeeksAreUnbounded(uint64_t unbounded, uint64_t bounded) {
  constexpr uint64_t kEnough = 10'000;
  constexpr uint64_t kNearlyAll = 20;
  return unbounded >= kEnough && unbounded >= kNearlyAll * bounded;
}

}  // namespace ROCKSDB_NAMESPACE::protean
