#define PROTEAN_FUZZ_TARGET kProteusBuildTarget
#include "tests/fuzz/fuzzer.h"
