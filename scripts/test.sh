#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, checks text and layout (scripts/lint.sh) and passes the tests.
#
#   scripts/test.sh [ARGUMENTS OF CTEST...]    such as -R surf
#
# Arguments of ctest: -R, -E, -L, -LE, -j, -I, --timeout, --repeat, each with its value, and -N, -V, -VV, -Q, --rerun-failed,
# --stop-on-failure, --progress.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
parse_options ARGUMENTS... -- "$@"

# ctest takes no notice of an argument that it does not know, and runs all tests.
check_arguments() {
  while [ $# -gt 0 ]; do
    case $1 in
      -R | -E | -L | -LE | -j | -I | --timeout | --repeat)
        [ $# -gt 1 ] || die "$1 needs a value"
        shift
        ;;
      -j[1-9]* | -N | -V | -VV | -Q | --rerun-failed | --stop-on-failure | --progress) ;;
      *) die "unknown argument '$1'; --help lists those that ctest gets" ;;
    esac
    shift
  done
}
check_arguments "${arguments[@]}"
cd "$project"
scripts/setup.sh
# Debian 12 has the project's version of clang-format. With that, doxygen takes 53 MB more; by itself it would take 66.
install_optional clang-format-14
if is_installed clang-format-14; then install_optional doxygen; fi
# The other compiler that Protean is for.
install_optional clang-14
# The benchmark of ordered indexes needs them.
install_optional libabsl-dev libjudy-dev
if is_installed libabsl-dev && is_installed libjudy-dev; then
  cmake -S . -B build >/dev/null
  cmake --build build --target index_bench >build/index_bench.log 2>&1 || { cat build/index_bench.log; die "index_bench does not build"; }
fi
scripts/lint.sh
say "running the tests, 6 to 15 minutes"
# One more than there are processors, since some tests wait. The command `protean` gives way to other processes (nice 19): where
# all tests do, its own do not wait for the others.
nice -n 19 ctest --test-dir build --output-on-failure -j "$(($(nproc) + 1))" "${arguments[@]}"
