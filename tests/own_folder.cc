// SPDX-License-Identifier: Apache-2.0

//  Linked into each test: its databases and files are in a temporary folder of
//  its own, which is gone when the test ends. TEST_TMPDIR, if it is set, says
//  where the folder is made. A test that crashes leaves the folder.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class OwnFolder {
 public:
  OwnFolder() {
    const char* const wanted = getenv("TEST_TMPDIR");
    const std::filesystem::path parent =
        wanted == nullptr ? std::filesystem::temp_directory_path()
                          : std::filesystem::path(wanted);
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
  ~OwnFolder() {
    // A child process may end as this one does.
    std::error_code error;
    if (getpid() == owner_) std::filesystem::remove_all(path_, error);
  }

  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

 private:
  const pid_t owner_ = getpid();
  std::string path_;
};

const OwnFolder folder;

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
