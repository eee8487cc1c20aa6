// SPDX-License-Identifier: Apache-2.0

//  An Env, and its file system, whose files are in memory, and which do nothing
//  else that takes time.

#pragma once

#include <memory>

#include "env/composite_env_wrapper.h"
#include "env/mock_env.h"
#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

class TextFileSystem : public MockFileSystem {
 public:
  TextFileSystem() : MockFileSystem(SystemClock::Default()) {}

  void Write(const std::string& name, const std::string& text) {
    Check(WriteStringToFile(this, text, name).ok(), "a file is written");
  }
  std::string Read(const std::string& name) {
    std::string text;
    Check(ReadFileToString(this, name, &text).ok(), "a file is read");
    return text;
  }
  bool HasOneFile(const std::string& folder) {
    std::vector<std::string> files;
    return GetChildren(folder, IOOptions(), &files, nullptr).ok() &&
           files.size() == 1;
  }
};

class TextEnv : public CompositeEnvWrapper {
 public:
  explicit TextEnv(const std::shared_ptr<TextFileSystem>& files =
                       std::make_shared<TextFileSystem>())
      : CompositeEnvWrapper(Env::Default(), files), files_(files) {}
  static const char* kClassName() { return "TextEnv"; }
  const char* Name() const override { return kClassName(); }

  TextFileSystem& files() { return *files_; }
  std::string GenerateUniqueId() override { return "unique"; }

 private:
  const std::shared_ptr<TextFileSystem> files_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
