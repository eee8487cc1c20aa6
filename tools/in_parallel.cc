// SPDX-License-Identifier: Apache-2.0

#include "tools/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace ROCKSDB_NAMESPACE::protean {

void InParallel(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  try {
    for (size_t i = 1; i < std::min(count, cores); i++) {
      threads.emplace_back(run);
    }
  } catch (const std::system_error&) {
    // No more threads can be created.
  }
  run();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ROCKSDB_NAMESPACE::protean
