// SPDX-License-Identifier: Apache-2.0

//  The trie of SuRF beside ordered indexes of other projects (SuRF paper,
//  figure 5), in memory: abseil's B-tree, and Judy, a radix tree whose nodes
//  adapt to their number of children, as ART's do. Neither holds values. The
//  trie has the shortest prefixes that tell the keys apart, the others have
//  whole keys.

#include <Judy.h>
#include <benchmark/benchmark.h>
#include <gflags/gflags.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/key_arithmetic.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/own_flags.h"
#include "db_bench_ext/workload.h"

DEFINE_uint64(num, 1000000, "Number of keys");
DEFINE_uint64(seed, 42, "Seed of all that is generated");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kProgram[] = "index_bench";
constexpr char kPurpose[] =
    "Measures SuRF's trie beside ordered indexes in memory. Names are "
    "OPERATION/KEY_TYPE/INDEX, for --benchmark_filter.";

using Keys = std::vector<std::string>;

// A set of keys; integers are of 8 bytes, big endian.
class Index {
 public:
  virtual ~Index() = default;
  // Returns true if the key is, or may be, in the set.
  virtual bool Find(const std::string& key) const = 0;
  // Returns true if there is a key at or above `key`, after a search for it.
  virtual bool Seek(const std::string& key) const = 0;
};

class FstIndex : public Index {
 public:
  explicit FstIndex(const Keys& keys) : filter_(Policy(), keys) {}
  bool Find(const std::string& key) const override {
    return filter_.reader()->MayMatch(key);
  }
  bool Seek(const std::string& key) const override {
    Surf::Iterator it(filter_.surf());
    return it.Seek(key) || it.Valid();
  }

 private:
  static std::shared_ptr<const FilterPolicy> Policy() {
    std::shared_ptr<const FilterPolicy> policy;
    MakeFilterPolicy("surf:0:0", &policy).PermitUncheckedError();
    return policy;
  }

  const MemoryFilter filter_;
};

template <typename Key, Key (*kKeyOf)(const std::string&)>
class BTreeIndex : public Index {
 public:
  explicit BTreeIndex(const Keys& keys) {
    for (const std::string& key : keys) set_.insert(set_.end(), kKeyOf(key));
  }
  bool Find(const std::string& key) const override {
    return set_.contains(kKeyOf(key));
  }
  bool Seek(const std::string& key) const override {
    return set_.lower_bound(kKeyOf(key)) != set_.end();
  }

 private:
  absl::btree_set<Key> set_;
};

std::string Text(const std::string& key) { return key; }

class JudyNumbers : public Index {
 public:
  explicit JudyNumbers(const Keys& keys) {
    for (const std::string& key : keys) {
      Judy1Set(&array_, LeadingNumber(key), PJE0);
    }
  }
  ~JudyNumbers() override { Judy1FreeArray(&array_, PJE0); }
  bool Find(const std::string& key) const override {
    return Judy1Test(array_, LeadingNumber(key), PJE0) == 1;
  }
  bool Seek(const std::string& key) const override {
    Word_t number = LeadingNumber(key);
    return Judy1First(array_, &number, PJE0) == 1;
  }

 private:
  Pvoid_t array_ = nullptr;
};

// Text without zero bytes. Each key has a word as its value.
class JudyText : public Index {
 public:
  explicit JudyText(const Keys& keys) {
    for (const std::string& key : keys) {
      longest_ = std::max(longest_, key.size() + 1);
      JudySLIns(&array_, Bytes(key), PJE0);
    }
  }
  ~JudyText() override { JudySLFreeArray(&array_, PJE0); }
  bool Find(const std::string& key) const override {
    return JudySLGet(array_, Bytes(key), PJE0) != nullptr;
  }
  bool Seek(const std::string& key) const override {
    thread_local std::vector<uint8_t> found;
    found.resize(std::max(longest_, key.size() + 1));
    std::copy_n(Bytes(key), key.size() + 1, found.begin());
    return JudySLFirst(array_, found.data(), PJE0) != nullptr;
  }

 private:
  static const uint8_t* Bytes(const std::string& key) {
    return reinterpret_cast<const uint8_t*>(key.c_str());
  }

  Pvoid_t array_ = nullptr;
  size_t longest_ = 0;
};

// An index and its memory.
struct MeasuredIndex {
  std::unique_ptr<Index> index;
  double bits_per_key = 0;
};

template <typename AnIndex>
MeasuredIndex Build(const Keys& keys) {
  const auto allocated = [] {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
  };
  const double before = allocated();
  MeasuredIndex built{std::make_unique<AnIndex>(keys)};
  built.bits_per_key =
      8 * (allocated() - before) / static_cast<double>(keys.size());
  return built;
}

using Operation = bool (Index::*)(const std::string& key) const;

void Register(const std::string& name, const std::shared_ptr<MeasuredIndex>& of,
              Operation operation, const std::shared_ptr<Keys>& asked) {
  benchmark::RegisterBenchmark(
      name.c_str(), [of, operation, asked](benchmark::State& state) {
        size_t next = 0;
        int64_t found = 0;
        for (auto _ : state) {
          found += ((*of->index).*operation)((*asked)[next]);
          if (++next == asked->size()) next = 0;
        }
        benchmark::DoNotOptimize(found);
        state.counters["bits_per_key"] = of->bits_per_key;
      });
}

template <typename BTree, typename Judy>
void RegisterKeys(KeyType type, const std::string& type_name) {
  DataSet data(type, FLAGS_num, FLAGS_seed);
  const Keys keys = data.StoredKeys();
  auto [absent, present] =
      SplitByTruth(keys, data.MakeQueries(WorkloadKind::kPoint, 1 << 18));
  const auto points = [](const std::vector<Query>& queries) {
    auto asked = std::make_shared<Keys>();
    for (const Query& query : queries) asked->push_back(query.lo);
    return asked;
  };
  const auto stored = points(present);
  const auto others = points(absent);
  const auto measure = [&](const char* name, MeasuredIndex built) {
    const auto index = std::make_shared<MeasuredIndex>(std::move(built));
    const std::string suffix = "/" + type_name + "/" + name;
    Register("Find" + suffix, index, &Index::Find, stored);
    Register("Seek" + suffix, index, &Index::Seek, others);
  };
  measure("fst", Build<FstIndex>(keys));
  measure("btree", Build<BTree>(keys));
  measure("judy", Build<Judy>(keys));
}

void PrintHelp() {
  PrintOwnHelp(kProgram, kPurpose);
  benchmark::PrintDefaultHelp();
}

}  // namespace

int RunIndexBench(int argc, char** argv) {
  benchmark::Initialize(&argc, argv, PrintHelp);
  ParseOwnFlags(kProgram, kPurpose, &argc, &argv);
  if (FLAGS_num < 100) {
    fprintf(stderr, "%s: --num must be at least 100\n", kProgram);
    return 1;
  }
  RegisterKeys<BTreeIndex<uint64_t, LeadingNumber>, JudyNumbers>(KeyType::kU64,
                                                                 "u64");
  RegisterKeys<BTreeIndex<std::string, Text>, JudyText>(KeyType::kText, "text");
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunIndexBench(argc, argv);
}
