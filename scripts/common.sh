# What all scripts share; each sources it first. Strict mode, and no end without a reason: a command that fails, be it in a
# function, a pipe or a substitution, is shown with its line.
#
#   say TEXT...  tells the user something, on stderr
#   die TEXT...  says why the script cannot go on, and ends it
set -Eeuo pipefail

script=$(basename "$0" .sh)
# The exit code of a script or subshell that has said why it ends: whoever called it adds nothing.
readonly reason_given=93

say() { echo "$script: $*" >&2; }
die() { say "$*"; exit $reason_given; }

started_in=$PWD

# $1: the exit code; $2: the file; $3: the line.
failed() {
  local code=$1 file=$2 line=$3
  [ "$code" = $reason_given ] ||
    say "$(basename "$file"):$line: ended with code $code: $(cd "$started_in" && sed -n "${line}s/^ *//p" "$file")"
  exit $reason_given
}
trap 'failed $? "${BASH_SOURCE[0]}" $LINENO' ERR

# The folder that keeps RocksDB from one checkout to the next.
cache_folder() {
  local cache=${PROTEAN_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or PROTEAN_CACHE}/.cache}/protean}
  mkdir -p "$cache" || die "cannot create the cache folder $cache; choose another with PROTEAN_CACHE"
  echo "$cache"
}

# The version of the RocksDB source tree $1, such as 9.10.0.
rocksdb_version() {
  awk '/^#define ROCKSDB_(MAJOR|MINOR|PATCH) / { v = v s $3; s = "." } END { print v }' "$1/include/rocksdb/version.h"
}

# Renames the finished folder $1 to $2, unless another run has been faster.
settle() {
  mv -T "$1" "$2" 2>/dev/null || { [ -d "$2" ] && rm -rf "${1:?}"; }
}

# Takes the lock file $1, waiting for whoever has it, until the script ends. $2 says what is waited for.
lock() {
  exec 9>"$1"
  flock -n 9 || { say "waiting for $2"; flock 9; }
}

# Runs a command as root, with sudo if need be. $1 says what for.
as_root() {
  local purpose=$1
  shift
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null || die "root or sudo is needed $purpose"
    sudo "$@"
  fi
}

# Passes on what of a build's output tells how far it is: errors, and every 20 seconds the step, with the time that is left.
# Reads the output of ninja or make. $1 says what is being built.
show_progress() {
  local what=$1 start=$SECONDS shown=$SECONDS line done all left
  while read -r line; do
    case $line in *error:* | *Error*) echo "$line" >&2 ;; esac
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
      done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    elif [[ $line =~ ^\[\ *([0-9]+)%\] ]]; then
      done=${BASH_REMATCH[1]} all=100
    else
      continue
    fi
    [ "$done" -gt 0 ] && [ $((SECONDS - shown)) -ge 20 ] || continue
    shown=$SECONDS
    left=$(((SECONDS - start) * (all - done) / done + 1))
    say "$what: $done of $all steps, about $((left / 60)) min $((left % 60)) s left"
  done
  return 0
}
