// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/samples/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "util/defer.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kChunkBytes = 64 << 10;

Status CheckKind(const std::string& file, mode_t mode) {
  const char* const wrong =
      S_ISBLK(mode) || S_ISCHR(mode)     ? "is a device, not a file"
      : S_ISFIFO(mode) || S_ISSOCK(mode) ? "is a pipe or socket, not a file"
                                         : nullptr;
  return wrong == nullptr ? Status::OK() : Status::InvalidArgument(file, wrong);
}

Status CheckLocal(const std::string& file) {
  struct stat found = {};
  return stat(file.c_str(), &found) == 0 ? CheckKind(file, found.st_mode)
                                         : Status::OK();
}

// Returns true if the files are the operating system's, under their own names.
bool HasLocalFiles(const FileSystem& fs) {
  return fs.IsInstanceOf(FileSystem::kDefaultName());
}
bool HasLocalFiles(Env* env) { return HasLocalFiles(*env->GetFileSystem()); }

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

// Another file may get the name before it is opened, so the file that has been
// opened is looked at again.
Status ReadLocal(const std::string& file, uint64_t max_bytes,
                 std::string* contents) {
  const int fd =
      open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return ErrorOf(file);
  const Defer closing([fd] { close(fd); });
  struct stat found = {};
  if (fstat(fd, &found) != 0) return ErrorOf(file);
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
          size = ::read(fd, buffer, kChunkBytes);
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

Status CheckNoDevice(Env* env, const std::string& file) {
  return HasLocalFiles(env) ? CheckLocal(file) : Status::OK();
}

Status ReadPlainFile(FileSystem* fs, const std::string& file,
                     uint64_t max_bytes, std::string* contents) {
  contents->clear();
  if (!HasLocalFiles(*fs)) {
    return ReadFromFileSystem(fs, file, max_bytes, contents);
  }
  // Opening some devices has effects.
  const Status s = CheckLocal(file);
  return s.ok() ? ReadLocal(file, max_bytes, contents) : s;
}

// ---- Replace file ----

namespace {

constexpr char kTemporary[] = ".tmp";

// The path that symbolic links lead to, whether it exists or not.
std::string Resolved(std::string file) {
  constexpr int kMaxLinks = 40;  // as in Linux
  std::error_code error;
  for (int i = 0; i < kMaxLinks; i++) {
    const std::filesystem::path link =
        std::filesystem::read_symlink(file, error);
    if (error) break;  // not a link
    file = std::filesystem::path(file).replace_filename(link).string();
  }
  return file;
}

// Deletes the temporary files of a file that processes left when they died.
void DeleteAbandoned(Env* env, const std::string& file) {
  constexpr uint64_t kOldSeconds = 60 * 60;
  std::filesystem::path path(file);
  const std::string folder =
      path.has_parent_path() ? path.parent_path().string() : ".";
  const std::string begin = path.filename().string() + ".";
  const size_t size =
      begin.size() + env->GenerateUniqueId().size() + strlen(kTemporary);
  std::vector<std::string> names;
  env->GetChildren(folder, &names).PermitUncheckedError();
  for (const std::string& name : names) {
    if (name.size() != size || !Slice(name).starts_with(begin) ||
        !Slice(name).ends_with(kTemporary)) {
      continue;
    }
    const std::string abandoned = path.replace_filename(name).string();
    uint64_t modified = 0;
    int64_t now = 0;
    if (env->GetFileModificationTime(abandoned, &modified).ok() &&
        env->GetCurrentTime(&now).ok() &&
        static_cast<uint64_t>(now) > modified + kOldSeconds) {
      env->DeleteFile(abandoned).PermitUncheckedError();
    }
  }
}

Status WriteErrorOf(const std::string& file) {
  return Status::IOError(file, strerror(errno));
}

Status WriteAll(int fd, const std::string& file, Slice contents) {
  while (!contents.empty()) {
    const ssize_t size = write(fd, contents.data(), contents.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return WriteErrorOf(file);
    contents.remove_prefix(static_cast<size_t>(size));
  }
  return Status::OK();
}

// Gives an open file the permissions of another one, and its owner if this
// process may.
Status CopyAttributes(int fd, const std::string& file, const struct stat& of) {
  const bool given = (of.st_uid == geteuid() && of.st_gid == getegid()) ||
                     fchown(fd, of.st_uid, of.st_gid) == 0;
  // For another owner or group, the old permissions would mean something else.
  constexpr mode_t kOfOwner = S_IRWXU;
  constexpr mode_t kOfAll = S_IRWXU | S_IRWXG | S_IRWXO;
  return fchmod(fd, of.st_mode & (given ? kOfAll : kOfOwner)) == 0
             ? Status::OK()
             : WriteErrorOf(file);
}

// Writes to a file that is opened with these flags. One that is created can be
// read by its owner alone, unless it gets the owner and the permissions of
// another one, and is synced.
Status WriteLocal(const std::string& file, const std::string& contents,
                  int flags, const struct stat* as) {
  const int fd =
      open(file.c_str(), O_WRONLY | O_CLOEXEC | flags, S_IRUSR | S_IWUSR);
  if (fd < 0) return WriteErrorOf(file);
  Status s = WriteAll(fd, file, contents);
  if (s.ok() && as != nullptr) s = CopyAttributes(fd, file, *as);
  if (s.ok() && (flags & O_CREAT) != 0 && fsync(fd) != 0) {
    s = WriteErrorOf(file);
  }
  if (close(fd) != 0 && s.ok()) s = WriteErrorOf(file);
  return s;
}

// Writes a temporary file, and gives it the name of the one that it replaces.
Status WriteAndRename(Env* env, const std::string& file,
                      const std::string& contents, const struct stat* as) {
  DeleteAbandoned(env, file);
  // A unique name, since another process may write the same file.
  const std::string temporary =
      file + "." + env->GenerateUniqueId() + kTemporary;
  Status s = HasLocalFiles(env) ? WriteLocal(temporary, contents,
                                             O_CREAT | O_EXCL | O_NOFOLLOW, as)
                                : WriteStringToFile(env, contents, temporary,
                                                    /*should_sync=*/true);
  if (s.ok()) s = env->RenameFile(temporary, file);
  if (!s.ok()) env->DeleteFile(temporary).PermitUncheckedError();
  return s;
}

}  // namespace

Status ReplaceFile(Env* env, const std::string& file,
                   const std::string& contents) {
  const Status s = CheckNoDevice(env, file);
  if (!s.ok()) return s;
  const std::string replaced = HasLocalFiles(env) ? Resolved(file) : file;
  struct stat old = {};
  const bool is_new = stat(replaced.c_str(), &old) != 0;
  return WriteAndRename(env, replaced, contents, is_new ? nullptr : &old);
}

Status WriteNewFile(Env* env, const std::string& file,
                    const std::string& contents) {
  struct stat found = {};
  if (HasLocalFiles(env) && lstat(file.c_str(), &found) == 0 &&
      !S_ISREG(found.st_mode)) {
    return Status::InvalidArgument(
        file, "is a link, a pipe, or another thing that is not a plain file");
  }
  return WriteAndRename(env, file, contents, /*as=*/nullptr);
}

Status WriteOutput(Env* env, const std::string& file,
                   const std::string& contents) {
  struct stat found = {};
  if (!HasLocalFiles(env) || stat(file.c_str(), &found) != 0 ||
      (!S_ISCHR(found.st_mode) && !S_ISFIFO(found.st_mode))) {
    return ReplaceFile(env, file, contents);
  }
  return WriteLocal(file, contents, O_NOCTTY, /*as=*/nullptr);
}

}  // namespace ROCKSDB_NAMESPACE::protean
