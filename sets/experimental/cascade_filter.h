// SPDX-License-Identifier: Apache-2.0

//  A set of keys that grows beyond memory and answers "definitely not in it" or
//  "perhaps": for ingest that drops what it has seen before, where a filter of
//  all that was ever seen does not fit into memory.
//
//  Keys that were inserted are found for certain. Of the others, a share of
//  about (number of entries) / 2^fingerprint_bits is found, too. Only
//  fingerprints are stored; keys cannot be listed, nor ranges asked for.
//
//  The filter is the cascade filter of Bender, Farach-Colton, Johnson, Kuszmaul
//  et al., "Don't Thrash: How to Cache Your Hash on Flash" (HotStorage 2011):
//  inserts go to a quotient filter in memory; when it is full, it is written to
//  flash as a sorted run, and runs are merged as a log-structured merge tree
//  does it. All writing is sequential. A lookup reads a page of 4 KiB of each
//  run at most. docs/internals/cascade.md has the design.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// How a filter is opened.
struct CascadeFilterOptions {
  // The Env whose file system and threads are used, and which must outlive the
  // filter. Its threads of Env::HIGH write memory to flash, those of Env::LOW
  // merge; the filter sees to it that there are some. Jobs of a DB that has the
  // same Env wait in the same queues.
  Env* env = Env::Default();

  // Whether a folder that holds no filter gets a new one.
  bool create_if_missing = true;

  // The bits that are stored of the hash of a key, between 24 and 62. With n
  // entries, an absent key is found with a probability of n / 2^bits: 2^-14 for
  // a billion entries and 44 bits. An entry takes about
  // bits - log2(entries of its run) + 2 bits on flash: 16 in this example. A
  // filter that exists keeps the number that it was made with; 0 accepts any,
  // and makes new filters with 44.
  uint32_t fingerprint_bits = 0;

  // Bytes for the fingerprints in memory, at least 64 KiB: about 3.5 bytes a
  // fingerprint. The fences of the runs (1/512 of what is on flash), and
  // buffers of 256 KiB for each run that is being merged or written come on
  // top; CascadeFilterStatistics::memory_bytes has all but these buffers.
  uint64_t memory = 64 << 20;

  // Where the pages that lookups read stay; a DB's block cache can be shared.
  // If it is nullptr, each lookup reads from the file system.
  std::shared_ptr<Cache> page_cache;

  // Whether files are read and written past the operating system's cache.
  bool use_direct_io = false;

  // How many merges may run at the same time, 1 to 64.
  uint32_t max_background_merges = 2;
};

// Sums since the filter was opened, except for the state, which is current.
struct CascadeFilterStatistics {
  // The state. Entries are fingerprints that runs hold, one of several runs in
  // each of them, and insertions and deletions that are in memory.
  uint64_t entries = 0;
  uint64_t entries_in_memory = 0;
  uint64_t runs = 0;
  uint64_t damaged_runs = 0;  // runs that a merge could not read
  uint64_t flash_bytes = 0;
  uint64_t memory_bytes = 0;

  // Lookups that memory could not answer read a page of a run, or find it in
  // the page cache. Unreadable pages are answered by "perhaps".
  uint64_t pages_read = 0;
  uint64_t pages_in_cache = 0;
  uint64_t unreadable_pages = 0;

  // Tables that were written, merges that were completed, and the bytes that
  // both wrote.
  uint64_t flushes = 0;
  uint64_t merges = 0;
  uint64_t bytes_written = 0;

  // How often inserts, deletes and flushes had to wait because memory was full,
  // for how long altogether, and how often writers were slowed down because
  // merges did not keep up.
  uint64_t stalls = 0;
  uint64_t stall_micros = 0;
  uint64_t delays = 0;
};

// Thread safe: any number of threads may call any functions at the same time,
// but no thread of the Env's pools may, which the functions may wait for.
class CascadeFilter {
 public:
  // Opens the filter in `folder`, which holds nothing else. The last part of
  // the path is made if it is missing. One process at a time can have it open.
  //
  // Returns InvalidArgument if an option is out of bounds, or not what the
  // filter was made with; NotFound if there is no filter and create_if_missing
  // is false; IOError if another process has it open; Corruption if the
  // manifest is damaged, or a run that it lists is missing or cut off, or if
  // there are runs without a manifest.
  static Status Open(const CascadeFilterOptions& options,
                     const std::string& folder,
                     std::unique_ptr<CascadeFilter>* filter);

  // Deletes the filter in `folder`, which is not open, or what is left of it.
  // Other files, and then the folder, are kept.
  static Status Destroy(Env* env, const std::string& folder);

  CascadeFilter() = default;
  CascadeFilter(const CascadeFilter&) = delete;
  CascadeFilter& operator=(const CascadeFilter&) = delete;

  // Closes the filter; errors are lost.
  virtual ~CascadeFilter() = default;

  // Adds a key, once more if it is there. The key is in memory then; Flush
  // makes it durable. May wait if memory is full and flash does not keep up.
  //
  // Returns an error if writing to flash failed before, such as NoSpace if the
  // disk is full, or if there is no memory for a table; the key is then not
  // added. Nothing that was inserted is lost: Flush tries again.
  virtual Status Insert(const Slice& key) = 0;

  // Takes away a key that was inserted, one time if it was inserted several
  // times. Deleting a key that is not there does nothing, or, as with any
  // quotient filter, takes another key away that has the same fingerprint: only
  // delete what was inserted. Waits and fails as Insert does.
  virtual Status Delete(const Slice& key) = 0;

  // False says that the key is certainly not in the filter. A page that cannot
  // be read may hold any key.
  virtual bool MayContain(const Slice& key) = 0;

  // Stores for each of `keys` what MayContain says. Asks in the order of the
  // fingerprints, so that with a page cache, be it as small as 1 MiB, each page
  // is read once for all keys that are in it: the more keys at once, the fewer
  // pages for each.
  virtual void MayContainEach(const std::vector<Slice>& keys,
                              std::vector<bool>* may_contain) = 0;

  // Writes all that was inserted and deleted before the call to flash, where it
  // survives the process and the machine. If writing failed before, tries
  // again. Returns the error if it fails.
  virtual Status Flush() = 0;

  // Waits until no merge is due. Returns the error if one failed.
  virtual Status WaitForMerges() = 0;

  // Returns what the filter holds, and what it has done. Visits all runs.
  virtual CascadeFilterStatistics GetStatistics() const = 0;

  // Flushes, stops merges, which begin anew when the filter is opened again,
  // and frees the folder. Returns the error of the flush; what was not flushed
  // is then lost, so call Flush first where that matters. No other function may
  // be called during or after Close. Also called by the destructor.
  virtual Status Close() = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
