# SPDX-License-Identifier: Apache-2.0

# sanitized_corpus_test: what the fuzzers start from and have found, and damaged filter blocks, read under AddressSanitizer
# and UndefinedBehaviorSanitizer in an ordinary build.
#
# Instrumented is what reads and builds filters, and reads files of samples. The tests are the objects of the programs
# without sanitizers, and so is all else: the linker takes from libprotean.a only what has not been defined before. A build
# with sanitizers in everything is made by scripts/check.sh sanitize.

include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-fsanitize=address,undefined,float-cast-overflow")
check_cxx_source_compiles("int main() { return 0; }" PROTEAN_HAS_SANITIZERS)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT PROTEAN_HAS_SANITIZERS)
  message(STATUS "no sanitized_corpus_test: the compiler has no AddressSanitizer, or no UndefinedBehaviorSanitizer")
  return()
endif()

add_executable(sanitized_corpus_test ${sanitized_sources} ${set_sources}
  $<TARGET_OBJECTS:corpus_test> $<TARGET_OBJECTS:filter_damage_test>)
compile_in_groups(sanitized_corpus_test ${sanitized_sources} ${set_sources})
# vptr needs type information of RocksDB's classes, which not every RocksDB has. Some warnings are wrong of instrumented code.
target_compile_options(sanitized_corpus_test PRIVATE "$<$<CONFIG:Release>:-O1>"
  -fsanitize=address,undefined,float-cast-overflow
  -fno-sanitize-recover=all -fno-sanitize=vptr -fno-omit-frame-pointer -Wno-error)
target_link_options(sanitized_corpus_test PRIVATE -fsanitize=address,undefined,float-cast-overflow)
target_link_libraries(sanitized_corpus_test PRIVATE test_common test_setup)
add_test(NAME sanitized_corpus_test COMMAND sanitized_corpus_test)
# Leaks are looked for by scripts/check.sh sanitize: LeakSanitizer needs ptrace, which not every container permits.
set_tests_properties(sanitized_corpus_test PROPERTIES ENVIRONMENT
  "PROTEAN_DAMAGE_STRIDE=11;ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1;UBSAN_OPTIONS=print_stacktrace=1")
