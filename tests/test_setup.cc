// SPDX-License-Identifier: Apache-2.0

//  Linked into each test: its databases and files are in a temporary folder of
//  its own, which is gone when the test ends. TEST_TMPDIR, if it is set, says
//  where the folder is made. A test that crashes leaves the folder. A test may
//  have thousands of files open. Filters have the same salt each time, and so
//  the same false positives. Options can name the policies of the benchmarks.

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "db_bench_ext/filter_spec.h"
#include "filter_policy/bits/checksum.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class OwnFolder {
 public:
  OwnFolder() {
    const char* const wanted = getenv("TEST_TMPDIR");
    is_wanted_ = wanted != nullptr;
    parent_ = is_wanted_ ? std::filesystem::path(wanted)
                         : std::filesystem::temp_directory_path();
    Make(parent_);
  }
  ~OwnFolder() { Remove(); }

  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  void PutInMemory() {
    constexpr char kMemory[] = "/dev/shm";
    Remove();
    Make(!is_wanted_ && HasRoom(kMemory) ? kMemory : parent_);
  }

 private:
  static bool HasRoom(const char* folder) {
    // Containers have 64 MB in /dev/shm, which the tests would fill.
    constexpr std::uintmax_t kMinSpace = std::uintmax_t{1} << 30;
    std::error_code error;
    const auto space = std::filesystem::space(folder, error);
    return access(folder, W_OK) == 0 && !error && space.available >= kMinSpace;
  }
  void Make(const std::filesystem::path& parent) {
    std::error_code error;
    std::filesystem::create_directories(parent, error);
    path_ = (parent / "protean_test_XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) {
      perror(path_.c_str());
      exit(1);
    }
    // RocksDB's tests, and so PerThreadDBPath, look for it here.
    setenv("TEST_TMPDIR", path_.c_str(), /*overwrite=*/1);
  }
  // A child process may end as this one does, and leaves the folder.
  void Remove() const {
    std::error_code error;
    if (getpid() == owner_) std::filesystem::remove_all(path_, error);
  }

  const pid_t owner_ = getpid();
  bool is_wanted_ = false;  // by the user
  std::filesystem::path parent_;
  std::string path_;
};

OwnFolder folder;

// RocksDB keeps the files of a DB open, and a login usually allows 1,024.
[[maybe_unused]] const bool files_allowed = [] {
  constexpr rlim_t kFiles = 1 << 14;
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit.rlim_cur = std::min(std::max(limit.rlim_cur, kFiles), limit.rlim_max);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}();

[[maybe_unused]] const bool salt_fixed = [] {
  FilterSalt::Fix(
      FilterSalt{/*file=*/0x0123456789abcdef, /*process=*/0xfedcba9876543210});
  RegisterComparisonPolicies();
  return true;
}();

}  // namespace

void PutOwnFolderInMemory() { folder.PutInMemory(); }

std::string PathInMemory(const std::string& name) {
  PutOwnFolderInMemory();
  return test::PerThreadDBPath(name);
}

}  // namespace ROCKSDB_NAMESPACE::protean
