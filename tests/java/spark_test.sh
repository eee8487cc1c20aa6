#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a query of Spark with the provider of docs/examples/spark, and compares its answers with those of Spark's own provider.
#
#   spark_test.sh BUILD [--fetch]
#
#   --fetch   fetch Spark, 330 MB, if Maven's cache does not have it
#
# Ends with code 77, which says that it was left out, where Maven has no Spark.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
fetch=0
parse_options --fetch BUILD -- "$@"
[ ${#arguments[@]} = 1 ] || die "no build folder is given"
work=$(realpath "${arguments[0]}")/spark
cd "$project"

readonly rocksdbjni=9.10.0
offline=()
if [ $fetch = 0 ]; then
  version=$(sed -n 's,.*<spark\.version>\(.*\)</spark\.version>.*,\1,p' docs/examples/spark/pom.xml)
  [ -f "${HOME:?}/.m2/repository/org/apache/spark/spark-sql_2.13/$version/spark-sql_2.13-$version.jar" ] ||
    { say "left out: Maven's cache has no Spark $version; --fetch gets it"; exit 77; }
  offline=(--offline)
fi

mkdir -p "$work"
lock "$work/.lock" "another run in $work"
plugin/java/build_native.sh --quick "--output=$work/native" $rocksdbjni
# One build of both, in which the example finds the JAR of this tree.
rm -rf "$work/src"
mkdir "$work/src"
cp -r plugin/java/{pom.xml,protean-rocksjava} docs/examples/spark "$work/src/"
sed -i 's,<module>protean-kafka-streams<,<module>spark<,' "$work/src/pom.xml"
if ! mvn -B "${offline[@]}" -f "$work/src/pom.xml" "-Dprotean.native=$work/native" -Dtest=SessionWindowsTest \
  -Dsurefire.failIfNoSpecifiedTests=false test >"$work/maven.log" 2>&1; then
  if [ $fetch = 0 ] && grep -q 'in offline mode' "$work/maven.log"; then
    say "left out: Maven's cache does not hold all that is needed; --fetch gets it"
    exit 77
  fi
  grep -E '^\[ERROR\]|Tests run' "$work/maven.log" || tail -n 50 "$work/maven.log"
  die "the test fails; log: $work/maven.log"
fi
grep -h '^[0-9]* windows; filters have kept' "$work"/src/spark/target/surefire-reports/*-output.txt
echo passed
