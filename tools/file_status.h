// SPDX-License-Identifier: Apache-2.0

//  What `protean verify` says of a file. Pure functions of what was read.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rocksdb/status.h"
#include "tools/file_facts.h"
#include "tools/key_check.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FileStatus {
  enum class Kind {
    kFine,
    kGone,        // compacted in the meantime
    kNotChecked,  // fine, except that its filter could not be asked
    kNotSeen,     // not looked at
    kWrong,
    kFixable,  // wrong, but a rewrite of the file makes a new filter
  };

  Kind kind = Kind::kFine;
  // The words for it, which the command's help explains.
  std::string words = "ok";
  std::string detail;
  // Where the block that is wrong begins, if that is known.
  std::optional<uint64_t> offset;

  // Whether there is anything that an operator should know.
  bool IsProblem() const { return kind != Kind::kFine && kind != Kind::kGone; }
};

// A file that does not exist at `path`, while the MANIFEST lists it or does not
// list it any more.
FileStatus StatusOfAbsentFile(bool is_listed, const std::string& path);

// An SST file that could not be opened: `opened` is what that returned.
FileStatus StatusOfUnopenedFile(const Status& opened);

// A file whose data could not be read to its end: `read` is what that returned.
FileStatus StatusOfUnreadData(const Status& read);

// A table of another kind than block-based, which `table` describes, and whose
// checksum is not known.
FileStatus StatusOfOtherTable(const std::string& table);

// A table of another kind whose checksum was computed: `computed` is what that
// returned, and `matches` whether the checksum is the one in the MANIFEST.
FileStatus StatusOfOtherTable(const std::string& table, const Status& computed,
                              bool matches);

// A block-based table, of which all was read, as far as possible.
FileStatus StatusOfTable(const FileFacts& facts, const KeyCheck& check);

}  // namespace ROCKSDB_NAMESPACE::protean
