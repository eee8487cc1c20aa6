// SPDX-License-Identifier: Apache-2.0

//  The fuzz targets, and what they and mutators have in common: reading and
//  changing inputs, files in memory, and reporting a finding.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "env/composite_env_wrapper.h"
#include "env/mock_env.h"
#include "rocksdb/slice.h"
#include "tests/dice.h"

namespace ROCKSDB_NAMESPACE::protean {

// Ends the process if `holds` is false, which a fuzzer takes for a finding.
inline void Check(bool holds, const char* what) {
  if (__builtin_expect(holds, true)) return;
  fprintf(stderr, "violated: %s\n", what);
  abort();
}

// Reads an input piece by piece.
class FuzzInput {
 public:
  explicit FuzzInput(const Slice& input) : rest_(input) {}

  bool empty() const { return rest_.empty(); }
  uint32_t Byte() {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return byte;
  }
  uint32_t Number16() {
    const uint32_t low = Byte();
    return low | Byte() << 8;
  }
  // The next `size` bytes, or fewer at the end.
  Slice Bytes(size_t size) {
    const Slice bytes(rest_.data(), std::min(size, rest_.size()));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }
  // A length byte and as many bytes. A length above 200 means one byte that is
  // repeated (length - 200) * 100 times.
  static constexpr uint32_t kMaxLength = 200;
  static constexpr uint32_t kRepeatUnit = 100;
  std::string String() {
    const uint32_t length = Byte();
    if (length <= kMaxLength) return Bytes(length).ToString();
    return std::string((length - kMaxLength) * kRepeatUnit,
                       static_cast<char>(Byte()));
  }
  Slice rest() const { return rest_; }

 private:
  Slice rest_;
};

// Changes the `size` bytes at `data` without knowing their meaning, and returns
// their new number, at most `max_size`: LLVMFuzzerMutate, or a substitute.
using GenericMutator = size_t (*)(uint8_t* data, size_t size, size_t max_size);

inline std::string MutateGenerically(const Slice& input, size_t max_size,
                                     GenericMutator generic) {
  if (max_size == 0) return "";
  std::string bytes(input.data(), std::min(input.size(), max_size));
  const size_t size = bytes.size();
  bytes.resize(max_size);
  bytes.resize(
      generic(reinterpret_cast<uint8_t*>(bytes.data()), size, max_size));
  return bytes;
}

// ---- Inputs that are strings, keys and queries ----

using Strings = std::vector<std::string>;

// Reads all strings, and stores them, for FuzzInput::String. The stored strings
// take at most `max_size` bytes: those that do not fit are left out, and long
// ones that are not one repeated byte are cut.
Strings ParseStrings(FuzzInput input);
std::string StoreStrings(const Strings& strings, size_t max_size = ~size_t{0});

// Makes one change to stored strings.
std::string MutateStrings(const Slice& stored, size_t max_size, Dice* random,
                          GenericMutator generic);

// ---- Inputs that hold a filter block ----

// The input of the targets that open blocks. The block ends where the input
// does, so that a sanitizer sees every read beyond it.
//
//    2 bytes   number of bytes of queries
//              queries: strings (FuzzInput::String)
//              the block, up to the end
struct BlockInput {
  std::string queries;
  std::string block;

  static BlockInput Parse(const Slice& input);
  std::string Join() const;
};

// Repairs the magic, the version, and all checksums.
void RepairChecksums(std::string* block);

// What is mostly damaged, and repaired afterwards.
enum class BlockCare {
  kPayload,   // nearly every block has a right directory, and most open
  kEnvelope,  // directories, too: many blocks have a wrong checksum, or tell
              // lies
};

// The engine changes a piece of the block (block_layout.h), and what
// contradicts the change is mostly repaired afterwards.
std::string MutateBlockInput(const Slice& input, size_t max_size,
                             BlockCare care, Dice* random,
                             GenericMutator generic);

// ---- Files in memory ----

class TextFileSystem : public MockFileSystem {
 public:
  TextFileSystem() : MockFileSystem(SystemClock::Default()) {}

  void Write(const std::string& name, const std::string& text) {
    Check(WriteStringToFile(this, text, name).ok(), "a file is written");
  }
  std::string Read(const std::string& name) {
    std::string text;
    Check(ReadFileToString(this, name, &text).ok(), "a file is read");
    return text;
  }
  bool HasOneFile(const std::string& folder) {
    std::vector<std::string> files;
    return GetChildren(folder, IOOptions(), &files, nullptr).ok() &&
           files.size() == 1;
  }
};

// Does nothing else that takes time.
class TextEnv : public CompositeEnvWrapper {
 public:
  explicit TextEnv(const std::shared_ptr<TextFileSystem>& files =
                       std::make_shared<TextFileSystem>())
      : CompositeEnvWrapper(Env::Default(), files), files_(files) {}
  static const char* kClassName() { return "TextEnv"; }
  const char* Name() const override { return kClassName(); }

  TextFileSystem& files() { return *files_; }
  std::string GenerateUniqueId() override { return "unique"; }

 private:
  const std::shared_ptr<TextFileSystem> files_;
};

// ---- The targets ----

// Aborts if Protean breaks a promise; sanitizers find the other faults.
struct FuzzTarget {
  // A changed input of at most `max_size` bytes.
  std::string Mutate(const Slice& input, size_t max_size, Dice* random,
                     GenericMutator generic) const {
    return mutate != nullptr ? mutate(input, max_size, random, generic)
                             : MutateGenerically(input, max_size, generic);
  }

  const char* name;
  void (*run)(const Slice& input);
  // The first inputs of a corpus.
  std::vector<std::string> (*seeds)();
  // Returns a changed input. Without it, the engine changes inputs by itself,
  // with the help of a dictionary's `words`, if there are any.
  std::string (*mutate)(const Slice& input, size_t max_size, Dice* random,
                        GenericMutator generic) = nullptr;
  std::vector<std::string> (*words)() = nullptr;
};

// ---- Bytes from a file ----
//
// A filter block that may be damaged is opened and asked all kinds of
// questions. It may answer anything, but must answer soon and read nothing
// outside of itself, and must keep what callers count on whatever is stored.

// A block of a SuRF, or of a Proteus, whose payloads are damaged.
extern const FuzzTarget kSurfTarget;
extern const FuzzTarget kProteusTarget;
// A block of any kind, whose directory is damaged, too.
extern const FuzzTarget kEnvelopeTarget;

// A page of a cascade filter, a file of its pages, and its manifest.
extern const FuzzTarget kCascadeTarget;
extern const FuzzTarget kCascadeRunTarget;
extern const FuzzTarget kCascadeManifestTarget;
// A frozen quotient filter.
extern const FuzzTarget kQuotientTarget;

// ---- Filters against the truth ----

// Keys, of which a filter is built that must miss none of them: a SuRF with any
// suffix bits and any encoding of its levels; a Proteus, 1PBF or 2PBF of any
// design; and one that chooses its design for sample queries, which takes long.
extern const FuzzTarget kSurfBuildTarget;
extern const FuzzTarget kProteusBuildTarget;
extern const FuzzTarget kDesignTarget;

// ---- Text ----

// A samples file: what is read is saved, and read again unchanged.
extern const FuzzTarget kSamplesTarget;
// A filter policy, or a table factory, in the form of an option: a valid one is
// written, and made again unchanged; an invalid one is InvalidArgument.
extern const FuzzTarget kOptionsTarget;

// For tests: a fuzzer has one target only.
inline std::vector<const FuzzTarget*> FuzzTargets() {
  return {&kSurfTarget,       &kProteusTarget,         &kEnvelopeTarget,
          &kSurfBuildTarget,  &kProteusBuildTarget,    &kDesignTarget,
          &kSamplesTarget,    &kOptionsTarget,         &kCascadeTarget,
          &kCascadeRunTarget, &kCascadeManifestTarget, &kQuotientTarget};
}

}  // namespace ROCKSDB_NAMESPACE::protean
