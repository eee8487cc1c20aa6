#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the checkers that scripts/lint.sh runs: check_comments.py on a file of each language, check_pages.py on a page with all
# kinds of faults.
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

# Runs the checker $1 on what is in $work, and prints the place, the rule and the words of each fault.
faults() {
  { python3 "scripts/check_$1.py" --root "$work/$1" 2>/dev/null || true; } |
    sed -E "s/^([^:]*:[0-9]*): ([a-z]*): '([^']*)'.*/\1 \2 \3/"
}
counts() { { python3 "scripts/check_$1.py" --root "$work/$1" --count 2>/dev/null || true; } | xargs; }
mkdir "$work/comments" "$work/pages"

# ---- Comments ----

cat >"$work/comments/words.h" <<'END'
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
cat >"$work/comments/words.rs" <<'END'
//! It documents.
fn f<'a>(x: &'a str) -> char { '"' } // The same.
END
cat >"$work/comments/words.py" <<'END'
"""It documents."""
A = "# It is a string"  # As many.
PATIENCE = 1
END
cat >"$work/comments/words.sh" <<'END'
#!/bin/sh
# Whoever reads.
echo "a # It is a string" ${#x} # Of one.
# They are everybody's.
true # As before; asked. Its end.
echo # Its end.
END
expect "faults in comments" "words.h:2 opening That
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
words.sh:6 opening Its" "$(faults comments)"
expect "counts of faults in comments" "opening 12 person 3 count 1 limit 2 backoff 2" "$(counts comments)"

# ---- Pages ----

cat >"$work/pages/page.md" <<'END'
# A page: its `heading`, and more

See [the heading](#a-page-its-heading-and-more), [no heading](#nothing), [no file](nothing.md#a), [outside](../) and
[elsewhere](https://example.org/#nothing), and [the other page](other.md#b).

    Nobody reads code, whatever its colour.

- An item that nobody
  reads, and a neighbour; `whoever` is code.

      Somebody's code in an item.

1. Take 1, 2, 3, 4.0, 5, 6 and 7 figures. Now 1, 2, 3, 4, 5 and 6.

| a table | of 1, 2, 3, 4, 5, 6, 7 and 8 | behaviours |
|---|---|---|

```
anybody
```

One two three four five six seven eight nine ten one two three four five six seven eight nine ten one two three four five six
seven eight nine ten one two three four five six seven.
END
printf '## B\n' >"$work/pages/other.md"
mkdir -p "$work/pages/docs/results" "$work/pages/docs/internals"
printf '# A\n\n| [one.md](one.md) | 1 |\n|---|---|\n\n| lost |\n' \
  >"$work/pages/docs/README.md"
printf '# Results\n\n| page | words |\n|---|---|\n| [two.md](two.md) | in its folder | 700 |\n' >"$work/pages/docs/results/README.md"
for page in one results/two internals/three; do
  printf 'One two. %.0s' {1..200} >"$work/pages/docs/$page.md"
done
expect "faults in pages" "docs/README.md:1 index one.md has 400 words
docs/README.md:1 index internals/three.md is not listed
docs/README.md:6 table | lost |
docs/results/README.md:1 index two.md has 400 words
page.md:3 link #nothing
page.md:3 link nothing.md#a
page.md:3 link ../
page.md:8 person nobody
page.md:8 spelling neighbour
page.md:13 figures Take 1, 2, 3, 4.0, 5, 6 and ...
page.md:22 length One two three four five six seven eight ..." "$(faults pages)"
expect "counts of faults in pages" "link 3 person 1 spelling 1 length 1 figures 1 table 1 index 3" "$(counts pages)"

[ $failures = 0 ] || exit 1
echo passed
