// SPDX-License-Identifier: Apache-2.0

//  An Env whose files are strings in memory, and which does nothing else that
//  takes time. A file that is open to be read must not change.

#pragma once

#include <map>
#include <memory>
#include <string>

#include "env/composite_env_wrapper.h"
#include "rocksdb/file_system.h"

namespace ROCKSDB_NAMESPACE::protean {

class TextFileSystem : public FileSystemWrapper {
 public:
  TextFileSystem() : FileSystemWrapper(FileSystem::Default()) {}
  static const char* kClassName() { return "TextFileSystem"; }
  const char* Name() const override { return kClassName(); }

  std::map<std::string, std::string>& files() { return files_; }

  IOStatus NewSequentialFile(const std::string& name, const FileOptions&,
                             std::unique_ptr<FSSequentialFile>* file,
                             IODebugContext*) override {
    const auto found = files_.find(name);
    if (found == files_.end()) return IOStatus::NotFound(name);
    file->reset(new Reader(found->second));
    return IOStatus::OK();
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions&,
                               std::unique_ptr<FSRandomAccessFile>* file,
                               IODebugContext*) override {
    const auto found = files_.find(name);
    if (found == files_.end()) return IOStatus::NotFound(name);
    file->reset(new RandomReader(found->second));
    return IOStatus::OK();
  }
  IOStatus NewWritableFile(const std::string& name, const FileOptions&,
                           std::unique_ptr<FSWritableFile>* file,
                           IODebugContext*) override {
    std::string& contents = files_[name];
    contents.clear();
    file->reset(new Writer(&contents));
    return IOStatus::OK();
  }
  // All folders are there, and need no syncing.
  IOStatus NewDirectory(const std::string&, const IOOptions&,
                        std::unique_ptr<FSDirectory>* folder,
                        IODebugContext*) override {
    folder->reset(new Folder);
    return IOStatus::OK();
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions&,
                       uint64_t* size, IODebugContext*) override {
    const auto found = files_.find(name);
    if (found == files_.end()) return IOStatus::NotFound(name);
    *size = found->second.size();
    return IOStatus::OK();
  }
  IOStatus FileExists(const std::string& name, const IOOptions&,
                      IODebugContext*) override {
    return files_.count(name) > 0 ? IOStatus::OK() : IOStatus::NotFound(name);
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions&,
                      IODebugContext*) override {
    return files_.erase(name) > 0 ? IOStatus::OK() : IOStatus::NotFound(name);
  }
  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions&, IODebugContext*) override {
    files_[to] = std::move(files_[from]);
    files_.erase(from);
    return IOStatus::OK();
  }

 private:
  class Reader : public FSSequentialFile {
   public:
    explicit Reader(const Slice& contents) : rest_(contents) {}
    IOStatus Read(size_t size, const IOOptions&, Slice* result, char*,
                  IODebugContext*) override {
      *result = Slice(rest_.data(), std::min(size, rest_.size()));
      rest_.remove_prefix(result->size());
      return IOStatus::OK();
    }
    IOStatus Skip(uint64_t size) override {
      rest_.remove_prefix(std::min<size_t>(size, rest_.size()));
      return IOStatus::OK();
    }

   private:
    Slice rest_;
  };

  class RandomReader : public FSRandomAccessFile {
   public:
    explicit RandomReader(const Slice& contents) : contents_(contents) {}
    IOStatus Read(uint64_t offset, size_t size, const IOOptions&, Slice* result,
                  char*, IODebugContext*) const override {
      const size_t begin = std::min<uint64_t>(offset, contents_.size());
      *result = Slice(contents_.data() + begin,
                      std::min(size, contents_.size() - begin));
      return IOStatus::OK();
    }

   private:
    const Slice contents_;
  };

  class Folder : public FSDirectory {
   public:
    IOStatus Fsync(const IOOptions&, IODebugContext*) override {
      return IOStatus::OK();
    }
  };

  class Writer : public FSWritableFile {
   public:
    explicit Writer(std::string* contents) : contents_(contents) {}
    using FSWritableFile::Append;
    IOStatus Append(const Slice& data, const IOOptions&,
                    IODebugContext*) override {
      contents_->append(data.data(), data.size());
      return IOStatus::OK();
    }
    IOStatus Close(const IOOptions&, IODebugContext*) override {
      return IOStatus::OK();
    }
    IOStatus Flush(const IOOptions&, IODebugContext*) override {
      return IOStatus::OK();
    }
    IOStatus Sync(const IOOptions&, IODebugContext*) override {
      return IOStatus::OK();
    }
    uint64_t GetFileSize(const IOOptions&, IODebugContext*) override {
      return contents_->size();
    }

   private:
    std::string* const contents_;
  };

  std::map<std::string, std::string> files_;
};

class TextEnv : public CompositeEnvWrapper {
 public:
  TextEnv() : TextEnv(std::make_shared<TextFileSystem>()) {}
  static const char* kClassName() { return "TextEnv"; }
  const char* Name() const override { return kClassName(); }

  std::map<std::string, std::string>& files() { return text_->files(); }
  std::string GenerateUniqueId() override { return "unique"; }

 private:
  explicit TextEnv(const std::shared_ptr<TextFileSystem>& text)
      : CompositeEnvWrapper(Env::Default(), text), text_(text) {}

  const std::shared_ptr<TextFileSystem> text_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
