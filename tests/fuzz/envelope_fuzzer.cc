#define PROTEAN_FUZZ_TARGET kEnvelopeTarget
#include "tests/fuzz/fuzzer.h"
