//  Puts new contents in the place of a file's old ones: all of them, or none.

#pragma once

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// InvalidArgument if `file` is a device, a pipe or a socket, or a symbolic link
// to one: whoever reads it may wait for ever, or come to no end. OK where `env`
// is not that of the operating system, which alone knows such.
Status CheckNoDevice(Env* env, const std::string& file);

// Writes a file, synced, which has the old or the new contents whatever goes
// wrong. Its owner and permissions stay, and a symbolic link leads where it
// led. To a character device or a pipe, `contents` are written as they are;
// another kind of file is refused with InvalidArgument. IOError if it cannot be
// written. A process that dies here leaves its part of a file beside it; one
// that is an hour old is deleted. Thread safe, also beside other processes.
Status ReplaceFile(Env* env, const std::string& file,
                   const std::string& contents);

}  // namespace ROCKSDB_NAMESPACE::protean
