// SPDX-License-Identifier: Apache-2.0

//  The fuzz targets. Each runs inputs, and has seeds. A target aborts if
//  Protean breaks a promise; sanitizers find the other faults.

#pragma once

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

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
  // What changes inputs; nullptr for the engine alone, with the words of a
  // dictionary if there is one.
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

// Keys, of which a SuRF with any suffix bits and any encoding of its levels is
// built. It must miss none of them.
extern const FuzzTarget kSurfBuildTarget;
// Keys, of which a Proteus, 1PBF or 2PBF of any design is built. It must miss
// none of them.
extern const FuzzTarget kProteusBuildTarget;
// Keys, of which a Proteus is built with the design that it chooses for sample
// queries, which takes much longer.
extern const FuzzTarget kDesignTarget;

// ---- Text ----

// A samples file: the queries that are read are saved, and read again
// unchanged.
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
