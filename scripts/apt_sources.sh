# SPDX-License-Identifier: Apache-2.0
# The package sources of apt on this machine.

# Prints the URIs of the package sources in an apt configuration folder (default: /etc/apt), each once, in apt's order:
# sources.list, then the files *.list in one-line style and *.sources in deb822 style (see sources.list(5)). Sources that are
# disabled, or on a CD, do not count. Prints nothing if there are none.
apt_sources() {
  local folder=${1:-/etc/apt} file
  {
    for file in "$folder/sources.list" "$folder"/sources.list.d/*.list; do
      [ ! -r "$file" ] || one_line_sources "$file"
    done
    for file in "$folder"/sources.list.d/*.sources; do
      [ ! -r "$file" ] || deb822_sources "$file"
    done
  } | awk '!/^cdrom:/ { sub(/\/*$/, "/"); if (!seen[$0]++) print }'
}

# Reads lines such as deb [option=value ...] URI suite component ...
one_line_sources() {
  awk '
    { sub(/\r$/, ""); sub(/#.*/, "") }
    $1 == "deb" || $1 == "deb-src" {
      sub(/^[ \t]*deb(-src)?[ \t]+/, "")
      sub(/^\[[^]]*\][ \t]*/, "")
      if ($1 != "") print $1
    }' "$1"
}

# Reads stanzas of fields, whose values may go on in lines that begin with a space.
deb822_sources() {
  awk '
    function end_stanza(  list, n, i) {
      if (tolower(value["enabled"]) !~ /^[ \t]*(no|false|0|off|without|disable)[ \t]*$/ &&
          (" " value["types"] " ") ~ /[ \t]deb(-src)?[ \t]/) {
        n = split(value["uris"], list)
        for (i = 1; i <= n; i++) print list[i]
      }
      split("", value)
      field = ""
    }
    { sub(/\r$/, "") }
    /^#/ { next }
    /^[ \t]*$/ { end_stanza(); next }
    /^[ \t]/ { value[field] = value[field] " " $0; next }
    {
      field = tolower(substr($0, 1, index($0, ":") - 1))
      value[field] = substr($0, index($0, ":") + 1)
    }
    END { end_stanza() }' "$1"
}
