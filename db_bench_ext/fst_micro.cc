// SPDX-License-Identifier: Apache-2.0

//  Micro-benchmarks of what the trie of SuRF is made of (SuRF paper, section
//  2.6), each part alone beside plain alternatives: rank, select, the search of
//  a label, and prefetching. Rank and select are those of RankVector and
//  SelectVector, and of a LOUDS-Sparse section, whose index is the table of
//  both. All but lookups, which prefetch, are asked for in two ways: the
//  questions are independent, so that the processor overlaps them; or each
//  waits for the answer to the one before it, as the levels of a trie do.

#include <benchmark/benchmark.h>
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/memory_filter.h"
#include "db_bench_ext/own_flags.h"
#include "db_bench_ext/workload.h"
#include "filter_policy/fst/fst_section.h"

DEFINE_uint64(bits, 1 << 28, "Number of bits of the vectors for rank, select");
DEFINE_uint64(num, 1000000, "Number of keys of the filter that is looked up");
DEFINE_uint64(seed, 42, "Seed of all that is generated");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kProgram[] = "fst_micro";
constexpr char kPurpose[] =
    "Measures rank, select, label search and prefetching of SuRF's trie beside "
    "plain alternatives. Names are PART/WAY/ALTERNATIVE, for "
    "--benchmark_filter.";

// Neither the branch predictor nor the caches can learn as many questions.
constexpr size_t kQuestions = 1 << 20;

// ---- Questions ----

// A place in a bit vector or among labels, a rank for select; and the node at
// that place, or the label that is searched.
struct Question {
  uint32_t place = 0;
  uint32_t node = 0;
};
using Questions = std::vector<Question>;

// The sum of all answers. With kDependent, each question waits for the answer
// to the one before; `zero` is 0, which the compiler does not know.
template <bool kDependent, typename Ask>
PROTEAN_CLONED uint64_t AskAll(const Questions& questions, uint32_t zero,
                               const Ask& ask) {
  uint64_t sum = 0;
  uint32_t wait = 0;
  for (const Question& question : questions) {
    const auto answer = static_cast<uint32_t>(
        ask(Question{question.place + wait, question.node + wait}));
    if (kDependent) wait = answer & zero;
    sum += answer;
  }
  return sum;
}

void Register(const std::string& name, const std::function<uint64_t()>& run) {
  benchmark::RegisterBenchmark(name.c_str(), [run](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(run());
    state.SetItemsProcessed(state.iterations() *
                            static_cast<int64_t>(kQuestions));
  });
}

// Ends the program unless `holds`: a wrong answer is not worth its time.
void Require(bool holds, const std::string& otherwise) {
  if (!holds) Check(Status::Corruption(otherwise));
}

// A part of the trie, with questions that all alternatives must answer alike.
class Part {
 public:
  Part(std::string name, Questions questions)
      : name_(std::move(name)),
        questions_(std::make_shared<Questions>(std::move(questions))) {}

  // Objects to which `ask` refers must outlive the benchmarks.
  template <typename Ask>
  void Add(const std::string& alternative, const Ask& ask) {
    std::vector<uint64_t> answers;
    for (const Question& question : *questions_) {
      answers.push_back(ask(question));
    }
    if (expected_.empty()) expected_ = answers;
    Require(answers == expected_, name_ + ": " + alternative + " is wrong");
    const auto questions = questions_;
    Register(name_ + "/independent/" + alternative, [questions, ask] {
      return AskAll</*kDependent=*/false>(*questions, 0, ask);
    });
    Register(name_ + "/dependent/" + alternative, [questions, ask] {
      uint32_t zero = 0;
      benchmark::DoNotOptimize(zero);
      return AskAll</*kDependent=*/true>(*questions, zero, ask);
    });
  }

 private:
  const std::string name_;
  const std::shared_ptr<const Questions> questions_;
  std::vector<uint64_t> expected_;
};

// ---- Rank and select ----

// Poppy's directory, the paper's baseline: a count of 64 bits for each 2^32
// bits; for each 2048 bits a word with the count since then, in 32 bits, and
// those of the first three of its blocks of 512 bits, in 10 bits each.
class Poppy {
 public:
  Poppy(const char* words, uint64_t bits) : words_(words) {
    uint64_t ones = 0;
    for (uint64_t begin = 0; begin < bits;) {
      if (begin >> 32 == upper_.size()) upper_.push_back(ones);
      uint64_t entry = ones - upper_.back();
      for (unsigned shift = 32; shift <= 62; shift += 10) {
        const uint64_t end = std::min(bits, begin + kBlockBits);
        const uint64_t count = CountOnes(words, begin, end);
        if (shift < 62) entry |= count << shift;
        ones += count;
        begin = end;
      }
      lower_.push_back(entry);
    }
  }

  uint64_t Rank(uint64_t pos) const {
    const uint64_t block = pos / kBlockBits;
    const uint64_t entry = lower_[block / 4];
    const uint64_t counts = entry >> 32 & LowBits(10 * (block % 4));
    return upper_[pos >> 32] + (entry & LowBits(32)) + (counts & LowBits(10)) +
           (counts >> 10 & LowBits(10)) + (counts >> 20) +
           CountOnes(words_, block * kBlockBits, pos);
  }

 private:
  static constexpr uint64_t kBlockBits = 512;

  const char* const words_;
  std::vector<uint64_t> upper_;
  std::vector<uint64_t> lower_;
};

// A count for each 64 bits, as the paper's LOUDS-Dense has: half as many bits
// again.
class CountedWords {
 public:
  CountedWords(const char* words, uint64_t bits) : words_(words) {
    uint32_t ones = 0;
    for (uint64_t i = 0; i < (bits + 63) / 64; i++) {
      counts_.push_back(ones);
      ones += static_cast<uint32_t>(PopCount(LoadWord(words, i)));
    }
  }

  uint64_t Rank(uint64_t pos) const {
    return counts_[pos / 64] +
           static_cast<unsigned>(
               PopCount(LoadWord(words_, pos / 64) & LowBits(pos % 64)));
  }

 private:
  const char* const words_;
  std::vector<uint32_t> counts_;
};

// Select without a table of its own: a binary search in that of rank.
class SearchedVector : public RankVector {
 public:
  uint64_t Select(uint64_t rank) const {
    const uint64_t block =
        FirstWhere(0, Entries(size_, ones_),
                   [&](uint64_t i) { return EntryAt(i) > rank; }) -
        1;
    return SelectFrom(words_, 512 * block, rank - EntryAt(block));
  }
};

// A random vector, a quarter of whose bits are set: the share of S-LOUDS is 17
// to 34 % in the paper. All that stands for it refers to `bytes`, which end
// with the table of `Vector`.
template <typename Vector>
struct TabledVector {
  explicit TabledVector(uint64_t bits) {
    std::mt19937_64 rng(FLAGS_seed);
    std::vector<char> words(BitArrayBytes(bits));
    for (uint64_t i = 0; i < words.size() / 8; i++) {
      StoreWord(words.data(), i, rng() & rng());
    }
    // S-LOUDS ends with the last edge of a node.
    SetBit(words.data(), bits - 1);
    for (uint64_t pos = bits; pos < 8 * words.size(); pos++) {
      ClearBit(words.data(), pos);
    }
    ones = CountOnes(words.data(), 0, bits - 1) + 1;
    bytes.resize(Vector::Bytes(bits, ones) + kReadPadding);
    std::copy(words.begin(), words.end(), bytes.begin());
    Vector::Complete(bytes.data(), bits);
    Require(vector.Open(bytes.data(), bits, ones), "a vector is damaged");
  }

  uint64_t ones;
  std::string bytes;
  Vector vector;
};

// A section in LOUDS-Sparse whose S-LOUDS and HasChild are both the bits of
// `words`. Its labels are of one bit and all 0, which no rank or select sees.
class SparseSection {
 public:
  SparseSection(const char* words, uint64_t bits, uint64_t ones) {
    FstSectionHeader header;
    header.nodes = header.children = static_cast<uint32_t>(ones);
    header.edges = static_cast<uint32_t>(bits);
    header.remainder_bits = 1;
    const FstSectionLayout layout(header, /*code_bits=*/1);
    bytes_.resize(layout.end + kReadPadding);
    for (const uint64_t array : {layout.labels, layout.children}) {
      std::copy_n(words, BitArrayBytes(bits), &bytes_[array]);
    }
    uint64_t node = 0;
    uint64_t edge = 0;
    for (uint64_t group = 0; group <= layout.groups; group++) {
      StoreWord(bytes_.data(), group, edge | node << 32);
      const uint64_t next = std::min(ones, (group + 1) << layout.group_shift);
      if (next > node) edge = SelectFrom(words, edge, next - node - 1) + 1;
      node = next;
    }
    Slice input(bytes_);
    Require(section_.Open(header, /*code_bits=*/1, &input),
            "the section is damaged");
  }

  const FstSection& section() const { return section_; }

 private:
  std::string bytes_;
  FstSection section_;
};

// The vectors, and all that answers rank and select in their place.
class Vectors {
 public:
  explicit Vectors(uint64_t bits)
      : searched_(bits),
        sampled_(bits),
        poppy_(searched_.bytes.data(), bits),
        words_(searched_.bytes.data(), bits),
        sparse_(searched_.bytes.data(), bits, searched_.ones) {
    std::mt19937_64 rng(FLAGS_seed);
    Questions ranks(kQuestions);
    Questions selects(kQuestions);
    for (Question& question : ranks) {
      question.place = static_cast<uint32_t>(rng() % bits);
      question.node = static_cast<uint32_t>(poppy_.Rank(question.place));
    }
    for (Question& question : selects) {
      question.place = static_cast<uint32_t>(rng() % (searched_.ones - 1));
    }
    Part rank("Rank", std::move(ranks));
    rank.Add("sampled",
             [this](Question of) { return searched_.vector.Rank(of.place); });
    rank.Add("index", [section = &sparse_.section()](Question of) {
      return section->ChildrenBefore(of.node, of.place);
    });
    rank.Add("poppy", [this](Question of) { return poppy_.Rank(of.place); });
    rank.Add("words", [this](Question of) { return words_.Rank(of.place); });
    Part select("Select", std::move(selects));
    select.Add("sampled", [this](Question of) {
      return sampled_.vector.Select(of.place);
    });
    select.Add("index", [section = &sparse_.section()](Question of) {
      return section->EdgesBefore(of.place + 1) - 1;
    });
    select.Add("binary", [this](Question of) {
      return searched_.vector.Select(of.place);
    });
  }

 private:
  const TabledVector<SearchedVector> searched_;
  const TabledVector<SelectVector> sampled_;
  const Poppy poppy_;
  const CountedWords words_;
  const SparseSection sparse_;
};

// ---- Label search ----

// Nodes of `size` labels each, which the first cache holds. Half of the
// questions are for labels that are there.
class Labels {
 public:
  explicit Labels(uint32_t size) {
    constexpr uint32_t kLabels = 1 << 14;
    std::mt19937_64 rng(FLAGS_seed);
    std::string bytes(256, '\0');
    std::iota(bytes.begin(), bytes.end(), '\0');
    while (labels_.size() + size <= kLabels) {
      std::shuffle(bytes.begin(), bytes.end(), rng);
      std::sort(bytes.begin(), bytes.begin() + size, [](char a, char b) {
        return static_cast<uint8_t>(a) < static_cast<uint8_t>(b);
      });
      labels_.append(bytes, 0, size);
    }
    const size_t nodes = labels_.size() / size;
    labels_.append(kReadPadding, '\0');
    Questions questions(kQuestions);
    for (Question& question : questions) {
      question.place = static_cast<uint32_t>(rng() % nodes) * size;
      const uint64_t any = rng();
      question.node = static_cast<uint8_t>(
          any >> 63 != 0 ? labels_[question.place + any % size] : any);
    }
    Part part("Label" + std::to_string(size), std::move(questions));
    const char* const labels = labels_.data();
    part.Add("simd", [labels, size](Question of) {
      return LowerBoundLabel(labels, of.place, of.place + size,
                             static_cast<uint8_t>(of.node));
    });
    const auto is_below = [labels](uint64_t place, uint32_t label) {
      return static_cast<uint8_t>(labels[place]) < label;
    };
    part.Add("loop", [is_below, size](Question of) {
      const uint32_t end = of.place + size;
      while (of.place < end && is_below(of.place, of.node)) of.place++;
      return of.place;
    });
    part.Add("binary", [is_below, size](Question of) {
      return FirstWhere(of.place, of.place + size, [&](uint64_t place) {
        return !is_below(place, of.node);
      });
    });
  }

 private:
  std::string labels_;
};

// ---- Prefetching ----

constexpr size_t kBatch = 32;

// A batch of lookups that go down together, as those of Surf do, but that
// prefetch nothing. The trie has no suffixes.
PROTEAN_CLONED void HaveKeys(const Fst& fst, Slice** keys, bool* found) {
  Fst::Node nodes[kBatch];
  size_t depths[kBatch] = {};
  size_t active[kBatch];
  std::fill_n(nodes, kBatch, fst.Root());
  std::iota(active, active + kBatch, size_t{0});
  for (size_t left = kBatch; left > 0;) {
    size_t remaining = 0;
    for (size_t j = 0; j < left; j++) {
      const size_t i = active[j];
      const Slice& key = *keys[i];
      found[i] = false;
      if (fst.CompareRun(nodes[i], key, &depths[i]) != 0) continue;
      if (depths[i] == key.size()) {
        found[i] = fst.HasTerminator(nodes[i]);
        continue;
      }
      Fst::Edge edge;
      const int symbol = fst.SymbolAt(key, depths[i]++);
      if (!fst.Find(nodes[i], symbol, &edge)) continue;
      found[i] = !fst.Follow(nodes[i], edge, &nodes[i]);
      if (!found[i]) active[remaining++] = i;
    }
    left = remaining;
  }
}

// Lookups of integers in SuRF-Base, half of which are stored.
class LookUps {
 public:
  explicit LookUps(uint64_t num_keys) {
    DataSet data(KeyType::kU64, num_keys, FLAGS_seed);
    std::shared_ptr<const FilterPolicy> policy;
    Check(MakeFilterPolicy("fst:runs", &policy));
    filter_ = std::make_unique<MemoryFilter>(policy, data.StoredKeys());
    for (Query& query : data.MakeQueries(WorkloadKind::kPoint, kQuestions)) {
      keys_.push_back(std::move(query.lo));
    }
    for (const std::string& key : keys_) slices_.emplace_back(key);
    for (Slice& slice : slices_) pointers_.push_back(&slice);
    const Surf* const surf = filter_->surf();
    Add("batch", [surf](Slice** keys, bool* found) {
      surf->KeysMayMatch(kBatch, keys, found);
    });
    Add("single", [surf](Slice** keys, bool* found) {
      for (size_t i = 0; i < kBatch; i++) {
        found[i] = surf->KeyMayMatch(*keys[i]);
      }
    });
    Add("no_prefetch", [surf](Slice** keys, bool* found) {
      HaveKeys(surf->fst(), keys, found);
    });
  }

 private:
  template <typename Ask>
  void Add(const std::string& alternative, const Ask& ask) {
    std::vector<bool> answers;
    bool found[kBatch];
    for (size_t i = 0; i < kQuestions; i += kBatch) {
      ask(&pointers_[i], found);
      answers.insert(answers.end(), found, found + kBatch);
    }
    if (expected_.empty()) expected_ = answers;
    Require(answers == expected_, "Lookup: " + alternative + " is wrong");
    Register("Lookup/independent/" + alternative, [this, ask] {
      bool may_match[kBatch];
      for (size_t i = 0; i < kQuestions; i += kBatch) {
        ask(&pointers_[i], may_match);
        benchmark::DoNotOptimize(may_match);
      }
      return uint64_t{may_match[0]};
    });
  }

  std::unique_ptr<const MemoryFilter> filter_;
  std::vector<std::string> keys_;
  std::vector<Slice> slices_;
  std::vector<Slice*> pointers_;
  std::vector<bool> expected_;
};

Status Run() {
  if (FLAGS_bits < 1024 || FLAGS_bits >> 32 != 0 || FLAGS_num < 100) {
    return Status::InvalidArgument(
        "--bits must be from 1024 to 2^32 - 1, and --num at least 100");
  }
  const Vectors vectors(FLAGS_bits);
  std::vector<std::unique_ptr<const Labels>> labels;
  for (const uint32_t size : {2, 4, 8, 16, 64, 200}) {
    labels.push_back(std::make_unique<Labels>(size));
  }
  LookUps look_ups(FLAGS_num);
  benchmark::RunSpecifiedBenchmarks();
  return Status::OK();
}

void PrintHelp() {
  PrintOwnHelp(kProgram, kPurpose);
  benchmark::PrintDefaultHelp();
}

}  // namespace

int RunFstMicro(int argc, char** argv) {
  benchmark::Initialize(&argc, argv, PrintHelp);
  ParseOwnFlags(kProgram, kPurpose, &argc, &argv);
  Check(Run());
  return 0;
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunFstMicro(argc, argv);
}
