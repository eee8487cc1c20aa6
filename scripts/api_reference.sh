#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the reference of Protean's API from its public headers, with doxygen. Fails if anything in them is not documented.
#
#   scripts/api_reference.sh [--output=DIR]
#
#   --output   the folder of the pages; default: build/api, whose first page is html/index.html
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

output=$project/build/api
parse_options --output=DIR -- "$@"
output=$(realpath -m "$output")
cd "$project"
command -v doxygen >/dev/null || die "doxygen is missing (Debian: apt install doxygen)"

mkdir -p "$output"
# The reference shows the path by which an application includes a header: rocksdb/plugin/protean/NAME.h.
include=$(mktemp -d)
trap 'rm -rf "$include"' EXIT
mkdir -p "$include/rocksdb/plugin/protean"
read -r -a headers <<<"$(sed -n 's/^protean_PUBLIC_HEADERS = //p' protean.mk)"
cp "${headers[@]}" "$include/rocksdb/plugin/protean"
PROTEAN_VERSION=$(sed -n 's/^#define PROTEAN_VERSION "\(.*\)"/\1/p' plugin/version.h) PROTEAN_INCLUDE=$include \
  PROTEAN_API=$output doxygen docs/api/Doxyfile
say "$output/html/index.html"
