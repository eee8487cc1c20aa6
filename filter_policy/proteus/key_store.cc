// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/key_store.h"

#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Shorter keys are fast to read and small, and stay plain. So do keys that
// coding does not make smaller by half.
constexpr size_t kMinCodedKey = 32;

// Turns `key` into the next key, which is stored at `stored`. Returns where the
// key after that is stored.
const char* DecodeNext(const char* stored, const char* end, std::string* key) {
  uint32_t shared = 0;
  uint32_t more = 0;
  stored = GetVarint32Ptr(stored, end, &shared);
  stored = GetVarint32Ptr(stored, end, &more);
  key->resize(shared);
  key->append(stored, more);
  return stored + more;
}

}  // namespace

size_t KeyStore::LowerBound(const Slice& target, size_t begin,
                            size_t end) const {
  while (begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    if (Compare(middle, target) < 0) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

void KeyStore::AddChunk(size_t key_size) {
  size_t expected = 0;
  if (!chunks_.empty()) {
    expected = chunks_.back().bytes.size();
    Encode(&chunks_.back());
  }
  full_bytes_ += OpenBytes();
  chunks_.emplace_back();
  chunks_.back().key_size = key_size;
  // Reserves the size of the previous chunk, and a little for longer keys.
  chunks_.back().bytes.reserve(expected + expected / 16);
}

void KeyStore::Encode(Chunk* chunk) {
  const size_t most = chunk->bytes.size() / 2;
  if (chunk->bytes.size() < kMinCodedKey * kChunkKeys) return;
  Chunk coded;
  coded.coded = true;
  coded.key_size = chunk->bytes.size();
  coded.ends.reserve(kChunkKeys / kGroupKeys);
  Slice last;
  for (size_t i = 0; i < kChunkKeys; i++) {
    const Slice key = At(*chunk, i);
    const size_t shared = i % kGroupKeys == 0 ? 0 : key.difference_offset(last);
    PutVarint32(&coded.bytes, static_cast<uint32_t>(shared));
    PutVarint32(&coded.bytes, static_cast<uint32_t>(key.size() - shared));
    coded.bytes.append(key.data() + shared, key.size() - shared);
    if (coded.bytes.size() > most) return;
    if (i % kGroupKeys == kGroupKeys - 1) {
      coded.ends.push_back(static_cast<uint32_t>(coded.bytes.size()));
    }
    last = key;
  }
  coded.bytes.shrink_to_fit();
  *chunk = std::move(coded);
}

std::string KeyStore::Decode(const Chunk& chunk, size_t index) {
  const size_t group = index / kGroupKeys;
  const char* stored =
      chunk.bytes.data() + (group == 0 ? 0 : chunk.ends[group - 1]);
  const char* const end = chunk.bytes.data() + chunk.ends[group];
  std::string key;
  for (size_t i = group * kGroupKeys; i <= index; i++) {
    stored = DecodeNext(stored, end, &key);
  }
  return key;
}

void KeyStore::DecodeAll(const Chunk& chunk, Chunk* plain) {
  const char* stored = chunk.bytes.data();
  const char* const end = stored + chunk.bytes.size();
  plain->bytes.clear();
  plain->bytes.reserve(chunk.key_size);
  plain->ends.clear();
  plain->ends.reserve(kChunkKeys);
  std::string key;
  while (stored < end) {
    stored = DecodeNext(stored, end, &key);
    plain->bytes.append(key);
    plain->ends.push_back(static_cast<uint32_t>(plain->bytes.size()));
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
