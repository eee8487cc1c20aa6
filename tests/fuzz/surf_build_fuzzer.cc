#define PROTEAN_FUZZ_TARGET kSurfBuildTarget
#include "tests/fuzz/fuzzer.h"
