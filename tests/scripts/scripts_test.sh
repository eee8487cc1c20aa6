#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests what the scripts share: how apt's sources are read, on fixtures, and fetched from, that no script ends without a
# reason, how options are parsed, that every script of the tree answers --help, what is installed, how a build's output is
# shown, the demo's picture, and rooms.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options -- "$@"
cd "$project"
. scripts/apt_sources.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failures=0

# $1: the name of the case; $2: what was expected; $3: what came.
expect() {
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
  else
    failures=$((failures + 1))
    printf '%s: expected\n%s\nbut got\n%s\n' "$1" "$2" "$3"
  fi
}

# ---- Package sources ----

for folder in tests/scripts/apt/*/; do
  expect "$folder" "$(cat "$folder/expected")" "$(apt_sources "$folder")"
done
expect "no folder" "" "$(apt_sources "$work/nowhere")"

# Fetches from two mirrors, of which $1 alone has the package, and prints what apt was asked for.
fetch_from() (
  having=$1
  apt_sources() { printf '%s\n' one/ two/; }
  apt-get() {
    local source
    source=$(sed 's/ \[.*\]//' "$work/apt/sources.list")
    [[ " $* " = *" -o APT::Architecture=arm64 "* ]] || echo "not for arm64"
    echo "$source: ${*: -2}"
    [[ $source = *" $having "* ]]
  }
  rm -rf "$work/apt"
  fetch_from_mirrors "$work/apt" deb suite arm64 download package || echo "not fetched"
  sed 's/: .* update$/: update/' "$work/apt/log"
)
expect "the second mirror has it" "from one/:
deb one/ suite main: update
from two/:
deb two/ suite main: update
deb two/ suite main: download package" "$(fetch_from two/)"
expect "no mirror has it" "not fetched
from one/:
deb one/ suite main: update
from two/:
deb two/ suite main: update" "$(fetch_from three/)"

# ---- Reasons ----

# $1: the name of the case; $2: what the script must say; the script comes on stdin, after it has sourced common.sh.
expect_reason() {
  local path=$work/script.sh code=0
  { echo ". $PWD/scripts/common.sh"; cat; } >"$path"
  bash "$path" >"$work/out" 2>&1 || code=$?
  expect "$1" "$2" "$(sed "s,$work/,," "$work/out")"
  expect "$1: exit code" 93 "$code"
}

expect_reason "a command" "script: script.sh:2: ended with code 1: false" <<<'false'
expect_reason "a pipe" 'script: script.sh:2: ended with code 4: (exit 4) | cat' <<<'(exit 4) | cat'
expect_reason "a glob that matches nothing" \
  'script: script.sh:2: ended with code 2: lists=$(ls /nowhere/*.list 2>/dev/null | cat)' <<'END'
lists=$(ls /nowhere/*.list 2>/dev/null | cat)
echo "not reached"
END
expect_reason "a function" 'script: script.sh:5: ended with code 7: fail one' <<'END'
fail() {
  return 7
}
fail one
echo "not reached"
END
expect_reason "a subshell that says why" 'script: no such thing' <<'END'
thing=$(die "no such thing")
echo "not reached"
END
expect_reason "a script that says why" "script: inner" <<'END'
bash -c 'echo "script: inner" >&2; exit 93'
echo "not reached"
END
# The scripts of the tree that are run as programs; those that are not executable are sourced by others, or run by
# scripts/check.sh or python3.
mapfile -t programs < <(find . \( -path './build*' -o -path './.git' -o -name target \) -prune -o -type f -perm -u+x \
  \( -name '*.sh' -o -name '*.py' -o -path './.ci/*' \) -printf '%P\n' | sort)
[ ${#programs[@]} -gt 25 ] || die "too few scripts are found"
for path in "${programs[@]}"; do
  # OSS-Fuzz copies its script out of the tree.
  case $path in *.py | tests/fuzz/oss_fuzz/*) continue ;; esac
  expect "$path sources common.sh" yes "$(grep -q '^\. .*/common\.sh"$' "$path" && echo yes || echo no)"
done

# ---- Options ----

cat >"$work/options.sh" <<END
#!/usr/bin/env bash
# Says what it was given.
#
#   options.sh [--help]
. "$PWD/scripts/common.sh"
number=7 word="" some=() many=() a_flag=0
parse_options --number=N '--zero=N|0' --word=WORD --some=WORD,... '--many=a|b...' --a-flag NAME... -- "\$@"
echo "\$number \$word [\${some[*]}] [\${many[*]}] \$a_flag [\${arguments[*]}]"
END
# $1: the name of the case; $2: the output; the others: arguments.
expect_options() {
  local name=$1 output=$2
  shift 2
  expect "$name" "$output" "$(bash "$work/options.sh" "$@" 2>&1 || true)"
}
readonly forms="--number=N --zero=N|0 --word=WORD --some=WORD,... --many=a|b... --a-flag NAME... --help"
expect_options "defaults" "7  [] [] 0 []"
expect_options "all kinds of options" "12 a b=c [x y] [b a] 1 [one two]" \
  --number=12 "--word=a b=c" one --some=x,y --many=b --zero=0 --many=a --a-flag two
expect_options "an unknown option" "options: unknown argument '--numbers=1'; known: $forms" --numbers=1
expect_options "a flag with a value" "options: unknown argument '--a-flag=1'; known: $forms" --a-flag=1
expect_options "no number" "options: --number=0 is not allowed; allowed: a whole number from 1 on" --number=0
expect_options "no number either" "options: --zero=-1 is not allowed; allowed: a whole number from 0 on" --zero=-1
expect_options "no such word" "options: --many=c is not allowed; allowed: a|b" --many=c
expect_options "two words" "options: --many=a|b is not allowed; allowed: a|b" "--many=a|b"
expect_options "an empty list" "options: --some names nothing; allowed: WORD,..." --some=
expect_options "help" "$(printf '%s\n' 'Says what it was given.' '' '  options.sh [--help]')" --number=3 --help

# Every program answers --help at once and does nothing else: it starts no other program but those that read
# its own text, and writes no file.
mkdir "$work/bin" "$work/home" "$work/tmp"
for tool in bash basename cat dirname env nproc realpath sed; do
  ln -s "$(command -v $tool)" "$work/bin/$tool"
done
# The program itself, where python3 is a script that finds it.
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$work/bin/python3"
# $1: what is asked; the others: the command.
expect_help() {
  local name=$1 code=0
  shift
  env -i PATH="$work/bin" HOME="$work/home" TMPDIR="$work/tmp" PYTHONDONTWRITEBYTECODE=1 "$@" --help \
    >"$work/out" 2>"$work/err" || code=$?
  expect "$name --help: exit code" 0 $code
  expect "$name --help: errors" "" "$(cat "$work/err")"
  expect "$name --help: output" yes "$([ -s "$work/out" ] && ! grep -q SPDX "$work/out" && echo yes || echo no)"
  expect "$name --help: files" "" "$(find "$work/home" "$work/tmp" -mindepth 1)"
}
for path in "${programs[@]}"; do expect_help "$path" "./$path"; done
for path in scripts/*.py scripts/check/*.py; do
  grep -q '__main__' "$path" && expect_help "$path" python3 "$path"
done
modes=$(scripts/check.sh --help)
for path in scripts/check/*.sh; do
  mode=$(basename "$path" .sh)
  case $mode in tested_build | injected_tree) continue ;; esac
  expect_help "check.sh $mode" scripts/check.sh "$mode"
  expect "check.sh $mode --help: modes" yes "$(grep -q "check.sh $mode" "$work/out" && echo yes || echo no)"
  expect "check.sh --help: $mode" yes "$(grep -q "check.sh $mode " <<<"$modes" && echo yes || echo no)"
done

# ---- Words that are no arguments ----

# $1: what the script must say; the others: the command, which must end before it starts any other program.
expect_refused() {
  local reason=$1 code=0
  shift
  env -i PATH="$work/bin" HOME="$work/home" TMPDIR="$work/tmp" "$@" >"$work/out" 2>&1 || code=$?
  expect "$*" "$reason" "$(cat "$work/out")"
  expect "$*: exit code" 93 "$code"
}
expect_refused "test: unknown argument '--nonsense'; --help lists those that ctest gets" ./scripts/test.sh --nonsense
expect_refused "test: unknown argument 'surf'; --help lists those that ctest gets" ./scripts/test.sh -R surf surf
expect_refused "test: -R needs a value" ./scripts/test.sh -R

# ---- Packages ----

# What apt would install, from what it says when it is asked not to.
expect "needs of packages" "190 packages, 940 MB" "$(
  . scripts/packages.sh
  needs_of 'The following NEW packages will be installed:
  cmake cmake-data
3 upgraded, 187 newly installed, 0 to remove and 12 not upgraded.
Need to get 205 MB of archives.
After this operation, 940 MB of additional disk space will be used.')"
expect "needs of packages, not told" "" "$(. scripts/packages.sh && needs_of 'E: Unable to locate package')"

# What the scripts install on a Debian that has nothing: an apt that installs nothing tells.
mkdir "$work/debian"
printf '#!/bin/bash\nexit 1\n' >"$work/debian/dpkg-query"
printf '#!/bin/bash\necho 1000\n' >"$work/debian/id"
printf '#!/bin/bash\nexec env AS_ROOT=1 "$@"\n' >"$work/debian/sudo"
cat >"$work/debian/apt-get" <<END
#!/bin/bash
case " \$* " in
  *" --print-uris install "*)
    echo "0 upgraded, 93 newly installed, 0 to remove and 12 not upgraded."
    echo "After this operation, 394 MB of additional disk space will be used."
    exit 0
    ;;
esac
[ -n "\$AS_ROOT" ] || { echo "Unable to acquire the dpkg frontend lock, are you root?"; exit 100; }
case " \$* " in *" install "*) echo "\${@:5}" >>"$work/installed"; exit 100 ;; esac
END
chmod +x "$work/debian"/*
# $1: what is installed first; the others: the command.
expect_installed() {
  local packages=$1
  shift
  : >"$work/installed"
  PATH=$work/debian:$PATH "$@" >"$work/out" 2>&1 || true
  expect "$* installs" "$packages" "$(head -n 1 "$work/installed")"
  expect "$* says what it installs" 1 "$(grep -c ": installing $packages; with what they need: 93 packages, 394 MB\$" "$work/out" || true)"
}
build_packages=$(. scripts/packages.sh && echo "${build_packages[*]}")
expect "plots are not built with" no "$([[ $build_packages = *plot* ]] && echo yes || echo no)"
for command in setup demo test; do expect_installed "$build_packages" "scripts/$command.sh"; done
expect_installed "$build_packages" scripts/db_bench.sh
# A script that draws with matplotlib installs it, where it is missing, before it does anything else. -S hides what is there.
for path in $(grep -lE '^from figures import.*\bplt\b' scripts/*.py); do
  arguments=()
  case $path in *plot_db_bench.py) arguments=("$work") ;; esac
  expect_installed "$build_packages python3-matplotlib" python3 -S "$path" "${arguments[@]}"
  expect "$path ends" "the plots need matplotlib" "$(tail -n 1 "$work/out")"
done

# The folder of a cmake that is installed may be missing in PATH.
expect_reason "no cmake in PATH" "script: cmake is not in PATH, which is bin; add the folder that it is in, such as /usr/bin" <<END
. "$PWD/scripts/packages.sh"
PATH=$work/bin
check_cmake
END

# ---- Progress ----

expect "a build's errors are shown" "a.cc:1: error: no" \
  "$(printf '[1/2] Building\na.cc:1: error: no\n[2/2] Linking\n' | show_progress build 2>&1)"
# Errors of all programs that build, and other lines that have the word in them.
readonly errors="a file.cc:1:2: error: 'system_error' has not been declared
a.cc:1:10: fatal error: b.h: No such file or directory
cc1plus: error: unrecognized command-line option
collect2: error: ld returned 1 exit status
error: linker is missing
ninja: error: loading 'build.ninja': No such file or directory
make[1]: *** [Makefile:3: a.o] Error 1
gmake: *** [a.o] Error 2
CMake Error at CMakeLists.txt:3 (project):"
expect "all errors are shown" "$errors" "$(show_progress build <<<"$errors" 2>&1)"
expect "other lines are not shown" "" "$(show_progress build 2>&1 <<'LINES'
[1/9] Building CXX object ErrorHandler.cc.o
In file included from /usr/include/c++/12/system_error:41,
                 from util/Error.h:3:
/usr/include/c++/12/system_error:41:7: note: declared here
/usr/include/c++/12/bits/error:41: warning: 'class IOError' is large
a.cc:3:1: note: the message is 'b: error: c'
   41 | const char* kError = "b: error: c";
   42 |   case Error: goto error; error: return;
LINES
)"

# ---- The demo's picture ----

# Python alone draws it: -S hides what else is there.
for filter in none bloom:14 bloom:14+first_key surf:0:4 proteus:12 '<new>'; do
  for query in '"point", "empty_share": 1.0' '"open_seek", "empty_share": 0.0' '"closed_seek", "empty_share": 0.5' \
    '"closed_seek", "empty_share": 0.99'; do
    echo "{\"filter\": \"$filter\", \"query\": $query, \"block_reads_per_op\": 1.25}"
  done
done >"$work/all.jsonl"
# The texts of the picture of a report, each with how often it occurs.
texts_of() {
  python3 -S scripts/plot_timeseries.py "$1" "$work" 2>"$work/err" || cat "$work/err"
  python3 -c '
import sys, xml.etree.ElementTree as xml
texts = [node.text for node in xml.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}text")]
print("\n".join(f"{texts.count(text)} {text}" for text in dict.fromkeys(texts)))' "$work/timeseries.svg"
}
expect "the picture" "1 Data blocks read by a seek with an upper bound
1 Time series in three sorted runs of RocksDB; 99 % of the seeks find nothing. Lower is better.
1 no filter
5 1.25
1 Bloom filter
1 Bloom filter, index of first keys
1 SuRF
1 Proteus" "$(texts_of "$work/all.jsonl")"
grep '<new>' "$work/all.jsonl" >"$work/one.jsonl"
expect "a picture of another filter" "1 <new>" "$(texts_of "$work/one.jsonl" | grep new)"
: >"$work/empty.jsonl"
expect "a report without results" "$work/empty.jsonl holds no bounded seeks" \
  "$(python3 -S scripts/plot_timeseries.py "$work/empty.jsonl" "$work" 2>&1 || true)"

# ---- Rooms ----

# The terminal is read to the end when a process has ended in the room whose parent had ended before, whatever the user's
# shell is.
if [ "$(id -u)" = 0 ] && unshare --mount --pid --fork true 2>/dev/null; then
  expect "a terminal in a room" "a terminal, 100000 lines, exit code 7" "$(
    . scripts/rooms.sh
    code=0
    SHELL=/bin/sh enter_with_terminal / bash -c '
      [ -t 0 ] && [ -t 1 ] && echo a terminal
      (sleep .1 &)
      sleep .5
      seq 100000
      exit 7' >"$work/terminal" || code=$?
    echo "$(head -n 1 "$work/terminal" | tr -d '\r'), $(grep -c '^[0-9]' "$work/terminal") lines, exit code $code")"
else
  echo "rooms are not tested: root is needed, and namespaces"
fi

# ---- A release ----

if git rev-parse --verify --quiet HEAD >/dev/null; then
  release() { scripts/release.sh --dry_run --output="$work/release" "$@" >"$work/released" 2>"$work/err" || echo "exit code $?"; }
  expect "a part that there is not" "exit code 93
release: --skip=test_jars is not allowed; allowed: $(sed -n 's/^readonly names=(\(.*\))/\1/p' scripts/release.sh |
    awk '{ print; gsub(/[a-z]+/, "test_&"); print }' | paste -sd' ')" "$(release --skip=test_jars; cat "$work/err")"
  expect "the source archive alone" "" "$(release --skip=test_source,deb,jar,crate,wheel,container)"
  named=$(sed -n 's/^#define PROTEAN_VERSION "\(.*\)"/\1/p' plugin/version.h)+$(git rev-parse --short=10 HEAD)
  expect "its version" "$named" "$(tar -xOf "$work/release/protean-$named.tar.gz" "protean-$named/plugin/version.h" |
    sed -n 's/^#define PROTEAN_VERSION "\(.*\)"/\1/p')"
  expect "its sums" "" "$(cd "$work/release" && sha256sum --quiet --check SHA256SUMS 2>&1)"
  mkdir "$work/home_folder"
  touch "$work/home_folder/file"
  expect "a folder with something else" "exit code 93 file" \
    "$(release --skip=source --output="$work/home_folder" | paste -sd' ') $(ls "$work/home_folder")"
  expect "what cannot be made" "exit code 93 1" "$(release --skip=source,deb,crate,wheel,container --rocksdbjni=9.9.9 | paste -sd' ') $(
    grep -c '^NOT MADE jar ' "$work/release/MANIFEST")"
else
  echo "a release is not tested: there is no commit"
fi

echo "$passed passed, $failures failed"
[ $failures = 0 ] || exit 1
