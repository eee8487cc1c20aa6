# SPDX-License-Identifier: Apache-2.0

# A toolchain file: compiles shared libraries for systems with musl, such as Alpine Linux, on one with glibc. The environment
# variable PROTEAN_MUSL is the folder that scripts/musl_compiler.sh prints.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER "$ENV{PROTEAN_MUSL}/g++")
# Here is no libstdc++ for musl: programs cannot be linked, and libraries take it from the process that they are loaded into.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-nodefaultlibs")
set(CMAKE_CXX_STANDARD_LIBRARIES "-lgcc -lc")
