#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the table of tested versions in docs/compatibility.md from what builds and tests take.

With --check, nothing is written, and the exit code says whether the table is up to date, and whether the pages that name the
versions of rocksdbjni name all of them.
"""

import argparse
import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/compatibility.md"
BEGIN, END = "<!-- Made by scripts/tested_versions.py. -->\n", "<!-- End of what it has made. -->\n"


def found(path, pattern):
    """What the groups of a pattern match in a file, everywhere; there must be something."""
    matches = re.findall(pattern, (PROJECT / path).read_text(encoding="utf-8"), re.MULTILINE)
    if not matches:
        sys.exit(f"{path}: nothing matches {pattern}")
    return matches


def rows():
    provided = found("scripts/provision_rocksdb.sh", r"^readonly version=(\S+)")[0]
    crates = found("scripts/rocksdb_crates.sh", r"^tested_crates=\((.*)\)")[0].split()
    jni = found("plugin/java/build_native.sh", r'^readonly known="(.*)"')[0].split()
    tested_jni, other_jni = (found("tests/java/java_test.sh", rf"^readonly {name}=(\S+)")[0] for name in ("rocksdbjni", "other"))
    kafka, java = (found("plugin/java/pom.xml", rf"<{name}>(.*)</{name}>")[0] for name in ("kafka.version", "maven.compiler.release"))
    cargo = dict(found("plugin/rust/Cargo.toml", r'^(rocksdb|librocksdb-sys|rust-version) = (?:\{ version = )?"([^"]+)"'))
    python = found("plugin/python/pyproject.toml", r'^requires-python = ">=(.*)"')[0]
    go = found("docs/examples/go/go.mod", r"^go (\S+)")[0]
    images = [f"Debian {version}" for version in re.findall(r'debian:(\d+)"', found(".github/workflows/ci.yml", r"^ +image: (.*)")[0])]
    systems = found(".github/workflows/release.yml", r"^ +- name: ((?:Debian|Ubuntu) .*)")
    yield "RocksDB", provided, "all tests, with every change"
    for version in crates:
        what = "everything compiles" if version == crates[-1] else "everything but the tests compiles"
        yield "RocksDB", version, f"{what}, with every change; all tests and the differential test, each night (`scripts/check.sh versions`)"
    yield "RocksDB", "its main line", "all tests and the differential test, each night"
    yield "system", ", ".join(images), "all tests, on x86-64 and arm64, with every change"
    yield "system", ", ".join(systems), "packages are made and used (`scripts/release.sh`), with every change"
    yield "`rocksdbjni`", tested_jni, f"the JARs' tests, also beside {other_jni} in one process, with every change (`java_test`)"
    yield ("`rocksdbjni`", ", ".join(version for version in jni if version != tested_jni),
           "an example runs with the JAR of the release, with every change (`scripts/release.sh`)")
    yield "Kafka Streams", kafka, "with every change (`java_test`)"
    spark = found("docs/examples/spark/pom.xml", r"<spark.version>(.*)</spark.version>")[0]
    yield "Spark", f"{spark}, with `rocksdbjni` {tested_jni}", "each night, and with every change where Maven has it (`spark_test`)"
    yield "Java", f"Debian's; {java} or later is needed", "with every change (`java_test`)"
    yield ("Rust", f"`rocksdb` {cargo['rocksdb']}, `librocksdb-sys` {cargo['librocksdb-sys']}; Rust {cargo['rust-version']} or later is needed",
           "an example runs with the crate of the release, with every change (`scripts/release.sh`)")
    yield "Python", f"Debian's; {python} or later is needed", "with every change (`shared_test`)"
    yield "Go", f"{go} or later is needed", "with every change where Go is installed (`shared_test`)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    table = "| | version | tested |\n|---|---|---|\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows())
    page = PROJECT / PAGE
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    made = before + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1]
    if not arguments.check:
        page.write_text(made, encoding="utf-8")
        return 0
    faults = [] if made == text else [f"{PAGE} is not what scripts/tested_versions.py makes of it"]
    jni = found("plugin/java/build_native.sh", r'^readonly known="(.*)"')[0].split()
    for path in ("plugin/java/README.md", "docs/languages.md"):
        words = (PROJECT / path).read_text(encoding="utf-8")
        faults += [f"{path} does not name rocksdbjni {version}" for version in jni if version not in words]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
