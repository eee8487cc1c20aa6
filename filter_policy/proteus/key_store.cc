// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/key_store.h"

#include <cstring>

#include "util/coding.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Shorter keys are fast to read and small, and stay plain. So do keys that
// coding does not make smaller by half.
constexpr size_t kMinCodedKey = 32;

constexpr size_t kWord = 16;

// Copies `size` bytes to a place behind them, in whole words: up to kWord - 1
// bytes behind the copy are overwritten.
void CopyWords(const char* from, size_t size, char* to) {
  for (size_t i = 0; i < size; i += kWord) {
    char word[kWord];
    memcpy(word, from + i, kWord);
    memcpy(to + i, word, kWord);
  }
}

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

void KeyStore::AppendOther(Slice key, size_t shared) {
  if (key.size() > kMaxKeyBytes) key = Slice(key.data(), kMaxKeyBytes);
  const size_t place = size_ % kChunkKeys;
  if (place == 0) AddChunk(key.size());
  Chunk& chunk = chunks_.back();
  chunk.SetShared(place, shared);
  if (key.size() != chunk.key_size && chunk.ends.empty()) {
    // All keys before it have one length.
    chunk.ends.reserve(kChunkKeys);
    for (size_t i = 1; i <= place; i++) {
      chunk.ends.push_back(static_cast<uint32_t>(i * chunk.key_size));
    }
  }
  if (!chunk.ends.empty()) {
    chunk.ends.push_back(
        static_cast<uint32_t>(chunk.bytes.size() + key.size()));
  }
  if (!chunk.bytes.AppendShort(key)) chunk.bytes.Append(key);
  size_++;
}

void KeyStore::AddChunk(size_t key_size) {
  size_t expected = 0;
  if (!chunks_.empty()) {
    expected = chunks_.back().bytes.size();
    Encode(&chunks_.back());
  }
  full_bytes_ += OpenBytes();
  chunks_.emplace_back();
  chunks_.back().shared.reset(new uint8_t[kChunkKeys]);
  chunks_.back().key_size = key_size;
  // Reserves the size of the previous chunk, and a little for longer keys.
  chunks_.back().bytes.Reserve(expected + expected / 16);
}

void KeyStore::Encode(Chunk* chunk) {
  const size_t most = chunk->bytes.size() / 2;
  if (chunk->bytes.size() < kMinCodedKey * kChunkKeys) return;
  // The size is known before anything is written.
  uint32_t shared[kChunkKeys];
  size_t size = 0;
  Slice last;
  for (size_t i = 0; i < kChunkKeys; i++) {
    const Slice key = At(*chunk, i);
    shared[i] =
        i % kGroupKeys == 0 ? 0 : static_cast<uint32_t>(SharedBytes(last, key));
    const size_t rest = key.size() - shared[i];
    size += static_cast<size_t>(VarintLength(shared[i]) + VarintLength(rest)) +
            rest;
    if (size > most) return;
    last = key;
  }
  Chunk coded;
  coded.coded = true;
  coded.key_size = chunk->bytes.size();
  coded.shared = std::move(chunk->shared);
  coded.ends.reserve(kChunkKeys / kGroupKeys);
  char* const begin = coded.bytes.Add(size);
  char* out = begin;
  for (size_t i = 0; i < kChunkKeys; i++) {
    const Slice key = At(*chunk, i);
    const size_t rest = key.size() - shared[i];
    out = EncodeVarint32(out, shared[i]);
    out = EncodeVarint32(out, static_cast<uint32_t>(rest));
    memcpy(out, key.data() + shared[i], rest);
    out += rest;
    if (i % kGroupKeys == kGroupKeys - 1) {
      coded.ends.push_back(static_cast<uint32_t>(out - begin));
    }
  }
  *chunk = std::move(coded);
}

std::string KeyStore::Decode(const Chunk& chunk, size_t index) {
  const size_t group = index / kGroupKeys;
  const char* stored =
      chunk.bytes.data() + (group == 0 ? 0 : chunk.ends[group - 1]);
  const char* const end = chunk.bytes.data() + chunk.ends[group];
  std::string key;
  key.reserve(2 * chunk.key_size / kChunkKeys);
  for (size_t i = group * kGroupKeys; i <= index; i++) {
    stored = DecodeNext(stored, end, &key);
  }
  return key;
}

void KeyStore::DecodeAll(const Chunk& chunk, Plain* plain) {
  if (plain->bytes.size() < chunk.key_size + kWord) {
    plain->bytes.resize(chunk.key_size + kWord);
  }
  plain->ends.resize(kChunkKeys);
  plain->shared.resize(kChunkKeys);
  const char* stored = chunk.bytes.data();
  const char* const end = stored + chunk.bytes.size();
  char* const begin = plain->bytes.data();
  const char* last = begin;
  char* key = begin;
  for (size_t i = 0; i < kChunkKeys; i++) {
    uint32_t shared = 0;
    uint32_t rest = 0;
    stored = GetVarint32Ptr(stored, end, &shared);
    stored = GetVarint32Ptr(stored, end, &rest);
    CopyWords(last, shared, key);
    memcpy(key + shared, stored, rest);
    stored += rest;
    last = key;
    key += shared + rest;
    plain->ends[i] = static_cast<uint32_t>(key - begin);
    plain->shared[i] = shared;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
