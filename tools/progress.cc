// SPDX-License-Identifier: Apache-2.0

#include "tools/progress.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cmath>
#include <iostream>
#include <system_error>
#include <thread>
#include <vector>

#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr std::chrono::milliseconds kPeriod(200);
// Returns to the first column and erases the line.
constexpr char kEraseLine[] = "\r\033[K";

constexpr std::array<int, 2> kSignals = {SIGINT, SIGTERM};

volatile sig_atomic_t interrupted = 0;

void SetAll(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

// The next signal of either kind ends the process.
void OnInterrupt(int /*signal*/) {
  interrupted = 1;
  SetAll(SIG_DFL);
}

}  // namespace

std::string PrintedSeconds(double seconds) {
  constexpr double kLongest = 1e9;  // which says enough
  const auto all =
      static_cast<uint64_t>(std::llround(std::clamp(seconds, 0.0, kLongest)));
  if (all < 100) return Format("%" PRIu64 " s", all);
  const uint64_t minutes = (all + 30) / 60;
  if (minutes < 100) return Format("%" PRIu64 " min", minutes);
  return Format("%" PRIu64 " h %" PRIu64 " min", minutes / 60, minutes % 60);
}

double SecondsLeft(uint64_t done, uint64_t total, double seconds) {
  if (done == 0) return -1;
  return seconds * static_cast<double>(total - std::min(done, total)) /
         static_cast<double>(done);
}

std::string PrintedProgress(uint64_t done, uint64_t total, double seconds) {
  if (total == 0) return "beginning";
  const double share = static_cast<double>(done) / static_cast<double>(total);
  std::string text =
      Format("%s of %s, %.0f %%", PrintedBytes(done).c_str(),
             PrintedBytes(total).c_str(), 100 * std::min(share, 1.0));
  const double left = SecondsLeft(done, total, seconds);
  if (left >= 0) text += ", about " + PrintedSeconds(left) + " left";
  return text;
}

Progress::Progress(std::ostream& err)
    : err_(err), watched_(&err == &std::cerr && isatty(STDERR_FILENO) != 0) {}

void Progress::Show(const std::string& text) {
  if (!watched_) return;
  err_ << kEraseLine << text << std::flush;
  shown_ = true;
  due_ = std::chrono::steady_clock::now() + kPeriod;
}

void Progress::Clear() {
  if (shown_) err_ << kEraseLine << std::flush;
  shown_ = false;
}

Interrupt::Interrupt() {
  interrupted = 0;
  for (size_t i = 0; i < kSignals.size(); i++) {
    sigaction(kSignals[i], nullptr, &before_[i]);
  }
  SetAll(OnInterrupt);
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < kSignals.size(); i++) {
    sigaction(kSignals[i], &before_[i], nullptr);
  }
}

bool Interrupt::requested() const { return interrupted != 0; }

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
