#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests scripts/check_pages.py on a page with all kinds of faults, and checks the pages of the tree with it.
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

cat >"$work/page.md" <<'END'
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
printf '## B\n' >"$work/other.md"
expect "faults" "page.md:3 link #nothing
page.md:3 link nothing.md#a
page.md:3 link ../
page.md:8 person nobody
page.md:8 spelling neighbour
page.md:13 figures Take 1, 2, 3, 4.0, 5, 6 and ...
page.md:22 length One two three four five six seven eight ..." \
  "$({ python3 scripts/check_pages.py --root "$work" 2>/dev/null || true; } |
    sed -E "s/^([^:]*:[0-9]*): ([a-z]*): '([^']*)'.*/\1 \2 \3/")"
expect "the counts" "link 3 person 1 spelling 1 length 1 figures 1" \
  "$({ python3 scripts/check_pages.py --root "$work" --count 2>/dev/null || true; } | xargs)"

# ---- The tree ----

expect "the tree" "" "$(python3 scripts/check_pages.py 2>/dev/null || true)"
expect "the page of all options" "" "$(scripts/options_page.py --check 2>&1 || true)"

[ $failures = 0 ] || exit 1
echo passed
