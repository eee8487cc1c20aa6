# SPDX-License-Identifier: Apache-2.0

# A toolchain file: compiles shared libraries for systems with musl, such as Alpine Linux, on one with glibc. The environment
# has two variables: PROTEAN_CPU, x86_64 or aarch64, and PROTEAN_MUSL, the folder that scripts/musl_compiler.sh prints for it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "$ENV{PROTEAN_CPU}")
set(CMAKE_C_COMPILER "$ENV{PROTEAN_MUSL}/gcc")
set(CMAKE_CXX_COMPILER "$ENV{PROTEAN_MUSL}/g++")
foreach(tool AR RANLIB NM READELF)
  string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-${tool}" name)
  find_program(CMAKE_${tool} ${name} REQUIRED)
endforeach()
# Here is no libstdc++ for musl: programs cannot be linked, and libraries take it from the process that they are loaded into.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-nodefaultlibs")
set(CMAKE_CXX_STANDARD_LIBRARIES "-lgcc -lc")
