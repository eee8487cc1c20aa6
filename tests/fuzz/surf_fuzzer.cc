#define PROTEAN_FUZZ_TARGET kSurfTarget
#include "tests/fuzz/fuzzer.h"
