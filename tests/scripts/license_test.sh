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

# Prints the files without the comment: one program reads all of them. The comment is on the first line, or after #!.
missing_in() {
  awk -v line="$line" '
    FNR == 1 && /^#!/ { next }
    $0 == (FILENAME ~ /\.(h|cc|java|rs)$/ ? "// " : "# ") line { has[FILENAME] = 1 }
    { nextfile }
    END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in has)) print ARGV[i] }' "$@"
}

mapfile -t missing < <(missing_in "${files[@]}")
if [ $fix = 1 ]; then
  for file in "${missing[@]}"; do
    comment="# $line" before=0
    case $file in *.h | *.cc | *.java | *.rs) comment="// $line" ;; esac
    if [[ $(head -c 2 "$file") = '#!' ]]; then before=1; fi
    # A comment at the head of a script is its help, which begins with the line. Others stand for themselves.
    case $file in *.sh | *.py | ./.ci/run) ;; *) comment+=$'\n' ;; esac
    { head -n $before "$file"; echo "$comment"; tail -n +$((before + 1)) "$file"; } >"$file.new"
    cat "$file.new" >"$file"
    rm "$file.new"
  done
elif [ ${#missing[@]} -gt 0 ]; then
  die "the first comment of these is not '$line'; tests/scripts/license_test.sh --fix adds it: ${missing[*]}"
fi
echo "${#files[@]} files passed"
