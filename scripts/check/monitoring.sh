# SPDX-License-Identifier: Apache-2.0
# Checks docs/examples/monitoring with Prometheus: promtool reads the alert rules, tests what they fire at, and lints the
# metrics of a DB at work. A Prometheus server scrapes that DB, evaluates the rules, and must have data for each query of the
# dashboard.
#
#   scripts/check.sh monitoring [--build=DIR]
#
#   --build=DIR    where the DB's program, monitored_db, is built; default: build, by scripts/setup.sh
#
# Needs the commands prometheus and promtool, as in Debian's package prometheus, in PATH. Takes about half a minute.

build=""
parse_options --build=DIR -- "$@"
cd "$project"
for command in prometheus promtool; do
  command -v $command >/dev/null || die "$command is missing; install the package prometheus"
done
if [ -z "$build" ]; then
  build=build
  scripts/setup.sh --targets=monitored_db
fi
[ -x "$build/monitored_db" ] || die "$build/monitored_db is missing; build it: cmake --build $build --target monitored_db"
promtool check rules docs/examples/monitoring/alerts.yml
promtool test rules docs/examples/monitoring/alerts_test.yml
python3 scripts/check/monitoring_server.py "$build/monitored_db" docs/examples/monitoring
