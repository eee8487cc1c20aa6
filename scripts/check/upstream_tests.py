# SPDX-License-Identifier: Apache-2.0
"""Runs suites of RocksDB's tests, each once for every policy, and compares the failures with the expected ones. Each test is
a process of its own, so that a crash or a hang does not affect the others. scripts/check.sh upstream builds the suites and
calls this script.
"""

import argparse
import concurrent.futures
import fnmatch
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

STOCK = "stock"
# This variable is the injected table factory's filter policy; without it, RocksDB is stock.
INJECT = "PROTEAN_INJECT"

TIME_LIMIT_SECONDS = 1200
# Runs of a test that fails, in all; and runs without Protean of a test that does not always fail.
RUNS_OF_FAILING = 3
RUNS_OF_UNSTEADY = 10
FREE_BYTES = 4 << 30


def say(text):
    print(f"upstream_tests: {text}", file=sys.stderr, flush=True)


# ---- Expected differences ----


class Expectation:
    """A line of the file: tests of suites that differ with some policies, always or sometimes, in all versions of
    RocksDB or in one, and how they fail."""

    def __init__(self, where, condition, suite, pattern, failure):
        self.where = where
        self.sometimes = condition.endswith("?")
        policies, _, self.version = condition.rstrip("?").partition("@")
        self.policies = policies.split(",")
        self.suites = suite.split(",")
        self.pattern = pattern
        self.failure = failure

    def names(self, suite, policy, test):
        return suite in self.suites and policy in self.policies and fnmatch.fnmatchcase(test, self.pattern)

    def explains(self, suite, policy, outcome):
        parts = self.failure.split(" | ")
        return self.names(suite, policy, outcome.test) and any(part in outcome.why for part in parts)


def read_expectations(path, version):
    """Reads paragraphs, each a reason in lines of comments, and below it lines of policies, suite, test and failure. Lines
    for another version are left out."""
    expectations = []
    reason = False
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{os.path.basename(path)}:{number}"
            words = line.split(maxsplit=3)
            if not words:
                reason = False
            elif words[0].startswith("#"):
                reason = True
            elif not reason:
                sys.exit(f"{where}: no reason is given above this line")
            elif len(words) != 4:
                sys.exit(f"{where}: policies, suite, test, and a part of what the test says are expected")
            else:
                expectations.append(Expectation(where, *words[:3], words[3].strip()))
    return [expectation for expectation in expectations if expectation.version in ("", version)]


# ---- One test ----


def first_failure(output, code):
    """In one line, why a test has failed."""
    crash = re.search(r"^.*Assertion `.*$", output, re.MULTILINE)
    if crash:
        return crash.group(0).strip()
    failure = re.search(r"^(\S+:\d+): Failure\n((?:.+\n){0,6})", output, re.MULTILINE)
    if failure:
        details = " ".join(failure.group(2).split())
        return f"{os.path.basename(failure.group(1))}: {details}"[:400]
    if code is None:
        return f"no end after {TIME_LIMIT_SECONDS} s"
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Runner:
    """Runs single tests, each in a folder of its own that is gone afterwards."""

    def __init__(self, specs, scratch):
        self.specs = specs
        self.scratch = scratch

    def environment(self, binary, policy, folder):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("GTEST_")}
        # gdb takes a minute to find what the output of a crash says in a second.
        variables.update(TEST_TMPDIR=folder, ROCKSDB_BACKTRACE_STACK="1", LD_LIBRARY_PATH=os.path.dirname(binary))
        variables.pop(INJECT, None)
        if policy != STOCK:
            variables[INJECT] = self.specs[policy]
        return variables

    def run(self, binary, policy, test, log):
        """Returns "passed", "skipped", or the reason of a failure, whose output goes to the file `log`."""
        folder = tempfile.mkdtemp(prefix="test.", dir=self.scratch)
        output_path = folder + ".out"
        with open(output_path, "wb") as output:
            process = subprocess.Popen([binary, f"--gtest_filter={test}"], stdout=output, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True,
                                       env=self.environment(binary, policy, folder))
            try:
                code = process.wait(TIME_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                kill_group(process)
                process.wait()
        with open(output_path, encoding="utf-8", errors="replace") as lines:
            output = lines.read()
        shutil.rmtree(folder, ignore_errors=True)
        os.remove(output_path)
        if code == 0 and "[  PASSED  ]" in output:
            return "skipped" if re.search(r"^SKIPPED|\[  SKIPPED \]", output, re.MULTILINE) else "passed"
        with open(log, "a", encoding="utf-8") as kept:
            kept.write(f"---- {test} with {policy} ----\n{output}\n")
        return first_failure(output, code)


# ---- One suite ----


def read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def digest(paths):
    hashed = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as file:
            while part := file.read(1 << 20):
                hashed.update(part)
    return hashed.hexdigest()


class Outcome:
    """The result of a test with a policy, in one or more runs."""

    def __init__(self, record):
        self.test = record["test"]
        self.runs = record["runs"]
        self.failed = record["failed"]
        self.skipped = record["skipped"]
        self.seconds = record["seconds"]
        self.why = record["why"]

    def record(self):
        return vars(self)

    def always_fails(self):
        return self.failed == self.runs


class Suite:
    """The tests of a program and their results, which are kept until the program or RocksDB's library changes."""

    def __init__(self, name, binaries, work):
        self.name = name
        self.folder = os.path.abspath(os.path.join(work, name))
        self.binary = os.path.join(self.folder, name)
        files = [os.path.join(binaries, name), *sorted(glob.glob(os.path.join(binaries, "librocksdb.so*")))]
        key = digest(files)
        key_path = os.path.join(self.folder, "key")
        if not os.path.exists(key_path) or read_text(key_path) != key:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.folder)
            # Links: another build makes new files, and does not change these under a run.
            for file in files:
                os.link(os.path.realpath(file), os.path.join(self.folder, os.path.basename(file)))
            write_text(key_path, key)
        self.tests = self.list_tests()

    def list_tests(self):
        listed = subprocess.run([self.binary, "--gtest_list_tests"], stdout=subprocess.PIPE, encoding="utf-8",
                                check=True, env={**os.environ, "LD_LIBRARY_PATH": self.folder})
        tests = []
        group = ""
        for line in listed.stdout.splitlines():
            line = line.split("#")[0].rstrip()
            if line.startswith("  "):
                test = group + line.strip()
                if not re.search(r"(^|[./])DISABLED_", test):
                    tests.append(test)
            elif line.endswith("."):
                group = line
        return tests

    def log(self, policy):
        return os.path.join(self.folder, f"{policy}.log")

    def outcomes(self, policy, spec):
        """The outcomes with a policy, in a file that goes on where it has ended."""
        name = policy if not spec else f"{policy}.{hashlib.sha256(spec.encode()).hexdigest()[:8]}"
        return Outcomes(os.path.join(self.folder, name + ".jsonl"))


class Outcomes:
    """The outcomes of a suite with a policy, by test; the latest one counts. Thread safe."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.by_test = {}
        if os.path.exists(path):
            for line in read_text(path).splitlines():
                try:
                    outcome = Outcome(json.loads(line))
                except ValueError:
                    continue  # the end of a run that was killed
                self.by_test[outcome.test] = outcome

    def add(self, outcome):
        with self.lock, open(self.path, "a", encoding="utf-8") as file:
            self.by_test[outcome.test] = outcome
            file.write(json.dumps(outcome.record()) + "\n")


class Session:
    """A whole run: suites times policies."""

    def __init__(self, args, runner, expectations):
        self.args = args
        self.runner = runner
        self.expectations = expectations

    def is_named(self, suite, policy, test):
        return any(line.names(suite.name, policy, test) for line in self.expectations)

    def is_expected(self, suite, policy, outcome):
        return any(line.explains(suite.name, policy, outcome) for line in self.expectations)

    def run_test(self, suite, policy, test, outcomes, runs, stop_at_success):
        """Runs a test several times, or only once if it passes then and that is enough."""
        begun = time.monotonic()
        done = failed = 0
        why = ""
        skipped = False
        while done < runs:
            result = self.runner.run(suite.binary, policy, test, suite.log(policy))
            done += 1
            if result == "skipped":
                skipped = True
            elif result != "passed":
                failed += 1
                why = why or result
            if stop_at_success and failed == 0:
                break
        outcome = Outcome({"test": test, "runs": done, "failed": failed, "skipped": skipped, "why": why,
                           "seconds": round(time.monotonic() - begun, 1)})
        outcomes.add(outcome)
        return outcome

    def run_suite(self, suite, policy):
        """Runs the tests that have not been run."""
        outcomes = suite.outcomes(policy, self.runner.specs.get(policy))
        left = [test for test in suite.tests if test not in outcomes.by_test]
        begun = shown = time.monotonic()
        done = differ = 0

        def run(test):
            runs = 1 if self.is_named(suite, policy, test) else RUNS_OF_FAILING
            return self.run_test(suite, policy, test, outcomes, runs, stop_at_success=True)

        pool = concurrent.futures.ThreadPoolExecutor(self.args.jobs)
        try:
            for running in concurrent.futures.as_completed([pool.submit(run, test) for test in left]):
                outcome = running.result()
                done += 1
                differ += outcome.failed > 0
                now = time.monotonic()
                if now - shown >= 20:
                    shown = now
                    seconds = int((now - begun) * (len(left) - done) / done) + 1
                    say(f"{suite.name}, {policy}: {done} of {len(left)} tests, {differ} fail, "
                        f"about {seconds // 60} min {seconds % 60} s left")
        finally:
            pool.shutdown(cancel_futures=True)
        return outcomes

    def fails_without(self, suite, outcome, stock):
        """Whether the test, which has failed with a policy, fails as often without Protean."""
        known = stock.by_test.get(outcome.test)
        if known is None:
            known = self.run_test(suite, STOCK, outcome.test, stock, RUNS_OF_FAILING, stop_at_success=True)
        if outcome.always_fails():
            return known.always_fails()
        if known.failed == 0 and known.runs < RUNS_OF_UNSTEADY:
            known = self.run_test(suite, STOCK, outcome.test, stock, RUNS_OF_UNSTEADY, stop_at_success=False)
        return known.failed > 0


# ---- All ----


class Report:
    """Collects the table and the lists below it."""

    def __init__(self):
        self.rows = [("suite", "policy", "passed", "expected to differ", "stock fails too", "failed", "skipped",
                      "seconds")]
        self.failures = []
        self.stock_failures = []
        self.stale = []
        self.tests = 0

    def table(self):
        widths = [max(len(str(row[column])) for row in self.rows) for column in range(len(self.rows[0]))]
        return "\n".join("  ".join(str(cell).ljust(width) if column < 2 else str(cell).rjust(width)
                                   for column, (cell, width) in enumerate(zip(row, widths))) for row in self.rows)


def judge(session, suite, policy, outcomes, stock, report):
    """Adds a suite with a policy to the report."""
    expected = without = failed = skipped = 0
    for test in suite.tests:
        outcome = outcomes.by_test[test]
        skipped += outcome.skipped and outcome.failed == 0
        if outcome.failed == 0:
            continue
        often = "" if outcome.always_fails() else f" ({outcome.failed} of {outcome.runs} runs)"
        line = f"{suite.name}, {policy}: {test}{often}: {outcome.why}"
        if session.is_expected(suite, policy, outcome):
            expected += 1
        elif policy == STOCK or session.fails_without(suite, outcome, stock):
            without += 1
            report.stock_failures.append(line)
        else:
            failed += 1
            report.failures.append(f"{line}; log: {suite.log(policy)}")
    for expectation in session.expectations:
        if suite.name not in expectation.suites or policy not in expectation.policies:
            continue
        named = [outcomes.by_test[test] for test in suite.tests if expectation.names(suite.name, policy, test)]
        passed = [outcome.test for outcome in named if outcome.failed == 0]
        if not named:
            report.stale.append(f"{expectation.where}: {suite.name} has no test {expectation.pattern}")
        elif passed and not expectation.sometimes:
            report.stale.append(f"{expectation.where}: passes with {policy}: {passed[0]}")
    seconds = sum(outcome.seconds for outcome in (outcomes.by_test[test] for test in suite.tests))
    passed = len(suite.tests) - expected - without - failed - skipped
    report.tests += len(suite.tests)
    report.rows.append((suite.name, policy, passed, expected, without, failed, skipped, round(seconds)))


def roomy_folder():
    """Where tests may put their DBs: in memory, as with RocksDB's own Makefile, if there is enough of it."""
    wanted = os.environ.get("TEST_TMPDIR")
    folders = [wanted] if wanted else ["/dev/shm", tempfile.gettempdir()]
    for folder in folders:
        if os.path.isdir(folder) and shutil.disk_usage(folder).free >= FREE_BYTES:
            return folder
    sys.exit(f"{' and '.join(folders)}: not a folder, or less than {FREE_BYTES >> 30} GB free; "
             "name another folder with TEST_TMPDIR")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binaries", required=True, help="the folder with the suites")
    parser.add_argument("--work", required=True, help="the folder that keeps what is known")
    parser.add_argument("--expected", required=True, help="the file of expected differences")
    parser.add_argument("--version", required=True, help="of RocksDB, such as 9.10.0")
    parser.add_argument("--policy", action="append", required=True, help="NAME=SPEC, or stock; repeatable")
    parser.add_argument("--jobs", type=int, required=True, help="how many tests run at once")
    parser.add_argument("--stale-fails", action="store_true", help="an expected difference that is none is a failure")
    parser.add_argument("suites", nargs="+")
    args = parser.parse_args()

    specs = dict(policy.split("=", 1) for policy in args.policy if policy != STOCK)
    policies = [policy.split("=", 1)[0] for policy in args.policy]
    expectations = read_expectations(args.expected, args.version)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="protean-upstream.", dir=roomy_folder(), ignore_cleanup_errors=True) as scratch:
        session = Session(args, Runner(specs, scratch), expectations)
        for name in args.suites:
            suite = Suite(name, args.binaries, args.work)
            stock = suite.outcomes(STOCK, None)
            for policy in policies:
                outcomes = session.run_suite(suite, policy)
                if policy == STOCK:
                    stock = outcomes
                judge(session, suite, policy, outcomes, stock, report)
                say(", ".join(f"{title} {cell}" if column >= 2 else str(cell)
                              for column, (title, cell) in enumerate(zip(report.rows[0], report.rows[-1]))))

    print(report.table())
    for title, lines in (("fail stock too:", report.stock_failures),
                         ("expected to differ, but do not:", report.stale), ("failed:", report.failures)):
        if lines:
            print(title, *lines, sep="\n  ")
    bad = len(report.failures) + (len(report.stale) if args.stale_fails else 0)
    expected = sum(row[3] for row in report.rows[1:])
    print(f"{'FAILED' if bad else 'passed'}: {len(args.suites)} suites with {', '.join(policies)}: {report.tests} tests "
          f"run, {expected} expected differences, {len(report.stock_failures)} fail stock too, "
          f"{len(report.failures)} failures, {len(report.stale)} expected differences that are none")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
