// SPDX-License-Identifier: Apache-2.0

//  What most files of the operator's command include of other projects,
//  compiled once (CMakeLists.txt). A file includes what it uses all the same:
//  builds with sanitizers or ccache do without this.

#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
