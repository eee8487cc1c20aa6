// SPDX-License-Identifier: Apache-2.0

#include "tools/reads.h"

#include <bitset>
#include <initializer_list>

#include "filter_policy/samples/query_file.h"
#include "rocksdb/trace_reader_writer.h"
#include "trace_replay/trace_replay.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The version of traces with bounds and MultiGets, which RocksDB has written
// since 6.18.
constexpr int kVersion = 10 * kTraceFileMajorVersion + kTraceFileMinorVersion;

constexpr uint64_t Parts(std::initializer_list<TracePayloadType> types) {
  uint64_t parts = 0;
  for (const TracePayloadType type : types) parts |= uint64_t{1} << type;
  return parts;
}

// Adds the reads in records to a sample.
class ReadCollector {
 public:
  ReadCollector(uint32_t column_family, ReadSample* reads, uint64_t* others)
      : column_family_(column_family), reads_(reads), others_(others) {}

  // Adds the reads of a record, if it is one of reads. Returns false if it has
  // not all the parts that RocksDB writes, complete: RocksDB's own parser would
  // make up missing parts, and as many keys as the record claims to have.
  bool Add(const Trace& trace) {
    constexpr uint64_t kLower = Parts({kIterLowerBound});
    constexpr uint64_t kUpper = Parts({kIterUpperBound});
    bool is_seek = false;
    uint64_t required = 0;
    switch (trace.type) {
      case kTraceGet:
        required = Parts({kGetCFID, kGetKey});
        break;
      case kTraceMultiGet:
        required = Parts({kMultiGetSize, kMultiGetCFIDs, kMultiGetKeys});
        break;
      case kTraceIteratorSeek:
      case kTraceIteratorSeekForPrev:
        required = Parts({kIterCFID, kIterKey});
        is_seek = true;
        break;
      default:
        return true;
    }
    // All records begin with their parts and a number, and strings follow.
    Slice rest = trace.payload;
    uint64_t parts = 0;
    uint32_t number = 0;
    if (!GetFixed64(&rest, &parts) || !GetFixed32(&rest, &number) ||
        (is_seek ? parts & ~(kLower | kUpper) : parts) != required) {
      return false;
    }
    std::vector<Slice> strings(std::bitset<64>(parts).count() - 1);
    for (Slice& string : strings) {
      if (!GetLengthPrefixedSlice(&rest, &string)) return false;
    }
    if (!rest.empty()) return false;
    if (trace.type == kTraceMultiGet) {
      return AddMultiGet(number, strings[0], strings[1]);
    }
    if (!IsAsked(number)) return true;
    const Slice lower = (parts & kLower) != 0 ? strings[1] : Slice();
    const Slice upper = (parts & kUpper) != 0 ? strings.back() : Slice();
    if (!is_seek) {
      AddGet(strings[0]);
    } else if (trace.type == kTraceIteratorSeek) {
      AddSeek(strings[0], lower, upper);
    } else {
      AddSeekForPrev(strings[0], lower, upper);
    }
    return true;
  }

 private:
  bool AddMultiGet(uint32_t count, Slice families, Slice rest) {
    std::vector<Slice> keys;
    for (Slice key; GetLengthPrefixedSlice(&rest, &key);) keys.push_back(key);
    if (!rest.empty() || keys.size() != count ||
        families.size() != keys.size() * sizeof(count)) {
      return false;
    }
    for (const Slice& key : keys) {
      uint32_t family = 0;
      GetFixed32(&families, &family);
      if (IsAsked(family)) AddGet(key);
    }
    return true;
  }

  bool IsAsked(uint32_t column_family) {
    if (column_family != column_family_) ++*others_;
    return column_family == column_family_;
  }

  void AddGet(const Slice& key) {
    reads_->Add({ReadKind::kGet, key.ToString()});
  }

  // An empty bound means no bound. The other bound acts on the target as in
  // DBIter.
  void AddSeek(const Slice& key, const Slice& lower, const Slice& upper) {
    const Slice target = key.compare(lower) < 0 ? lower : key;
    if (upper.empty()) {
      reads_->Add({ReadKind::kOpenSeek, target.ToString()});
    } else if (upper.compare(target) > 0) {
      reads_->Add({ReadKind::kClosedSeek, target.ToString(), upper.ToString()});
    }
  }
  void AddSeekForPrev(const Slice& key, const Slice& lower,
                      const Slice& upper) {
    const bool inclusive = upper.empty() || key.compare(upper) < 0;
    const Slice target = inclusive ? key : upper;
    if (IsInverted(lower, target, inclusive)) return;
    reads_->Add({lower.empty() ? ReadKind::kOpenSeekForPrev
                               : ReadKind::kClosedSeekForPrev,
                 target.ToString(), lower.ToString(), inclusive});
  }

  const uint32_t column_family_;
  ReadSample* const reads_;
  uint64_t* const others_;
};

Status NoTrace(const std::string& file) {
  return Status::InvalidArgument(file +
                                 " is not a trace of queries; --trace takes a "
                                 "file that DB::StartTrace has written");
}

// Checked here because RocksDB's own parser assumes that all parts of the
// header are there.
Status CheckHeader(const std::string& file, const std::string& record) {
  Trace header;
  if (!TracerHelper::DecodeHeader(record, &header).ok()) return NoTrace(file);
  const std::string& text = header.payload;
  const std::string before = "\tTrace Version: ";
  const size_t begin = text.find(before);
  const size_t end =
      begin == std::string::npos ? begin : text.find('\t', begin + 1);
  if (end == std::string::npos) return NoTrace(file);
  std::string version =
      text.substr(begin + before.size(), end - begin - before.size());
  int number = 0;
  if (!TracerHelper::ParseVersionStr(version, &number).ok()) {
    return NoTrace(file);
  }
  if (number == kVersion) return Status::OK();
  return Status::InvalidArgument(file + " is a trace of version " + version +
                                 "; the only version that can be read is " +
                                 std::to_string(kTraceFileMajorVersion) + "." +
                                 std::to_string(kTraceFileMinorVersion) +
                                 ", which RocksDB has written since 6.18");
}

}  // namespace

const char* ToString(ReadKind kind) {
  constexpr const char* kNames[] = {"gets", "closed seeks", "open seeks",
                                    "closed seeks backwards",
                                    "open seeks backwards"};
  return kNames[static_cast<size_t>(kind)];
}

Status ReadQueries(const std::string& file, std::ostream& err,
                   std::vector<SampleQuery>* queries, Env* env) {
  std::vector<std::string> refused;
  const Status s = ReadQueryFile(env, file, queries, &refused);
  for (const std::string& line : refused) err << line << '\n';
  return s;
}

ReadQuery ReadOf(const SampleQuery& query) {
  if (query.lo == query.hi) return {ReadKind::kGet, query.lo};
  // The bound is the smallest string above the range.
  return {ReadKind::kClosedSeek, query.lo,
          query.hi + std::string(query.hi_inclusive ? 1 : 0, '\0')};
}

Status ReadTrace(const std::string& file, uint32_t column_family,
                 ReadSample* reads, uint64_t* others, std::string* cut_off) {
  cut_off->clear();
  std::unique_ptr<TraceReader> reader;
  Status s = NewFileTraceReader(Env::Default(), EnvOptions(), file, &reader);
  std::string bytes;
  if (s.ok()) s = reader->Read(&bytes);
  if (s.IsIncomplete() || s.IsCorruption()) return NoTrace(file);
  if (!s.ok()) {
    return Status::NotFound("the trace " + file +
                            " cannot be read: " + s.ToString());
  }
  s = CheckHeader(file, bytes);
  ReadCollector collector(column_family, reads, others);
  uint64_t records = 0;
  while (s.ok()) {
    s = reader->Read(&bytes);
    Trace trace;
    if (s.ok()) s = TracerHelper::DecodeTrace(bytes, &trace);
    if (s.ok() && trace.type == kTraceEnd) break;
    if (s.ok() && !collector.Add(trace)) s = Status::Corruption();
    if (!s.ok()) {
      *cut_off =
          "the trace " + file + " is damaged or cut off after " +
          std::to_string(records) +
          " records; a complete trace ends where DB::EndTrace was called";
      return records == 0 ? Status::Corruption(*cut_off) : Status::OK();
    }
    records++;
  }
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
