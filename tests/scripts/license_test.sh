#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that the first comment of each source file names the license.
#
#   tests/scripts/license_test.sh [--fix]   with --fix, adds the line where it is missing
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
fix=0
parse_options --fix -- "$@"
cd "$project"

readonly line="SPDX-License-Identifier: Apache-2.0"
mapfile -t files < <(find . \( -path './build*' -o -path './.git' -o -name target \) -prune -o -type f \( -name '*.h' \
  -o -name '*.cc' -o -name '*.sh' -o -name '*.py' -o -name '*.java' -o -name '*.rs' -o -name '*.cmake' -o -name '*.mk' \
  -o -name CMakeLists.txt -o -path ./.ci/run \) -print | sort)

# $1: a file. Prints its comment of one line, and a number: the line that it belongs on.
expected() {
  local mark="#" number=1
  case $1 in *.h | *.cc | *.java | *.rs) mark="//" ;; esac
  if [[ $(head -c 2 "$1") = '#!' ]]; then number=2; fi
  echo "$mark $line"
  echo $number
}

missing=()
for file in "${files[@]}"; do
  { read -r comment && read -r number; } < <(expected "$file")
  [ "$(sed -n "${number}p" "$file")" != "$comment" ] || continue
  if [ $fix = 1 ]; then
    # A comment at the head of a script is its help, which begins with the line. Others stand for themselves.
    case $file in *.sh | *.py | ./.ci/run) ;; *) comment+=$'\n' ;; esac
    { head -n $((number - 1)) "$file"; echo "$comment"; tail -n +"$number" "$file"; } >"$file.new"
    cat "$file.new" >"$file"
    rm "$file.new"
  else
    missing+=("$file")
  fi
done
[ ${#missing[@]} = 0 ] ||
  die "the first comment of these is not '$line'; tests/scripts/license_test.sh --fix adds it: ${missing[*]}"
echo "${#files[@]} files passed"
