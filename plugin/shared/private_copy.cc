// SPDX-License-Identifier: Apache-2.0

#include "plugin/shared/private_copy.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace protean_loader {

namespace {

// A part of the library whose sources name this file.
[[gnu::used]] const Dependency dependency = {"protean: it also depends on ...",
                                             ""};

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Entry = ElfW(Dyn);

constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

// A library's file in memory, where it can be changed.
class Image {
 public:
  explicit Image(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat status;
    if (fstat(file, &status) == 0) {
      size_ = static_cast<size_t>(status.st_size);
      void* const mapped =
          mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
      if (mapped != MAP_FAILED) bytes_ = static_cast<char*>(mapped);
    }
    close(file);
  }
  ~Image() {
    if (bytes_ != nullptr) munmap(bytes_, size_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  bool ok() const { return bytes_ != nullptr; }

  // Returns true if all that would be loaded is in the file. The dynamic linker
  // does not look, and the process ends when it gets to what is not there.
  bool IsWhole() const {
    if (size_ < sizeof(Header) || memcmp(bytes_, ELFMAG, SELFMAG) != 0)
      return false;
    const Segment* const segments = Segments();
    if (segments == nullptr) return false;
    for (const auto* s = segments; s < segments + header()->e_phnum; s++) {
      if (s->p_offset > size_ || s->p_filesz > size_ - s->p_offset)
        return false;
    }
    return true;
  }

  // The place for a dependency, or nullptr.
  Dependency* Place() const {
    auto* const place = static_cast<Dependency*>(
        memmem(bytes_, size_, kDependencyMark, sizeof(kDependencyMark)));
    return place != nullptr && Has(place, 1) ? place : nullptr;
  }

  // Makes the name in this place one of the library's dependencies. Returns
  // false if the file is not as it should be.
  bool Depend(const Dependency& place) {
    Entry* own_name = nullptr;
    ElfW(Addr) texts = 0;
    const Segment* const dynamic = Find(PT_DYNAMIC, 0);
    if (dynamic == nullptr) return false;
    auto* entry = reinterpret_cast<Entry*>(bytes_ + dynamic->p_offset);
    for (; Has(entry, 1) && entry->d_tag != DT_NULL; entry++) {
      if (entry->d_tag == DT_SONAME) own_name = entry;
      if (entry->d_tag == DT_STRTAB) texts = entry->d_un.d_ptr;
    }
    const auto offset = static_cast<size_t>(place.name - bytes_);
    const Segment* const part = Find(PT_LOAD, offset);
    if (own_name == nullptr || texts == 0 || part == nullptr) return false;
    own_name->d_tag = DT_NEEDED;
    // Names are counted from the table of texts, wherever they are.
    own_name->d_un.d_val = part->p_vaddr + (offset - part->p_offset) - texts;
    return true;
  }

  bool WriteTo(int file) const {
    for (size_t done = 0; done < size_;) {
      const ssize_t written = write(file, bytes_ + done, size_ - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      done += static_cast<size_t>(written);
    }
    return true;
  }

 private:
  // Returns true if `count` objects at `first` are within the file.
  template <typename T>
  bool Has(const T* first, size_t count) const {
    const auto offset =
        static_cast<size_t>(reinterpret_cast<const char*>(first) - bytes_);
    return offset <= size_ && count <= (size_ - offset) / sizeof(T);
  }

  const Header* header() const {
    return reinterpret_cast<const Header*>(bytes_);
  }

  // The table of segments, or nullptr.
  const Segment* Segments() const {
    const auto* const segments =
        reinterpret_cast<const Segment*>(bytes_ + header()->e_phoff);
    return header()->e_phoff <= size_ && Has(segments, header()->e_phnum)
               ? segments
               : nullptr;
  }

  // The segment of a type, if PT_LOAD the one that has the byte at `offset`;
  // nullptr if there is none.
  const Segment* Find(ElfW(Word) type, size_t offset) const {
    const Segment* const segments = Segments();
    for (const auto* s = segments; s < segments + header()->e_phnum; s++) {
      if (s->p_type != type) continue;
      if (type != PT_LOAD ||
          (s->p_offset <= offset && offset - s->p_offset < s->p_filesz)) {
        return s;
      }
    }
    return nullptr;
  }

  char* bytes_ = nullptr;
  size_t size_ = 0;
};

// Opens a file without a name for a copy of `path`: in memory, or in the folder
// for temporary files, for systems that execute nothing that is only in memory.
// Returns -1 if that is not possible.
int OpenNameless(const char* path, bool in_memory) {
  if (in_memory) {
    // Debuggers and profilers show the name of the file.
    const char* const slash = strrchr(path, '/');
    return memfd_create(slash == nullptr ? path : slash + 1, MFD_CLOEXEC);
  }
  const char* const folder = getenv("TMPDIR");
  return open(folder == nullptr || folder[0] == '\0' ? "/tmp" : folder,
              O_TMPFILE | O_RDWR | O_CLOEXEC, 0700);
}

void* LoadCopy(const Image& image, const char* path, bool in_memory,
               char* reason, size_t size) {
  const int file = OpenNameless(path, in_memory);
  if (file < 0 || !image.WriteTo(file)) {
    snprintf(reason, size, "%s cannot be copied: %s", path, strerror(errno));
    if (file >= 0) close(file);
    return nullptr;
  }
  char name[64];
  snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
  // The file stays open, since the dynamic linker knows the library by this
  // name from now on.
  void* const handle = dlopen(name, kFlags);
  if (handle == nullptr) {
    snprintf(reason, size, "a copy of %s cannot be loaded: %s", path,
             dlerror());
    close(file);
  }
  return handle;
}

}  // namespace

void* LoadDependingOn(const char* path, const char* dependency, char* reason,
                      size_t size) {
  Image image(path);
  if (!image.ok()) {
    snprintf(reason, size, "%s cannot be read: %s", path, strerror(errno));
    return nullptr;
  }
  if (!image.IsWhole()) {
    snprintf(reason, size, "%s is damaged", path);
    return nullptr;
  }
  Dependency* const place = image.Place();
  if (place == nullptr) {
    void* const handle = dlopen(path, kFlags);
    if (handle == nullptr) {
      snprintf(reason, size, "%s cannot be loaded: %s", path, dlerror());
    }
    return handle;
  }
  if (strlen(dependency) >= sizeof(place->name)) {
    snprintf(reason, size, "the path of %s is too long", dependency);
    return nullptr;
  }
  snprintf(place->name, sizeof(place->name), "%s", dependency);
  if (!image.Depend(*place)) {
    snprintf(reason, size, "%s is damaged", path);
    return nullptr;
  }
  void* const handle = LoadCopy(image, path, /*in_memory=*/true, reason, size);
  return handle != nullptr
             ? handle
             : LoadCopy(image, path, /*in_memory=*/false, reason, size);
}

}  // namespace protean_loader
