// SPDX-License-Identifier: Apache-2.0

//  Reads, saves and restores samples files.

#include "filter_policy/samples/query_file.h"
#include "filter_policy/samples/sample_store.h"
#include "rocksdb/db.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/text_env.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

const char kFile[] = "/folder/samples";

using Queries = std::vector<SampleQuery>;

std::shared_ptr<SampleStore> NewStore(size_t capacity) {
  SampleStoreOptions options;
  options.sample_capacity = capacity;
  options.samples_file = kFile;
  return std::make_shared<SampleStore>(options);
}

// The beginning of a saved file.
const std::string& Header() {
  static const auto* const header = [] {
    TextEnv env;
    Check(WriteQueryFile(&env, kFile, {}).ok(), "an empty file is written");
    return new std::string(env.files().Read(kFile));
  }();
  return *header;
}

// A file that cannot be read is never overwritten.
void CheckBadFile(TextEnv* env, const std::string& text) {
  const auto store = NewStore(10);
  Check(store->Validate(env).ok(), "a bad file keeps no DB from opening");
  auto session = store->Open(kDefaultColumnFamilyName, env, nullptr);
  Check(session->size() == 0, "nothing comes of a bad file");
  session->Record("a", "b", true);
  session.reset();
  Check(env->files().HasOneFile("/folder") && env->files().Read(kFile) == text,
        "a bad file stays as it is");
}

// The queries that a queue holds after these have come one after the other.
Queries LastOf(const Queries& queries, size_t capacity) {
  const size_t most = capacity * QueryQueue::kMaxBytesPerQuery;
  size_t bytes = 0;
  auto begin = queries.end();
  while (begin != queries.begin() &&
         static_cast<size_t>(queries.end() - begin) < capacity) {
    const SampleQuery& before = *(begin - 1);
    bytes += before.lo.size() + before.hi.size();
    // The queue keeps the latest query in any case.
    if (bytes > most && begin != queries.end()) break;
    --begin;
  }
  return Queries(begin, queries.end());
}

void Run(const Slice& input) {
  static auto* const env = new TextEnv;
  const std::string text = input.ToString();
  env->files().Write(kFile, text);

  Queries written;
  std::vector<std::string> refused;
  const Status strict = ReadQueryFile(env, kFile, &written, &refused);
  Check(strict.ok() || (strict.IsInvalidArgument() && written.empty()),
        "a file is read or refused");
  Queries queries;
  std::vector<std::string> left_out;
  const Status s = ReadSavedQueries(env, kFile, &queries, &left_out);
  if (Slice(text).starts_with(Header())) {
    // The two may only differ about a last line that is cut off.
    Check(s.ok(), "what is damaged of a saved file is left out");
    if (strict.ok() && text.back() == '\n') {
      Check(queries == written && left_out == refused,
            "a saved file that is whole is read as it is");
    }
    Check(!strict.ok() || queries.size() + 1 >= written.size(),
          "at most the last line is cut off");
  } else {
    Check(s.code() == strict.code() && queries == written,
          "a file that somebody has written is read as it is");
  }
  if (!s.ok()) {
    CheckBadFile(env, text);
    return;
  }
  for (const SampleQuery& query : queries) {
    Check(!IsInverted(query.lo, query.hi, query.hi_inclusive),
          "a query can hold a key");
  }

  // The restored queries, with one more, are saved and restored again.
  const size_t capacity = 1 + text.size() % 11;
  Queries held = LastOf(queries, capacity);
  {
    const auto store = NewStore(capacity);
    Check(store->Validate(env).ok(), "a good file is not refused");
    auto session = store->Open(kDefaultColumnFamilyName, env, nullptr);
    Check(session->Snapshot() == held, "what is read is restored");
    session->Record("a", "b", false);
  }
  held.push_back({"a", "b", false});
  held = LastOf(held, capacity);
  Check(env->files().HasOneFile("/folder"), "no temporary file is left");
  Queries again;
  std::vector<std::string> refused_again;
  Check(ReadQueryFile(env, kFile, &again, &refused_again).ok() &&
            again == held && refused_again.empty(),
        "what is saved is read again");

  // The queue has room for all queries.
  again.clear();
  Check(WriteQueryFile(env, kFile, queries).ok() &&
            ReadQueryFile(env, kFile, &again, &refused_again).ok() &&
            again == queries && refused_again.empty(),
        "what is written is read again");
}

std::vector<std::string> Words() {
  return {"0x",
          "0X",
          "0x00",
          "0xff",
          "0xFF01",
          "0xa",
          "0xg0",
          "exclusive",
          "exclusive\n",
          "\t",
          "\n",
          "\r\n",
          "0x\t0x\n",
          "0x61\t0x62\texclusive\n",
          "# comment\n",
          "a\tb\n",
          "b\ta\n",
          "a\ta\texclusive\n",
          std::string(30, 'f'),
          Header()};
}

std::vector<std::string> Seeds() {
  return {"# Queries\n0x6b6579\n0x61\t0x62\n0x61\t0x6263\texclusive\n",
          "key\nlo\thi\nlo\thi\texclusive\n\n# comment\n",
          "0x\n",
          "0x\t0xff\texclusive",
          "b\ta\nx\tx\texclusive\n",
          "0x616\n",
          "a\tb\tinclusive\n",
          "a\tb\texclusive\tc\n",
          "",
          Header(),
          Header() + "0x61\t0x62\n0x6",
          Header() + "0x61\t0x62\texclusive\n0x6g\n0x63\n0x62\t0x61\n"};
}

}  // namespace

const FuzzTarget kSamplesTarget = {"samples", Run, Seeds, nullptr, Words};

}  // namespace ROCKSDB_NAMESPACE::protean
