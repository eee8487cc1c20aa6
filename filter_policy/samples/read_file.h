// SPDX-License-Identifier: Apache-2.0

//  Reads files that an option, a folder or an operator names. Such a name may
//  stand for anything: a device that never ends, a pipe without a writer.

#pragma once

#include <cstdint>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Returns true if the files of `fs` are the operating system's, under their own
// names.
bool HasLocalFiles(const FileSystem& fs);
inline bool HasLocalFiles(Env* env) {
  return HasLocalFiles(*env->GetFileSystem());
}

// Returns InvalidArgument if `file` is a device, a pipe or a socket, or a
// symbolic link to one: reading it may block forever, or never end. Returns OK
// if the files of `fs` are not the operating system's, which alone has such
// files.
Status CheckNoDevice(const FileSystem& fs, const std::string& file);
inline Status CheckNoDevice(Env* env, const std::string& file) {
  return CheckNoDevice(*env->GetFileSystem(), file);
}

// Reads a whole file of at most `max_bytes`, and never waits. Returns
// InvalidArgument, without reading, if `file` is not a plain file or a symbolic
// link to one, or is larger; PathNotFound if there is none; and otherwise the
// error of reading it. If the files of `fs` are not the operating system's, a
// file is empty if `fs` says that its size is 0, as that of a pipe is.
Status ReadPlainFile(FileSystem* fs, const std::string& file,
                     uint64_t max_bytes, std::string* contents);
inline Status ReadPlainFile(Env* env, const std::string& file,
                            uint64_t max_bytes, std::string* contents) {
  return ReadPlainFile(env->GetFileSystem().get(), file, max_bytes, contents);
}

}  // namespace ROCKSDB_NAMESPACE::protean
