// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "db_bench_ext/stopwatch.h"
#include "env/composite_env_wrapper.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace ROCKSDB_NAMESPACE::protean {

// How a thread waits for a read.
enum class Wait {
  kAsleep,  // which takes up to 50 us longer
  kAwake,   // to the microsecond, on a CPU that it keeps busy
};

// A table file whose reads are as slow as those of a device with this latency.
class SlowFile : public FSRandomAccessFileOwnerWrapper {
 public:
  SlowFile(std::unique_ptr<FSRandomAccessFile>&& file, uint32_t latency_us,
           Wait wait)
      : FSRandomAccessFileOwnerWrapper(std::move(file)),
        latency_(latency_us),
        wait_(wait) {}

  IOStatus Read(uint64_t offset, size_t size, const IOOptions& options,
                Slice* result, char* scratch,
                IODebugContext* dbg) const override {
    Delay();
    return target()->Read(offset, size, options, result, scratch, dbg);
  }
  IOStatus MultiRead(FSReadRequest* requests, size_t num_requests,
                     const IOOptions& options, IODebugContext* dbg) override {
    Delay();
    return target()->MultiRead(requests, num_requests, options, dbg);
  }

 private:
  void Delay() const {
    if (wait_ == Wait::kAsleep) {
      std::this_thread::sleep_for(latency_);
      return;
    }
    for (const Stopwatch passed; passed.Nanos() < latency_.count() * 1e3;) {
    }
  }

  const std::chrono::microseconds latency_;
  const Wait wait_;
};

class SlowFileSystem : public FileSystemWrapper {
 public:
  SlowFileSystem(uint32_t latency_us, Wait wait)
      : FileSystemWrapper(FileSystem::Default()),
        latency_us_(latency_us),
        wait_(wait) {}
  const char* Name() const override { return "SlowFileSystem"; }

  IOStatus NewRandomAccessFile(const std::string& name,
                               const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file,
                               IODebugContext* dbg) override {
    const IOStatus s = target()->NewRandomAccessFile(name, options, file, dbg);
    if (s.ok())
      *file = std::make_unique<SlowFile>(std::move(*file), latency_us_, wait_);
    return s;
  }

 private:
  const uint32_t latency_us_;
  const Wait wait_;
};

// The machine's files. Each read of a table file takes `latency_us` longer.
inline std::unique_ptr<Env> NewSlowEnv(uint32_t latency_us, Wait wait) {
  return std::make_unique<CompositeEnvWrapper>(
      Env::Default(), std::make_shared<SlowFileSystem>(latency_us, wait));
}

}  // namespace ROCKSDB_NAMESPACE::protean
