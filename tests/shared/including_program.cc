// SPDX-License-Identifier: Apache-2.0

//  Includes every public header as an application does. include_path_test.sh
//  compiles it against each way in which an application may get Protean.

#include <cstring>
#include <memory>
#include <string>

#include "rocksdb/plugin/protean/approximate_count.h"
#include "rocksdb/plugin/protean/build_info.h"
#include "rocksdb/plugin/protean/filter_properties.h"
#include "rocksdb/plugin/protean/filter_statistics.h"
#include "rocksdb/plugin/protean/may_exist.h"
#include "rocksdb/plugin/protean/protean.h"
#include "rocksdb/plugin/protean/protean_c.h"
#include "rocksdb/plugin/protean/refresh_filters.h"
#include "rocksdb/plugin/protean/search_bounds.h"
#include "rocksdb/plugin/protean/sst_file_filter.h"
#include "rocksdb/plugin/protean/version.h"

#if PROTEAN_VERSION_MAJOR < 1 || PROTEAN_VERSION_MINOR < 0 || \
    PROTEAN_VERSION_PATCH < 0
#error "the version is not numeric"
#endif

int main() {
  rocksdb::BlockBasedTableOptions table_options;
  table_options.filter_policy = rocksdb::protean::NewProteusFilterPolicy({12});
  const std::shared_ptr<rocksdb::TableFactory> factory =
      rocksdb::protean::NewProteanTableFactory(table_options);
  const rocksdb::protean::FilterStatistics statistics;
  return factory == nullptr || !statistics.files.empty() ||
         strcmp(rocksdb::protean::GetBuildInfo().version, PROTEAN_VERSION) != 0;
}
