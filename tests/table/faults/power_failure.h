// SPDX-License-Identifier: Apache-2.0

//  What a power failure takes from a folder in which a process has been killed:
//  all data that it had not synced, and all new files and names whose folder it
//  had not synced. Deletions last.

#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/table/faults/fault_file_system.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

// `journal` is the file of the process's MutationJournal. Of data that was not
// synced, a part is left that `rnd` chooses; nothing of it without.
class PowerFailure {
 public:
  explicit PowerFailure(const std::string& journal) {
    std::ifstream lines(journal);
    for (std::string line; std::getline(lines, line);) Replay(Fields(line));
  }

  void Strike(Random* rnd) {
    for (auto change = unsynced_.rbegin(); change != unsynced_.rend();
         ++change) {
      if (change->from.empty()) {
        std::filesystem::remove(change->path);
        files_.erase(change->path);
        continue;
      }
      if (!IsThere(change->path)) continue;
      std::filesystem::rename(change->path, change->from);
      files_[change->from] = files_[change->path];
      files_.erase(change->path);
      if (!change->replaced.empty()) {
        std::filesystem::rename(change->replaced, change->path);
      }
    }
    for (const auto& [path, synced] : files_) {
      if (!IsThere(path)) continue;
      const uint64_t size = std::filesystem::file_size(path);
      if (size <= synced) continue;
      const uint64_t torn =
          rnd == nullptr ? 0 : rnd->Uniform(static_cast<int>(size - synced));
      std::filesystem::resize_file(path, synced + torn);
      lost_bytes_ += size - synced - torn;
    }
  }

  uint64_t lost_bytes() const { return lost_bytes_; }
  uint64_t lost_names() const { return unsynced_.size(); }

 private:
  // A file that was created, or, with `from`, renamed.
  struct Change {
    std::string path;
    std::string from;
    std::string replaced;  // what was there before, if anything
  };

  // A process that was killed from outside may have deleted the file and not
  // noted that yet.
  static bool IsThere(const std::string& path) {
    return std::filesystem::exists(path);
  }

  static std::vector<std::string> Fields(const std::string& line) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == '\t') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    return fields;
  }

  static bool IsIn(const std::string& folder, const std::string& path) {
    return std::filesystem::path(path).parent_path() ==
           std::filesystem::path(folder + "/").parent_path();
  }

  void Replay(const std::vector<std::string>& fields) {
    const std::string& path = fields[1];
    switch (fields[0][0]) {
      case 'C':
        files_[path] = 0;
        unsynced_.push_back({path, "", ""});
        break;
      case 'S':
        files_[path] = std::stoull(fields[2]);
        break;
      case 'R':
        files_[path] = files_[fields[2]];
        files_.erase(fields[2]);
        unsynced_.push_back({path, fields[2], fields[3]});
        break;
      case 'D':
        files_.erase(path);
        unsynced_.erase(std::remove_if(unsynced_.begin(), unsynced_.end(),
                                       [&](const Change& change) {
                                         return change.path == path;
                                       }),
                        unsynced_.end());
        break;
      case 'F':
        unsynced_.erase(std::remove_if(unsynced_.begin(), unsynced_.end(),
                                       [&](const Change& change) {
                                         return IsIn(path, change.path);
                                       }),
                        unsynced_.end());
        break;
    }
  }

  std::map<std::string, uint64_t> files_;  // the bytes of each that are synced
  std::vector<Change> unsynced_;           // in their order
  uint64_t lost_bytes_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
