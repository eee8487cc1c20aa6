# SPDX-License-Identifier: Apache-2.0
# Rooms: minimal Debian systems in a folder, with the network of this machine. Sourced after common.sh; needs root.
#
#   prepare_rooms        installs mmdebstrap where it is missing; $mirror and $security are this machine's package sources
#   connect ROOM         gives a room the network of this machine
#   enter ROOM COMMAND   runs a command in a room; the folder $shared, unless it is empty, has the same path there
#   enter_with_terminal ROOM COMMAND   the same, with a terminal for the command, which prints to stdout
. "$(dirname "${BASH_SOURCE[0]}")/apt_sources.sh"

mirror="" security="" shared=""

prepare_rooms() {
  command -v mmdebstrap >/dev/null ||
    { apt-get -q update && apt-get -q -y install --no-install-recommends mmdebstrap; } >&2
  # If there are several mirrors, one that looks like Debian's.
  mirror=$(apt_sources | sed -n '/\/debian\/$/{p;q}')
  security=$(apt_sources | sed -n '/security/{p;q}')
  [ -n "$mirror" ] || die "apt on this machine has no package source to take a mirror from"
}

connect() {
  local room=$1
  # Nothing else of apt's settings: a fresh image has none.
  apt-config dump --format '%f "%v";%n' 'Acquire' | grep -E '^Acquire::https?::Proxy' \
    >"$room/etc/apt/apt.conf.d/99network" || true
  cp /etc/resolv.conf /etc/hosts "$room/etc/"
}

# The mounts and processes of the command end with it. The shell that starts it is the room's first process, which inherits
# those whose parents have ended, and waits for them. The command may not be able to: script, for one, loops for ever when a
# process ends that it has not started, reads its terminal no more, and all that write to this terminal wait.
enter() {
  local room=$1
  shift
  [ -z "$shared" ] || mkdir -p "$room$shared"
  shared=$shared unshare --mount --pid --fork --kill-child bash -c '
    set -e
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    # Containers get 64 MB unless they ask for more.
    mount -t tmpfs -o size=64m tmpfs "$1/dev/shm"
    mount --rbind /sys "$1/sys"
    [ -z "$shared" ] || mount --bind "$shared" "$1$shared"
    chroot "$@"
    exit' enter "$room" "$@"
}

# Nothing is typed: a question gets the end of the input for an answer. The words are quoted as bash reads them, and script
# takes another shell where $SHELL names none or another.
enter_with_terminal() {
  local room=$1
  shift
  enter "$room" env SHELL=/bin/bash script --quiet --return --command "${*@Q}" /dev/null </dev/null
}
