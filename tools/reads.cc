// SPDX-License-Identifier: Apache-2.0

#include "tools/reads.h"

#include <algorithm>
#include <bitset>
#include <initializer_list>

#include "filter_policy/samples/query_file.h"
#include "rocksdb/trace_reader_writer.h"
#include "rocksdb/trace_record.h"
#include "rocksdb/trace_record_result.h"
#include "trace_replay/trace_replay.h"
#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The version of traces with bounds and MultiGets, which RocksDB has written
// since 6.18.
constexpr int kVersion = 10 * kTraceFileMajorVersion + kTraceFileMinorVersion;

// Adds the reads in a record to a sample.
class ReadCollector : public TraceRecord::Handler {
 public:
  ReadCollector(uint32_t column_family, ReadSample* reads, uint64_t* others)
      : column_family_(column_family), reads_(reads), others_(others) {}

  Status Handle(const WriteQueryTraceRecord& /*record*/,
                std::unique_ptr<TraceRecordResult>* /*result*/) override {
    return Status::OK();
  }
  Status Handle(const GetQueryTraceRecord& record,
                std::unique_ptr<TraceRecordResult>* /*result*/) override {
    AddGet(record.GetColumnFamilyID(), record.GetKey());
    return Status::OK();
  }
  Status Handle(const MultiGetQueryTraceRecord& record,
                std::unique_ptr<TraceRecordResult>* /*result*/) override {
    const std::vector<uint32_t> families = record.GetColumnFamilyIDs();
    const std::vector<Slice> keys = record.GetKeys();
    for (size_t i = 0; i < keys.size(); i++) AddGet(families[i], keys[i]);
    return Status::OK();
  }
  Status Handle(const IteratorSeekQueryTraceRecord& record,
                std::unique_ptr<TraceRecordResult>* /*result*/) override {
    if (!IsAsked(record.GetColumnFamilyID())) return Status::OK();
    if (record.GetSeekType() == IteratorSeekQueryTraceRecord::kSeek) {
      AddSeek(record);
    } else {
      AddSeekForPrev(record);
    }
    return Status::OK();
  }

 private:
  bool IsAsked(uint32_t column_family) {
    if (column_family != column_family_) ++*others_;
    return column_family == column_family_;
  }

  void AddGet(uint32_t column_family, const Slice& key) {
    if (!IsAsked(column_family)) return;
    ReadQuery read;
    read.target = key.ToString();
    reads_->Add(std::move(read));
  }

  // An empty bound means no bound. The other bound acts on the target as in
  // DBIter.
  void AddSeek(const IteratorSeekQueryTraceRecord& record) {
    const Slice upper = record.GetUpperBound();
    const Slice lower = record.GetLowerBound();
    const Slice key = record.GetKey();
    ReadQuery read;
    read.kind = upper.empty() ? ReadKind::kOpenSeek : ReadKind::kClosedSeek;
    read.target = (key.compare(lower) < 0 ? lower : key).ToString();
    read.bound = upper.ToString();
    if (upper.empty() || upper.compare(read.target) > 0) {
      reads_->Add(std::move(read));
    }
  }
  void AddSeekForPrev(const IteratorSeekQueryTraceRecord& record) {
    const Slice upper = record.GetUpperBound();
    const Slice lower = record.GetLowerBound();
    const Slice key = record.GetKey();
    ReadQuery read;
    read.kind = lower.empty() ? ReadKind::kOpenSeekForPrev
                              : ReadKind::kClosedSeekForPrev;
    read.inclusive = upper.empty() || key.compare(upper) < 0;
    read.target = (read.inclusive ? key : upper).ToString();
    read.bound = lower.ToString();
    if (!IsInverted(read.bound, read.target, read.inclusive)) {
      reads_->Add(std::move(read));
    }
  }

  const uint32_t column_family_;
  ReadSample* const reads_;
  uint64_t* const others_;
};

Status NoTrace(const std::string& file) {
  return Status::InvalidArgument(
      file +
      " is not a trace of queries; --trace takes a file that DB::StartTrace "
      "has written");
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

constexpr uint64_t Parts(std::initializer_list<TracePayloadType> types) {
  uint64_t parts = 0;
  for (const TracePayloadType type : types) parts |= uint64_t{1} << type;
  return parts;
}

// Returns true if a record of reads has all the parts that RocksDB writes,
// complete. Checked here because RocksDB's own parser would make up missing
// parts, and as many keys as the record claims to have.
bool IsWhole(const Trace& trace) {
  constexpr uint64_t kGet = Parts({kGetCFID, kGetKey});
  constexpr uint64_t kSeek = Parts({kIterCFID, kIterKey});
  constexpr uint64_t kBounds = Parts({kIterLowerBound, kIterUpperBound});
  constexpr uint64_t kMultiGet =
      Parts({kMultiGetSize, kMultiGetCFIDs, kMultiGetKeys});
  Slice rest = trace.payload;
  uint64_t parts = 0;
  if (!GetFixed64(&rest, &parts)) return false;
  if (trace.type == kTraceGet        ? parts != kGet
      : trace.type == kTraceMultiGet ? parts != kMultiGet
                                     : (parts & ~kBounds) != kSeek) {
    return false;
  }
  // All records begin with a number of 4 bytes, and strings follow.
  uint32_t number = 0;
  if (!GetFixed32(&rest, &number)) return false;
  std::vector<Slice> strings(std::bitset<64>(parts).count() - 1);
  for (Slice& string : strings) {
    if (!GetLengthPrefixedSlice(&rest, &string)) return false;
  }
  if (trace.type != kTraceMultiGet) return rest.empty();
  Slice& keys = strings[1];
  Slice key;
  uint32_t count = 0;
  while (GetLengthPrefixedSlice(&keys, &key)) count++;
  return rest.empty() && keys.empty() && count == number &&
         strings[0].size() == count * sizeof(number);
}

bool IsRead(TraceType type) {
  return type == kTraceGet || type == kTraceMultiGet ||
         type == kTraceIteratorSeek || type == kTraceIteratorSeekForPrev;
}

}  // namespace

const char* ToString(ReadKind kind) {
  switch (kind) {
    case ReadKind::kGet:
      return "gets";
    case ReadKind::kClosedSeek:
      return "closed seeks";
    case ReadKind::kOpenSeek:
      return "open seeks";
    case ReadKind::kClosedSeekForPrev:
      return "closed seeks backwards";
    case ReadKind::kOpenSeekForPrev:
      return "open seeks backwards";
  }
  return "unknown";
}

Status ReadQueries(const std::string& file, std::ostream& err,
                   std::vector<SampleQuery>* queries) {
  std::vector<std::string> refused;
  const Status s = ReadQueryFile(Env::Default(), file, queries, &refused);
  for (const std::string& line : refused) err << line << '\n';
  return s;
}

ReadQuery ReadOf(const SampleQuery& query) {
  ReadQuery read;
  read.target = query.lo;
  if (query.lo != query.hi) {
    read.kind = ReadKind::kClosedSeek;
    read.bound = query.hi;
    // The smallest string above the range.
    if (query.hi_inclusive) read.bound += '\0';
  }
  return read;
}

// Reservoir sampling by algorithm R (Vitter 1985).
void ReadSample::Add(ReadQuery query) {
  const uint64_t number = seen_++;
  if (kept_.size() < capacity_) {
    kept_.emplace_back(number, std::move(query));
    return;
  }
  const uint64_t place = random_.Uniform(seen_);
  if (place < capacity_) kept_[place] = {number, std::move(query)};
}

std::vector<ReadQuery> ReadSample::Take() {
  std::sort(kept_.begin(), kept_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ReadQuery> queries;
  queries.reserve(kept_.size());
  for (auto& [number, query] : kept_) queries.push_back(std::move(query));
  kept_.clear();
  return queries;
}

Status ReadTrace(Env* env, const std::string& file, uint32_t column_family,
                 ReadSample* reads, uint64_t* others, std::string* cut_off) {
  cut_off->clear();
  std::unique_ptr<TraceReader> reader;
  Status s = NewFileTraceReader(env, EnvOptions(), file, &reader);
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
    std::unique_ptr<TraceRecord> record;
    if (s.ok() && IsRead(trace.type)) {
      s = !IsWhole(trace)
              ? Status::Corruption()
              : TracerHelper::DecodeTraceRecord(&trace, kVersion, &record);
    }
    if (s.ok() && record != nullptr) {
      std::unique_ptr<TraceRecordResult> none;
      s = record->Accept(&collector, &none);
    }
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
