# SPDX-License-Identifier: Apache-2.0

# Included by RocksDB's own project() call when RocksDB is compiled with several files in one compiler run
# (CMAKE_UNITY_BUILD). Excludes the files that cannot share a run with others, because they define the same names or macros.
file(GLOB_RECURSE alone RELATIVE "${CMAKE_SOURCE_DIR}"
  "${CMAKE_SOURCE_DIR}/utilities/transactions/lock/range/range_tree/*.cc")
list(APPEND alone cache/clock_cache.cc util/crc32c.cc util/xxhash.cc "${CMAKE_BINARY_DIR}/build_version.cc")
set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

# In RocksDB's tree with Protean as a plugin, the plugin, RocksDB's tests and its tools cannot be compiled so. Only RocksDB's
# own files in the shared library are.
if(NOT CMAKE_UNITY_BUILD)
  file(STRINGS "${CMAKE_SOURCE_DIR}/plugin/protean/protean.mk" plugin_files REGEX "^protean_SOURCES = ")
  string(REGEX MATCHALL "[^ ]+\\.cc" plugin_files "${plugin_files}")
  list(TRANSFORM plugin_files PREPEND plugin/protean/)
  set_source_files_properties(${plugin_files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  cmake_language(DEFER CALL set_target_properties rocksdb-shared PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
endif()
