# SPDX-License-Identifier: Apache-2.0
"""Draws the insertions into a cascade filter over time, and writes them down beside those of Bloom filters on flash: figure 3
of the cascade filter's paper. Writes down what tombstones cost, too. Runs cascade_bench, which must be built: about 4 minutes
on 2 cores.
"""

import os
import tempfile

from figures import add_report_options, machine, parser, plt, positive, run, save, save_report


def read_timeline(path):
    """Pairs of seconds and keys inserted until then."""
    with open(path, encoding="utf-8") as timeline:
        return [(float(seconds), int(keys)) for seconds, keys in (line.split("\t") for line in timeline)]


def rates(timeline, window):
    """Millions of insertions a second in each window of that many seconds."""
    points, begin = [], timeline[0]
    for seconds, keys in timeline:
        if seconds - begin[0] >= window:
            points.append((seconds, (keys - begin[1]) / (seconds - begin[0]) / 1e6))
            begin = (seconds, keys)
    return points


def picture(timeline, out):
    figure, panel = plt.subplots(figsize=(9, 3.6))
    panel.plot(*zip(*rates(timeline, 0.05)), color="C0", linewidth=0.6, label="in 50 ms")
    panel.plot([s for s, keys in timeline if s > 0.2], [keys / s / 1e6 for s, keys in timeline if s > 0.2], color="C3",
               label="since the beginning")
    panel.set_xlabel("seconds")
    panel.set_ylabel("million insertions a second")
    panel.set_ylim(bottom=0)
    panel.grid(alpha=0.3)
    panel.legend(fontsize=8)
    save(figure, out, "cascade.png", legend=False)


def insertions(arguments, bench):
    """The paper's experiment."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "timeline")
        report = bench(f"--timeline={path}")
        picture(read_timeline(path), arguments.out)
    save_report(os.path.join(arguments.out, "cascade.txt"), f"{machine()}\n\n{report}")


def tombstones(arguments, bench):
    """A cascade filter from which keys are deleted, beside one from which none are."""
    report = bench("--filters=cascade,cascade_deletes")
    save_report(os.path.join(arguments.out, "cascade_tombstones.txt"), f"{machine()}\n\n{report}")


EXPERIMENTS = {"insertions": insertions, "tombstones": tombstones}


def main():
    options = parser(__doc__)
    add_report_options(options)
    options.add_argument("--num", type=positive, default=100_000_000, help="keys (default: 100000000)")
    options.add_argument("--memory", type=positive, default=8 << 20, help="bytes of memory (default: 8388608)")
    options.add_argument("--dir", default="/tmp/protean_cascade_bench", help="folder of the filters, on the drive to measure")
    options.add_argument("--only", choices=EXPERIMENTS, help="one experiment (default: all)")
    arguments = options.parse_args()

    def bench(*flags):
        return run(arguments.build_dir, "cascade_bench", f"--num={arguments.num}", f"--memory={arguments.memory}",
                   f"--dir={arguments.dir}", *flags)

    for name, experiment in EXPERIMENTS.items():
        if arguments.only in (None, name):
            experiment(arguments, bench)


if __name__ == "__main__":
    main()
