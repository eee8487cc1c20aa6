# SPDX-License-Identifier: Apache-2.0

# Completes the commands of protean, their flags and the values that are folders or files, as the command's own help lists
# them. For bash.

_protean() {
  local command=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local help flags flag="" kind="" words
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ] || { [ "$COMP_CWORD" -eq 2 ] && [ "$command" = help ]; }; then
    words=$(protean --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$words help" -- "$current")
    return
  fi
  help=$(protean "$command" --help 2>/dev/null)
  flags=$(sed -n 's/^  \(--[a-z_]*\)\(=[A-Z]*\)\{0,1\}.*/\1\2/p' <<<"$help")
  if [ "$current" = "=" ]; then
    flag=$before current=""
  elif [ "$before" = "=" ]; then
    flag=${COMP_WORDS[COMP_CWORD - 2]}
  elif grep -q -e "^$before=" <<<"$flags"; then
    flag=$before
  fi
  [ -z "$flag" ] || kind=$(sed -n "s/^$flag=//p" <<<"$flags")
  words=$(sed -n '1s/.* \([a-z][a-z]*|[a-z|]*\).*/\1/p' <<<"$help" | tr '|' ' ')
  if [ -z "$flag" ] && [[ $current = -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "--help $(sed 's/=.*/=/' <<<"$flags")" -- "$current")
    [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace 2>/dev/null
  elif [ -z "$flag" ] && [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [ -z "$flag" ] || [ "$kind" = FILE ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  elif [ "$kind" = DIR ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
  fi
}
complete -F _protean protean
