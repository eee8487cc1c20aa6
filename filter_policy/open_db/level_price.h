// SPDX-License-Identifier: Apache-2.0

//  The price of a false positive in the files of a level, while a DB is open
//  (filter_policy/false_positive_price.h). It is found when a filter is built,
//  or when filters are refreshed, by the reads since it was found before.

#pragma once

#include <cstdint>

#include "filter_policy/false_positive_price.h"
#include "filter_policy/open_db/get_tally.h"
#include "rocksdb/statistics.h"

namespace ROCKSDB_NAMESPACE::protean {

// Not thread safe.
class LevelPrice {
 public:
  // Returns the price after all reads of the level so far; 0 while they are too
  // few. Reads are counted anew when they are enough for the price.
  uint64_t Update(const ReadCounts& so_far, double file_micros) {
    const ReadCounts since = so_far.Since(before_);
    const RecentReads recent = {since.from_cache, since.from_file, file_micros};
    if (recent.all() >= kMinReadsForPrice) {
      price_ = PriceClassOf(PriceOfFalsePositive(recent), price_);
      before_ = so_far;
    }
    return price_;
  }

 private:
  ReadCounts before_;
  uint64_t price_ = 0;
};

// The mean time of a read from a file of a DB. Not thread safe.
class FileReadTime {
 public:
  // Returns the mean of the reads by Gets and iterators since they were last
  // enough for a mean, in microseconds; 0 if it is unknown. `statistics` are
  // RocksDB's, or nullptr.
  double Update(const Statistics* statistics) {
    if (statistics == nullptr) return micros_;
    uint64_t count = 0;
    uint64_t sum = 0;
    for (const Histograms reads :
         {FILE_READ_GET_MICROS, FILE_READ_DB_ITERATOR_MICROS}) {
      HistogramData data;
      statistics->histogramData(reads, &data);
      count += data.count;
      sum += data.sum;
    }
    // The application may have reset its statistics.
    if (count < count_ || sum < sum_) count_ = sum_ = 0;
    if (count - count_ >= kMinReadsForPrice) {
      micros_ =
          static_cast<double>(sum - sum_) / static_cast<double>(count - count_);
      count_ = count;
      sum_ = sum;
    }
    return micros_;
  }

 private:
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  double micros_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
