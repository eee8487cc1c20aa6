#define PROTEAN_FUZZ_TARGET kOptionsTarget
#include "tests/fuzz/fuzzer.h"
