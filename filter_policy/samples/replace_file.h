// SPDX-License-Identifier: Apache-2.0

//  Replaces the contents of a file: all of them, or none.

#pragma once

#include <sys/stat.h>

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Writes and syncs a file, which has either the old or the new contents
// whatever goes wrong. A new file can be read by its owner alone, since it may
// contain keys. An old one keeps its owner and permissions, and a symbolic link
// leads where it led. Returns InvalidArgument if that is a device, a pipe or a
// socket, and IOError if the file cannot be written. A process that dies here
// leaves a temporary file next to `file`; such a file is deleted by a later
// call when it is an hour old. Safe for concurrent use by threads and
// processes.
Status ReplaceFile(Env* env, const std::string& file,
                   const std::string& contents);

// ReplaceFile for a file in a folder that others may write to: the file is a
// new one, which only its owner can read. Returns InvalidArgument if `file` is
// anything but a plain file, such as a symbolic link. `owner`, unless it is
// nullptr, says to whom the file is given.
Status WriteNewFile(Env* env, const std::string& file,
                    const std::string& contents,
                    const struct stat* owner = nullptr);

// ReplaceFile for a file that a command line names: a character device or a
// pipe, such as a terminal, is written to directly.
Status WriteOutput(Env* env, const std::string& file,
                   const std::string& contents);

}  // namespace ROCKSDB_NAMESPACE::protean
