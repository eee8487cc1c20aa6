#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes what a user downloads from what is committed here, as far as this machine can, and uses each of it where nothing else
# of Protean is. Publishes nothing: CONTRIBUTING.md says what is left to a person.
#
#   scripts/release.sh --dry_run [--skip=NAME,...] [--output=DIR] [--natives=PLATFORM,...] [--rocksdbjni=VERSION,...] [--here]
#
#   --dry_run         the version is that of plugin/version.h and the commit. Without it, HEAD must have the tag vVERSION,
#                     and VERSION no -dev
#   --skip=NAME       what is left out, of the names below; test_NAME leaves out the test of it
#   --output=DIR      the folder, which is emptied; default: build/release
#   --natives=...     platforms of the native libraries for Java; default: linux-x86_64,linux-aarch64
#   --rocksdbjni=...  versions of rocksdbjni that they are for; default: all that are known
#   --here            tests of packages install them on this machine. Otherwise they get a minimal Debian of their own, for
#                     which root is needed
#
#   source     the source archive, from which all else is made. Its test builds it, and a program with what it installs
#   deb        Debian packages for the distribution of this machine (scripts/debian_packages.sh)
#   jar        the JARs for rocksdbjni and Kafka Streams, with native libraries
#   crate      the Rust crate, with the sources that it compiles. Its test compiles RocksDB, which takes up to an hour
#   wheel      the Python package
#   container  an image with the command protean and the demo (scripts/container/Dockerfile), by docker or podman
#
# Prints what was made, and what was not and why. Ends with 0 if all was made and passed its test, but for what --skip names.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

readonly names=(source deb jar crate wheel container)
dry_run=0 skip=() output=$project/build/release natives=(linux-x86_64 linux-aarch64) rocksdbjni=() here=0
parse_options --dry_run --skip=NAME,... --output=DIR --natives=PLATFORM,... --rocksdbjni=VERSION,... --here -- "$@"
for name in "${skip[@]}"; do
  [[ " ${names[*]} ${names[*]/#/test_} " = *" $name "* ]] || die "--skip=$name is not allowed; allowed: ${names[*]} ${names[*]/#/test_}"
done
output=$(realpath -m "$output")
cd "$project"

version=$(sed -n 's/^#define PROTEAN_VERSION "\(.*\)"/\1/p' plugin/version.h)
release=$version
if [ $dry_run = 1 ]; then
  release=$version+$(git rev-parse --short=10 HEAD)
elif [[ $version = *-* ]] || [ "$(git tag --points-at HEAD --list "v$version")" = "" ]; then
  die "this is no release: the version is $version, and HEAD has to have the tag v${version%-dev}; --dry_run makes what it would have"
fi
[ -z "$(git status --porcelain --untracked-files=no)" ] || say "changes that are not committed are left out"

[ ! -e "$output" ] || [ -d "$output/work" ] || [ -z "$(ls -A "$output")" ] || die "$output has something else in it"
rm -rf "$output"
mkdir -p "$output"
readonly tree=$output/work/protean-$release logs=$output/work
mkdir -p "$tree"

# The tree has the version with the commit wherever it names the version. Its files are new, so that no build from an earlier
# tree is taken for theirs.
git archive HEAD | tar -x --touch -C "$tree"
grep -rlF "$version" "$tree"/{README.md,plugin,docs} | xargs sed -i "s/${version//./\\.}/$release/g"

# ---- What is made. Each function runs in a subshell, in the tree; what it says last is the reason if it fails. ----

make_source() {
  tar --sort=name --mtime="@$(git -C "$project" log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner -cf - \
    -C "$logs" "protean-$release" | gzip -9n >"$output/protean-$release.tar.gz"
  rm -rf "$tree"
  tar -xf "$output/protean-$release.tar.gz" --touch -C "$logs"
}

make_deb() {
  command -v dpkg-deb >/dev/null || die "there is no dpkg here: packages are made on Debian and Ubuntu"
  scripts/debian_packages.sh
  cp build/packages/*.deb "$output/"
}

make_jar() {
  for tool in mvn javac; do command -v $tool >/dev/null || die "there is no $tool (Debian: apt install maven default-jdk-headless)"; done
  plugin/java/build_native.sh "${natives[@]/#/--platform=}" "${rocksdbjni[@]}"
  mvn -B -q -f plugin/java -DskipTests package
  cp plugin/java/*/target/protean-*-"$release".jar "$output/"
}

make_crate() {
  for tool in cargo rustc; do command -v $tool >/dev/null || die "there is no $tool"; done
  mkdir plugin/rust/protean
  cp -r --parents LICENSE protean.mk plugin/*.cc plugin/*.h table filter_policy plugin/rust/protean/
  (cd plugin/rust && cargo package --no-verify --allow-dirty --target-dir="$logs/cargo")
  cp "$logs/cargo/package/protean-rocksdb-$release.crate" "$output/"
}

make_wheel() {
  install_optional python3-venv
  python3 -m venv "$logs/venv"
  "$logs/venv/bin/pip" wheel --no-deps --wheel-dir="$output" plugin/python
}

# Prints the program that builds images, if one works here.
container_engine() {
  for engine in docker podman; do
    ! $engine info >/dev/null 2>&1 || { echo $engine; return; }
  done
}
make_container() {
  local engine tag=protean:${release/+/-}
  engine=$(container_engine)
  [ -n "$engine" ] || die "neither docker nor podman works here"
  [ -f "$output/protean-$release.tar.gz" ] || die "the container is made from the source archive, which --skip leaves out"
  mkdir "$logs/container"
  tar -xf "$output/protean-$release.tar.gz" -C "$logs/container"
  $engine build -t "$tag" -f scripts/container/Dockerfile "$logs/container/protean-$release"
  $engine save "$tag" | gzip -n >"$output/protean-$release-container.tar.gz"
}

# ---- Tests of it ----

# What the archive builds is installed in a folder of its own, where a program finds it.
test_source() {
  scripts/setup.sh --targets=protean,protean_shared,protean_loader,protean_sets,protean_tool,manual
  scripts/provision_rocksdb.sh >"$logs/rocksdb"
  tests/shared/install_test.sh build "$(sed -n 1p "$logs/rocksdb")/include" "$(realpath "$(sed -n 2p "$logs/rocksdb")"/librocksdb.*)" \
    | grep -F "protean $release for RocksDB"
}

test_deb() {
  if [ $here = 1 ]; then
    tests/shared/packages_test.sh "$output"
  else
    [ "$(id -u)" = 0 ] || die "a minimal Debian to install the packages in takes root; or say --here"
    "$project/scripts/clean_room.sh" "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" install --packages="$output"
  fi
}

# The example, with each version of rocksdbjni that the JAR has libraries for.
test_jar() {
  local jar=$output/protean-rocksjava-$release.jar jni of
  for jni in $(jar tf "$jar" | sed -nE 's,protean/native/linux-x86_64/libprotean-jni-([0-9.]+[0-9]).*,\1,p'); do
    of=org.rocksdb:rocksdbjni:$jni
    mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy "-Dartifact=$of" "-DoutputDirectory=$logs/jni"
    java -cp "$logs/jni/rocksdbjni-$jni.jar:$jar" docs/examples/java/Sensors.java "$logs/jni/db-$jni" | grep '^21600 readings; 720 '
  done
}

# The crate's example, in a folder of its own.
test_crate() {
  [ -n "${LIBCLANG_PATH:-}" ] || grep -qE 'libclang(-[0-9]+)?\.so' <<<"$(ldconfig -p)" ||
    die "there is no libclang, which librocksdb-sys needs (Debian: apt install libclang-dev)"
  mkdir "$logs/crate"
  tar -xf "$output/protean-rocksdb-$release.crate" -C "$logs/crate"
  cd "$logs/crate/protean-rocksdb-$release"
  CARGO_TARGET_DIR=$logs/cargo cargo run --example sensors -- "$logs/crate/db" | grep '^21600 readings'
}

# The example, in an environment that has nothing but the wheel, with the RocksDB and the library that the source archive builds.
test_wheel() {
  local rocksdb
  scripts/setup.sh --targets=protean_shared
  rocksdb=$(scripts/provision_rocksdb.sh | tail -n 1)
  if [ -e "$rocksdb/librocksdb.so" ]; then
    rocksdb=$(realpath "$rocksdb/librocksdb.so")
  else
    c++ -shared -o "$logs/librocksdb.so.9.10" -Wl,--whole-archive "$rocksdb/librocksdb.a" -Wl,--no-whole-archive \
      -lgflags -lsnappy -llz4 -lzstd -lbz2 -lz -lpthread -ldl
    rocksdb=$logs/librocksdb.so.9.10
  fi
  python3 -m venv "$logs/user"
  "$logs/user/bin/pip" install --no-index "$output"/protean_rocksdb-*.whl
  cd "$logs"
  user/bin/python "$tree/docs/examples/python/filters.py" "$logs/python_db" "$rocksdb" "$(realpath "$tree"/build/libprotean-rocksdb-*.so.1)" |
    tee /dev/stderr | grep '^21600 readings'
}

test_container() {
  local tag=protean:${release/+/-}
  "$(container_engine)" run --rm "$tag" --version | grep -F "protean $release for RocksDB"
  "$(container_engine)" run --rm --entrypoint scripts/demo.sh "$tag" --num=20000 --queries=1000
}

# ---- All of them ----

report=()
tell() { report+=("$(printf '%-8s %-10s %s' "$1" "$2" "$3")"); }
is_skipped() { [[ " ${skip[*]} " = *" $1 "* ]]; }
# Runs the function $1, whose output is its log; $code is its exit code. A function that is a condition would go on after a
# command that fails.
run() {
  code=0
  say "$1 (log: $logs/$1.log)"
  (cd "$tree"; $1) >"$logs/$1.log" 2>&1 &
  wait $! || code=$?
}
why() { echo "$(tail -n 1 "$logs/$1.log") (log: $logs/$1.log)"; }

for name in "${names[@]}"; do
  is_skipped "$name" && { tell skipped "$name" "as --skip says"; continue; }
  run "make_$name"
  [ $code = 0 ] || { tell "NOT MADE" "$name" "$(why "make_$name")"; continue; }
  is_skipped "test_$name" && { tell made "$name" "NOT tested, as --skip says"; continue; }
  run "test_$name"
  [ $code = 0 ] || { tell FAILED "$name" "$(why "test_$name")"; continue; }
  tell made "$name" "and tested"
done
failures=$(printf '%s\n' "${report[@]}" | grep -cE '^(NOT MADE|FAILED)' || true)

# ---- What describes it ----

(
  cd "$output"
  {
    echo "Protean $release, from commit $(git -C "$project" rev-parse HEAD)"
    echo "made on $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), $(uname -m), with $(${CXX:-c++} --version | head -n 1)"
    printf '%s\n' "" "${report[@]}" ""
    find . -maxdepth 1 -type f ! -name MANIFEST -printf '%f  %s bytes\n' | sort
    for jar in protean-rocksjava-*.jar; do
      [ ! -f "$jar" ] || { echo "$jar has"; jar tf "$jar" | sed -nE 's,^protean/native/(.*\.so.*),  \1,p' | sort; }
    done
  } >MANIFEST
  find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS
  sha256sum --quiet --check SHA256SUMS
)
cat "$output/MANIFEST"
[ "$failures" = 0 ] || die "$failures of ${#names[@]} were not made, or fail their tests; --skip says what is not wanted"
say "all of it is in $output"
