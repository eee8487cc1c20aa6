// SPDX-License-Identifier: Apache-2.0

//  The files of a cascade filter: a page whose checksum is right and whose
//  contents are not, a run, and a manifest. And a saved quotient filter.

#include <cstring>
#include <set>

#include "sets/cascade/manifest.h"
#include "sets/cascade/page.h"
#include "sets/cascade/run_file.h"
#include "sets/quotient/quotient_cursor.h"
#include "sets/quotient/saved_quotient.h"
#include "tests/fuzz/fuzz_input.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Pages ----

// Where the checksum of a page ends, and where its number and its run do.
constexpr size_t kPageChecksumBytes = 4;
constexpr size_t kPageIdBytes = 16;

void SetChecksum(const Slice& of, char* checksum) {
  EncodeFixed32(checksum, crc32c::Mask(crc32c::Value(of.data(), of.size())));
}

// The page of these contents, and zeros, whose checksum and id are right.
std::string PageOf(const Slice& contents, const PageId& id) {
  std::string page(kPageIdBytes, '\0');
  EncodeFixed32(page.data() + kPageChecksumBytes, id.page);
  EncodeFixed64(page.data() + 8, id.run);
  page.append(contents.data(),
              std::min(contents.size(), kPageBytes - kPageIdBytes));
  page.resize(kPageBytes);
  SetChecksum(
      Slice(page.data() + kPageChecksumBytes, kPageBytes - kPageChecksumBytes),
      page.data());
  return page;
}

constexpr PageId kPageId{0x1122334455667788, 3};

void RunPage(const Slice& contents) {
  std::string page = PageOf(contents, kPageId);
  page.resize(kPageBytes + kReadPadding);
  PageView view;
  if (!view.Open(page.data(), kPageId)) return;
  PageView::Cursor cursor(view);
  uint32_t entries = 0;
  for (Entry entry; cursor.Next(&entry); entries++) {
    for (const uint64_t asked : {entry.fingerprint - 1, entry.fingerprint,
                                 entry.fingerprint + 1, ~entry.fingerprint}) {
      Entry found;
      if (entries % 16 == 0 && view.Find(asked, &found)) {
        Check(found.fingerprint == asked, "the fingerprint is the one asked");
      }
    }
  }
  Check(entries == view.size(), "a page has the entries that it says");
}

std::string PageSeed(unsigned remainder_bits, uint64_t step, unsigned kinds) {
  PageBuilder builder(remainder_bits);
  uint64_t fingerprint = step;
  for (uint32_t i = 0;; i++) {
    Entry entry{fingerprint, 0, 1};
    if (kinds > 1 && i % 3 == 0) entry = {fingerprint, 1, 0};
    if (kinds > 2 && i % 7 == 0) entry = {fingerprint, i, 5};
    if (!builder.Add(entry)) break;
    fingerprint += 1 + i * step % (2 * step);
  }
  std::string page(kPageBytes, '\0');
  builder.Finish(kPageId, page.data());
  return page.substr(kPageIdBytes);
}

std::vector<std::string> PageSeeds() {
  return {PageSeed(1, 2, 1), PageSeed(12, 4096, 2),
          PageSeed(40, uint64_t{1} << 39, 3), PageSeed(57, 1000, 3)};
}

// ---- Runs ----
//
// A run is opened and asked. The first byte of the input says how the file
// comes about:
//
//    even  a run as it is written, with some bytes of its file changed. Damage
//          is noticed, and hides no fingerprint.
//            changes, 4 bytes each: where (3 bytes), and what is flipped there
//    odd   a file whose checksums are right and whose contents are not. It may
//          say anything.
//            entries (8 bytes), the number of pages (1 byte), a fence (8 bytes)
//            and the contents (2 bytes for their size) of each page

const char kFile[] = "run";
constexpr uint64_t kRunId = 0x1122334455667788;
constexpr unsigned kBits = 62;
constexpr uint32_t kMaxPages = 3;

struct Files {
  std::shared_ptr<TextFileSystem> text = std::make_shared<TextFileSystem>();
  RunFiles runs = {text, FileOptions(), kBits};
};

std::vector<Entry> EntriesOf(unsigned base) {
  // One page, two pages, and two pages that also list numbers.
  const uint64_t count = base == 0 ? 20 : 900;
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; i++) {
    entries.push_back(
        {i * 5'000'000'000'000'001 + i % 3, base == 2 && i % 5 == 0, 1});
  }
  return entries;
}

struct BaseRun {
  explicit BaseRun(unsigned base) : entries(EntriesOf(base)) {
    const Files files;
    std::unique_ptr<RunWriter> writer;
    Status s =
        RunWriter::Create(files.runs, kFile, kRunId, entries.size(), &writer);
    for (const Entry& entry : entries) {
      if (s.ok()) s = writer->Add(entry);
    }
    Check(s.ok() && writer->Finish().ok(), "a run is written");
    file = files.text->Read(kFile);
  }
  const std::vector<Entry> entries;
  std::string file;
};

const std::vector<BaseRun>& BaseRuns() {
  static const auto* const runs =
      new std::vector<BaseRun>{BaseRun(0), BaseRun(1), BaseRun(2)};
  return *runs;
}

std::string Damaged(std::string file, FuzzInput input) {
  while (!input.empty()) {
    const uint32_t low = input.Number16();
    const uint32_t at = low | input.Byte() << 16;
    file[at % file.size()] ^= static_cast<char>(input.Byte());
  }
  return file;
}

std::string Forged(FuzzInput input) {
  const Slice entries = input.Bytes(sizeof(uint64_t));
  const uint32_t pages = input.Byte() % (kMaxPages + 1);
  std::string file;
  std::string fences;
  for (uint32_t page = 0; page < pages; page++) {
    std::string fence = input.Bytes(sizeof(uint64_t)).ToString();
    fence.resize(sizeof(uint64_t));
    fences += fence;
    file += PageOf(input.Bytes(input.Number16()), {kRunId, page});
  }
  // docs/internals/file_format.md.
  std::string footer = BaseRuns()[0].file;
  footer.erase(0, footer.size() - kPageBytes);
  for (size_t i = 0; i < entries.size(); i++) footer[24 + i] = entries[i];
  EncodeFixed32(footer.data() + 32, pages);
  SetChecksum(fences, footer.data() + 36);
  SetChecksum(Slice(footer.data(), 40), footer.data() + 40);
  if (pages > 0) fences.resize(kPageBytes);
  return file + fences + footer;
}

// Whether the fingerprint may be there. What is there is what was asked for.
bool MayHave(const FlashRun& run, uint64_t fingerprint) {
  RunReadCounts counts;
  Entry entry;
  const FlashRun::Found found = run.Find(fingerprint, &counts, &entry);
  Check(counts.pages_read <= 1, "a lookup reads a page at most");
  Check(
      (found == FlashRun::Found::kUnreadable) == (counts.unreadable_pages == 1),
      "pages that cannot be read are counted");
  Check(found != FlashRun::Found::kEntry || entry.fingerprint == fingerprint,
        "the fingerprint is the one asked");
  return found != FlashRun::Found::kNothing;
}

// Reads all entries. Returns how many.
uint64_t ReadAll(const FlashRun& run, bool* is_ok) {
  const std::unique_ptr<EntryStream> stream = run.NewStream();
  std::vector<Entry> entries(100);
  uint64_t count = 0;
  for (size_t read; (read = stream->Read(entries.data(), entries.size())) > 0;
       count += read) {
    for (uint64_t asked : {entries[0].fingerprint - 1, entries[0].fingerprint,
                           entries[read - 1].fingerprint + 1}) {
      MayHave(run, asked);
    }
  }
  *is_ok = stream->status().ok();
  Check(*is_ok || (stream->status().IsCorruption() && run.is_damaged()),
        "a run that cannot be read is known to be damaged");
  return count;
}

void RunFile(const Slice& bytes) {
  static const auto* const files = new Files;
  FuzzInput input(bytes);
  const uint32_t how = input.Byte();
  const BaseRun* base =
      how % 2 == 0 ? &BaseRuns()[how / 2 % BaseRuns().size()] : nullptr;
  files->text->Write(
      kFile, base != nullptr ? Damaged(base->file, input) : Forged(input));
  std::shared_ptr<FlashRun> run;
  const Status s = FlashRun::Open(files->runs, kFile, /*file_number=*/1, kRunId,
                                  /*cache=*/nullptr, &run);
  if (!s.ok()) {
    Check(s.IsCorruption() && run == nullptr, "damage is Corruption");
    return;
  }
  bool is_ok;
  const uint64_t read = ReadAll(*run, &is_ok);
  if (base == nullptr) return;
  // A page is whole or not, so that some of its fingerprints are enough.
  for (size_t i = 0; i < base->entries.size(); i += 5) {
    Check(MayHave(*run, base->entries[i].fingerprint),
          "no fingerprint is missed");
  }
  Check(run->entries() == base->entries.size() &&
            (read == run->entries() || (!is_ok && read < run->entries())),
        "all entries are read, or the stream says that some are lost");
}

std::string ForgedSeed(const BaseRun& base) {
  const uint32_t pages =
      static_cast<uint32_t>(base.file.size() / kPageBytes) - 2;
  std::string seed(1, '\1');
  PutFixed64(&seed, base.entries.size());
  seed.push_back(static_cast<char>(pages));
  for (size_t page = 0; page < pages; page++) {
    seed.append(base.file, pages * kPageBytes + page * 8, 8);
    // What follows the last bit is zero.
    std::string contents = base.file.substr(page * kPageBytes + kPageIdBytes,
                                            kPageBytes - kPageIdBytes);
    contents.erase(contents.find_last_not_of('\0') + 1);
    PutFixed16(&seed, static_cast<uint16_t>(contents.size()));
    seed += contents;
  }
  return seed;
}

std::vector<std::string> RunSeeds() {
  std::vector<std::string> seeds;
  for (size_t i = 0; i < BaseRuns().size(); i++) {
    const BaseRun& base = BaseRuns()[i];
    seeds.push_back(ForgedSeed(base));
    // No damage, and a bit of the first page, the fences, and the footer.
    const std::string how(1, static_cast<char>(2 * i));
    seeds.push_back(how);
    for (const size_t at : {size_t{100}, base.file.size() - kPageBytes - 4090,
                            base.file.size() - kPageBytes + 25}) {
      std::string change;
      PutFixed32(&change, static_cast<uint32_t>(at) | 1u << 24);
      seeds.push_back(how + change);
    }
  }
  return seeds;
}

// ---- Manifests ----
//
// A manifest is read as it is, with a right checksum, and number of runs, too.

const char kFolder[] = "folder";

// docs/internals/file_format.md.
constexpr size_t kManifestChecksumAt = 12;
constexpr size_t kBodyAt = 16;
constexpr size_t kNumRunsAt = 36;
constexpr size_t kRunsAt = 44;
constexpr size_t kRunBytes = 16;

std::string WithManifestChecksum(std::string file, bool count_runs) {
  if (count_runs && file.size() >= kRunsAt) {
    EncodeFixed64(file.data() + kNumRunsAt,
                  (file.size() - kRunsAt) / kRunBytes);
  }
  if (file.size() >= kBodyAt) {
    SetChecksum(Slice(file.data() + kBodyAt, file.size() - kBodyAt),
                file.data() + kManifestChecksumAt);
  }
  return file;
}

std::string WriteManifest(TextFileSystem* fs, const CascadeManifest& manifest) {
  bool may_be_written = false;
  Check(WriteCascadeManifest(fs, kFolder, manifest, &may_be_written).ok() &&
            may_be_written,
        "a manifest is written");
  return fs->Read(CascadeManifestPath(kFolder));
}

void ReadManifest(TextFileSystem* fs, const std::string& file) {
  fs->Write(CascadeManifestPath(kFolder), file);
  CascadeManifest manifest;
  const Status s = ReadCascadeManifest(fs, kFolder, &manifest);
  if (!s.ok()) {
    Check(s.IsCorruption(), "a manifest is read, or is Corruption");
    return;
  }
  Check(manifest.fingerprint_bits >= kMinFingerprintBits &&
            manifest.fingerprint_bits <= kMaxFingerprintBits,
        "fingerprints have bits that are possible");
  std::set<uint64_t> numbers;
  for (const CascadeManifest::ListedRun& run : manifest.runs) {
    Check(run.file < manifest.next_file && numbers.insert(run.file).second,
          "each run has a file of its own, which no later run gets");
  }
  Check(WriteManifest(fs, manifest) == file,
        "what is read is written unchanged");
  Check(fs->HasOneFile(kFolder), "no temporary file is left");
}

void RunManifest(const Slice& bytes) {
  static auto* const fs = new TextFileSystem;
  const std::string file = bytes.ToString();
  ReadManifest(fs, file);
  for (const bool count_runs : {false, true}) {
    ReadManifest(fs, WithManifestChecksum(file, count_runs));
  }
}

std::vector<std::string> ManifestSeeds() {
  TextFileSystem fs;
  CascadeManifest manifest;
  manifest.fingerprint_bits = 44;
  manifest.salt = 0x0123456789abcdef;
  std::vector<std::string> seeds = {WriteManifest(&fs, manifest)};
  for (uint64_t file = 1; file <= 3; file++) {
    manifest.runs.insert(manifest.runs.begin(), {file, file << 60 | file});
    manifest.next_file = file + 1;
    seeds.push_back(WriteManifest(&fs, manifest));
  }
  return seeds;
}

// ---- Quotient filters ----
//
// A saved filter is loaded as it is, with the right checksum, and changed as
// little as makes it consistent. Then it must hold the fingerprints that it
// says, and can be changed and saved again.

constexpr unsigned kSlots = QuotientBlocks::kSlots;
// saved_quotient.h has the layout.
constexpr size_t kQuotientBitsAt = 5;
constexpr size_t kRemainderBitsAt = 6;
constexpr size_t kChecksumAt = 8;
constexpr size_t kChecksumEnds = 12;
constexpr size_t kSizeAt = 16;
constexpr size_t kNumBlocksAt = 40;
constexpr size_t kBlocksAt = 48;

std::string WithChecksum(std::string bytes) {
  if (bytes.size() < kBlocksAt) return bytes;
  const uint32_t before = crc32c::Value(bytes.data(), kChecksumAt);
  EncodeFixed32(bytes.data() + kChecksumAt,
                crc32c::Extend(before, bytes.data() + kChecksumEnds,
                               bytes.size() - kChecksumEnds));
  return bytes;
}

// ---- Consistent blocks ----

// Ends the run that begins in `begin` where the blocks say, or before it holds
// more than `most`. Puts its remainders in order. Returns the slot behind it.
uint64_t MakeRun(MutableQuotientBlocks* blocks, uint64_t begin, uint64_t most) {
  uint64_t last = begin;
  while (!blocks->IsRunend(last) && last + 1 - begin < most &&
         last + 2 < blocks->num_slots()) {
    last++;
  }
  blocks->SetRunend(last, true);
  std::vector<uint64_t> remainders;
  for (uint64_t slot = begin; slot <= last; slot++) {
    remainders.push_back(blocks->Remainder(slot));
  }
  std::sort(remainders.begin(), remainders.end());
  for (uint64_t slot = begin; slot <= last; slot++) {
    blocks->SetRemainder(slot, remainders[slot - begin]);
  }
  return last + 1;
}

// Makes runends, occupied bits and offsets agree. Returns the fingerprints.
uint64_t MakeConsistent(MutableQuotientBlocks* blocks) {
  const uint64_t capacity = blocks->shape().capacity();
  uint64_t size = 0;
  uint64_t behind = 0;  // the slot behind the last run
  for (uint64_t slot = 0; slot < blocks->num_slots(); slot++) {
    if (slot % kSlots == 0) {
      blocks->SetOffset(slot / kSlots, behind > slot ? behind - slot : 0);
    }
    const uint64_t begin = std::max(behind, slot);
    if (blocks->IsOccupied(slot) && size < capacity &&
        slot < blocks->shape().num_quotients() &&
        begin + 1 < blocks->num_slots()) {
      behind = MakeRun(blocks, begin, capacity - size);
      size += behind - begin;
    } else {
      blocks->SetOccupied(slot, false);
      if (slot >= behind) blocks->SetRunend(slot, false);
    }
  }
  return size;
}

// A whole filter that has as much of the input as it can.
std::string Repaired(const Slice& input) {
  const auto byte = [&](size_t at) {
    return static_cast<uint8_t>(at < input.size() ? input[at] : 0);
  };
  const QuotientShape shape{1 + byte(kQuotientBitsAt) % 8u,
                            1 + byte(kRemainderBitsAt) % 56u};
  const uint64_t num_blocks =
      QuotientBlocks::CanonicalBlocks(shape) + byte(kNumBlocksAt) % 4u;
  const size_t size =
      kBlocksAt + num_blocks * QuotientBlocks::BlockBytes(shape.remainder_bits);
  std::string bytes(input.data(), std::min(input.size(), size));
  bytes.resize(size + kReadPadding);
  memcpy(bytes.data(), "PRTQ\1", 5);
  bytes[kQuotientBitsAt] = static_cast<char>(shape.quotient_bits);
  bytes[kRemainderBitsAt] = static_cast<char>(shape.remainder_bits);
  EncodeFixed64(bytes.data() + kNumBlocksAt, num_blocks);
  MutableQuotientBlocks blocks(shape, bytes.data() + kBlocksAt, num_blocks);
  EncodeFixed64(bytes.data() + kSizeAt, MakeConsistent(&blocks));
  return WithChecksum(bytes);
}

// ---- Questions ----

std::vector<uint64_t> FingerprintsOf(const QuotientBlocks& blocks) {
  std::vector<uint64_t> fingerprints;
  for (QuotientCursor cursor(blocks); cursor.Valid(); cursor.Next()) {
    fingerprints.push_back(cursor.Fingerprint());
  }
  return fingerprints;
}

void CheckContents(const QuotientMultiset& filter,
                   const std::vector<uint64_t>& fingerprints) {
  const unsigned shift = 64 - filter.blocks().shape().fingerprint_bits();
  for (const uint64_t fingerprint : fingerprints) {
    const auto [first, last] =
        std::equal_range(fingerprints.begin(), fingerprints.end(), fingerprint);
    Check(filter.Contains(fingerprint << shift), "no hash is missed");
    Check(filter.blocks().Count(fingerprint) ==
              static_cast<uint64_t>(last - first),
          "the copies of a hash are counted");
  }
}

// The filter can be changed and saved again. Takes its fingerprints.
void CheckChanges(const Slice& bytes, QuotientMultiset* filter,
                  std::vector<uint64_t> fingerprints) {
  const unsigned shift = 64 - filter->shape().fingerprint_bits();
  // Some go, one comes.
  for (size_t i = 0; i < fingerprints.size(); i += 1 + i) {
    Check(filter->Delete(fingerprints[i] << shift), "a hash is deleted");
    fingerprints.erase(fingerprints.begin() + static_cast<ptrdiff_t>(i));
  }
  const uint64_t hash =
      crc32c::Value(bytes.data(), bytes.size()) * ~uint64_t{0};
  if (filter->size() < filter->capacity()) {
    Check(filter->Insert(hash), "there is room");
    fingerprints.push_back(hash >> shift);
    std::sort(fingerprints.begin(), fingerprints.end());
  }
  Check(FingerprintsOf(filter->blocks()) == fingerprints,
        "changes change what they should");
  std::string again;
  SaveQuotientMultiset(*filter, &again);
  std::unique_ptr<QuotientMultiset> loaded;
  Check(LoadQuotientMultiset(again, &loaded).ok() &&
            loaded->size() == fingerprints.size(),
        "what is saved again is loaded");
}

// `is_whole` says that the filter has been made consistent.
void Open(const std::string& bytes, bool is_whole) {
  std::unique_ptr<QuotientMultiset> filter;
  const Status s = LoadQuotientMultiset(bytes, &filter);
  if (!s.ok()) {
    Check(!is_whole, "a whole filter opens");
    Check(s.IsCorruption() || s.IsNotSupported(),
          "a damaged filter is refused");
    return;
  }
  for (uint64_t i = 0; i < 64; i++) {
    const uint64_t hash = i * 0x9e3779b97f4a7c15;
    Check(filter->Contains(hash) || filter->Count(hash) == 0,
          "what is counted is contained");
  }
  const std::vector<uint64_t> fingerprints = FingerprintsOf(filter->blocks());
  Check(fingerprints.size() == filter->size(), "all fingerprints are read");
  // A filter that was only given a checksum may have remainders in any order.
  if (!std::is_sorted(fingerprints.begin(), fingerprints.end())) {
    Check(!is_whole, "fingerprints are read in order");
    return;
  }
  CheckContents(*filter, fingerprints);
  CheckChanges(bytes, filter.get(), fingerprints);
}

void RunQuotient(const Slice& input) {
  const std::string bytes = input.ToString();
  Open(bytes, /*is_whole=*/false);
  Open(WithChecksum(bytes), /*is_whole=*/false);
  Open(Repaired(bytes), /*is_whole=*/true);
}

std::string SeedOf(const QuotientShape& shape, uint64_t hashes, uint64_t mask) {
  std::unique_ptr<QuotientMultiset> filter;
  Check(QuotientMultiset::Create(shape, FilterSalt(), &filter).ok(),
        "a filter is made");
  for (uint64_t i = 0; i < hashes; i++) {
    filter->Insert((i * 0x9e3779b97f4a7c15) | mask);
  }
  std::string bytes;
  SaveQuotientMultiset(*filter, &bytes);
  return bytes;
}

std::vector<std::string> QuotientSeeds() {
  return {SeedOf({1, 1}, 0, 0), SeedOf({4, 12}, 9, 0), SeedOf({6, 3}, 60, 0),
          SeedOf({7, 5}, 121, 0), SeedOf({8, 4}, 100, 0),
          SeedOf({8, 56}, 243, 0),
          // The end of the slots, and its tail.
          SeedOf({7, 9}, 80, uint64_t{31} << 59)};
}

}  // namespace

const FuzzTarget kCascadeTarget = {"cascade", RunPage, PageSeeds};
const FuzzTarget kCascadeRunTarget = {"cascade_run", RunFile, RunSeeds};
const FuzzTarget kCascadeManifestTarget = {"cascade_manifest", RunManifest,
                                           ManifestSeeds};
const FuzzTarget kQuotientTarget = {"quotient", RunQuotient, QuotientSeeds};

}  // namespace ROCKSDB_NAMESPACE::protean
