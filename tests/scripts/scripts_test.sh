#!/usr/bin/env bash
# Tests what the scripts share: how apt's sources are read, on fixtures, and that no script ends without a reason; and that
# the links of the pages lead somewhere.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. scripts/common.sh
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
for path in scripts/*.sh plugin/java/*.sh tests/java/*.sh .ci/run; do
  case $path in scripts/common.sh | scripts/apt_sources.sh | scripts/packages.sh | scripts/rocksdb_crates.sh | scripts/injected_tree.sh | scripts/tested_build.sh) continue ;; esac
  expect "$path sources common.sh" yes "$(grep -q '^\. .*/common\.sh"$' "$path" && echo yes || echo no)"
done

# ---- Progress ----

expect "a build's errors are shown" "a.cc:1: error: no" \
  "$(printf '[1/2] Building\na.cc:1: error: no\n[2/2] Linking\n' | show_progress build 2>&1)"

echo "$passed passed, $failures failed"
[ $failures = 0 ] || exit 1
