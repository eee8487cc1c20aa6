// SPDX-License-Identifier: Apache-2.0

#include "plugin/live_protocol.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "filter_policy/decimal.h"
#include "plugin/level_list.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kRequestTitle[] = "protean request 1\n";
constexpr char kAnswerTitle[] = "protean answer 1\n";

constexpr const char* kKinds[] = {"refresh", "statistics", "save_samples",
                                  "stop"};
constexpr const char* kFormats[] = {"text", "json", "prometheus"};
constexpr const char* kStates[] = {"running", "done", "failed", "refused"};

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-';
}

bool IsId(const std::string& id) {
  constexpr size_t kMaxId = 64;
  return !id.empty() && id.size() <= kMaxId &&
         std::all_of(id.begin(), id.end(), IsPlain);
}

std::string Escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (IsPlain(c) || c == '_' || c == '.' || c == ' ') {
      text.push_back(c);
    } else {
      char code[4];
      snprintf(code, sizeof(code), "%%%02X", static_cast<uint8_t>(c));
      text += code;
    }
  }
  return text;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool Unescape(const Slice& text, std::string* value) {
  value->clear();
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] != '%') {
      value->push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return false;
    value->push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

// The fields of a request or an answer, while it is written.
class FieldWriter {
 public:
  explicit FieldWriter(const char* title) : text_(title) {}

  void Add(const char* name, const std::string& value) {
    text_ += std::string(name) + "=" + Escaped(value) + "\n";
  }
  void Add(const char* name, uint64_t value) {
    Add(name, std::to_string(value));
  }
  void Add(const char* name, double value) { Add(name, DecimalText(value, 6)); }
  std::string text() const { return text_; }

 private:
  std::string text_;
};

// The fields of a request or an answer, while it is read. Each Get takes a
// field; a field that is absent leaves `*value` alone.
class FieldReader {
 public:
  // Stores what is behind the fields, if an empty line ends them. Returns false
  // for text of another form.
  bool Parse(Slice text, const Slice& title, std::string* body) {
    if (!text.starts_with(title)) return false;
    text.remove_prefix(title.size());
    while (!text.empty()) {
      const auto* end =
          static_cast<const char*>(memchr(text.data(), '\n', text.size()));
      if (end == nullptr) return false;
      const Slice line(text.data(), static_cast<size_t>(end - text.data()));
      text.remove_prefix(line.size() + 1);
      if (line.empty()) {
        if (body == nullptr) return false;
        *body = text.ToString();
        return true;
      }
      const auto* equals =
          static_cast<const char*>(memchr(line.data(), '=', line.size()));
      if (equals == nullptr) return false;
      const auto name_size = static_cast<size_t>(equals - line.data());
      const Slice value(equals + 1, line.size() - name_size - 1);
      std::string unescaped;
      if (!Unescape(value, &unescaped) ||
          !fields_.emplace(std::string(line.data(), name_size), unescaped)
               .second) {
        return false;
      }
    }
    return true;
  }

  bool Get(const char* name, std::string* value) {
    const auto field = fields_.find(name);
    if (field == fields_.end()) return true;
    *value = field->second;
    fields_.erase(field);
    return true;
  }
  bool Get(const char* name, uint64_t* value) {
    std::string text;
    Get(name, &text);
    if (text.empty()) return true;
    constexpr size_t kMaxDigits = 20;  // of 2^64 - 1
    if (text.size() > kMaxDigits ||
        text.find_first_not_of("0123456789") != std::string::npos ||
        (text.size() == kMaxDigits && text > "18446744073709551615")) {
      return false;
    }
    *value = strtoull(text.c_str(), nullptr, 10);
    return true;
  }
  bool Get(const char* name, double* value) {
    std::string text;
    Get(name, &text);
    return text.empty() || ParseDecimal(text, value);
  }
  bool Get(const char* name, bool* value) {
    uint64_t number = *value ? 1 : 0;
    if (!Get(name, &number) || number > 1) return false;
    *value = number == 1;
    return true;
  }
  bool Get(const char* name, std::optional<std::string>* value) {
    const auto field = fields_.find(name);
    if (field == fields_.end()) return true;
    return Get(name, &value->emplace());
  }
  bool Get(const char* name, std::vector<int>* value) {
    std::string text;
    Get(name, &text);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      if (!AddLevel(text.substr(begin, end - begin), value)) return false;
      begin = end + 1;
    }
    return true;
  }
  // One of `names`, by position.
  template <typename Enum, size_t kNames>
  bool Get(const char* name, const char* const (&names)[kNames], Enum* value) {
    std::string text;
    Get(name, &text);
    const auto* found = std::find(std::begin(names), std::end(names), text);
    if (found == std::end(names)) return false;
    *value = static_cast<Enum>(found - std::begin(names));
    return true;
  }
  // Whether all fields have been taken.
  bool IsEmpty() const { return fields_.empty(); }

 private:
  std::map<std::string, std::string> fields_;
};

}  // namespace

std::string LiveRequestFile(const std::string& db) {
  return db + "/PROTEAN_REQUEST";
}

std::string LiveAnswerFile(const std::string& db, const std::string& id) {
  return db + "/" + kLiveAnswerPrefix + id;
}

std::string LiveRequest::ToText() const {
  FieldWriter fields(kRequestTitle);
  fields.Add("id", id);
  fields.Add("written", static_cast<uint64_t>(written_seconds));
  fields.Add("request", std::string(kKinds[static_cast<size_t>(kind)]));
  fields.Add("column_family", column_family);
  fields.Add("format", std::string(kFormats[static_cast<size_t>(format)]));
  fields.Add("stopped", stopped_id);
  fields.Add("dry_run", uint64_t{refresh.dry_run});
  fields.Add("max_bytes", refresh.max_bytes);
  fields.Add("bytes_per_second", refresh.bytes_per_second);
  fields.Add("min_gain", refresh.min_gain);
  fields.Add("without_samples", uint64_t{without_samples});
  // Processes that do not know these fields refuse the request, so a field is
  // there only if something is asked with it.
  if (refresh.all_files) fields.Add("all_files", uint64_t{1});
  if (!refresh.levels.empty()) fields.Add("levels", LevelsText(refresh.levels));
  if (refresh.start) fields.Add("start", *refresh.start);
  if (refresh.limit) fields.Add("limit", *refresh.limit);
  return fields.text();
}

Status LiveRequest::Parse(const Slice& text, LiveRequest* request) {
  *request = LiveRequest();
  const Status malformed = Status::InvalidArgument(
      "the request is malformed, or from another version of Protean");
  FieldReader fields;
  const bool has_form = fields.Parse(text, kRequestTitle, nullptr);
  std::string id;
  fields.Get("id", &id);
  if (!IsId(id)) return malformed;
  request->id = id;
  uint64_t written = 0;
  if (!has_form || !fields.Get("written", &written) ||
      !fields.Get("request", kKinds, &request->kind) ||
      !fields.Get("column_family", &request->column_family) ||
      !fields.Get("format", kFormats, &request->format) ||
      !fields.Get("stopped", &request->stopped_id) ||
      !fields.Get("dry_run", &request->refresh.dry_run) ||
      !fields.Get("max_bytes", &request->refresh.max_bytes) ||
      !fields.Get("bytes_per_second", &request->refresh.bytes_per_second) ||
      !fields.Get("min_gain", &request->refresh.min_gain) ||
      !fields.Get("without_samples", &request->without_samples) ||
      !fields.Get("all_files", &request->refresh.all_files) ||
      !fields.Get("levels", &request->refresh.levels) ||
      !fields.Get("start", &request->refresh.start) ||
      !fields.Get("limit", &request->refresh.limit) || !fields.IsEmpty()) {
    return malformed;
  }
  request->written_seconds = static_cast<int64_t>(written);
  return Status::OK();
}

std::string LiveAnswer::ToText() const {
  FieldWriter fields(kAnswerTitle);
  fields.Add("state", std::string(kStates[static_cast<size_t>(state)]));
  fields.Add("message", message);
  fields.Add("files", uint64_t{progress.files});
  fields.Add("files_decided", uint64_t{progress.files_decided});
  fields.Add("bytes", progress.bytes);
  fields.Add("bytes_decided", progress.bytes_decided);
  fields.Add("bytes_read", progress.bytes_read);
  fields.Add("bytes_rewritten", progress.bytes_rewritten);
  fields.Add("seconds", seconds);
  return fields.text() + "\n" + body;
}

Status LiveAnswer::Parse(const Slice& text, LiveAnswer* answer) {
  *answer = LiveAnswer();
  FieldReader fields;
  uint64_t files = 0;
  uint64_t files_decided = 0;
  RefreshProgress* const progress = &answer->progress;
  if (!fields.Parse(text, kAnswerTitle, &answer->body) ||
      !fields.Get("state", kStates, &answer->state) ||
      !fields.Get("message", &answer->message) ||
      !fields.Get("files", &files) ||
      !fields.Get("files_decided", &files_decided) ||
      !fields.Get("bytes", &progress->bytes) ||
      !fields.Get("bytes_decided", &progress->bytes_decided) ||
      !fields.Get("bytes_read", &progress->bytes_read) ||
      !fields.Get("bytes_rewritten", &progress->bytes_rewritten) ||
      !fields.Get("seconds", &answer->seconds) || !fields.IsEmpty()) {
    return Status::Corruption(
        "the answer is malformed, or from another version of Protean");
  }
  progress->files = files;
  progress->files_decided = files_decided;
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
