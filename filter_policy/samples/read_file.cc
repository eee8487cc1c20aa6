// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/samples/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kChunkBytes = 64 << 10;

Status CheckKind(const std::string& file, mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFBLK:
    case S_IFCHR:
      return Status::InvalidArgument(file, "is a device, not a file");
    case S_IFIFO:
    case S_IFSOCK:
      return Status::InvalidArgument(file, "is a pipe or socket, not a file");
    default:
      return Status::OK();
  }
}

// Appends what `read` stores in a buffer, until that is nothing.
Status ReadToEnd(const std::string& file, uint64_t max_bytes,
                 const std::function<Status(char*, Slice*)>& read,
                 std::string* contents) {
  const auto buffer = std::make_unique<char[]>(kChunkBytes);
  while (contents->size() <= max_bytes) {
    Slice chunk;
    const Status s = read(buffer.get(), &chunk);
    if (!s.ok() || chunk.empty()) return s;
    contents->append(chunk.data(), chunk.size());
  }
  return Status::InvalidArgument(
      file, "is larger than " + std::to_string(max_bytes) + " bytes");
}

Status ErrorOf(const std::string& file) {
  return errno == ENOENT || errno == ENOTDIR
             ? Status::PathNotFound(file, strerror(errno))
             : Status::IOError(file, strerror(errno));
}

// A file descriptor that is closed with this object.
struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int fd;
};

// Another file may get the name before it is opened, so the file that has been
// opened is looked at again.
Status ReadLocal(const std::string& file, uint64_t max_bytes,
                 std::string* contents) {
  const Descriptor opened(
      open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat found = {};
  if (opened.fd < 0 || fstat(opened.fd, &found) != 0) return ErrorOf(file);
  if (S_ISDIR(found.st_mode)) {
    return Status::InvalidArgument(file, "is a folder, not a file");
  }
  const Status s = CheckKind(file, found.st_mode);
  if (!s.ok()) return s;
  if (found.st_size > 0 && static_cast<uint64_t>(found.st_size) <= max_bytes) {
    contents->reserve(static_cast<size_t>(found.st_size));
  }
  return ReadToEnd(
      file, max_bytes,
      [&](char* buffer, Slice* chunk) {
        ssize_t size;
        do {
          size = ::read(opened.fd, buffer, kChunkBytes);
        } while (size < 0 && errno == EINTR);
        if (size < 0) return ErrorOf(file);
        *chunk = Slice(buffer, static_cast<size_t>(size));
        return Status::OK();
      },
      contents);
}

Status ReadFromFileSystem(FileSystem* fs, const std::string& file,
                          uint64_t max_bytes, std::string* contents) {
  uint64_t size = 0;
  Status s = fs->GetFileSize(file, IOOptions(), &size, /*dbg=*/nullptr);
  if (!s.ok() || size == 0) return s;
  std::unique_ptr<FSSequentialFile> opened;
  s = fs->NewSequentialFile(file, FileOptions(), &opened, /*dbg=*/nullptr);
  if (!s.ok()) return s;
  return ReadToEnd(
      file, max_bytes,
      [&](char* buffer, Slice* chunk) {
        return opened->Read(kChunkBytes, IOOptions(), chunk, buffer,
                            /*dbg=*/nullptr);
      },
      contents);
}

}  // namespace

bool HasLocalFiles(const FileSystem& fs) {
  return fs.IsInstanceOf(FileSystem::kDefaultName());
}

Status CheckNoDevice(const FileSystem& fs, const std::string& file) {
  struct stat found = {};
  return HasLocalFiles(fs) && stat(file.c_str(), &found) == 0
             ? CheckKind(file, found.st_mode)
             : Status::OK();
}

Status ReadPlainFile(FileSystem* fs, const std::string& file,
                     uint64_t max_bytes, std::string* contents) {
  contents->clear();
  if (!HasLocalFiles(*fs)) {
    return ReadFromFileSystem(fs, file, max_bytes, contents);
  }
  // Opening some devices has effects.
  const Status s = CheckNoDevice(*fs, file);
  return s.ok() ? ReadLocal(file, max_bytes, contents) : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
