// SPDX-License-Identifier: Apache-2.0

#include "tools/file_checksum.h"

#include <memory>

#include "rocksdb/file_checksum.h"

namespace ROCKSDB_NAMESPACE::protean {

Status ComputeFileChecksum(Env* env, const std::string& path,
                           std::string* checksum) {
  constexpr size_t kChunk = 1 << 20;
  const std::unique_ptr<FileChecksumGenerator> generator =
      GetFileChecksumGenCrc32cFactory()->CreateFileChecksumGenerator({});
  std::unique_ptr<SequentialFile> file;
  Status s = env->NewSequentialFile(path, &file, EnvOptions());
  std::string scratch(kChunk, '\0');
  for (Slice chunk; s.ok();) {
    s = file->Read(kChunk, &chunk, scratch.data());
    if (!s.ok() || chunk.empty()) break;
    generator->Update(chunk.data(), chunk.size());
  }
  generator->Finalize();
  *checksum = generator->GetChecksum();
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
