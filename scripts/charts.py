# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG, in one style: a title, what is good, at most four series in the colors of their filters. Python alone draws
them."""

import math
from xml.sax.saxutils import escape

from figures import color_of

WIDTH = 800
MARGIN = 24
TOP = 70  # the space of the title and what stands below it
MUTED = 'fill="#5b6470"'
CHARACTER = 7.2  # the width of a character of 13 pixels, about


def text(x, y, words, size=13, anchor="middle", style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {style}>{escape(words)}</text>'


def document(title, note, height, parts):
    """The whole picture. White lies below it, since a page may be dark."""
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" fill="#1b1f24">')
    return "\n".join([head, f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
                      text(MARGIN, 32, title, 18, "start", 'font-weight="bold"'), text(MARGIN, 54, note, 13, "start", MUTED),
                      *parts, "</svg>", ""])


def legend(labels, y):
    parts, x = [], MARGIN
    for label, name in labels.items():
        parts += [f'<rect x="{x:.1f}" y="{y - 11:.1f}" width="13" height="13" rx="2" fill="{color_of(name)}"/>',
                  text(x + 19, y, label, 13, "start")]
        x += 19 + CHARACTER * len(label) + 22
    return parts


def axis(largest):
    """The numbers beside an axis from 0 to beyond the largest value, which are round, at most seven."""
    steps = (factor * 10.0 ** exponent for exponent in range(-4, 12) for factor in (1, 2, 5))
    step = next(step for step in steps if largest <= 6 * step)
    return [i * step for i in range(max(1, math.ceil(largest / step)) + 1)]


def bars(title, note, groups, labels, digits=2):
    """Draws horizontal bars. `groups` has the values of each group's bars, by label; None is no bar. `labels` has the filter
    of each label, whose color the bar gets. In a single group, the labels stand beside the bars; else in a legend above."""
    single = len(groups) == 1
    names = list(labels) if single else list(groups)
    left = MARGIN + 12 + CHARACTER * max(map(len, names))
    bar, gap = (22, 8) if single else (14, 2)
    parts, y = ([], TOP + 6) if single else (legend(labels, TOP + 14), TOP + 34)
    scale = (WIDTH - left - 80) / (max(value for values in groups.values() for value in values if value is not None) or 1)
    for group, values in groups.items():
        shown = [(label, value) for label, value in zip(labels, values) if value is not None]
        if not single:
            parts.append(text(left - 12, y + len(shown) * (bar + gap) / 2 + 3, group, 13, "end"))
        for label, value in shown:
            if single:
                parts.append(text(left - 12, y + bar / 2 + 4.5, label, 13, "end"))
            parts += [f'<rect x="{left:.1f}" y="{y:.1f}" width="{max(scale * value, 1):.1f}" height="{bar}" '
                      f'fill="{color_of(labels[label])}"/>',
                      text(left + scale * value + 8, y + bar / 2 + 4.5, f"{value:,.{digits}f}", 13 if single else 11, "start")]
            y += bar + gap
        y += 10
    return document(title, note, round(y + 6), parts)


def lines(title, note, panels, x_label, ticks, labels):
    """Draws panels of lines next to each other. Each has a heading, and the values of its lines at the ticks, by label;
    `labels` has the filter of each label, whose color the line gets."""
    height, top, bottom = 340, TOP + 58, 284
    parts = legend(labels, TOP + 14)
    width = (WIDTH - 2 * MARGIN) / len(panels)
    for i, (heading, values) in enumerate(panels.items()):
        numbers = axis(max(max(line) for line in values.values()))
        left = MARGIN + i * width + 10 + CHARACTER * max(len(f"{number:,g}") for number in numbers)
        right = MARGIN + (i + 1) * width - 12
        xs = [left + (right - left) * place / (len(ticks) - 1) for place in range(len(ticks))]
        parts.append(text(left - 8, TOP + 44, heading, 13, "start", 'font-weight="bold"'))
        for number in numbers:
            y = bottom - (bottom - top) * number / numbers[-1]
            parts += [f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" stroke="{"#e3e7eb" if number else "#1b1f24"}"/>',
                      text(left - 6, y + 4, f"{number:,g}", 11, "end", MUTED)]
        parts += [text(x, bottom + 18, str(tick), 11, "middle", MUTED) for x, tick in zip(xs, ticks)]
        parts.append(text((left + right) / 2, bottom + 40, x_label, 12, "middle", MUTED))
        for label, line in values.items():
            points = [(x, bottom - (bottom - top) * value / numbers[-1]) for x, value in zip(xs, line)]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            color = color_of(labels[label])
            parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points]
    return document(title, note, height, parts)
