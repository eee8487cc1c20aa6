// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/level_sums.h"

#include "filter_policy/filter_properties.h"
#include "filter_policy/option_types.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

void AddNumber(const char* name, const std::string& number, std::string* line) {
  *line += std::string(line->back() == ':' ? " " : ", ") + name + " " + number;
}

void AddSeeks(const std::string& kind, const SeekCounts& seeks, SeekKind of,
              std::string* line) {
  const auto add = [&](const char* name, SeekEvent event) {
    AddNumber((kind + "." + name).c_str(), std::to_string(seeks(of, event)),
              line);
  };
  add("negatives", SeekEvent::kNegative);
  add("passed", SeekEvent::kPassed);
  add("true_positives", SeekEvent::kTruePositive);
  add("false_positives", SeekEvent::kFalsePositive);
}

// The numbers have the names that they have in plugin/filter_statistics.h.
std::string LevelToString(int level, const LevelSums& sums) {
  std::string line =
      " L" + (level < 0 ? std::string("?") : std::to_string(level)) + ":";
  AddNumber("open_files", std::to_string(sums.files), &line);
  AddNumber("used_files", std::to_string(sums.used()), &line);
  AddNumber("bits_per_key", DecimalText(sums.BitsPerKey(), 1), &line);
  AddSeeks("bounded_seeks", sums.counts.seeks, SeekKind::kClosed, &line);
  AddSeeks("unbounded_seeks", sums.counts.seeks, SeekKind::kOpen, &line);
  return line;
}

}  // namespace

DesignBasis BasisOf(const UserCollectedProperties& properties) {
  if (PropertyNumber(properties, kSamplesProperty, 0) > 0) {
    return DesignBasis::kSamples;
  }
  return PredictedFprOf(properties) >= 0 ? DesignBasis::kKeys
                                         : DesignBasis::kPrescribed;
}

void LevelSums::Add(const FileState& file) {
  const TableProperties& properties = *file.properties;
  files++;
  entries += properties.num_entries;
  files_by_use[static_cast<size_t>(file.use)]++;
  counts += file.counts;
  if (file.use != FilterUse::kUsed) return;
  keys += properties.num_filter_entries;
  filter_bytes += properties.filter_size;
  files_by_basis[static_cast<size_t>(
      BasisOf(properties.user_collected_properties))]++;
  model_micros += static_cast<uint64_t>(PropertyNumber(
      properties.user_collected_properties, kModelMicrosProperty, 0));
  const double predicted = PredictedFprOf(properties.user_collected_properties);
  if (predicted < 0) return;
  const auto file_keys = static_cast<double>(properties.num_filter_entries);
  predicted_positives += predicted * file_keys;
  predicted_keys += file_keys;
}

double LevelSums::BitsPerKey() const {
  return keys == 0 ? 0
                   : 8 * static_cast<double>(filter_bytes) /
                         static_cast<double>(keys);
}

double LevelSums::PredictedFpr() const {
  return predicted_keys == 0 ? -1 : predicted_positives / predicted_keys;
}

std::map<int, LevelSums> SumByLevel(const FamilyState& family,
                                    LevelSums* total) {
  std::map<int, LevelSums> levels;
  for (const auto& [level, counts] : family.closed_files) {
    levels[level].counts += counts;
    total->counts += counts;
  }
  for (const auto& [level, counts] : family.gets) {
    levels[level].gets += counts;
    total->gets += counts;
  }
  for (const FileState& file : family.open_files) {
    levels[file.level].Add(file);
    total->Add(file);
  }
  return levels;
}

std::string ToLogLine(const std::map<int, LevelSums>& levels) {
  std::string line;
  for (const auto& [level, sums] : levels) {
    // A level that is left may have had filters, but no seeks.
    if (sums.files == 0 && sums.counts.seeks.IsZero()) continue;
    if (!line.empty()) line += ";";
    line += LevelToString(level, sums);
  }
  return line + ".";
}

}  // namespace ROCKSDB_NAMESPACE::protean
