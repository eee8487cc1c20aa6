// SPDX-License-Identifier: Apache-2.0

//  The iterator over an SST file that asks the file's filter before it reads
//  anything, and samples the seeks that find nothing. In a file without a
//  filter that ranges can be asked of, it reads, and samples.
//  table/seek/seek_decision.h decides what a seek does; this iterator acts on
//  it (docs/internals/reads.md). RocksDB's iterators see one of three
//  positions:
//
//  - A key of the file.
//  - Nothing, if the filter says that the file has no key in the range of the
//    seek. UpperBoundCheckResult() tells LevelIterator whether the search in
//    the level has ended or goes on to the next file, whose SeekToFirst asks
//    that file's filter in the same way.
//  - A marker, if the filter says that no key of the file lies below some
//    bound. The iterator *waits* there without I/O. It is valid, and its key is
//    the bound as a user key with a sequence number that no write has yet. To
//    RocksDB's iterators that is the key of a write that is too new to be seen.
//    They order it among the keys of the other files, and if no key of these
//    ends the search before, they pass it with Next. Only then is this file
//    read, or waits further on (table/seek/run_search.h).
//
//  A scan over deletions waits, too: once it has met a few in a row, and no
//  file of the search may have a value before some key, it goes on at that key.

#pragma once

#include "rocksdb/options.h"
#include "table/filtered_file.h"
#include "table/rocksdb_internals/file_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

// `file` and `read_options` must outlive the iterator.
InternalIterator* NewProteanTableIterator(
    FilteredFile* file, const ReadOptions& read_options,
    const FileIterator::Arguments& arguments);

}  // namespace ROCKSDB_NAMESPACE::protean
