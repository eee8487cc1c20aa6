// SPDX-License-Identifier: Apache-2.0

#define PROTEAN_FUZZ_TARGET kEnvelopeTarget
#include "tests/fuzz/fuzzer.h"
