// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "env/composite_env_wrapper.h"
#include "rocksdb/env.h"
#include "rocksdb/file_system.h"

namespace ROCKSDB_NAMESPACE::protean {

// A table file whose reads are as slow as those of a device with this latency.
class SlowFile : public FSRandomAccessFileOwnerWrapper {
 public:
  SlowFile(std::unique_ptr<FSRandomAccessFile>&& file, uint32_t latency_us)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), latency_(latency_us) {}

  IOStatus Read(uint64_t offset, size_t size, const IOOptions& options,
                Slice* result, char* scratch,
                IODebugContext* dbg) const override {
    std::this_thread::sleep_for(latency_);
    return target()->Read(offset, size, options, result, scratch, dbg);
  }
  IOStatus MultiRead(FSReadRequest* requests, size_t num_requests,
                     const IOOptions& options, IODebugContext* dbg) override {
    std::this_thread::sleep_for(latency_);
    return target()->MultiRead(requests, num_requests, options, dbg);
  }

 private:
  const std::chrono::microseconds latency_;
};

class SlowFileSystem : public FileSystemWrapper {
 public:
  explicit SlowFileSystem(uint32_t latency_us)
      : FileSystemWrapper(FileSystem::Default()), latency_us_(latency_us) {}
  const char* Name() const override { return "SlowFileSystem"; }

  IOStatus NewRandomAccessFile(const std::string& name,
                               const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file,
                               IODebugContext* dbg) override {
    const IOStatus s = target()->NewRandomAccessFile(name, options, file, dbg);
    if (s.ok())
      *file = std::make_unique<SlowFile>(std::move(*file), latency_us_);
    return s;
  }

 private:
  const uint32_t latency_us_;
};

// The machine's files. Each read of a table file takes `latency_us` longer.
inline std::unique_ptr<Env> NewSlowEnv(uint32_t latency_us) {
  return std::make_unique<CompositeEnvWrapper>(
      Env::Default(), std::make_shared<SlowFileSystem>(latency_us));
}

}  // namespace ROCKSDB_NAMESPACE::protean
