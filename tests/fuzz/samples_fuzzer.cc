#define PROTEAN_FUZZ_TARGET kSamplesTarget
#include "tests/fuzz/fuzzer.h"
