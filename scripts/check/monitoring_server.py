# SPDX-License-Identifier: Apache-2.0
"""Lets a Prometheus server scrape a DB at work, for scripts/check.sh monitoring, and asks it for all that the dashboard and
the alert rules ask for.

    python3 monitoring_server.py MONITORED_DB FOLDER

FOLDER has dashboard.json and alerts.yml. The exit code is 0 if promtool has no objection to the metrics, each query of the
dashboard has data, and the server evaluates each alert rule.
"""

import http.server
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

# How long the DB is at work, and how long the server may take to have data for each query.
DB_SECONDS = 120
DATA_SECONDS = 100

# What Grafana puts in place of its variables.
VARIABLES = {"$__rate_interval": "10s", "$instance": ".*", "$db": ".*", "$column_family": ".*"}

CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs: [{{job_name: protean, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}]
"""


class Failure(Exception):
    """What is not as it should be."""


def serve(path):
    """Serves a file, as it is at each request. Returns the port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            with open(path, "rb") as file:
                text = file.read()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, is_there, seconds=300):
    end = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > end:
            raise Failure(what)
        time.sleep(0.2)


class Prometheus:
    """A server that scrapes one port."""

    def __init__(self, folder, scraped, rules):
        self.port = free_port()
        configuration = os.path.join(folder, "prometheus.yml")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(rules=os.path.abspath(rules), port=scraped))
        with open(os.path.join(folder, "prometheus.log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["prometheus", "--config.file=" + configuration, "--storage.tsdb.path=" + os.path.join(folder, "data"),
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)

    def ask(self, path, **parameters):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=300) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None  # it is starting
            raise Failure(f"{parameters}: {error.read().decode()}") from error
        except urllib.error.URLError as error:
            if self.process.poll() is not None:
                raise Failure("prometheus has ended") from error
            return None  # it has not begun to listen

    def has_data(self, expression):
        answer = self.ask("/api/v1/query", query=expression)
        return answer is not None and bool(answer["result"])

    def close(self):
        self.process.terminate()
        self.process.wait()


def replaced(expression):
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    return expression


def queries_of(dashboard):
    """Yields what the dashboard asks: panels' expressions, and the metrics whose labels are its variables' values."""
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], replaced(target["expr"])
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
            yield f"variable {variable['name']}", f'{replaced(metric)[:-1]},{label}!=""}}' if metric.endswith(
                "}") else f'{metric}{{{label}!=""}}'


def check_queries(server, dashboard):
    waiting = list(queries_of(dashboard))
    count = len(waiting)

    def all_have_data():
        waiting[:] = [query for query in waiting if not server.has_data(query[1])]
        return not waiting

    try:
        wait_for("", all_have_data, DATA_SECONDS)
    except Failure as failure:
        if str(failure):
            raise
        lines = "\n".join(f"  {title}: {expression}" for title, expression in waiting)
        raise Failure(f"no data for\n{lines}") from None
    print(f"dashboard: {count} queries have data")


def check_rules(server):
    rules = []

    def evaluated():
        answer = server.ask("/api/v1/rules") or {"groups": []}
        rules[:] = [rule for group in answer["groups"] for rule in group["rules"]]
        return rules and all(rule["health"] != "unknown" for rule in rules)

    wait_for("the rules are not evaluated", evaluated)
    for rule in rules:
        if rule["health"] != "ok":
            raise Failure(f"rule {rule['name']}: {rule['lastError']}")
        for metric in set(re.findall(r"protean_[a-z_]+", rule["query"])):
            if not server.has_data(metric):
                raise Failure(f"rule {rule['name']}: no data for {metric}")
    print(f"alerts: {len(rules)} rules are evaluated, and their metrics have data")


def main():
    if len(sys.argv) != 3 or "--help" in sys.argv:
        print(__doc__.strip())
        return 0 if "--help" in sys.argv else 2
    program, examples = sys.argv[1:]
    with open(os.path.join(examples, "dashboard.json"), encoding="utf-8") as file:
        dashboard = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        metrics = os.path.join(folder, "metrics")
        running = subprocess.Popen([program, os.path.join(folder, "db"), metrics, str(DB_SECONDS)])
        server = None
        try:
            wait_for("monitored_db writes no metrics", lambda: os.path.exists(metrics))
            with open(metrics, "rb") as file:
                subprocess.run(["promtool", "check", "metrics"], stdin=file, check=True)
            server = Prometheus(folder, serve(metrics), os.path.join(examples, "alerts.yml"))
            check_queries(server, dashboard)
            check_rules(server)
        except (Failure, subprocess.CalledProcessError) as failure:
            print(f"monitoring: {failure}", file=sys.stderr)
            return 1
        finally:
            if server is not None:
                server.close()
            running.terminate()
            running.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
