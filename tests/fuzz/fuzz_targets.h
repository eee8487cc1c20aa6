//  The fuzz targets: what each does with an input, and how inputs are made.
//  Each aborts if Protean breaks a promise; sanitizers see the rest.

#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FuzzTarget {
  const char* name;
  void (*run)(const uint8_t* data, size_t size);
  // Changes the `size` bytes at `data` and returns their new number, at most
  // `max_size`.
  size_t (*mutate)(uint8_t* data, size_t size, size_t max_size,
                   FuzzRandom* random, GenericMutator generic);
  // Puts an input together from two. 0 if that does not work out.
  size_t (*cross)(const Slice& a, const Slice& b, uint8_t* out, size_t max_size,
                  FuzzRandom* random);
  // What a corpus begins with.
  std::vector<std::string> (*seeds)();
  // A dictionary of libFuzzer; nullptr for none.
  std::string (*dictionary)() = nullptr;
};

// ---- Bytes from a file ----
//
// A filter block that may be damaged is opened and asked all kinds of
// questions. It may answer anything, but must answer soon and read nothing
// outside of itself, and must keep what callers count on whatever is stored.

// A block of a SuRF, or of a Proteus, whose payload is damaged.
extern const FuzzTarget kSurfTarget;
extern const FuzzTarget kProteusTarget;
// A block of any kind, whose envelope is damaged too.
extern const FuzzTarget kEnvelopeTarget;

// ---- Filters against the truth ----

// Keys, of which a SuRF with any suffix bits and any encoding of its levels is
// built. It must miss none of them.
extern const FuzzTarget kSurfBuildTarget;
// The same for Proteus, 1PBF and 2PBF, of any design.
extern const FuzzTarget kProteusBuildTarget;
// Of the design that is chosen for sample queries, which takes much longer.
extern const FuzzTarget kDesignTarget;

// ---- Text ----

// A samples file: what is read of it is saved, and read again the same.
extern const FuzzTarget kSamplesTarget;
// A filter policy, or a table factory, as options name it: what can be made is
// written, and made again the same; what cannot is InvalidArgument.
extern const FuzzTarget kOptionsTarget;

const std::vector<const FuzzTarget*>& FuzzTargets();
// Nullptr if there is none of that name.
const FuzzTarget* FindFuzzTarget(const std::string& name);

}  // namespace ROCKSDB_NAMESPACE::protean
