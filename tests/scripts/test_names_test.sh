#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A build that compiles files together has the tests of a folder in one program (CMakeLists.txt). There, two classes of one
# name would be taken for the same one unless they are in unnamed namespaces: this prints such classes, and their files.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options -- "$@"
cd "$project"
mapfile -t files < <(find tests db_bench_ext tools -name '*.cc' -o -name '*.h' | sort)
awk '
  FNR == 1 { unnamed = 0 }
  /^namespace \{/ { unnamed = 1 }
  /^}  \/\/ namespace$/ { unnamed = 0 }
  !unnamed && /^(class|struct|union|enum) / && !/^[^{]*;$/ {
    name = $2 == "class" ? $3 : $2
    if (name in file && file[name] != FILENAME) {
      print name ": " file[name] " and " FILENAME
      failed = 1
    }
    file[name] = FILENAME
  }
  END { exit failed }' "${files[@]}" || die "classes of one name; give one of them another name, or, if it is no fixture, put it into an unnamed namespace"
echo passed
