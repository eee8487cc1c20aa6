# Included by RocksDB's own project() call when it is compiled with several files a compiler run (CMAKE_UNITY_BUILD): the files
# that do not bear to share a run with others, because they define the same names or macros.
file(GLOB_RECURSE alone RELATIVE "${CMAKE_SOURCE_DIR}"
  "${CMAKE_SOURCE_DIR}/utilities/transactions/lock/range/range_tree/*.cc")
list(APPEND alone cache/clock_cache.cc util/crc32c.cc util/xxhash.cc "${CMAKE_BINARY_DIR}/build_version.cc")
set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
