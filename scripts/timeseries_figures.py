# SPDX-License-Identifier: Apache-2.0
"""Draws figures 12 and 13 of the SuRF paper from a report of protean_bench, such as scripts/demo.sh leaves in build/demo."""

import sys

from figures import draw_lines, parser, plt, read_rows, save

PANELS = (("ops_per_sec", "Throughput (Kops/s)", 1e-3), ("block_reads_per_op", "Block reads per operation", 1))


def figure_12(rows, filters, folder):
    """Point and open-seek queries: a bar for each filter."""
    figure, panels = plt.subplots(1, 4, figsize=(14, 3.4))
    for i, (query, name) in enumerate((("point", "Point"), ("open_seek", "Open-Seek"))):
        for j, (field, label, scale) in enumerate(PANELS):
            values = [scale * next(r[field] for r in rows if r["filter"] == f and r["query"] == query) for f in filters]
            panel = panels[2 * i + j]
            bars = panel.bar(range(len(filters)), values, color=[f"C{n}" for n in range(len(filters))])
            panel.bar_label(bars, fmt="%.3g", fontsize=8)
            # The end of a slanted name stands below its bar, so that long names do not overprint their neighbors.
            panel.set_xticks(range(len(filters)), filters, rotation=40, ha="right", rotation_mode="anchor", fontsize=8)
            panel.set_title(f"{name} queries")
            panel.set_ylabel(label)
            panel.margins(y=0.15)
    save(figure, folder, "figure12.png", legend=False)


def figure_13(rows, filters, folder):
    """Closed seeks: a line for each filter over the share of empty results."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4))
    for panel, (field, label, scale) in zip(panels, PANELS):
        draw_lines(panel, {name: sorted((100 * r["empty_share"], scale * r[field]) for r in rows
                                        if r["filter"] == name and r["query"] == "closed_seek") for name in filters})
        panel.set_xlabel("Closed seeks with empty results (%)")
        panel.set_ylabel(label)
        panel.invert_xaxis()
        panel.set_ylim(bottom=0)
    panels[0].legend()
    save(figure, folder, "figure13.png", legend=False)


def main():
    options = parser(__doc__)
    options.add_argument("report", metavar="REPORT.jsonl", help="what protean_bench --json_file has written")
    options.add_argument("folder", metavar="FOLDER", help="where the pictures go")
    args = options.parse_args()
    rows = read_rows(args.report)
    if not rows:
        sys.exit(f"{args.report} holds no results")
    filters = list(dict.fromkeys(row["filter"] for row in rows))
    figure_12(rows, filters, args.folder)
    if any(row["query"] == "closed_seek" for row in rows):
        figure_13(rows, filters, args.folder)


if __name__ == "__main__":
    main()
