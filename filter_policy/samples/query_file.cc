// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/samples/query_file.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "filter_policy/samples/files.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The first line of every file that WriteQueryFile writes.
constexpr char kHeader[] =
    "# Queries, oldest first: key, lo<TAB>hi, or lo<TAB>hi<TAB>exclusive. "
    "0x begins a hexadecimal key.\n";
constexpr char kHexMark[] = "0x";
// A full queue of the usual capacity takes a hundredth of it at most.
constexpr uint64_t kMaxBytes = 1 << 30;
constexpr char kExclusive[] = "exclusive";
constexpr char kSeedCharacters[] = "0123456789ABCDEFabcdef,-xclusiv";
constexpr char kAllowedSeeds[] =
    "allowed: queries with commas between them, such as "
    "0x61,0x62-0x6F,0x70-0x72-exclusive";
constexpr char kAllowed[] =
    "allowed: key, lo<TAB>hi, or lo<TAB>hi<TAB>exclusive, where a key is 0x "
    "and pairs of hexadecimal digits, or any other bytes";

// Returns the part of `*text` before the next `end`, or all of it. Removes that
// part and the `end` from `*text`.
Slice TakeUntil(char end, Slice* text) {
  const size_t size = text->ToStringView().find(end);
  const Slice part(text->data(), std::min(size, text->size()));
  text->remove_prefix(std::min(part.size() + 1, text->size()));
  return part;
}

// Parses a line. Returns what is wrong with it, or nullptr.
const char* ParseQuery(Slice line, SampleQuery* query) {
  Slice fields[3];
  int num_fields = 0;
  bool more = true;
  while (more) {
    if (num_fields == 3) return "has more than three fields";
    const size_t size = line.size();
    fields[num_fields] = TakeUntil('\t', &line);
    more = fields[num_fields++].size() < size;
  }
  if (num_fields == 3 && fields[2] != kExclusive) {
    return "has a third field that is not exclusive";
  }
  if (!ParseKey(fields[0], &query->lo)) {
    return "has a first field that is not hexadecimal";
  }
  if (!ParseKey(num_fields == 1 ? fields[0] : fields[1], &query->hi)) {
    return "has a second field that is not hexadecimal";
  }
  query->hi_inclusive = num_fields < 3;
  return nullptr;
}

// Bad lines are left out if the text was `saved` here; else it is refused.
Status ParseQueries(const std::string& source, Slice text, bool saved,
                    std::vector<SampleQuery>* queries,
                    std::vector<std::string>* refused) {
  std::vector<SampleQuery> read;
  for (uint64_t number = 1; !text.empty(); number++) {
    const bool has_end = memchr(text.data(), '\n', text.size()) != nullptr;
    const Slice line = TakeUntil('\n', &text);
    if (line.empty() || line[0] == '#') continue;
    const std::string name = source + std::to_string(number);
    SampleQuery query;
    const char* wrong = ParseQuery(line, &query);
    if (saved && wrong == nullptr && !has_end) wrong = "is cut off";
    if (wrong != nullptr) {
      if (!saved) return Status::InvalidArgument(name + " " + wrong, kAllowed);
      refused->push_back(name + " is left out: it " + wrong);
      continue;
    }
    if (IsInverted(query.lo, query.hi, query.hi_inclusive)) {
      refused->push_back(name +
                         " is left out: no key lies between its bounds; "
                         "allowed: lo below hi, or lo equal to hi that is not "
                         "exclusive");
      continue;
    }
    read.push_back(std::move(query));
  }
  queries->insert(queries->end(), std::make_move_iterator(read.begin()),
                  std::make_move_iterator(read.end()));
  return Status::OK();
}

std::string LinesOf(const std::string& file) {
  return "query file " + file + ", line ";
}

uint64_t Fingerprint(const std::string& contents) {
  return Hash64(contents.data(), contents.size()) | 1;
}

}  // namespace

bool ParseKey(const Slice& field, std::string* key) {
  if (!field.starts_with(kHexMark)) {
    key->assign(field.data(), field.size());
    return true;
  }
  Slice digits = field;
  digits.remove_prefix(sizeof(kHexMark) - 1);
  key->clear();
  return digits.DecodeHex(key);
}

Status ReadQueryFile(Env* env, const std::string& file,
                     std::vector<SampleQuery>* queries,
                     std::vector<std::string>* refused) {
  std::string contents;
  const Status s = ReadPlainFile(env, file, kMaxBytes, &contents);
  if (!s.ok()) {
    return Status::InvalidArgument("query file " + file + " cannot be read",
                                   s.ToString());
  }
  return ParseQueries(LinesOf(file), contents, /*saved=*/false, queries,
                      refused);
}

Status ReadSavedQueries(Env* env, const std::string& file,
                        std::vector<SampleQuery>* queries,
                        std::vector<std::string>* refused,
                        uint64_t* fingerprint) {
  std::string contents;
  const Status s = ReadPlainFile(env, file, kMaxBytes, &contents);
  if (!s.ok()) return s;
  if (fingerprint != nullptr) *fingerprint = Fingerprint(contents);
  return ParseQueries(LinesOf(file), contents,
                      Slice(contents).starts_with(kHeader), queries, refused);
}

std::string QueryLine(const SampleQuery& query) {
  std::string line = kHexMark + Slice(query.lo).ToString(/*hex=*/true);
  if (query.lo != query.hi || !query.hi_inclusive) {
    line += '\t';
    line += kHexMark + Slice(query.hi).ToString(/*hex=*/true);
  }
  if (!query.hi_inclusive) {
    line += '\t';
    line += kExclusive;
  }
  return line;
}

std::string QueryFileText(const std::vector<SampleQuery>& queries) {
  std::string contents = kHeader;
  for (const SampleQuery& query : queries) {
    contents += QueryLine(query);
    contents += '\n';
  }
  return contents;
}

Status ParseSeeds(const std::string& option,
                  std::vector<SampleQuery>* queries) {
  // RocksDB reads an option of other characters not as it has written it.
  if (option.find_first_not_of(kSeedCharacters) != option.npos) {
    return Status::InvalidArgument(
        "seeds has other characters than hexadecimal keys", kAllowedSeeds);
  }
  std::string lines = option;
  std::replace(lines.begin(), lines.end(), ',', '\n');
  std::replace(lines.begin(), lines.end(), '-', '\t');
  std::vector<std::string> refused;
  return ParseQueries("seeds, query ", lines, /*saved=*/false, queries,
                      &refused);
}

std::string SeedsText(const std::vector<SampleQuery>& queries) {
  size_t seeds = std::min(queries.size(), kMaxSeeds);
  for (;; seeds -= std::min(seeds, 1 + seeds / 10)) {
    std::string text;
    for (size_t i = 0; i < seeds; i++) {
      if (i > 0) text += ',';
      text += QueryLine(queries[i * queries.size() / seeds]);
    }
    if (text.size() > kMaxSeedBytes) continue;
    std::replace(text.begin(), text.end(), '\t', '-');
    return text;
  }
}

Status WriteQueryFile(Env* env, const std::string& file,
                      const std::vector<SampleQuery>& queries,
                      uint64_t* fingerprint) {
  const std::string contents = QueryFileText(queries);
  const Status s = ReplaceFile(env, file, contents);
  if (s.ok() && fingerprint != nullptr) *fingerprint = Fingerprint(contents);
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
