#!/usr/bin/env bash
# Sets up, builds and passes the tests. Arguments go to ctest, such as -R surf.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh
say "running the tests, 3 to 6 minutes"
ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
