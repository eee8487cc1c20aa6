#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that nothing of Protean is destroyed when a process exits. RocksDB's threads build tables and read filters until the
# process is gone, and exit() does not wait for them: what has a destructor would be used after it. Objects with static
# lifetime are constexpr, or made with `new` and kept for ever.
#
#   at_exit_test.sh ARCHIVE
#
# RocksDB's headers have objects that are destroyed; those are allowed. So are objects of a thread, which are destroyed as the
# thread ends, and which no other thread uses. Ends with code 77, which says that it was left out, on other CPUs than x86-64.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options ARCHIVE -- "$@"
[ $# = 1 ] || die "one archive is wanted"

objdump=$("${CXX:-c++}" -print-prog-name=objdump)
case $("${CXX:-c++}" -dumpmachine) in
  x86_64-*) ;;
  *)
    say "left out: it knows the code of x86-64 only"
    exit 77
    ;;
esac

objects=$("$(dirname "$0")/at_exit_test.py" "$objdump" "$1") || die "the code in $1 cannot be listed"
# Without any, the code has not been understood.
[ -n "$objects" ] || die "no object in $1 is destroyed, not even those of RocksDB's headers"
if own=$(grep -E ': (.*7protean|\.|$)' <<<"$objects"); then
  "${objdump%objdump}c++filt" <<<"$own"
  die "these objects are destroyed while the process exits"
fi
echo passed
