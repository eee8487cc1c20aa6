// SPDX-License-Identifier: Apache-2.0

//  Runs commands of protean as main() does, and makes a DB for them: two column
//  families under ProteanTable, with Proteus and with SuRF, and one with
//  RocksDB's Bloom filter. Each has files in two levels.

#pragma once

#include <unistd.h>

#include <chrono>
#include <csignal>

#include "filter_policy/samples/query_queue.h"
#include "tests/protean_db.h"
#include "tools/command.h"
#include "tools/manifest.h"
#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

struct ToolRun {
  int code = 0;
  std::string out;
  std::string err;

  // The rows in the output of --json.
  std::vector<Json> Rows() const;
  // The rows of files, by their names.
  std::map<std::string, Json> FileRows() const;
  // Checks that the command has found nothing wrong. Returns this.
  const ToolRun& ExpectFine() const;
  // Checks that the command failed with one line on stderr, with these words.
  void ExpectRefused(const Keys& words) const;
};

ToolRun RunTool(const Keys& arguments);

// Runs the tool in a process of its own whose stderr is a terminal, on which
// progress is shown. The output to stdout is dropped.
ToolRun RunToolOnTerminal(const Keys& arguments);

// Sends a signal to this process once the command that runs in it catches it.
class SignalWhenCaught {
 public:
  explicit SignalWhenCaught(int signal)
      : thread_([signal] {
          struct sigaction action = {};
          while (action.sa_handler == SIG_DFL) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            sigaction(signal, nullptr, &action);
          }
          kill(getpid(), signal);
        }) {}
  void Join() { thread_.join(); }

 private:
  std::thread thread_;
};

class ToolDBTest : public testing::Test {
 protected:
  static constexpr uint64_t kKeys = 3000;

  ToolDBTest();
  ~ToolDBTest() override;

  void AddFamily(const std::string& name, const std::string& options);
  ColumnFamilyOptions& Family(size_t i) { return families_[i].options; }

  void Open();
  void Close();

  // Runs a command with --json.
  ToolRun Run(Keys command, const Keys& more = {}) const;

  // The key with number i, or the string `behind` places behind it.
  static std::string KeyOf(uint64_t i, uint64_t behind = 0) {
    return BigEndian(i * 0x10001000100 + behind);
  }

  // Writes a third of the keys to level 0, or the others to level 3.
  void WriteRun(ColumnFamilyHandle* handle, bool upper);

  // Writes both runs, and closes the DB.
  void Fill();

  // With filters of SuRF-Base in the first family, whose new files get Proteus.
  void FillWithSurfBase();
  // Queries right above keys, for which SuRF-Base is useless.
  static std::vector<SampleQuery> QueriesAboveKeys();

  // The DB gets an Env that encrypts, which kEncryptingEnv makes, too.
  static constexpr char kEncryptingEnv[] =
      "{id=EncryptedFileSystem;provider={id=CTR;cipher=ROT13:32}}";
  void Encrypt();

  // The paths of a column family's files, lowest level first.
  std::vector<std::string> Files(const std::string& family) const;
  static std::string NameOf(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
  }

  // Names and contents of the DB's files, but for the lock and info logs.
  std::map<std::string, std::string> Disk() const;
  std::string Manifest() const;
  // The latest OPTIONS file without its version.
  std::string OptionsOnDisk() const;
  // Checks that all keys of a column family can be read.
  void ExpectAllKeys(size_t family);

  const std::string path_ = PathInMemory("tool_db");
  std::shared_ptr<Env> env_;  // of a DB that is encrypted
  DBOptions options_;
  std::vector<ColumnFamilyDescriptor> families_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> handles_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
