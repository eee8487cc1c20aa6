#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets the groupId of the JARs: the namespace on Maven Central that the release owns.
#
#   plugin/java/set_group.sh GROUP [FOLDER]
#
#   GROUP   a reversed domain, such as io.github.NAME or com.example.protean
#   FOLDER  which has the pom.xml files; default: plugin/java, with the examples in the documentation
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options GROUP FOLDER... -- "$@"
[ ${#arguments[@]} = 1 ] || [ ${#arguments[@]} = 2 ] || die "give GROUP, and perhaps FOLDER; --help says more"
group=${arguments[0]} folder=${arguments[1]:-$project/plugin/java}

[[ $group =~ ^[a-z][a-z0-9-]*(\.[a-z][a-z0-9_-]*)+$ ]] ||
  die "$group is not allowed; allowed: reversed domains of lower case letters, digits and hyphens, such as io.github.NAME"
[ -f "$folder/pom.xml" ] || die "there is no $folder/pom.xml"
# The first groupId of the file is that of the project.
old=$(sed -nE '/<groupId>/{s/.*<groupId>(.*)<\/groupId>.*/\1/p;q}' "$folder/pom.xml")
[ -n "$old" ] || die "$folder/pom.xml has no groupId"

files=("$folder"/pom.xml "$folder"/*/pom.xml)
[ ${#arguments[@]} = 2 ] || files+=("$folder/README.md" "$project"/docs/{kafka_streams.md,examples/kafka/pom.xml,examples/spark/pom.xml})
sed -i "s/\(<groupId>\|\`\)${old//./\\.}\(<\/groupId>\|:\)/\1$group\2/" "${files[@]}"
say "the groupId is $group; it was $old"
