// SPDX-License-Identifier: Apache-2.0

//  Reads files that an option, a folder or an operator names. Such a name may
//  stand for anything: a device that never ends, a pipe without a writer. And
//  replaces the contents of a file: all of them, or none.

#pragma once

#include <cstdint>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Returns InvalidArgument if `file` is a device, a pipe or a socket, or a
// symbolic link to one: reading it may block forever, or never end. Returns OK
// if the files of `env` are not the operating system's, which alone has such
// files.
Status CheckNoDevice(Env* env, const std::string& file);

// Reads a whole file of at most `max_bytes`, and never waits. Returns
// InvalidArgument if `file` is not a plain file or a symbolic link to one, or
// is larger; PathNotFound if there is none. If the files of `fs` are not the
// operating system's, a file of size 0, as that of a pipe is, is empty.
Status ReadPlainFile(FileSystem* fs, const std::string& file,
                     uint64_t max_bytes, std::string* contents);
inline Status ReadPlainFile(Env* env, const std::string& file,
                            uint64_t max_bytes, std::string* contents) {
  return ReadPlainFile(env->GetFileSystem().get(), file, max_bytes, contents);
}

// ---- Replace file ----

// Writes and syncs a file, which has either the old or the new contents
// whatever goes wrong. A new file can be read by its owner alone, since it may
// contain keys. An old one keeps its owner and permissions, and a symbolic link
// leads where it led. Returns InvalidArgument if that is a device, a pipe or a
// socket. A process that dies here leaves a temporary file next to `file`,
// which a later call deletes when it is an hour old. Safe for concurrent use by
// threads and processes.
Status ReplaceFile(Env* env, const std::string& file,
                   const std::string& contents);

// ReplaceFile for a file in a folder that others may write to: the file is a
// new one, which only its owner can read. Returns InvalidArgument if `file` is
// anything but a plain file, such as a symbolic link.
Status WriteNewFile(Env* env, const std::string& file,
                    const std::string& contents);

// ReplaceFile for a file that a command line names: a character device or a
// pipe, such as a terminal, is written to directly.
Status WriteOutput(Env* env, const std::string& file,
                   const std::string& contents);

}  // namespace ROCKSDB_NAMESPACE::protean
