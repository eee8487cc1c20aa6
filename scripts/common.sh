# SPDX-License-Identifier: Apache-2.0
# What all scripts share; each sources it first. Strict mode, and no end without a reason: a command that fails, be it in a
# function, a pipe or a substitution, is shown with its line.
#
#   say TEXT...   tells the user something, on stderr
#   die TEXT...   says why the script cannot go on, and ends it
#   parse_options FORM... -- ARGUMENT...   parses the script's arguments; --help prints the comment at its head
#
# $project is the folder of the project.
set -Eeuo pipefail

script=$(basename "$0" .sh)
project=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
# The exit code of a script or subshell that has said why it ends: its caller adds nothing.
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

# Parses arguments into variables. The option --a-name sets the variable a_name, whose default the script has set. The form
# of an option says what values it takes, and is shown in messages:
#
#   --a-name            sets the variable to 1
#   --a-name=N          a whole number from 1 on; N|0: from 0 on
#   --a-name=X|Y        one of these words
#   --a-name=X|Y...     the option may be repeated; the variable is an array
#   --a-name=WORD,...   values separated by commas, of which there is at least one; the variable is an array
#   --a-name=WORD       any value
#
# Two forms that are not options put arguments into the array `arguments`:
#
#   WORD...             arguments that do not begin with a dash
#   ARGUMENTS...        all arguments that are no option here: another program takes them
#
# After the forms comes --, and then the arguments.
parse_options() {
  local forms=() form argument parsed
  while [ "$1" != -- ]; do
    forms+=("$1")
    shift
  done
  shift
  arguments=()
  for argument in "$@"; do
    if [ "$argument" = --help ]; then
      (cd "$started_in" && print_head "${BASH_SOURCE[1]}")
      exit 0
    fi
    parsed=0
    for form in "${forms[@]}"; do
      case $form in
        --*=*)
          [[ $argument = "${form%%=*}="* ]] || continue
          parse_value "${form%%=*}" "${form#*=}" "${argument#*=}"
          ;;
        --*)
          [ "$argument" = "$form" ] || continue
          set_option "$form" 1
          ;;
        ARGUMENTS...) arguments+=("$argument") ;;
        *)
          [[ $argument != -* ]] || continue
          arguments+=("$argument")
          ;;
      esac
      parsed=1
      break
    done
    [ $parsed = 1 ] || die "unknown argument '$argument'; known: ${forms[*]:+${forms[*]} }--help"
  done
}

# $1: the option; $2: the form of its value; $3: the value.
parse_value() {
  local option=$1 form=$2 value=$3
  case $form in
    N) [[ $value =~ ^[1-9][0-9]*$ ]] || die "$option=$value is not allowed; allowed: a whole number from 1 on" ;;
    'N|0') [[ $value =~ ^[0-9]+$ ]] || die "$option=$value is not allowed; allowed: a whole number from 0 on" ;;
    *,...)
      local -n list="$(variable_of "$option")"
      IFS=, read -r -a list <<<"$value"
      [ ${#list[@]} -gt 0 ] || die "$option names nothing; allowed: $form"
      return
      ;;
    *\|*)
      [[ "|${form%...}|" = *"|$value|"* && $value != *\|* ]] || die "$option=$value is not allowed; allowed: ${form%...}" ;;
  esac
  if [[ $form = *... ]]; then
    local -n list="$(variable_of "$option")"
    list+=("$value")
  else
    set_option "$option" "$value"
  fi
}

# The variable of option $1.
variable_of() { local name=${1#--} && echo "${name//-/_}"; }
set_option() { declare -g "$(variable_of "$1")=$2"; }

# Prints the comment at the head of the script $1.
print_head() { sed -n '1{/^#!/d}; /^#/!q; /^# SPDX-/d; s/^# \{0,1\}//p' "$1"; }

# The folder that keeps RocksDB from one checkout to the next.
cache_folder() {
  local cache=${PROTEAN_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or PROTEAN_CACHE}/.cache}/protean}
  mkdir -p "$cache" || die "cannot create the cache folder $cache; choose another with PROTEAN_CACHE"
  echo "$cache"
}

# The number of compilers and tests that run at once.
job_count() { echo "${PROTEAN_JOBS:-$(nproc)}"; }

# A seed of $1 random bytes.
random_seed() { od -An -N"$1" -tu$(($1 > 4 ? 8 : 4)) /dev/urandom | tr -d ' '; }

# The version of the RocksDB source tree $1, such as 9.10.0.
rocksdb_version() {
  awk '/^#define ROCKSDB_(MAJOR|MINOR|PATCH) / { v = v s $3; s = "." } END { print v }' "$1/include/rocksdb/version.h"
}

# Ends the script if $1 is not a RocksDB source tree.
check_source_tree() { [ -f "$1/include/rocksdb/version.h" ] || die "$1 is not a RocksDB source tree"; }

# Renames the finished folder $1 to $2, unless another run has been faster.
settle() {
  mv -T "$1" "$2" 2>/dev/null || { [ -d "$2" ] && rm -rf "${1:?}"; }
}

# Takes the lock file $1 until the script ends, and waits while another process has it. $2 says what is waited for.
lock() {
  exec 9>"$1"
  flock -n 9 || { say "waiting for $2"; flock 9; }
}

# Writes a file to folder $1 and reads it past the page cache: false if the file system has no direct reads.
has_direct_reads() {
  local probe=$1/probe works=0
  { head -c 4096 /dev/zero >"$probe" && dd if="$probe" of=/dev/null bs=4096 iflag=direct; } 2>/dev/null || works=1
  rm -f "$probe"
  return $works
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

# True if the line $1 of a build's output is an error of a compiler, a linker, ninja, make or cmake. Names of files may contain
# the word, as system_error:41 does, and so may notes, warnings, and the lines of source, with a bar, that are shown with them.
is_error() {
  [[ $1 =~ ^([^|]*:\ )?(fatal\ )?error:\  && ! $1 =~ (note|warning):\ .*error:\  ]] ||
    [[ $1 =~ ^CMake\ Error || $1 =~ ^[a-z]*make.*\*\*\*.*\ Error\ [0-9]+ ]]
}

# Reads the output of ninja or make, and passes on its errors and, every 20 seconds, the step, with the time that is left. $1
# says what is being built.
show_progress() {
  local what=$1 start=$SECONDS shown=$SECONDS line done all left
  while read -r line; do
    ! is_error "$line" || echo "$line" >&2
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
