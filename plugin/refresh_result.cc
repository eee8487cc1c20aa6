// SPDX-License-Identifier: Apache-2.0

//  RefreshResult (refresh_filters.h) as JSON.

#include "filter_policy/decimal.h"
#include "logging/event_logger.h"
#include "plugin/refresh_filters.h"
#include "plugin/utf8_text.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class ResultJson {
 public:
  std::string Of(const RefreshResult& result) {
    json_.AddKey("files");
    json_.StartArray();
    for (const RefreshedFile& file : result.files) {
      json_.StartArrayedObject();
      Add(file);
      json_.EndArrayedObject();
    }
    json_.EndArray();
    Add("samples", result.samples);
    AddWord("rate_known", result.rate_known ? "true" : "false");
    Add("bytes_read", result.bytes_read);
    Add("files_rewritten", result.files_rewritten);
    Add("bytes_rewritten", result.bytes_rewritten);
    AddKnown("saved_reads_per_second", result.saved_reads_per_second);
    json_.EndObject();
    return json_.Get();
  }

 private:
  void Add(const RefreshedFile& file) {
    json_ << "name" << JsonText(file.name);
    AddWord("level", std::to_string(file.level));
    Add("bytes", file.bytes);
    Add("entries", file.entries);
    json_ << "outcome" << ToString(file.outcome);
    json_ << "status"
          << (file.status.ok() ? "" : JsonText(file.status.ToString()));
    Add("queries", file.queries);
    json_ << "old_design" << JsonText(file.old_design);
    json_ << "new_design" << JsonText(file.new_design);
    AddKnown("old_fpr", file.old_fpr);
    AddKnown("new_fpr", file.new_fpr);
    AddKnown("asked_per_second", file.asked_per_second);
    AddKnown("saved_reads_per_second", file.saved_reads_per_second);
  }
  // Adds a number or a literal, unquoted.
  void AddWord(const char* name, const std::string& word) {
    json_.AddKey(name);
    json_.AddValue<std::string>(word);
  }
  void Add(const char* name, uint64_t number) {
    AddWord(name, std::to_string(number));
  }
  void AddKnown(const char* name, double number) {
    if (number >= 0) AddWord(name, DecimalText(number, 6));
  }

  JSONWriter json_;
};

}  // namespace

std::string RefreshResult::ToJson() const { return ResultJson().Of(*this); }

}  // namespace ROCKSDB_NAMESPACE::protean
