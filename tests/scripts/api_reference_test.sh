#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that the public headers document all that they declare, and that doxygen warns of nothing. Skipped without doxygen.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options -- "$@"
cd "$project"

command -v doxygen >/dev/null || { echo "skipped: there is no doxygen"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

scripts/api_reference.sh --output="$work" >"$work/log" 2>&1 || { cat "$work/log"; die "the reference is not complete"; }
for name in GetFilterStatistics RefreshFilters ApproximateCount SearchBoundsScope NewProteanTableFactory register_protean; do
  grep -rq "$name" "$work/html" || die "the reference does not have $name"
done
# What the reference tells applications to include.
shown=$(grep -rhoE '#include [^ ]*filter_statistics\.h&quot;' "$work/html" | sort -u)
[ "$shown" = '#include &quot;rocksdb/plugin/protean/filter_statistics.h&quot;' ] || die "wrong include path: $shown"

# What is not documented is found.
mkdir "$work/plugin"
printf '//  A header.\n\n// A struct.\nstruct S {\n  int documented;  // with this\n  int undocumented;\n};\n' >"$work/plugin/s.h"
if PROTEAN_VERSION=1 PROTEAN_INCLUDE=$work/plugin PROTEAN_API=$work doxygen docs/api/Doxyfile >"$work/log" 2>&1 ||
  ! grep -q 'Member undocumented .* is not documented' "$work/log" || grep -q 'Member documented' "$work/log"; then
  cat "$work/log"
  die "doxygen does not say what is not documented"
fi
echo passed
