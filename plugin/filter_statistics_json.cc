// SPDX-License-Identifier: Apache-2.0

//  FilterStatistics as JSON.

#include <map>
#include <string>

#include "logging/event_logger.h"
#include "plugin/filter_statistics.h"
#include "plugin/filter_statistics_numbers.h"
#include "plugin/utf8_text.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Writes the members of one JSON object. The name and the value of each member
// are the arguments of a call.
class JsonMembers {
 public:
  void Add(const char* name, const std::string& text) {
    json_ << name << JsonText(text);
  }
  void Add(const char* name, uint64_t number) {
    AddWord(name, std::to_string(number));
  }
  void Add(const char* name, int number) {
    AddWord(name, std::to_string(number));
  }
  void Add(const char* name, double number) {
    AddWord(name, StatisticsDecimalText(number));
  }
  void AddFlag(const char* name, bool flag) {
    AddWord(name, flag ? "true" : "false");
  }
  // Leaves out an unknown rate.
  void AddRate(const char* name, double rate) {
    if (rate >= 0) Add(name, rate);
  }

  // An object, whose members `add` adds to this.
  template <typename AddMembers>
  void AddObject(const char* name, const AddMembers& add) {
    json_.AddKey(name);
    json_.StartObject();
    add();
    json_.EndObject();
  }
  // An array of objects. For each item, `add` adds the members to this.
  template <typename Items, typename AddMembers>
  void AddObjects(const char* name, const Items& items, const AddMembers& add) {
    json_.AddKey(name);
    json_.StartArray();
    for (const auto& item : items) {
      json_.StartArrayedObject();
      add(item);
      json_.EndArrayedObject();
    }
    json_.EndArray();
  }

  // Ends the object. Nothing may be added afterwards.
  std::string Finish() {
    json_.EndObject();
    return json_.Get();
  }

 private:
  // Adds a number or a literal, unquoted.
  void AddWord(const char* name, const std::string& word) {
    json_.AddKey(name);
    json_.AddValue<std::string>(word);
  }

  JSONWriter json_;
};

void WriteSeeks(const char* name, const FilterSeeks& seeks, JsonMembers* json) {
  json->AddObject(name, [&] {
    json->Add("asked", seeks.asked());
    json->Add("negatives", seeks.negatives);
    json->Add("passed", seeks.passed);
    json->Add("true_positives", seeks.true_positives);
    json->Add("false_positives", seeks.false_positives);
    json->Add("reached", seeks.reached);
    json->AddRate("fpr", seeks.FalsePositiveRate());
  });
}

void WriteLookups(const FilterLookups& gets, JsonMembers* json) {
  json->AddObject("gets", [&] {
    json->Add("unasked", gets.unasked);
    json->Add("asked", gets.asked());
    json->Add("negatives", gets.negatives);
    json->Add("true_positives", gets.true_positives);
    json->Add("false_positives", gets.false_positives);
    json->AddRate("fpr", gets.FalsePositiveRate());
  });
}

void WriteFileCounts(const char* name,
                     const std::map<std::string, uint64_t>& counts,
                     JsonMembers* json) {
  json->AddObject(name, [&] {
    for (const auto& [key, files] : counts) json->Add(key.c_str(), files);
  });
}

void WriteSums(const FilterSums& sums, JsonMembers* json) {
  json->Add("open_files", sums.files);
  json->Add("entries", sums.entries);
  json->Add("used", sums.used());
  WriteFileCounts("unused", sums.unused, json);
  json->Add("keys", sums.keys);
  json->Add("filter_bytes", sums.filter_bytes);
  json->Add("bits_per_key", sums.bits_per_key());
  json->AddRate("predicted_fpr", sums.predicted_fpr);
  WriteFileCounts("files_by_basis", sums.files_by_basis, json);
  json->Add("model_seconds", sums.model_seconds);
  json->Add("blocks_spared", sums.blocks_spared());
  json->Add("filter_blocks_loaded", sums.filter_blocks_loaded);
  json->Add("filter_bytes_loaded", sums.filter_bytes_loaded);
  json->Add("filter_loads_failed", sums.filter_loads_failed);
  WriteSeeks("closed", sums.closed, json);
  WriteSeeks("open", sums.open, json);
  WriteLookups(sums.gets, json);
}

void WriteFile(const FileFilterStatistics& file, JsonMembers* json) {
  json->Add("path", file.path);
  json->Add("level", file.level);
  json->Add("unused", file.unused);
  json->Add("entries", file.entries);
  json->Add("keys", file.keys);
  json->Add("filter_bytes", file.filter_bytes);
  json->Add("kind", file.filter.kind);
  json->Add("design", file.filter.design);
  json->Add("basis", file.filter.basis);
  json->Add("bits_per_key", file.filter.bits_per_key);
  json->AddRate("predicted_fpr", file.filter.predicted_fpr);
  json->Add("filter_blocks_loaded", file.filter_blocks_loaded);
  json->Add("filter_bytes_loaded", file.filter_bytes_loaded);
  json->Add("filter_loads_failed", file.filter_loads_failed);
  WriteSeeks("closed", file.closed, json);
  WriteSeeks("open", file.open, json);
}

void WriteGets(const FilterGets& gets, JsonMembers* json) {
  json->AddObject("gets", [&] {
    json->AddFlag("known", gets.known);
    json->Add("negatives", gets.negatives);
    json->Add("true_positives", gets.true_positives);
    json->Add("false_positives", gets.false_positives());
  });
}

void WriteBuilds(const FilterBuilds& builds, JsonMembers* json) {
  json->AddObject("builds", [&] {
    json->Add("filters", builds.filters);
    json->Add("keys", builds.keys);
    json->Add("bytes", builds.bytes);
    json->Add("model_seconds", builds.model_seconds);
    json->Add("build_seconds", builds.build_seconds);
  });
}

void WriteSamples(const SampleQueueStatistics& samples, JsonMembers* json) {
  json->AddObject("samples", [&] {
    json->AddFlag("exists", samples.exists);
    json->Add("held", samples.held);
    json->Add("capacity", samples.capacity);
    json->Add("sample_every", uint64_t{samples.sample_every});
    json->Add("recorded", samples.recorded);
    json->Add("sampled", samples.sampled);
    json->Add("dropped", samples.dropped);
    json->Add("age_seconds", samples.age_seconds);
  });
}

void WriteRefresh(const RefreshStatistics& refresh, JsonMembers* json) {
  json->AddObject("refresh", [&] {
    json->Add("runs", refresh.runs);
    json->Add("failures", refresh.failures);
    json->Add("last_end_seconds", refresh.last_end_seconds);
    json->Add("files_rewritten", refresh.files_rewritten);
    json->Add("bytes_read", refresh.bytes_read);
    json->Add("bytes_rewritten", refresh.bytes_rewritten);
    json->AddFlag("running", refresh.running);
    if (!refresh.running) return;
    json->Add("bytes", refresh.bytes);
    json->Add("bytes_decided", refresh.bytes_decided);
    json->Add("running_seconds", refresh.running_seconds);
    json->AddRate("seconds_left", refresh.seconds_left);
  });
}

}  // namespace

std::string FilterStatistics::ToJson() const {
  JsonMembers json;
  json.Add("db", db);
  json.Add("column_family", column_family);
  json.Add("live_files", live_files);
  json.AddObject("total", [&] { WriteSums(total, &json); });
  json.AddObjects("levels", levels, [&](const LevelFilterStatistics& level) {
    json.Add("level", level.level);
    WriteSums(level.sums, &json);
  });
  json.AddObjects("files", files, [&](const FileFilterStatistics& file) {
    WriteFile(file, &json);
  });
  WriteGets(gets, &json);
  WriteBuilds(builds, &json);
  WriteSamples(samples, &json);
  WriteRefresh(refresh, &json);
  return json.Finish();
}

}  // namespace ROCKSDB_NAMESPACE::protean
