# SPDX-License-Identifier: Apache-2.0
# Runs the compiler command of its arguments so that the compiler checks the source and makes an empty object. Precompiled
# headers are made in full. cmake/syntax_only.cmake puts this script before each command.
set -e
object=
previous=
for argument; do
  [ "$previous" != -o ] || object=$argument
  previous=$argument
done
case $object in
  *.gch | *.pch) exec "$@" ;;
esac
"$@" -fsyntax-only
: >"$object"
