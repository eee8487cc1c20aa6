// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "plugin/checked_registration.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

// A shared library makes the same check when it is loaded.
TEST(SelfCheckTest, FitsTheRocksDBItWasCompiledFor) { EXPECT_OK(SelfCheck()); }

}  // namespace ROCKSDB_NAMESPACE::protean
