#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Proves and measures Protean in Kafka Streams: builds it, starts a Kafka broker of its own on free ports of this machine,
# and runs docs/examples/kafka, an application with a join, windows and sessions.
#
#   scripts/kafka_streams_demo.sh            # 6 to 12 minutes on 2 cores, 5 GB of disk
#   scripts/kafka_streams_demo.sh --small    # 2 to 4 minutes: shows that it works; its times are not worth much
#
# 1. Exactly-once: with Protean's filters, one of two instances is killed with SIGKILL; the output must be that of an
#    undisturbed run with stock stores, record for record.
# 2. Alarms are joined with readings of days, which are in the state; most of them find none. It is measured with stock
#    stores, SuRF and Proteus, once with a block cache much smaller than the state and direct reads, once all in memory.
#
# The tables, a picture of them, and the logs are kept in build/kafka_streams_demo. The first time, the libraries take some minutes more.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
small=0
parse_options --small -- "$@"
cd "$project"

readonly policies=(stock surf:0:4 proteus:12)
proved=(surf:0:4 proteus:12)
# The input that shows exactly-once.
proof_readings=150000 proof_alarms=30000 proof_visits=150000 proof_sensors=1000
# The measured input: readings in the state, alarms to be joined with them, rounds; block cache and write buffer.
readings=1600000 alarms=120000 sensors=20000 rounds=3 cache_mib=8 write_buffer_kib=1024 disk_kib=5000000
if [ $small = 1 ]; then
  proved=(proteus:12)
  proof_readings=50000 proof_alarms=10000 proof_visits=50000 proof_sensors=500
  readings=250000 alarms=16000 sensors=3000 rounds=1 cache_mib=1 write_buffer_kib=256 disk_kib=1000000
fi

for tool in java javac mvn; do
  command -v $tool >/dev/null || die "$tool is missing: a JDK 17 or later and Maven are needed (Debian: apt install \
default-jdk-headless maven)"
done
java_version=$(javac -version 2>&1 | sed 's/^javac \([0-9]*\).*/\1/')
[ "$java_version" -ge 17 ] || die "JDK $java_version is too old; 17 or later is needed (Debian: apt install default-jdk-headless)"

say "building the native library and the JARs"
# The RocksDB that Kafka brings.
readonly rocksdbjni=10.1.3
plugin/java/build_native.sh $rocksdbjni >/dev/null
readonly maven=(mvn -q -B -Dstyle.color=never "-Drocksdbjni.version=$rocksdbjni")
"${maven[@]}" -f plugin/java/pom.xml -DskipTests install
"${maven[@]}" -f docs/examples/kafka/pom.xml package

readonly demo=docs/examples/kafka/target
readonly class_path="$demo/classes:$demo/dependencies/*"
readonly out=build/kafka_streams_demo
mkdir -p "$out"
lock "$out/.lock" "another run in $out"
work=$(mktemp -d "$PWD/$out/run.XXXXXX")
readonly work logs=$out/logs results=$work/results
broker="" running=""

# Ends the processes, and removes all but tables and logs.
clean_up() {
  trap '' INT TERM
  for process in $running $broker; do
    kill "$process" 2>/dev/null && wait "$process" 2>/dev/null || true
  done
  rm -rf "${work:?}"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

[ "$(df --output=avail -k "$work" | tail -n 1)" -ge $disk_kib ] ||
  die "there must be $((disk_kib / 1000000)) GB of disk free in $out"
rm -rf "$logs"
mkdir -p "$logs" "$results"

# Direct reads, since the page cache would hide what reads cost.
direct=1
if ! has_direct_reads "$work"; then
  say "this file system has no direct reads: the page cache will hide what reads cost"
  direct=0
fi

# Runs Java with the further arguments, in the background, so that a signal need not wait. $1 is the name of its log.
run_java() {
  local log=$logs/$1.log
  shift
  java -Xms384m -Xmx384m -cp "$class_path" "$@" 2>>"$log" &
  running=$!
  wait $running || die "it failed; log: $log"
  running=""
}

# Runs a command of the demonstration.
demo() {
  local log=$1
  shift
  run_java "$log" protean.kafka.demo.Demo "$@"
}

start_broker() {
  demo broker broker --folder="$work/broker"
  run_java broker kafka.tools.StorageTool format --config "$work/broker/server.properties" \
    --cluster-id "$(cat "$work/broker/cluster")" >>"$logs/broker.log"
  java -Xmx512m -cp "$class_path" kafka.Kafka "$work/broker/server.properties" >>"$logs/broker.log" 2>&1 &
  broker=$!
  bootstrap=$(cat "$work/broker/bootstrap")
}

# Writes $4 records of $2 sensors, from number $5 on, to topic $3 of input $1.
generate() {
  demo generate generate --bootstrap="$bootstrap" --input="$1" --sensors="$2" --topic="$3" --records="$4" --first="${5:-0}"
}

# Shows that with policy $1 a killed instance changes nothing.
prove() {
  local policy=$1 name=${1%%:*}
  say "$policy: one of two instances is killed"
  demo "kill-$name" kill --bootstrap="$bootstrap" --input=proof --application="proof-$name" --policy="$policy" \
    --state="$work/proof-$name" --cache-mib=$cache_mib --write-buffer-kib=$write_buffer_kib --direct-reads=$direct
  say "$policy: the output, compared with that of the undisturbed run with stock stores"
  demo compare compare --bootstrap="$bootstrap" --first=proof-stock --second="proof-$name"
  rm -rf "$work/proof-$name"
}

# Runs the application with policy $1 and the further arguments over the measured input that has been written so far.
run_load() {
  local policy=$1 name=${1%%:*}
  shift
  demo "load-$name" run --bootstrap="$bootstrap" --input=load --application="load-$name" --policy="$policy" \
    --state="$work/load-$name" --write-buffer-kib=$write_buffer_kib "$@"
}

# Writes $1 alarms that are to be joined with the readings.
generate_alarms() {
  generate load $sensors alarms "$1" $alarms_written
  alarms_written=$((alarms_written + $1))
}

# Measures the join of the alarms that each policy has not seen yet; $1 is the kind of run, the first $2 alarms warm up, and
# further arguments are the application's.
measure() {
  local kind=$1 warm_up=$2 policy name
  shift 2
  for policy in "${policies[@]}"; do
    name=${policy%%:*}
    say "$policy: joining alarms, $kind"
    run_load "$policy" "$@" --warm-up="$warm_up" --result="$results/$kind-$round-$name"
    demo "inspect-$name" inspect --state="$work/load-$name" --result="$results/$kind-$round-$name" >"$logs/inspect-$name.txt"
  done
}

# The names of the results of kind $1; the first is of stock stores.
results_of() {
  printf '%s,' "$results/$1"-*-stock "$results/$1"-*-surf "$results/$1"-*-proteus
}

SECONDS=0
say "starting a broker"
start_broker

say "exactly-once: writing the input"
generate proof $proof_sensors readings $proof_readings
generate proof $proof_sensors alarms $proof_alarms
generate proof $proof_sensors visits $proof_visits
say "stock: an undisturbed run"
demo proof-stock run --bootstrap="$bootstrap" --input=proof --application=proof-stock --state="$work/proof-stock" \
  --cache-mib=$cache_mib --write-buffer-kib=$write_buffer_kib --direct-reads=$direct
rm -rf "$work/proof-stock"
for policy in "${proved[@]}"; do
  prove "$policy"
done

say "measurement: writing the input"
# Kafka Streams forgets the state of a join when it is started again while one side has had no records.
alarms_written=0
generate load $sensors readings $readings
generate_alarms 2000
for policy in "${policies[@]}"; do
  say "$policy: filling the state"
  run_load "$policy" --cache-mib=$cache_mib --direct-reads=$direct
done
for round in $(seq $rounds); do
  say "round $round of $rounds"
  generate_alarms $alarms
  measure disk $((alarms / 4)) --cache-mib=$cache_mib --direct-reads=$direct
  # Twice over all of the time: the first alarms bring the state into the cache, the others find it there.
  generate_alarms $alarms
  generate_alarms $alarms
  measure memory $alarms --cache-mib=1024 --direct-reads=0
done
for name in surf proteus; do
  say "$name: the joined records, compared with those of stock stores"
  demo compare compare --bootstrap="$bootstrap" --first=load-stock --second=load-$name --topics=joined
done

{
  echo "$readings readings in the state, $alarms alarms, median of $rounds; block cache of $cache_mib MiB; direct reads: \
$([ $direct = 1 ] && echo yes || echo no)"
  echo
  demo report report --results="$(results_of disk)"
  echo
  echo "The same, all in memory: block cache of 1024 MiB, no direct reads"
  echo
  demo report report --results="$(results_of memory)"
  echo
  echo "The state, with each policy:"
  echo
  for policy in "${policies[@]}"; do
    echo "    $policy"
    sed 's/^/      /' "$logs/inspect-${policy%%:*}.txt"
  done
} | tee "$out/report.md"
python3 scripts/plot_kafka.py "$out/report.md" "$out"
say "done in $((SECONDS / 60)) min $((SECONDS % 60)) s; the tables are in $out/report.md, and a picture is in $out/kafka_streams.svg"
