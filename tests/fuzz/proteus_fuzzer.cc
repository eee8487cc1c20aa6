#define PROTEAN_FUZZ_TARGET kProteusTarget
#include "tests/fuzz/fuzzer.h"
