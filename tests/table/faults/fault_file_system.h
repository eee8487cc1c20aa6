// SPDX-License-Identifier: Apache-2.0

//  A file system that fails where a test wants it to. Reads of SST files fail
//  depending on what they read. Mutations (create, append, sync, close, rename,
//  delete) are counted; the n-th one fails, or is the last action of the
//  process. A journal of the mutations, which outlives the process, tells what
//  a power failure would have lost (killed_process.h).

#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "file/random_access_file_reader.h"
#include "rocksdb/file_system.h"
#include "rocksdb/options.h"
#include "table/block_based/block_based_table_builder.h"
#include "table/format.h"
#include "table/meta_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Reads ----

enum class BlockKind {
  kData,
  kFilter,       // or all its parts
  kFilterIndex,  // of the parts
  kIndex,        // with its partitions
  kRangeDeletions,
  kProperties,
  kFooter,  // and the metaindex block before it
};
inline constexpr BlockKind kBlockKinds[] = {
    BlockKind::kData,  BlockKind::kFilter,         BlockKind::kFilterIndex,
    BlockKind::kIndex, BlockKind::kRangeDeletions, BlockKind::kProperties,
    BlockKind::kFooter};

inline const char* ToString(BlockKind kind) {
  constexpr const char* kNames[] = {
      "data",  "filter",          "index of the filter's parts",
      "index", "range deletions", "properties",
      "footer"};
  return kNames[static_cast<size_t>(kind)];
}

// The outcome of a read that includes such a part.
enum class ReadFault {
  kError,      // it fails
  kBadSector,  // it ends where the part begins, or fails if it begins there
  kShort,      // it ends in the middle of the part
  kFlip,       // a bit of the part is another one
};
inline constexpr ReadFault kReadFaults[] = {
    ReadFault::kError, ReadFault::kBadSector, ReadFault::kShort,
    ReadFault::kFlip};

inline const char* ToString(ReadFault fault) {
  constexpr const char* kNames[] = {"read error", "bad sector", "short read",
                                    "flipped bit"};
  return kNames[static_cast<size_t>(fault)];
}

struct FilePart {
  BlockKind kind;
  uint64_t begin;
  uint64_t end;
};

inline Status FindParts(const std::shared_ptr<FileSystem>& file_system,
                        const std::string& path, std::vector<FilePart>* parts) {
  std::unique_ptr<RandomAccessFileReader> file;
  Status s = RandomAccessFileReader::Create(file_system, path, FileOptions(),
                                            &file, nullptr);
  uint64_t size = 0;
  if (s.ok()) s = file_system->GetFileSize(path, IOOptions(), &size, nullptr);
  if (!s.ok()) return s;
  const ImmutableOptions options{Options()};
  std::unique_ptr<TableProperties> properties;
  s = ReadTableProperties(file.get(), size, kBlockBasedTableMagicNumber,
                          options, ReadOptions(), &properties);
  if (!s.ok()) return s;

  const auto handle_of = [&](const std::string& name) {
    BlockHandle handle;
    const Status found =
        FindMetaBlockInFile(file.get(), size, kBlockBasedTableMagicNumber,
                            options, ReadOptions(), name, &handle);
    return found.ok() && !handle.IsNull() ? handle : BlockHandle(size, 0);
  };
  // Each part ends where the next one begins.
  std::map<uint64_t, BlockKind> begins = {{0, BlockKind::kData}};
  uint64_t index = properties->data_size;
  for (const std::string policy :
       {".protean.RangeFilter", ".rocksdb.BuiltinBloomFilter"}) {
    const BlockHandle full = handle_of("fullfilter" + policy);
    if (full.offset() < size) {
      begins[full.offset()] = BlockKind::kFilter;
      index = full.offset() + properties->filter_size;
    }
    const BlockHandle parts_index = handle_of("partitionedfilter" + policy);
    if (parts_index.offset() < size) {
      // The parts come right behind the data.
      begins[properties->data_size] = BlockKind::kFilter;
      begins[parts_index.offset()] = BlockKind::kFilterIndex;
      index = parts_index.offset() + parts_index.size();
    }
  }
  Footer footer;
  s = ReadFooterFromFile(IOOptions(), file.get(), *file_system, nullptr, size,
                         &footer, kBlockBasedTableMagicNumber);
  if (!s.ok()) return s;
  begins[index] = BlockKind::kIndex;
  begins[handle_of(kRangeDelBlockName).offset()] = BlockKind::kRangeDeletions;
  begins[handle_of(kPropertiesBlockName).offset()] = BlockKind::kProperties;
  begins[footer.metaindex_handle().offset()] = BlockKind::kFooter;
  begins.emplace(size, BlockKind::kFooter);
  for (auto part = begins.begin(); part->first < size; ++part) {
    parts->push_back({part->second, part->first, std::next(part)->first});
  }
  return s;
}

// ---- The file system ----

// Thread safe, except for the functions that set how to fail, which are called
// while no thread uses the file system.
class FaultFileSystem : public FileSystemWrapper {
 public:
  FaultFileSystem() : FileSystemWrapper(FileSystem::Default()) {}
  const char* Name() const override { return "FaultFileSystem"; }

  // From now on, reads that include this part fail, at most `limit` of them.
  // `where` chooses the flipped bit.
  void FailReads(BlockKind kind, ReadFault fault, uint64_t where = 0,
                 uint64_t limit = UINT64_MAX) {
    FailReadsOf("", {kind, 0, 0}, fault, where, limit);
  }
  // From now on, reads that include this part of this file fail, and no others.
  void FailReadsOf(const std::string& name, const FilePart& part,
                   ReadFault fault, uint64_t where = 0,
                   uint64_t limit = UINT64_MAX) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failing_file_ = name;
    failing_part_ = part;
    read_fault_ = fault;
    flip_where_ = where;
    reads_to_fail_ = limit;
  }
  void HealReads() { FailReads(BlockKind::kData, ReadFault::kError, 0, 0); }
  // A read, by the part in which it begins.
  struct Reading {
    BlockKind kind;
    size_t bytes;
    IOOptions options;
  };
  // Called before each read of an SST file, unless it is empty; the read fails
  // with what it returns.
  std::function<IOStatus(const Reading&)> on_read;

  uint64_t failed_reads() const { return failed_reads_; }
  std::set<std::string> files_with_failed_reads() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return files_with_failed_reads_;
  }

  // From now on, the n-th mutation fails with `error`, counted from 1; if
  // `stays`, all later mutations fail, too. A failed append has written half of
  // its data.
  void FailMutations(uint64_t n, const IOStatus& error, bool stays) {
    const std::lock_guard<std::mutex> lock(mutex_);
    fail_at_ = mutations_ + n;
    stays_ = stays;
    error_ = error;
  }
  void HealMutations() { FailMutations(UINT64_MAX / 2, IOStatus::OK(), false); }
  uint64_t failed_mutations() const { return failed_mutations_; }

  // Kills the process at the n-th mutation, counted from 1: an append after
  // half of its data, all others before they are done. The number of each is
  // stored before it. Those that are done are noted in a new file, the journal:
  // a letter for the kind, and a path. Each line is a single write, so that a
  // killed process leaves complete lines.
  void KillAt(uint64_t n, std::atomic<uint64_t>* number,
              const std::string& journal) {
    kill_at_ = n;
    number_ = number;
    journal_ =
        open(journal.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0644);
    if (journal_ < 0) abort();
  }

  // ---- FileSystem ----

  IOStatus NewRandomAccessFile(const std::string& name,
                               const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* file,
                               IODebugContext* dbg) override {
    const IOStatus s = target()->NewRandomAccessFile(name, options, file, dbg);
    if (s.ok() && Slice(name).ends_with(".sst")) {
      *file = std::make_unique<ReadFile>(this, name, std::move(*file));
    }
    return s;
  }

  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file,
                           IODebugContext* dbg) override {
    IOStatus s = Mutate();
    if (!s.ok()) return s;
    const std::shared_lock<std::shared_mutex> unnoted(unnoted_);
    s = target()->NewWritableFile(name, options, file, dbg);
    if (!s.ok()) return s;
    Note('C', name);
    *file = std::make_unique<WrittenFile>(this, name, std::move(*file));
    return s;
  }
  // RocksDB uses none of these functions with the options of the tests.
  IOStatus ReopenWritableFile(const std::string&, const FileOptions&,
                              std::unique_ptr<FSWritableFile>*,
                              IODebugContext*) override {
    return IOStatus::NotSupported();
  }
  IOStatus ReuseWritableFile(const std::string&, const std::string&,
                             const FileOptions&,
                             std::unique_ptr<FSWritableFile>*,
                             IODebugContext*) override {
    return IOStatus::NotSupported();
  }
  IOStatus LinkFile(const std::string&, const std::string&, const IOOptions&,
                    IODebugContext*) override {
    return IOStatus::NotSupported();
  }

  IOStatus NewDirectory(const std::string& name, const IOOptions& options,
                        std::unique_ptr<FSDirectory>* folder,
                        IODebugContext* dbg) override {
    const IOStatus s = target()->NewDirectory(name, options, folder, dbg);
    if (s.ok()) {
      *folder = std::make_unique<Folder>(this, name, std::move(*folder));
    }
    return s;
  }

  IOStatus RenameFile(const std::string& from, const std::string& to,
                      const IOOptions& options, IODebugContext* dbg) override {
    IOStatus s = Mutate();
    if (!s.ok()) return s;
    const std::shared_lock<std::shared_mutex> unnoted(unnoted_);
    std::string kept;
    if (journal_ >= 0 && target()->FileExists(to, options, dbg).ok()) {
      // Notes the replaced file, so that the mutation can be undone.
      kept = to + kReplaced + std::to_string(mutations_);
      s = target()->LinkFile(to, kept, options, dbg);
      if (!s.ok()) return s;
    }
    s = target()->RenameFile(from, to, options, dbg);
    if (s.ok()) Note('R', to, from + "\t" + kept);
    return s;
  }
  static constexpr char kReplaced[] = ".replaced.";

  IOStatus DeleteFile(const std::string& name, const IOOptions& options,
                      IODebugContext* dbg) override {
    IOStatus s = Mutate();
    if (!s.ok()) return s;
    {
      const std::shared_lock<std::shared_mutex> unnoted(unnoted_);
      s = target()->DeleteFile(name, options, dbg);
      if (s.ok()) Note('D', name);
    }
    // Another file may get the name. Mutate locks in the other order.
    const std::lock_guard<std::mutex> lock(mutex_);
    parts_.erase(name);
    return s;
  }

 private:
  // ---- Files that are read ----

  class ReadFile : public FSRandomAccessFileOwnerWrapper {
   public:
    ReadFile(FaultFileSystem* file_system, const std::string& name,
             std::unique_ptr<FSRandomAccessFile>&& file)
        : FSRandomAccessFileOwnerWrapper(std::move(file)),
          file_system_(file_system),
          name_(name),
          parts_(file_system->PartsOf(name)) {}

    IOStatus Read(uint64_t offset, size_t size, const IOOptions& options,
                  Slice* result, char* scratch,
                  IODebugContext* dbg) const override {
      IOStatus s = file_system_->Announce(parts_, offset, size, options);
      if (s.ok()) {
        s = target()->Read(offset, size, options, result, scratch, dbg);
      }
      if (!s.ok()) return s;
      return file_system_->Spoil(name_, parts_, offset, result, scratch);
    }
    // The base class calls Read.
    IOStatus MultiRead(FSReadRequest* requests, size_t count,
                       const IOOptions& options, IODebugContext* dbg) override {
      return FSRandomAccessFile::MultiRead(requests, count, options, dbg);
    }
    IOStatus ReadAsync(FSReadRequest& request, const IOOptions& options,
                       std::function<void(FSReadRequest&, void*)> callback,
                       void* callback_argument, void** io_handle,
                       IOHandleDeleter* deleter, IODebugContext* dbg) override {
      return FSRandomAccessFile::ReadAsync(request, options, callback,
                                           callback_argument, io_handle,
                                           deleter, dbg);
    }

   private:
    FaultFileSystem* const file_system_;
    const std::string name_;
    const std::vector<FilePart> parts_;
  };

  IOStatus Announce(const std::vector<FilePart>& parts, uint64_t offset,
                    size_t size, const IOOptions& options) const {
    if (!on_read) return IOStatus::OK();
    BlockKind kind = BlockKind::kFooter;
    for (const FilePart& part : parts) {
      if (part.begin <= offset && offset < part.end) kind = part.kind;
    }
    return on_read({kind, size, options});
  }

  // Empty if the file is not a complete SST file.
  std::vector<FilePart> PartsOf(const std::string& path) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = parts_.find(path);
    if (known != parts_.end()) return known->second;
    std::vector<FilePart> parts;
    if (!FindParts(FileSystem::Default(), path, &parts).ok()) return {};
    return parts_[path] = parts;
  }

  // Turns the result of a read into the outcome that was set.
  IOStatus Spoil(const std::string& name, const std::vector<FilePart>& parts,
                 uint64_t offset, Slice* result, char* scratch) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (reads_to_fail_ == 0) return IOStatus::OK();
    const uint64_t end = offset + result->size();
    const auto fails = [&](const FilePart& part) {
      return part.kind == failing_part_.kind && part.begin < end &&
             part.end > offset;
    };
    FilePart part = failing_part_;
    if (failing_file_.empty()) {
      const auto found = std::find_if(parts.begin(), parts.end(), fails);
      if (found == parts.end()) return IOStatus::OK();
      part = *found;
    } else if (name != failing_file_ || !fails(part)) {
      return IOStatus::OK();
    }
    const uint64_t bit = flip_where_ % (8 * (part.end - part.begin));
    const uint64_t byte = part.begin + bit / 8;
    const bool flips = read_fault_ == ReadFault::kFlip;
    if (flips && (byte < offset || byte >= end)) return IOStatus::OK();
    failed_reads_++;
    files_with_failed_reads_.insert(name);
    reads_to_fail_--;
    if (flips) {
      if (result->data() != scratch) {
        memcpy(scratch, result->data(), result->size());
        *result = Slice(scratch, result->size());
      }
      scratch[byte - offset] ^= static_cast<char>(1 << bit % 8);
      return IOStatus::OK();
    }
    if (read_fault_ == ReadFault::kError ||
        (read_fault_ == ReadFault::kBadSector && offset >= part.begin)) {
      return IOStatus::IOError("injected into a read");
    }
    uint64_t cut = part.begin;
    if (read_fault_ == ReadFault::kShort) {
      // In the middle of the bytes that the read and the part have in common.
      const uint64_t from = std::max(offset, part.begin);
      cut = from + (std::min(end, part.end) - from) / 2;
    }
    *result = Slice(result->data(), cut - offset);
    return IOStatus::OK();
  }

  // ---- Files that are written ----

  class WrittenFile : public FSWritableFileOwnerWrapper {
   public:
    WrittenFile(FaultFileSystem* file_system, std::string name,
                std::unique_ptr<FSWritableFile>&& file)
        : FSWritableFileOwnerWrapper(std::move(file)),
          file_system_(file_system),
          name_(std::move(name)) {}

    IOStatus Append(const Slice& data, const IOOptions& options,
                    IODebugContext* dbg) override {
      const IOStatus s = file_system_->Mutate([&] {
        // Writes what a full disk, or a dying process, may have written.
        target()
            ->Append(Slice(data.data(), data.size() / 2), options, dbg)
            .PermitUncheckedError();
      });
      if (!s.ok()) return s;
      size_ += data.size();
      return target()->Append(data, options, dbg);
    }
    IOStatus Append(const Slice& data, const IOOptions& options,
                    const DataVerificationInfo&, IODebugContext* dbg) override {
      return Append(data, options, dbg);
    }
    IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
      IOStatus s = file_system_->Mutate();
      const std::shared_lock<std::shared_mutex> unnoted(file_system_->unnoted_);
      // Power failures are simulated from the journal: there is no need to wait
      // for the disk.
      if (s.ok()) s = target()->Flush(options, dbg);
      if (s.ok()) file_system_->Note('S', name_, std::to_string(size_));
      return s;
    }
    IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
      return Sync(options, dbg);
    }
    IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&,
                       IODebugContext*) override {
      return IOStatus::OK();
    }
    IOStatus Close(const IOOptions& options, IODebugContext* dbg) override {
      const IOStatus s = file_system_->Mutate();
      // The file is closed even if this fails.
      const IOStatus closed = target()->Close(options, dbg);
      return s.ok() ? closed : s;
    }

   private:
    FaultFileSystem* const file_system_;
    const std::string name_;
    uint64_t size_ = 0;
  };

  class Folder : public FSDirectoryWrapper {
   public:
    Folder(FaultFileSystem* file_system, std::string name,
           std::unique_ptr<FSDirectory>&& folder)
        : FSDirectoryWrapper(std::move(folder)),
          file_system_(file_system),
          name_(std::move(name)) {}

    IOStatus Fsync(const IOOptions&, IODebugContext*) override {
      const IOStatus s = file_system_->Mutate();
      if (s.ok()) file_system_->Note('F', name_);
      return s;
    }
    IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                                 const DirFsyncOptions&) override {
      return Fsync(options, dbg);
    }

   private:
    FaultFileSystem* const file_system_;
    const std::string name_;
  };

  // Counts a mutation before it is done. `half` is called if it fails, or if
  // the process ends here.
  IOStatus Mutate(const std::function<void()>& half = {}) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint64_t number = ++mutations_;
    if (number_ != nullptr) *number_ = number;
    const bool dies = number == kill_at_;
    const bool fails = number == fail_at_ || (stays_ && number > fail_at_);
    if ((dies || fails) && half) half();
    if (dies) {
      // What other threads have done is noted first.
      const std::unique_lock<std::shared_mutex> unnoted(unnoted_);
      kill(getpid(), SIGKILL);
    }
    if (!fails) return IOStatus::OK();
    failed_mutations_++;
    return error_;
  }

  void Note(char what, const std::string& path, const std::string& more = "") {
    if (journal_ < 0) return;
    const std::string line =
        std::string(1, what) + "\t" + path + "\t" + more + "\n";
    if (write(journal_, line.data(), line.size()) !=
        static_cast<ssize_t>(line.size())) {
      abort();
    }
  }

  // Shared by threads that are doing a mutation or noting it.
  std::shared_mutex unnoted_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<FilePart>> parts_;
  // This part of this file fails; if the name is empty, all parts of its kind.
  std::string failing_file_;
  FilePart failing_part_{};
  ReadFault read_fault_ = ReadFault::kError;
  uint64_t flip_where_ = 0;
  uint64_t reads_to_fail_ = 0;
  std::atomic<uint64_t> failed_reads_{0};
  std::set<std::string> files_with_failed_reads_;

  std::atomic<uint64_t> mutations_{0};
  uint64_t fail_at_ = 0;
  bool stays_ = false;
  IOStatus error_;
  std::atomic<uint64_t> failed_mutations_{0};
  uint64_t kill_at_ = 0;
  std::atomic<uint64_t>* number_ = nullptr;
  int journal_ = -1;
};

}  // namespace ROCKSDB_NAMESPACE::protean
