#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that the C++ is formatted as .clang-format says, by the clang-format that the project uses: versions differ. Skipped
# where that version is missing.
#
#   tests/scripts/format_test.sh [--fix]   with --fix, formats what is not
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
fix=0
parse_options --fix -- "$@"
cd "$project"

readonly formatter=clang-format-14
command -v $formatter >/dev/null || { echo "skipped: there is no $formatter"; exit 77; }
mapfile -t files < <(find . -path './build*' -prune -o -path '*/target' -prune -o \( -name '*.h' -o -name '*.cc' \) -print)
if [ $fix = 1 ]; then
  $formatter --style=file -i "${files[@]}"
else
  printf '%s\0' "${files[@]}" | xargs -0 -n 32 -P "$(nproc)" $formatter --style=file --dry-run --Werror ||
    die "not formatted; tests/scripts/format_test.sh --fix formats"
fi
echo "${#files[@]} files passed"
