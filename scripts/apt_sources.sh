# SPDX-License-Identifier: Apache-2.0
# The package sources of apt on this machine, and what is fetched from them without touching apt's configuration.

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

# Runs apt-get in the folder $1 with sources, lists and archives of its own, from this machine's mirrors, one after the other,
# until it succeeds. What it says goes to $1/log.
#
#   $2: deb or deb-src   $3: the suite   $4: the architecture   then the arguments of apt-get
#
# False if no mirror has what is wanted.
fetch_from_mirrors() {
  local folder=$1 type=$2 suite=$3 architecture=$4 mirror
  shift 4
  mkdir -p "$folder/lists/partial" "$folder/parts" "$folder/archives/partial"
  : >"$folder/status"
  local options=(-q -o "Dir::Etc::SourceList=$folder/sources.list" -o "Dir::Etc::SourceParts=$folder/parts"
    -o "Dir::State::Lists=$folder/lists" -o "Dir::State::status=$folder/status" -o "Dir::Cache::Archives=$folder/archives"
    -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= -o APT::Sandbox::User=root -o Acquire::Retries=2
    -o APT::Update::Error-Mode=any -o "APT::Architecture=$architecture" -o "APT::Architectures::=$architecture")
  for mirror in $(apt_sources); do
    echo "$type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$folder/sources.list"
    echo "from $mirror:" >>"$folder/log"
    ! { apt-get "${options[@]}" update && (cd "$folder" && apt-get "${options[@]}" "$@"); } >>"$folder/log" 2>&1 || return 0
  done
  return 1
}
