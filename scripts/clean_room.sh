#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the README's two commands where nothing is installed: in a minimal Debian of its own, with the package sources of
# Debian's official images (/etc/apt/sources.list.d/debian.sources and no other), an empty cache and a fresh clone of what is
# committed here.
#
#   scripts/clean_room.sh [bookworm|trixie] [demo|test|packages|install|stress|fuzz] [--packages=DIR] [--root] [--keep]
#
# Without a release or a command, the two commands are run on all releases, one after the other. Prints what the command
# prints, and at the end a line for each run with the time that it took.
#
#   packages   makes Debian packages, and uses them in a second room
#   install    uses the Debian packages in --packages=DIR
#   stress     scripts/check.sh stress, for 20 minutes besides its build
#   fuzz       scripts/check.sh fuzz
#
#   --root   run the command as root on a machine without sudo; otherwise as another user, who may use sudo
#   --keep   leave the room where it is, for inspection, also if the command passes
#
# Needs root, and the package mmdebstrap, which it installs where it is missing. Rooms are made in $TMPDIR, /var/tmp by
# default; one takes up to 4 GB while it is there.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/rooms.sh"

releases=() commands=() packages="" user=builder root=0 keep=0
parse_options 'bookworm|trixie|demo|test|packages|install|stress|fuzz...' --packages=DIR --root --keep -- "$@"
for argument in "${arguments[@]}"; do
  case $argument in
    bookworm | trixie) releases+=("$argument") ;;
    demo | test | packages | install | stress | fuzz) commands+=("$argument") ;;
    *) die "unknown argument '$argument'; known: bookworm trixie demo test packages install stress fuzz --packages=DIR --root --keep --help" ;;
  esac
done
[ $root = 0 ] || user=root
[ ${#releases[@]} -gt 0 ] || releases=(bookworm trixie)
[ ${#commands[@]} -gt 0 ] || commands=(demo test)

[[ " ${commands[*]} " != *" install "* ]] || compgen -G "$packages/*.deb" >/dev/null || die "--packages=DIR names no packages to install"

[ "$(id -u)" = 0 ] || die "making a room takes root: sudo $0 $*"
prepare_rooms

# Makes the room $1 of release $2.
furnish() {
  local room=$1 release=$2 packages=()
  [ "$user" = root ] || packages=(--include=sudo)
  mmdebstrap --quiet --variant=minbase "${packages[@]}" "$release" "$room" "$mirror" >&2
  rm -f "$room/etc/apt/sources.list"
  {
    printf 'Types: deb\nURIs: %s\nSuites: %s %s-updates\nComponents: main\n' "$mirror" "$release" "$release"
    printf 'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n'
    [ -z "$security" ] || {
      printf '\nTypes: deb\nURIs: %s\nSuites: %s-security\nComponents: main\n' "$security" "$release"
      printf 'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n'
    }
  } >"$room/etc/apt/sources.list.d/debian.sources"
  connect "$room"
  if [ "$user" != root ]; then
    chroot "$room" useradd --create-home --shell /bin/bash "$user"
    echo "$user ALL=(ALL) NOPASSWD: ALL" >"$room/etc/sudoers.d/$user"
  fi
}

summary=() room="" made=""
finish() {
  [ -z "$room" ] || [ $keep = 1 ] || rm -rf --one-file-system "$room"
  [ -z "$made" ] || rm -rf --one-file-system "$made"
  for line in "${summary[@]}"; do say "$line"; done
}
trap finish EXIT

# Runs a program in the present room as its user. The demo has a terminal, as a newcomer does; others have none, as in CI.
run_as_user() {
  local login=(su - "$user" -c "cd protean && $1")
  if [ "$1" = scripts/demo.sh ]; then
    enter_with_terminal "$room" "${login[@]}"
  else
    enter "$room" "${login[@]}" </dev/null
  fi
}

# Runs a program in a new room. $1: the release; $2: the program, in the project, with its arguments; $3: a folder whose packages are
# brought along, or nothing; $4: the folder of the project whose packages are kept afterwards, or nothing.
run_in_room() {
  local release=$1 program=$2 bring=$3 take=$4 home start=$SECONDS outcome=passed
  room=$(mktemp -d "${TMPDIR:-/var/tmp}/protean-clean-room.XXXXXX")
  chmod 755 "$room"
  say "making a minimal $release in $room"
  furnish "$room" "$release"
  home=$(enter "$room" bash -c "echo ~$user")
  git clone --quiet --no-hardlinks "$project" "$room$home/protean"
  [ -z "$bring" ] || { mkdir "$room$home/packages"; cp "$bring"/*.deb "$room$home/packages/"; }
  enter "$room" chown -R "$user" "$home"
  say "$release: $program as $user"
  start=$SECONDS
  run_as_user "$program" || outcome="FAILED with code $?"
  summary+=("$release, $program as $user: $outcome, $(((SECONDS - start) / 60)) min $(((SECONDS - start) % 60)) s")
  if [ -n "$take" ] && [ "$outcome" = passed ]; then cp "$room$home/protean/$take"/*.deb "$made/"; fi
  if [ $keep = 1 ] || [ "$outcome" != passed ]; then
    say "the room is left in $room"
  else
    rm -rf --one-file-system "$room"
  fi
  room=""
}

for release in "${releases[@]}"; do
  for command in "${commands[@]}"; do
    case $command in
      packages)
        made=$(mktemp -d)
        run_in_room "$release" scripts/debian_packages.sh "" build/packages
        run_in_room "$release" "tests/shared/packages_test.sh ../packages" "$made" ""
        ;;
      install) run_in_room "$release" "tests/shared/packages_test.sh ../packages" "$packages" "" ;;
      stress) run_in_room "$release" "scripts/check.sh stress --minutes=20" "" "" ;;
      fuzz) run_in_room "$release" "scripts/check.sh fuzz" "" "" ;;
      *) run_in_room "$release" "scripts/$command.sh" "" "" ;;
    esac
  done
done
! printf '%s\n' "${summary[@]}" | grep -q FAILED || die "not all commands passed"
