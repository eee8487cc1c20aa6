# SPDX-License-Identifier: Apache-2.0

# Included with -DPROTEAN_SYNTAX_ONLY=ON. The build then shows that all programs and tests compile with a RocksDB of which
# only the source tree is there: the compiler checks each file and generates no code, and libraries and programs are empty.
set_property(GLOBAL PROPERTY RULE_LAUNCH_COMPILE "sh \"${CMAKE_CURRENT_SOURCE_DIR}/cmake/syntax_only.sh\"")
foreach(rule CREATE_STATIC_LIBRARY CREATE_SHARED_LIBRARY LINK_EXECUTABLE)
  set(CMAKE_CXX_${rule} "\"${CMAKE_COMMAND}\" -E touch <TARGET>")
endforeach()

# Most of the time goes to RocksDB's headers. The benchmarks and what tests share get those precompiled that tests have: they
# have the same definitions, and do not differ in how they address their code. The library, the tools and the example do without,
# as in every build, so that an include that is missing there is found.
add_compile_definitions(GTEST_HAS_PTHREAD=1)
set(CMAKE_CXX_COMPILE_OPTIONS_PIC "")
set(CMAKE_CXX_COMPILE_OPTIONS_PIE "")
function(share_precompiled_headers)
  add_library(precompiled OBJECT plugin/auto_register.cc)
  target_include_directories(precompiled PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(precompiled PRIVATE rocksdb_internal GTest::gtest)
  target_precompile_headers(precompiled PRIVATE tests/precompiled.h)
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    get_target_property(own ${target} PRECOMPILE_HEADERS)
    get_target_property(shared ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    if(type MATCHES "LIBRARY|EXECUTABLE" AND libraries MATCHES "rocksdb|protean|bench_common" AND NOT own AND NOT shared
      AND NOT target MATCHES "^(protean(_objects|_shared|_tools|_tool)?|events)$")
      target_precompile_headers(${target} REUSE_FROM precompiled)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL share_precompiled_headers)
