#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that nothing of Protean is destroyed when a process exits. RocksDB's threads build tables and read filters until the
# process is gone, and exit() does not wait for them: what has a destructor would be used after it. Objects with static
# lifetime are constexpr, or made with `new` and kept for ever.
#
#   at_exit_test.sh LIBRARY...
#
# An object of a thread is destroyed as the thread ends, and no other thread uses it: those are allowed.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options LIBRARY... -- "$@"
[ ${#arguments[@]} -gt 0 ] || die "no library is given"

nm=$("${CXX:-c++}" -print-prog-name=nm)
found=0
for library in "${arguments[@]}"; do
  dynamic=()
  [[ $library = *.a ]] || dynamic=(-D)
  symbols=$("$nm" -A -u ${dynamic[@]+"${dynamic[@]}"} "$library") || die "the symbols of $library cannot be listed"
  # Every C++ library needs this one: without it, what was listed is nothing.
  grep -q ' U _Znwm' <<<"$symbols" || die "$library does not look like a library in C++"
  if grep -E ' U (__cxa_atexit|atexit)(@|$)' <<<"$symbols"; then found=1; fi
done
[ $found = 0 ] || die "something in these files is destroyed at exit; objdump -dr FILE | grep -B 8 __cxa_atexit shows what"
echo passed
