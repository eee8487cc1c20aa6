#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds protean-rocksjava and protean-kafka-streams for rocksdbjni 9.10.0, whose sources are on hand in every build, and
# passes their tests with it.
#
#   java_test.sh BUILD
#
# Ends with code 77, which says that it was left out, where Maven does not get what it needs.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD -- "$@"
cd "$project"

readonly rocksdbjni=9.10.0
# Another version, for tests of two in one process. (Not all pairs can be: stock 10.10.1 ends the process beside these.)
readonly other=10.1.3
# A release sets a namespace of its own.
readonly group=com.example.released
work=$1/java
mkdir -p "$work"
lock "$work/.lock" "another run in $work"

# $1: a log of Maven. Whether it tells of something of others that could not be fetched.
is_out_of_reach() {
  grep -E 'Could not (transfer|resolve|find) artifact|Non-resolvable|Unknown host|could not be resolved' "$1" |
    grep -qv "artifact $group:"
}
leave_out() {
  say "left out: Maven has no access to a repository, and its cache does not hold all that is needed"
  exit 77
}

# If Maven has printed nothing, it is not the cause.
if ! plugin/java/build_native.sh --quick "--output=$work/native" $rocksdbjni 2>"$work/native.log"; then
  cat "$work/native.log"
  if is_out_of_reach "$work/native.log"; then leave_out; fi
  die "the native libraries do not build"
fi
tests/java/load_natives.sh "--output=$work/native" $rocksdbjni

# Many small DBs are opened and closed, which often waits for a disk. Libraries are loaded from there, too.
temporary=""
if [ -w /dev/shm ] && [ "$(df --output=avail -k /dev/shm | tail -n 1)" -gt 1000000 ]; then
  temporary=$(mktemp -d /dev/shm/protean_java.XXXXXX)
  cp "$(type -P true)" "$temporary/probe"
  "$temporary/probe" 2>/dev/null || { rm -rf "$temporary"; temporary=""; }
fi
if [ -z "$temporary" ]; then
  temporary=$work/tmp
  mkdir -p "$temporary"
fi
trap 'rm -rf "${temporary:?}"' EXIT

# Maven writes into the folders that it builds in.
rm -rf "$work/src" && mkdir "$work/src"
for module in protean-rocksjava protean-kafka-streams; do
  mkdir "$work/src/$module"
  cp -R plugin/java/$module/{pom.xml,src} "$work/src/$module/"
done
# A test compares the versions that it builds for with those that a message names.
cp plugin/java/{build_native.sh,pom.xml} "$work/src/"
plugin/java/set_group.sh $group "$work/src" 2>/dev/null
other_jar=$work/other/rocksdbjni-$other.jar
if ! mvn -B -q -f "$work/src/pom.xml" --non-recursive org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
  "-Dartifact=org.rocksdb:rocksdbjni:$other" "-DoutputDirectory=${other_jar%/*}" >"$work/other.log" 2>&1; then
  is_out_of_reach "$work/other.log" || { cat "$work/other.log"; die "rocksdbjni $other cannot be fetched"; }
  say "rocksdbjni $other is out of reach: the tests of two versions in one process are left out"
  other_jar=
fi
if ! mvn -B -f "$work/src/pom.xml" "-Dprotean.native=$work/native" "-Drocksdbjni.version=$rocksdbjni" \
  "-DargLine=-Djava.io.tmpdir=$temporary -Dprotean.other.rocksdbjni=$other_jar" \
  -Dprotean.leak.opens=200 verify >"$work/maven.log" 2>&1; then
  if is_out_of_reach "$work/maven.log"; then leave_out; fi
  grep -E '^\[(ERROR|WARNING)\]|Tests run' "$work/maven.log" || tail -n 50 "$work/maven.log"
  die "the tests fail; log: $work/maven.log"
fi
grep -E 'Tests run:.*[0-9]$|^growth' "$work/maven.log"
if grep -q 'COMPILATION WARNING' "$work/maven.log"; then
  grep -A 3 'COMPILATION WARNING' "$work/maven.log"
  die "the Java compiler warns"
fi

# The example, as README.md and docs/languages.md have it.
mvn -B -q -f "$work/src/pom.xml" --non-recursive org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
  "-Dartifact=org.rocksdb:rocksdbjni:$rocksdbjni" "-DoutputDirectory=$work/example" >"$work/example.log" 2>&1 ||
  { cat "$work/example.log"; die "rocksdbjni $rocksdbjni cannot be fetched"; }
said=$(java "-Djava.io.tmpdir=$temporary" -cp "$work/example/rocksdbjni-$rocksdbjni.jar:$(echo \
  "$work"/src/protean-rocksjava/target/protean-rocksjava-*.jar)" docs/examples/java/Sensors.java "$temporary/sensors" 2>&1) || true
echo "$said"
if ! { grep -q '^21600 readings; 720 readings on a day; on the day and later: \[true, false\]; in .*: true$' <<<"$said" &&
  grep -q '^330 hours are silent; [1-9][0-9]* seeks did not read; [0-9]* files have new filters$' <<<"$said" &&
  [ "$(wc -l <<<"$said")" = 2 ]; }; then
  die "the example in Java does not say what it should"
fi
echo passed
