// SPDX-License-Identifier: Apache-2.0

#include "tools/output.h"

#include <cctype>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <filesystem>

#include "filter_policy/option_types.h"
#include "filter_policy/samples/files.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

std::string Cell(const Json& row, const Column& column) {
  const auto field = row.find(column.field);
  if (field == row.end() || field->is_null()) return "";
  if (field->is_string()) return PrintedName(field->get<std::string>());
  if (field->is_number_float()) {
    return Format("%.*f", column.digits, field->get<double>());
  }
  return field->dump();
}

}  // namespace

void Output::Table(const std::vector<Column>& columns,
                   const std::vector<Json>& rows) {
  if (as_json_) {
    for (const Json& row : rows) Row(row);
    return;
  }
  std::vector<std::string> lines(1 + rows.size());
  for (const Column& column : columns) {
    std::vector<std::string> cells = {column.title == nullptr ? column.field
                                                              : column.title};
    std::replace(cells[0].begin(), cells[0].end(), '_', ' ');
    size_t width = cells[0].size();
    bool is_empty = !rows.empty();
    bool is_left = false;
    for (const Json& row : rows) {
      const std::string cell = Cell(row, column);
      is_empty = is_empty && cell.empty();
      const auto field = row.find(column.field);
      is_left = is_left || (field != row.end() && field->is_string());
      cells.push_back(cell.empty() ? "-" : cell);
      width = std::max(width, cells.back().size());
    }
    if (is_empty) continue;
    for (size_t i = 0; i < lines.size(); i++) {
      const std::string padding(width - cells[i].size(), ' ');
      if (!lines[i].empty()) lines[i] += "  ";
      lines[i] += is_left ? cells[i] + padding : padding + cells[i];
    }
  }
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    out_ << line << '\n';
  }
}

Status WriteResult(const std::string& file, const std::string& called,
                   const std::string& contents, Env* env) {
  const Status s = WriteOutput(env, file, contents);
  return s.ok()
             ? s
             : Status::IOError(called + " cannot be written: " + s.ToString());
}

std::string PrintedKey(const Slice& key) {
  const bool printable =
      !key.empty() && !key.starts_with("0x") &&
      std::all_of(key.data(), key.data() + key.size(),
                  [](char c) { return c >= ' ' && c <= '~'; });
  return printable ? key.ToString() : "0x" + key.ToString(/*hex=*/true);
}

std::string PrintedName(const std::string& name) {
  std::string printed;
  for (const char c : name) {
    if (c == '\n') {
      printed += "\\n";
    } else if (c == '\t') {
      printed += "\\t";
    } else if (iscntrl(static_cast<unsigned char>(c)) != 0) {
      printed += Format("\\x%02x", static_cast<unsigned char>(c));
    } else {
      printed += c;
    }
  }
  return printed;
}

std::string ShellWord(const std::string& word) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./"
      ":,+%@";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word) {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + "'";
}

std::string AbsolutePath(const std::string& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

std::string PrintedBytes(double bytes) {
  const char* const units[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    unit++;
  }
  return Format(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

std::string Wrap(const std::string& text, size_t indent, size_t width) {
  std::string wrapped;
  size_t column = indent;
  for (const std::string& word : StringSplit(text, ' ')) {
    if (column > indent && column + 1 + word.size() > width) {
      wrapped += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      wrapped += ' ';
      column++;
    }
    wrapped += word;
    column += word.size();
  }
  return wrapped;
}

std::string Nearest(const std::string& word,
                    const std::vector<std::string>& known) {
  const auto distance = [&](const std::string& to) {
    const bool begins = to.compare(0, word.size(), word) == 0 && to != word;
    return begins ? 1 : EditDistance(word, to);
  };
  return *std::min_element(known.begin(), known.end(),
                           [&](const std::string& a, const std::string& b) {
                             return distance(a) < distance(b);
                           });
}

std::string Format(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  va_list again;
  va_copy(again, arguments);
  std::string text(
      static_cast<size_t>(vsnprintf(nullptr, 0, format, arguments)), '\0');
  vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  va_end(arguments);
  return text;
}

// ---- Progress ----

namespace {

volatile sig_atomic_t interrupted = 0;

// The next signal of either kind ends the process.
void OnInterrupt(int /*signal*/) {
  interrupted = 1;
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

}  // namespace

std::string PrintedSeconds(double seconds) {
  constexpr double kLongest = 1e9;  // which says enough
  const auto all =
      static_cast<uint64_t>(std::llround(std::clamp(seconds, 0.0, kLongest)));
  if (all < 100) return Format("%" PRIu64 " s", all);
  const uint64_t minutes = (all + 30) / 60;
  if (minutes < 100) return Format("%" PRIu64 " min", minutes);
  return Format("%" PRIu64 " h %" PRIu64 " min", minutes / 60, minutes % 60);
}

double SecondsLeft(uint64_t done, uint64_t total, double seconds) {
  if (done == 0) return -1;
  return seconds * Ratio(total - std::min(done, total), done);
}

std::string PrintedProgress(uint64_t done, uint64_t total, double seconds) {
  if (total == 0) return "beginning";
  std::string text = Format("%s of %s, %.0f %%", PrintedBytes(done).c_str(),
                            PrintedBytes(total).c_str(),
                            100 * std::min(Ratio(done, total), 1.0));
  const double left = SecondsLeft(done, total, seconds);
  if (left >= 0) text += ", about " + PrintedSeconds(left) + " left";
  return text;
}

Interrupt::Interrupt() {
  interrupted = 0;
  before_[0] = signal(SIGINT, OnInterrupt);
  before_[1] = signal(SIGTERM, OnInterrupt);
}

Interrupt::~Interrupt() {
  signal(SIGINT, before_[0]);
  signal(SIGTERM, before_[1]);
}

bool Interrupt::requested() const { return interrupted != 0; }

}  // namespace ROCKSDB_NAMESPACE::protean
