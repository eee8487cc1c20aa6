// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/self_check.h"

#include <gtest/gtest.h>

#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

// A shared library makes the same check when it is loaded.
TEST(SelfCheckTest, FitsTheRocksDBItWasCompiledFor) {
  EXPECT_OK(CheckInsides());
}

}  // namespace ROCKSDB_NAMESPACE::protean
