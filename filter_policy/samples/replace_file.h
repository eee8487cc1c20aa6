// SPDX-License-Identifier: Apache-2.0

//  Replaces the contents of a file: all of them, or none.

#pragma once

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Returns InvalidArgument if `file` is a device, a pipe or a socket, or a
// symbolic link to one: reading it may block forever, or never end. Returns OK
// if `env` is not the operating system's, which alone has such files.
Status CheckNoDevice(Env* env, const std::string& file);

// Writes and syncs a file, which has either the old or the new contents
// whatever goes wrong. A new file can be read by its owner alone, since it may
// contain keys. An old one keeps its owner and permissions, and a symbolic link
// leads where it led. `contents` are written directly to a character
// device or a pipe; other special files are refused with InvalidArgument.
// Returns IOError if the file cannot be written. A process that dies here
// leaves a temporary file next to `file`; such a file is deleted by a later
// call when it is an hour old. Safe for concurrent use by threads and
// processes.
Status ReplaceFile(Env* env, const std::string& file,
                   const std::string& contents);

}  // namespace ROCKSDB_NAMESPACE::protean
