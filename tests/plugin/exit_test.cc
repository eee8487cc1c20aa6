// SPDX-License-Identifier: Apache-2.0

//  A process exits with a DB open. exit() destroys what has static lifetime
//  while RocksDB's threads still flush and compact, and a thread of the
//  application writes.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/testharness.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {
namespace {

// Holds up the end of the process, once told to, when all else has been
// destroyed: what is constructed first is destroyed last.
class LastAtExit {
 public:
  ~LastAtExit() {
    if (waits_) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  void Wait() { waits_ = true; }

 private:
  bool waits_ = false;
};
[[gnu::init_priority(101)]] LastAtExit last_at_exit;

// Ends the process with code 0 while tables are being built, and with another
// one if the DB does not work.
[[noreturn]] void ExitInTheMiddle(const std::string& policy) {
  Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 32 << 10;
  options.target_file_size_base = 32 << 10;
  options.max_bytes_for_level_base = 128 << 10;
  options.level0_file_num_compaction_trigger = 2;
  options.max_background_jobs = 4;
  ConfigOptions config;
  if (!GetColumnFamilyOptionsFromString(
           config, options,
           "table_factory={id=ProteanTable;filter_policy=" + policy + "}",
           &options)
           .ok()) {
    exit(1);
  }
  std::unique_ptr<DB> opened;
  if (!OpenDB(&opened, options, test::PerThreadDBPath("exit")).ok()) exit(2);
  DB* const db = opened.release();
  std::atomic<bool> failed{false};
  std::atomic<uint64_t> written{0};
  std::thread([db, &failed, &written] {
    Random random(301);
    for (;;) {
      const std::string key = random.HumanReadableString(20);
      if (!db->Put(WriteOptions(), key, std::string(50, 'v')).ok()) {
        failed = true;
      }
      written++;
      std::string value;
      db->Get(ReadOptions(), key + "x", &value).PermitUncheckedError();
    }
  }).detach();
  while (written < 20000 && !failed) std::this_thread::yield();
  if (failed) exit(3);
  last_at_exit.Wait();
  exit(0);
}

class ExitTest : public testing::TestWithParam<const char*> {};

TEST_P(ExitTest, InTheMiddleOfCompactions) {
  EXPECT_EXIT(ExitInTheMiddle(GetParam()), testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(
    Policies, ExitTest,
    testing::Values("proteus:12", "surf:4:4",
                    "{id=protean.Proteus;filter_budget_bytes=64K}",
                    "levels:surf:0:8,proteus:12", "bloomfilter:10"));

}  // namespace
}  // namespace ROCKSDB_NAMESPACE::protean
