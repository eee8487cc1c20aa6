# SPDX-License-Identifier: Apache-2.0

# The fuzzers: Protean's own code with the engine's instrumentation, and sanitizers, around a RocksDB without. A program
# takes of it only what its target uses: what is instrumented and not run costs time all the same.
#
# With sanitizers, all comparisons are traced too, from which the engine learns. Without, nothing counts but speed, and the
# standard library checks what it can at little cost.

set(PROTEAN_FUZZ_SANITIZE "address,undefined" CACHE STRING "Sanitizers of the fuzzers; empty for none")

add_library(protean_fuzz STATIC EXCLUDE_FROM_ALL ${sources} ${fuzz_sources})
target_include_directories(protean_fuzz PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
target_compile_features(protean_fuzz PUBLIC cxx_std_${rocksdb_cxx_standard})
target_link_libraries(protean_fuzz PUBLIC rocksdb_internal)
if(PROTEAN_FUZZ_SANITIZE)
  # vptr needs type information of RocksDB's classes.
  target_compile_options(protean_fuzz PUBLIC -O1 "-fsanitize=fuzzer-no-link,${PROTEAN_FUZZ_SANITIZE}"
    -fno-sanitize-recover=all -fno-sanitize=vptr)
  target_link_options(protean_fuzz PUBLIC "-fsanitize=${PROTEAN_FUZZ_SANITIZE}")
else()
  target_compile_options(protean_fuzz PUBLIC -O2 -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp
    -D_GLIBCXX_ASSERTIONS)
endif()
# The engine is to learn from what is tested, not from what makes the inputs and asks.
set_source_files_properties(${fuzz_sources} PROPERTIES COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link)

# Each target has a corpus. The target cascade_run is kCascadeRunTarget.
file(GLOB targets CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/corpus" tests/fuzz/corpus/*)
foreach(target IN LISTS targets)
  set(name ${target}_fuzzer)
  set(constant "")
  string(REPLACE "_" ";" words "${target}")
  foreach(word IN LISTS words)
    string(SUBSTRING "${word}" 0 1 first)
    string(SUBSTRING "${word}" 1 -1 others)
    string(TOUPPER "${first}" first)
    string(APPEND constant "${first}${others}")
  endforeach()
  add_executable(${name} EXCLUDE_FROM_ALL tests/fuzz/fuzzer.cc)
  target_compile_definitions(${name} PRIVATE PROTEAN_FUZZ_TARGET=k${constant}Target)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE protean_fuzz)
  list(APPEND fuzzer_programs ${name})
endforeach()
add_custom_target(fuzzers DEPENDS ${fuzzer_programs})
