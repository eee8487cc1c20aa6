// SPDX-License-Identifier: Apache-2.0

//  What most files of table/ and plugin/ include of other projects, compiled
//  once (CMakeLists.txt). A file includes what it uses all the same: RocksDB's
//  build of a plugin, and builds with sanitizers or ccache, do without this.

#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "table/block_based/block_based_table_factory.h"
#include "table/block_based/block_based_table_iterator.h"
#include "table/block_based/block_based_table_reader.h"
