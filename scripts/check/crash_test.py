# SPDX-License-Identifier: Apache-2.0
"""Runs RocksDB's tools/db_crashtest.py once from a seed, for scripts/check.sh stress. Checks how each db_stress ends, and
reads in the DB's log what Protean did in it.

    python3 crash_test.py DB_CRASHTEST SEED RESULT ARGUMENT...

RESULT is written after each db_stress: a JSON object with the counts so far. The exit code is 0 if db_crashtest.py found
nothing and no db_stress ended in a way that it overlooks: it takes any signal for the kill that it asked for, and a
verification that hangs for a success.
"""

import collections
import glob
import json
import os
import random
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time

# Lines of a log: a new file that has a filter of Protean, a design, and what the filters of a column family did so far.
BUILT = re.compile(r'"event": "table_file_creation".*"filter_size": [1-9].*"filter_policy": "protean\.')
DESIGN = re.compile(r"Protean: .*(from \d+ sample queries and the keys|from the keys alone)")
FAMILY = re.compile(r"Protean: column family (.*?): (L.*)")
SEEKS = re.compile(r"seeks (\d+) no, (\d+) passed, (\d+) true, (\d+) false")

# A whitebox db_stress may go on for this long after the end of the run, to be killed or to end by itself.
GRACE_SECONDS = 60

# A db_stress that is about to be killed is watched for LOOK_SECONDS, and must have run, or waited for a processor, for
# MIN_SHARE of the time. A process that hangs uses less.
LOOK_SECONDS = 5
MIN_SHARE = 0.001
STACKS_SECONDS = 120

PlainPopen = subprocess.Popen

# The signals of db_crashtest.py's kills, and of db_stress's own.
KILLS = (-signal.SIGKILL, -signal.SIGTERM)


def read_log(path, counts):
    last = {}
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            if BUILT.search(line):
                counts["built"] += 1
            if "Protean: " not in line:
                continue
            design = DESIGN.search(line)
            family = FAMILY.search(line)
            if design:
                counts["designs"] += 1
                counts["taught"] += "sample queries" in design.group(1)
            elif family:
                last[family.group(1)] = family.group(2)
    for levels in last.values():
        for seeks in SEEKS.findall(levels):
            counts["asked"] += sum(map(int, seeks))
            counts["denied"] += int(seeks[0])


def activity(pid):
    """The seconds that the process has run, and waited for a processor, with all of its threads."""
    nanoseconds = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(path, encoding="ascii") as numbers:
                ran, waited, _ = map(int, numbers.read().split())
        except (OSError, ValueError):
            continue
        nanoseconds += ran + waited
    return nanoseconds / 1e9


def hangs(process):
    if not os.path.exists(f"/proc/{process.pid}/schedstat"):
        return False
    before = activity(process.pid)
    time.sleep(LOOK_SECONDS)
    used = activity(process.pid) - before
    # The times of threads that have ended are lost.
    return process.poll() is None and 0 <= used < LOOK_SECONDS * MIN_SHARE


def print_stacks(process):
    """Prints the stacks of the waiting threads, if there is gdb."""
    if not shutil.which("gdb"):
        return
    command = ["gdb", "-batch", "-p", str(process.pid), "-ex", "thread apply all backtrace 24"]
    with PlainPopen(command, stdin=subprocess.DEVNULL) as gdb:
        try:
            gdb.wait(STACKS_SECONDS)
        except subprocess.TimeoutExpired:
            gdb.kill()


class CrashTest:
    def __init__(self, seed, result):
        self.seed = seed
        self.result = result
        self.counts = collections.Counter()
        self.overlooked = []
        self.read = set()
        self.running = None
        self.start = time.time()
        self.end = None

    def wait_limit(self, command, timeout):
        """RocksDB gives whitebox a quarter of an hour more than it was given."""
        if timeout is None or self.end is None or "--verification_only=1" in command:
            return timeout
        return min(timeout, max(GRACE_SECONDS, self.end + GRACE_SECONDS - time.time()))

    def ended(self, command, code, timed_out):
        if not any(argument.startswith("--expected_values_dir=") for argument in command):
            return
        self.counts["launches"] += 1
        if timed_out and "--verification_only=1" in command:
            self.overlooked.append("the verification hangs")
        elif code in KILLS:
            self.counts["kills"] += 1
        elif code != 0:
            self.overlooked.append(f"db_stress ended with code {code}")
        db = next(argument[len("--db="):] for argument in command if argument.startswith("--db="))
        for path in glob.glob(os.path.join(glob.escape(db), "**", "LOG*"), recursive=True):
            status = os.stat(path)
            if (status.st_ino, status.st_mtime_ns) not in self.read:
                self.read.add((status.st_ino, status.st_mtime_ns))
                read_log(path, self.counts)
        self.write()

    def write(self):
        done = {"seed": self.seed, "seconds": round(time.time() - self.start), "overlooked": self.overlooked}
        with open(self.result, "w", encoding="utf-8") as out:
            json.dump({**done, **self.counts}, out)

    def popen(self):
        test = self

        class Popen(subprocess.Popen):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **kwargs)
                self.timed_out = False
                test.running = self

            def communicate(self, input=None, timeout=None):
                try:
                    output = super().communicate(input, test.wait_limit(self.args, timeout))
                except subprocess.TimeoutExpired:
                    self.timed_out = True
                    if hangs(self):
                        test.overlooked.append("db_stress hangs: no thread of it runs")
                        print_stacks(self)
                    raise
                test.running = None
                test.ended(self.args, self.returncode, self.timed_out)
                return output

        return Popen


def main():
    if sys.argv[1:] == ["--help"]:
        print(__doc__)
        return
    script, seed, result, *arguments = sys.argv[1:]
    test = CrashTest(int(seed), result)
    for argument in arguments:
        if argument.startswith("--duration="):
            test.end = test.start + int(argument[len("--duration="):])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    subprocess.Popen = test.popen()
    random.seed(test.seed)
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        if test.running is not None:
            test.running.kill()
        test.write()
    if test.overlooked:
        sys.exit("overlooked by db_crashtest.py: " + ", ".join(test.overlooked))


if __name__ == "__main__":
    main()
