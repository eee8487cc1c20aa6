#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes all figures of the papers at a tiny scale: every command of a figure must work, every picture of a page must be there,
# and the filters must be as large as testdata/paper_sizes.txt says, within 2 %. When sizes change on purpose,
# PROTEAN_REWRITE=1 in the environment writes them anew.
#
#   tests/scripts/paper_figures_test.sh BUILD_FOLDER
#
# Ends with code 77, which says that it was left out, where matplotlib or valgrind is missing.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD_FOLDER -- "$@"
build=$(realpath "${arguments[0]}")
cd "$project"
if ! /usr/bin/python3 -c "import matplotlib" 2>/dev/null || ! command -v valgrind >/dev/null; then
  say "left out: python3-matplotlib or valgrind is missing"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work

printf '# Results\n\n<!-- headlines -->\n<!-- end of headlines -->\n' >"$work/README.md"
scripts/paper_figures.sh --scale=tiny --build-dir="$build" --out="$work" --sizes="$work/sizes" >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log" >&2; die "a figure cannot be made"; }
grep -ohE '\]\(paper_[a-z0-9_]+\.svg\)' "$work"/paper_*.md | tr -d '](),' | while read -r picture; do
  [ -s "$work/$picture" ] || die "$picture is missing"
done
[ "$(grep -c '^| \[' "$work/README.md")" -ge 15 ] || die "there are too few headlines"

expected=tests/scripts/testdata/paper_sizes.txt
if [ "${PROTEAN_REWRITE:-}" ]; then cp "$work/sizes" "$expected"; fi
python3 - "$expected" "$work/sizes" <<'END'
import sys

expected, found = (dict(line.rsplit(" ", 1) for line in open(path, encoding="utf-8")) for path in sys.argv[1:])
faults = [f"{key}: {'expected' if key in expected else 'new'}" for key in sorted(expected.keys() ^ found.keys())]
faults += [f"{key}: {float(expected[key])} bits per key expected, {float(found[key])} found"
           for key in expected.keys() & found.keys() if abs(float(found[key]) / float(expected[key]) - 1) > 0.02]
if faults:
    sys.exit("\n".join(faults) + "\nPROTEAN_REWRITE=1 writes the sizes anew")
END
