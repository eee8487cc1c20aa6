# SPDX-License-Identifier: Apache-2.0

# Sorts source files into groups that can be compiled in one compiler run each: in a group, no file has a name in it that
# another one declares outside of functions and classes, unless in its own header. Prints a line with a group's number and a
# file for each. No group has more than `most` files, if that is given. With headers=1, the names in headers of this project
# that a file includes count as its own.
#
#   awk [-v most=FILES] [-v headers=1] -f cmake/unity_groups.awk FILE.cc ...
#
# Sources are in RocksDB's format: what begins a declaration is at the beginning of a line.

# The name that a line declares; empty if it declares none.
function declared_in(line,   words) {
  split(line, words, /[^A-Za-z_0-9]+/)
  if (line ~ /^#define /) return words[3]
  if (line ~ /^(class|struct|union) /) return words[2]
  if (line ~ /^enum /) return words[2] == "class" ? words[3] : words[2]
  # The classes of googletest's tests have names of their own.
  if (line ~ /^(TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P|PROTEAN_FEATURE_TEST)\(/) return ""
  if (line !~ /^[A-Za-z].*[=({;]/ || line ~ /^(namespace|using namespace|static_assert|template|extern|typedef)/) return ""
  sub(/[=({;].*/, "", line)
  gsub(/\[[^\]]*\]/, "", line)
  sub(/[ &*]+$/, "", line)
  # A member of a class is defined.
  if (line ~ /::[~A-Za-z_0-9]*$/) return ""
  return match(line, /[A-Za-z_0-9]+$/) ? substr(line, RSTART) : ""
}

# The line without what names nothing outside of classes: texts, and what is named as part of something else. (A blank is before
# the -> of a type that a function returns.)
function without_members(line) {
  gsub(/'([^'\\]|\\.)'/, " ", line)
  gsub(/"([^"\\]|\\.)*"/, " ", line)
  gsub(/(\.|[^ ]->|::)[ ]*[A-Za-z_0-9]+/, " ", line)
  return line
}

# The line of a header without what it declares in a class: functions and constants. What an enum outside of classes names is
# declared outside.
function without_declared_members(line) {
  if (line ~ /^enum [^c]/) is_in_enum = 1
  if (line ~ /^}|}; *$/) is_in_enum = 0
  if (line ~ /^ / && !is_in_enum) gsub(/[A-Za-z_0-9]+\(|[^A-Za-z_0-9]k[A-Z][A-Za-z_0-9]*/, " ", line)
  return line
}

# Notes the words of a line of a file, or of one of its headers.
function use(file, line,   i, n, word) {
  n = split(without_members(line), word, /[^A-Za-z_0-9]+/)
  for (i = 1; i <= n; i++) {
    if (word[i] != "" && !((file, word[i]) in is_used)) {
      is_used[file, word[i]]
      used[file] = used[file] " " word[i]
    }
  }
}

# Notes the words of a header of this project, and of those that it includes.
function use_header(file, header,   i, n, line, includes, words) {
  if ((file, header) in is_included) return
  is_included[file, header]
  while ((getline line < header) > 0) {
    if (line ~ /^#include "/) {
      split(line, words, "\"")
      includes = includes " " words[2]
    }
    sub(/\/\/.*/, "", line)
    use(file, without_declared_members(line))
  }
  close(header)
  n = split(includes, words, " ")
  for (i = 1; i <= n; i++) use_header(file, words[i])
}

FNR == 1 {
  file_count++
  names[file_count] = FILENAME
  is_text = 0
  # By a name in its own header, a file means the same as all that include that.
  header = FILENAME
  sub(/\.cc$/, ".h", header)
  while ((getline line < header) > 0) {
    sub(/\/\/.*/, "", line)
    use(header, line)
  }
  close(header)
}
# The lines of a raw string are text.
is_text { if (/\)"/) is_text = 0; next }
/R"\(/ && !/\)"/ { is_text = 1 }
{
  sub(/\/\/.*/, "")
  name = declared_in($0)
  if (name != "" && !((header, name) in is_used) && !((file_count, name) in is_declared)) {
    is_declared[file_count, name]
    declared[file_count] = declared[file_count] " " name
  }
  use(file_count, $0)
}
headers && /^#include "/ { split($0, quoted, "\""); use_header(file_count, quoted[2]) }

# Whether a file does not fit into a group.
function clashes(file, group,   i, n, word) {
  n = split(declared[file], word, " ")
  for (i = 1; i <= n; i++) if ((group, word[i]) in group_uses) return 1
  n = split(used[file], word, " ")
  for (i = 1; i <= n; i++) if ((group, word[i]) in group_declares) return 1
  return 0
}

END {
  for (file = 1; file <= file_count; file++) {
    group = 1
    while ((most && size[group] == most) || clashes(file, group)) group++
    size[group]++
    n = split(declared[file], word, " ")
    for (i = 1; i <= n; i++) group_declares[group, word[i]]
    n = split(used[file], word, " ")
    for (i = 1; i <= n; i++) group_uses[group, word[i]]
    print group " " names[file]
  }
}
