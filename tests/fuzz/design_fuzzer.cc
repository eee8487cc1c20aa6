#define PROTEAN_FUZZ_TARGET kDesignTarget
#include "tests/fuzz/fuzzer.h"
