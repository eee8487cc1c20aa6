# SPDX-License-Identifier: Apache-2.0

# A toolchain file: compiles for another CPU with Debian's cross compiler, and runs what was compiled under QEMU's emulation of
# that CPU. The environment names it, since RocksDB is configured with it, too:
#
#   CMAKE_TOOLCHAIN_FILE=cmake/foreign.cmake PROTEAN_CPU=aarch64 cmake ...
#
# PROTEAN_CPU is the CPU by the name that `uname -m` gives it. scripts/platform_room.sh makes rooms in which that works.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR "$ENV{PROTEAN_CPU}")
set(CMAKE_C_COMPILER "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-gcc")
set(CMAKE_CXX_COMPILER "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-g++")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-${CMAKE_SYSTEM_PROCESSOR}")
