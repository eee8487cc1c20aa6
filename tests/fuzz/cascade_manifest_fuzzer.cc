// SPDX-License-Identifier: Apache-2.0

#define PROTEAN_FUZZ_TARGET kCascadeManifestTarget
#include "tests/fuzz/fuzzer.h"
