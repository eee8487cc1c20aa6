#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and passes the tests.
#
#   scripts/test.sh [ARGUMENTS OF CTEST...]    such as -R surf
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
parse_options ARGUMENTS... -- "$@"
cd "$project"
scripts/setup.sh
# Debian 12 has the project's version of clang-format. With that, doxygen takes 12 MB more; by itself it would take 66.
install_optional clang-format-14
if is_installed clang-format-14; then install_optional doxygen; fi
say "running the tests, 3 to 6 minutes"
ctest --test-dir build --output-on-failure -j "$(nproc)" "${arguments[@]}"
