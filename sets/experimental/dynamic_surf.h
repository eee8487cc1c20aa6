// SPDX-License-Identifier: Apache-2.0

//  A range filter of a set of keys that changes: for applications that want to
//  know, without a read, whether any key of a range is in a set which takes
//  inserts and deletes, such as the keys of a DB or of one tenant.
//
//  The filter is SuRF with updates (Zhang et al., "SuRF: Practical Range Query
//  Filtering with Fast Succinct Tries", SIGMOD 2018, appendix A): a small
//  ordered map of whole keys takes inserts, and is merged into a SuRF from time
//  to time; deleted keys of the SuRF get a tombstone each until then. After a
//  merge, the SuRF is the same as one that is built anew of the same keys, so
//  its false positives are the same, too. docs/internals/updates.md has the
//  design.
//
//  A SuRF stores only the first bytes of a key. Where a new key begins with
//  them, a merge needs the whole key of the stored one. So the filter belongs
//  to a *source*, which has all of its keys: usually a DB.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/iterator.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// How a filter is made.
struct DynamicSurfOptions {
  // Returns an iterator over the source as it is at the moment of the call, in
  // bytewise order. Called when a merge begins, while other calls to the filter
  // wait: it must be quick, and must not use the filter. The iterator is used
  // and deleted by the thread that merges. With a DB,
  //
  //   [db] {
  //     return std::unique_ptr<Iterator>(db->NewIterator(ReadOptions()));
  //   }
  //
  // The source must outlive the filter.
  std::function<std::unique_ptr<Iterator>()> source;

  // The Env whose threads of Env::LOW merge, and which must outlive the filter.
  // The filter sees to it that there is one. Jobs of a DB that has the same Env
  // wait in the same queue.
  Env* env = Env::Default();

  // Bits of a hash of the key, and of the key itself, that the SuRF stores with
  // each key, up to 32 each: hash bits help MayContain, real bits help all
  // queries.
  uint32_t hash_suffix_bits = 0;
  uint32_t real_suffix_bits = 8;

  // A merge begins when one key in `merge_ratio` of those in the SuRF has come
  // since the last one, 1 to 1000, but not before 4096 have. An inserted key
  // takes memory as a whole until it is merged, and merging takes time for all
  // keys. A merge also begins when a quarter of the SuRF's keys are deleted.
  uint32_t merge_ratio = 16;
};

// The bounds of the number of keys in a range. The two differ by the keys at
// either end that may lie outside, as with SuRF, and by the keys that collided
// with another key when they were inserted or were inserted again, up to the
// next merge.
struct DynamicSurfCount {
  // There are no fewer keys than this.
  uint64_t least = 0;
  // There are no more keys than this.
  uint64_t most = 0;
};

// Sums since the filter was made or loaded, except for the state, which is
// current.
struct DynamicSurfStatistics {
  // The state. Keys in the SuRF; those of them that are deleted; and keys that
  // were inserted or deleted since the last merge, and are in memory as a
  // whole.
  uint64_t keys_in_surf = 0;
  uint64_t keys_deleted = 0;
  uint64_t keys_in_front = 0;

  // The bytes that the SuRF and its tombstones take, and those of whole keys.
  uint64_t surf_bytes = 0;
  uint64_t front_bytes = 0;

  // Merges that were completed, and the time that they took.
  uint64_t merges = 0;
  uint64_t merge_micros = 0;

  // Keys of the SuRF that merges looked for in the source. Those that were not
  // there: the source lacks keys of the filter. And keys that were taken
  // although they may be no keys of the filter, since threads were changing the
  // source.
  uint64_t keys_sought = 0;
  uint64_t keys_not_found = 0;
  uint64_t keys_extra = 0;

  // How often inserts and deletes had to wait for a merge.
  uint64_t waits = 0;
};

// Thread safe: any number of threads may call any functions at the same time,
// but no thread of the Env's pools may call Merge or WaitForMerge, and calls
// about the same key must not overlap with a Delete of it.
//
// What must hold, or keys may be missed: the source has a key from before it is
// inserted here until after it is deleted here. So write a key to the DB first,
// and then insert it; delete it here first, and then in the DB. A key that is
// overwritten may be inserted again, or not.
//
// An insert takes a microsecond or two. It waits for others, and for queries
// that run. It does not wait for a merge, unless eight times as many keys have
// come as make one due while the merge runs or waits for a thread.
class DynamicSurf {
 public:
  // Makes a filter of all keys that the source has; none may be added or
  // deleted meanwhile. Returns InvalidArgument if an option is out of bounds,
  // the error of the source, or NotSupported if there are more keys than 2^32.
  static Status Build(const DynamicSurfOptions& options,
                      std::unique_ptr<DynamicSurf>* filter);

  // Makes the filter that Save wrote to `file` in the Env. The suffix bits are
  // those of that filter. The source must still have all keys that the filter
  // has: if any was deleted since, build a new filter. Keys that came since
  // must be inserted again. Returns InvalidArgument if another option is out of
  // bounds, or if the file is not a plain one, such as a pipe; IOError or
  // NotFound if it cannot be read; and Corruption if it is damaged.
  static Status Load(const DynamicSurfOptions& options, const std::string& file,
                     std::unique_ptr<DynamicSurf>* filter);

  DynamicSurf() = default;
  DynamicSurf(const DynamicSurf&) = delete;
  DynamicSurf& operator=(const DynamicSurf&) = delete;

  // Stops a merge that runs, and waits for its end.
  virtual ~DynamicSurf() = default;

  // Adds a key of the source. A key that is there already may count twice until
  // the next merge. Returns InvalidArgument if the key is longer than 16 MiB,
  // or the error of the last merge if so many keys have come that an insert has
  // to wait for the next one; the key is then not added.
  virtual Status Insert(const Slice& key) = 0;

  // Takes away a key that was inserted. Deleting a key that is not there may
  // take away another one: only delete what was inserted, and once. Fails as
  // Insert does.
  virtual Status Delete(const Slice& key) = 0;

  // False says that the key is certainly not in the set.
  virtual bool MayContain(const Slice& key) const = 0;

  // False says that certainly no key is in [range.start, range.limit).
  virtual bool RangeMayContain(const Range& range) const = 0;

  // False says that certainly no key is at or above `target`. Else stores a
  // string, not below `target`, such that no key is in [target, *bound): the
  // first bytes of the first key, or `target` if that may be the key. If
  // hundreds of deleted keys come first, it may be one of these.
  virtual bool LowerBound(const Slice& target, std::string* bound) const = 0;

  // Counts the keys in [range.start, range.limit), without stepping through
  // them.
  virtual DynamicSurfCount Count(const Range& range) const = 0;

  // Merges what has been inserted and deleted before the call, in the calling
  // thread. Waits for a merge that runs. Returns the error of the source, or
  // NotSupported if there are too many keys; nothing is lost then, and merges
  // do not begin by themselves until this function succeeds.
  virtual Status Merge() = 0;

  // Waits until no merge runs. Returns the error if the last one failed.
  virtual Status WaitForMerge() = 0;

  // Writes the filter to `file` in the Env, which is replaced as a whole. The
  // state is that of one moment; inserts and deletes wait while it is copied in
  // memory. Returns InvalidArgument if `file` is a device or a pipe, and
  // IOError if it cannot be written.
  virtual Status Save(const std::string& file) const = 0;

  // Returns what the filter holds, and what it has done.
  virtual DynamicSurfStatistics GetStatistics() const = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
