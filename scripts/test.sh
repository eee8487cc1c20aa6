#!/usr/bin/env bash
# Sets up, builds and passes the tests. Arguments go to ctest, such as -R surf.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
