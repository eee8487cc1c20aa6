// SPDX-License-Identifier: Apache-2.0

#include "tools/file_status.h"

#include <cstdlib>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Kind = FileStatus::Kind;

// The offset of the block that RocksDB's message names.
std::optional<uint64_t> OffsetOf(const Status& damage) {
  constexpr char kMark[] = " offset ";
  const std::string text = damage.ToString();
  const size_t mark = text.rfind(kMark);
  if (mark == std::string::npos) return std::nullopt;
  char* end = nullptr;
  const char* const digits = text.c_str() + mark + sizeof(kMark) - 1;
  const uint64_t offset = strtoull(digits, &end, 10);
  if (end == digits) return std::nullopt;
  return offset;
}

// A block-based table whose data is intact.
FileStatus StatusOfFilter(const FileFacts& facts, const KeyCheck& check) {
  const auto fixable = [&facts](const char* words, const std::string& detail) {
    return FileStatus{Kind::kFixable, words, detail,
                      facts.file().filter_offset()};
  };
  if (facts.damaged()) return fixable("damaged filter", facts.unfiltered());
  if (check.false_negatives > 0) {
    return fixable("false negatives", check.wrong_header);
  }
  if (!check.wrong_header.empty()) {
    return fixable("wrong header", check.wrong_header);
  }
  FileStatus status;
  if (!check.asked && facts.filter_bytes() > 0) {
    status.kind = Kind::kNotChecked;
    status.detail =
        "its filter was not checked: it is partitioned, of an unknown policy, "
        "or of an unknown prefix extractor";
  }
  return status;
}

}  // namespace

FileStatus StatusOfAbsentFile(bool is_listed, const std::string& path) {
  if (!is_listed) return {Kind::kGone, "gone", "", {}};
  return {Kind::kWrong,
          "missing",
          "the MANIFEST lists it, but there is no " + path,
          {}};
}

FileStatus StatusOfUnopenedFile(const Status& opened) {
  return {Kind::kWrong, opened.IsCorruption() ? "damaged" : "unreadable",
          opened.ToString(), OffsetOf(opened)};
}

FileStatus StatusOfUnreadData(const Status& read) {
  return {Kind::kWrong,
          read.IsCorruption() ? "damaged data" : "unreadable data",
          read.ToString(), OffsetOf(read)};
}

FileStatus StatusOfOtherTable(const std::string& table) {
  return {Kind::kNotSeen, "other table", table, {}};
}

FileStatus StatusOfOtherTable(const std::string& table, const Status& computed,
                              bool matches) {
  if (!computed.ok()) {
    return {Kind::kWrong, "unreadable", computed.ToString(), {}};
  }
  if (!matches) {
    return {Kind::kWrong,
            "damaged",
            "its checksum is not the one in the MANIFEST",
            {}};
  }
  return {Kind::kFine,
          "ok",
          table + "; its checksum is the one in the MANIFEST",
          {}};
}

FileStatus StatusOfTable(const FileFacts& facts, const KeyCheck& check) {
  return check.data.ok() ? StatusOfFilter(facts, check)
                         : StatusOfUnreadData(check.data);
}

}  // namespace ROCKSDB_NAMESPACE::protean
