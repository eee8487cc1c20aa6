# SPDX-License-Identifier: Apache-2.0

# Sorts source files into groups that can be compiled in one compiler run each: in a group, no file has a name in it that
# another one declares outside of functions and classes. Prints a line with a group's number and a file for each. No group has
# more than `most` files, if that is given.
#
#   awk [-v most=FILES] -f cmake/unity_groups.awk FILE.cc ...
#
# Sources are in RocksDB's format: what begins a declaration is at the beginning of a line.

# The name that a line declares; empty if it declares none.
function declared_in(line,   words) {
  split(line, words, /[^A-Za-z_0-9]+/)
  if (line ~ /^#define /) return words[3]
  if (line ~ /^(class|struct|union) /) return words[2]
  if (line ~ /^enum /) return words[2] == "class" ? words[3] : words[2]
  if (line !~ /^[A-Za-z].*[=({;]/ || line ~ /^(namespace|static_assert|template|extern|typedef)/) return ""
  sub(/[=({;].*/, "", line)
  gsub(/\[[^\]]*\]/, "", line)
  sub(/[ &*]+$/, "", line)
  # A member of a class is defined.
  if (line ~ /::[~A-Za-z_0-9]*$/) return ""
  return match(line, /[A-Za-z_0-9]+$/) ? substr(line, RSTART) : ""
}

FNR == 1 { file_count++; names[file_count] = FILENAME }
{
  sub(/\/\/.*/, "")
  name = declared_in($0)
  if (name != "" && !((file_count, name) in is_declared)) {
    is_declared[file_count, name]
    declared[file_count] = declared[file_count] " " name
  }
  count = split($0, here, /[^A-Za-z_0-9]+/)
  for (i = 1; i <= count; i++) {
    if (here[i] != "" && !((file_count, here[i]) in is_used)) {
      is_used[file_count, here[i]]
      used[file_count] = used[file_count] " " here[i]
    }
  }
}

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
