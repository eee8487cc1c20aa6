#!/usr/bin/env bash
# Builds protean-rocksjava for rocksdbjni 9.10.0, whose sources are on hand in every build, and passes its tests with it.
#
#   java_test.sh BUILD
#
# Ends with code 77, which says that it was left out, where Maven does not get what it needs.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly rocksdbjni=9.10.0
work=$1/java
mkdir -p "$work"
lock "$work/.lock" "another run in $work"

# $1: a log of Maven. Whether it tells of something that could not be fetched.
is_out_of_reach() {
  grep -qE 'Could not (transfer|resolve|find) artifact|Non-resolvable|Unknown host|could not be resolved' "$1"
}
leave_out() {
  say "left out: Maven has no access to a repository, and its cache does not hold all that is needed"
  exit 77
}

# Without a word from Maven, it is not what fails.
if ! plugin/java/build_native.sh "--output=$work/native" $rocksdbjni 2>"$work/native.log"; then
  cat "$work/native.log"
  if is_out_of_reach "$work/native.log"; then leave_out; fi
  die "the native libraries do not build"
fi

# Maven writes into the folders that it builds.
rm -rf "$work/src" && mkdir "$work/src"
cp -R plugin/java/pom.xml "$work/src/"
mkdir "$work/src/protean-rocksjava"
cp -R plugin/java/protean-rocksjava/{pom.xml,src} "$work/src/protean-rocksjava/"
if ! mvn -B -f "$work/src/protean-rocksjava/pom.xml" "-Dprotean.native=$work/native" "-Drocksdbjni.version=$rocksdbjni" \
  -Dprotean.leak.opens=200 verify >"$work/maven.log" 2>&1; then
  if is_out_of_reach "$work/maven.log"; then leave_out; fi
  grep -E '^\[(ERROR|WARNING)\]|Tests run' "$work/maven.log" || tail -n 50 "$work/maven.log"
  die "the tests fail; log: $work/maven.log"
fi
grep -E 'Tests run:|^growth' "$work/maven.log"
if grep -q 'COMPILATION WARNING' "$work/maven.log"; then
  grep -A 3 'COMPILATION WARNING' "$work/maven.log"
  die "the Java compiler warns"
fi
echo passed
