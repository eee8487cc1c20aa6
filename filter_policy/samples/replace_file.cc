// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/samples/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

#include "rocksdb/file_system.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kTemporary[] = ".tmp";

// Whether `env` uses the operating system's files under their own names.
bool IsLocal(Env* env) {
  return env->GetFileSystem()->IsInstanceOf(FileSystem::kDefaultName());
}

// The type of a file, following symbolic links; 0 if there is no such file.
mode_t KindOf(const std::string& file) {
  struct stat found;
  return stat(file.c_str(), &found) == 0 ? found.st_mode & S_IFMT : 0;
}

// The path that symbolic links lead to, whether it exists or not.
std::string Resolved(std::string file) {
  constexpr int kMaxLinks = 40;  // as in Linux
  char link[PATH_MAX];
  for (int i = 0; i < kMaxLinks; i++) {
    const ssize_t size = readlink(file.c_str(), link, sizeof(link));
    if (size <= 0) break;  // not a link
    const size_t slash = link[0] == '/' ? std::string::npos : file.rfind('/');
    file.resize(slash == std::string::npos ? 0 : slash + 1);
    file.append(link, static_cast<size_t>(size));
  }
  return file;
}

// Deletes the temporary files of a file that processes left when they died.
void DeleteAbandoned(Env* env, const std::string& file) {
  constexpr uint64_t kOldSeconds = 60 * 60;
  const size_t slash = file.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : file.substr(0, slash + 1);
  const std::string begin =
      (slash == std::string::npos ? file : file.substr(slash + 1)) + ".";
  const size_t size =
      begin.size() + env->GenerateUniqueId().size() + strlen(kTemporary);
  std::vector<std::string> names;
  env->GetChildren(folder, &names).PermitUncheckedError();
  for (const std::string& name : names) {
    if (name.size() != size || !Slice(name).starts_with(begin) ||
        !Slice(name).ends_with(kTemporary)) {
      continue;
    }
    const std::string path = slash == std::string::npos ? name : folder + name;
    uint64_t modified = 0;
    int64_t now = 0;
    if (env->GetFileModificationTime(path, &modified).ok() &&
        env->GetCurrentTime(&now).ok() &&
        static_cast<uint64_t>(now) > modified + kOldSeconds) {
      env->DeleteFile(path).PermitUncheckedError();
    }
  }
}

Status WriteThrough(const std::string& file, const std::string& contents) {
  std::ofstream out(file, std::ios::binary);
  out << contents << std::flush;
  return out ? Status::OK() : Status::IOError(file, strerror(errno));
}

// The attributes of a temporary file, which only its owner can read, until it
// gets those of the file that it replaces.
class AttributeCopy {
 public:
  AttributeCopy(const std::string& old, const std::string& temporary)
      : temporary_(temporary), is_needed_(stat(old.c_str(), &old_) == 0) {
    const int fd =
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
    if (fd >= 0) close(fd);
  }
  // Copies the permissions, and the owner if this process may.
  Status Complete() const {
    if (!is_needed_) return Status::OK();
    const bool given = (old_.st_uid == geteuid() && old_.st_gid == getegid()) ||
                       chown(temporary_.c_str(), old_.st_uid, old_.st_gid) == 0;
    // For another owner or group, the old permissions would mean something
    // else.
    constexpr mode_t kOfOwner = S_IRWXU;
    constexpr mode_t kOfAll = S_IRWXU | S_IRWXG | S_IRWXO;
    return chmod(temporary_.c_str(),
                 old_.st_mode & (given ? kOfAll : kOfOwner)) == 0
               ? Status::OK()
               : Status::IOError(temporary_, strerror(errno));
  }

 private:
  const std::string temporary_;
  struct stat old_ = {};
  const bool is_needed_;
};

}  // namespace

Status CheckNoDevice(Env* env, const std::string& file) {
  if (!IsLocal(env)) return Status::OK();
  switch (KindOf(file)) {
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

Status ReplaceFile(Env* env, const std::string& file,
                   const std::string& contents) {
  const bool local = IsLocal(env);
  const mode_t kind = local ? KindOf(file) : 0;
  if (kind == S_IFCHR || kind == S_IFIFO) return WriteThrough(file, contents);
  Status s = CheckNoDevice(env, file);
  if (!s.ok()) return s;
  const std::string replaced = local ? Resolved(file) : file;
  DeleteAbandoned(env, replaced);
  // A unique name, since another process may write the same file.
  const std::string temporary =
      replaced + "." + env->GenerateUniqueId() + kTemporary;
  std::optional<AttributeCopy> attributes;
  if (local) attributes.emplace(replaced, temporary);
  s = WriteStringToFile(env, contents, temporary, /*should_sync=*/true);
  if (s.ok() && attributes.has_value()) s = attributes->Complete();
  if (s.ok()) s = env->RenameFile(temporary, replaced);
  if (!s.ok()) env->DeleteFile(temporary).PermitUncheckedError();
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
