#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests scripts/check_comments.py on a file of each language, and checks the comments and names of the tree with it.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options -- "$@"
cd "$project"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# $1: the name of the case; $2: what was expected; $3: what came.
expect() {
  [ "$2" = "$3" ] || { failures=$((failures + 1)); printf '%s: expected\n%s\nbut got\n%s\n' "$1" "$2" "$3"; }
}

# ---- The checker ----

cat >"$work/words.h" <<'END'
// SPDX-License-Identifier: MIT
// That of a block, so
// many times.
//
// So many times that it counts. It may go on: only the first words of a block open it.
int a = 1'000;  // By its end, nobody
                // knows.
/// "Those" in quotes.
const char* b = "// It is a string";  // Item
const char* c = R"x(
// It is a raw string
)x";  // The samekind
/* Of
 * old. */
int kMostThings = kLeastThings + kMostly + patience_;
END
cat >"$work/words.rs" <<'END'
//! It documents.
fn f<'a>(x: &'a str) -> char { '"' } // The same.
END
cat >"$work/words.py" <<'END'
"""It documents."""
A = "# It is a string"  # As many.
PATIENCE = 1
END
cat >"$work/words.sh" <<'END'
#!/bin/sh
# Whoever reads.
echo "a # It is a string" ${#x} # Of one.
# They are everybody's.
true # As before; asked. Its end.
echo # Its end.
END
expect "the faults" "words.h:2 opening That
words.h:2 count so many
words.h:6 opening By
words.h:6 person nobody
words.h:8 opening Those
words.h:13 opening Of
words.h:15 limit kMostThings
words.h:15 limit kLeastThings
words.h:15 backoff patience_
words.py:1 opening It
words.py:2 opening As
words.py:3 backoff PATIENCE
words.rs:1 opening It
words.rs:2 opening The same
words.sh:2 person Whoever
words.sh:3 opening Of
words.sh:4 opening They
words.sh:4 person everybody
words.sh:5 opening As
words.sh:6 opening Its" \
  "$({ python3 scripts/check_comments.py --root "$work" 2>/dev/null || true; } |
    sed -E "s/^([^:]*:[0-9]*): ([a-z]*): '([^']*)'.*/\1 \2 \3/")"
expect "the counts" "opening 12 person 3 count 1 limit 2 backoff 2" \
  "$({ python3 scripts/check_comments.py --root "$work" --count 2>/dev/null || true; } | xargs)"

# ---- The tree ----

expect "the tree" "" "$(python3 scripts/check_comments.py 2>/dev/null || true)"

[ $failures = 0 ] || exit 1
echo passed
