"""Coloured strips: the segments of a path in a row."""

import numpy as np

from .style import MISTAKE, MOST_COLUMNS, column_bounds, readable_on, runs, told_apart


def reduced(codes, n_labels):
    """A path as segments that can be drawn: bounds and label numbers, and steps per column.

    A path of more segments than a picture has columns is cut into columns, each of which takes
    the label that most of its steps have; else the steps per column are 1.
    """
    borders = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    if len(borders) < MOST_COLUMNS:
        bounds = np.concatenate([[0], borders, [len(codes)]])
        return bounds, codes[bounds[:-1]], 1
    bounds = column_bounds(len(codes))
    column = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    counts = np.bincount(column * n_labels + codes, minlength=(len(bounds) - 1) * n_labels)
    common = counts.reshape(-1, n_labels).argmax(axis=1)
    return bounds, common, -(-len(codes) // MOST_COLUMNS)


def draw_strip(ax, row, lefts, rights, labels, colors, *, text=True, span=None, height=0.72):
    """Draw segments, one colour each, and write the label into those that are wide enough.

    Parameters
    ----------
    row : float
        The middle of the strip.
    lefts, rights : arrays (n_segments,)
    labels : list (n_segments,)
    colors : dict of label to colour
    span : float, optional
        What the axes show, to judge widths. Default: the strip.
    """
    widths = np.asarray(rights) - np.asarray(lefts)
    ax.broken_barh(
        list(zip(lefts, widths)), (row - height / 2, height),
        facecolors=[colors[label] for label in labels], linewidth=0,
    )  # fmt: skip
    if not text:
        return
    span = span or (rights[-1] - lefts[0]) or 1
    points = 72 / ax.figure.dpi * ax.bbox.width * widths / span
    names = dict(zip(colors, told_apart(colors)))
    for k in np.flatnonzero(points > 9.5):
        name = names[labels[k]]
        if 5.5 * len(name) + 4 < points[k]:
            style = {"ha": "center", "va": "center", "fontsize": 8, "clip_on": True}
            style["color"] = readable_on(colors[labels[k]])
            ax.text((lefts[k] + rights[k]) / 2, row, name, **style)


def underline(ax, row, wrong, edges):
    """A red line under the steps that are wrong; of too many, under columns that have one."""
    wrong = np.asarray(wrong)
    bounds = np.arange(len(wrong) + 1)
    if np.count_nonzero(wrong[1:] != wrong[:-1]) >= MOST_COLUMNS:
        bounds = column_bounds(len(wrong))
        wrong = np.add.reduceat(wrong.astype(np.int64), bounds[:-1]) > 0
    spans = [
        (edges[bounds[a]], edges[bounds[b]] - edges[bounds[a]]) for a, b in runs(wrong) if wrong[a]
    ]
    ax.broken_barh(spans, (row + 0.385, 0.09), facecolors=MISTAKE, linewidth=0)


def finish_rows(ax, names):
    """Names of the rows, the first on top."""
    ax.set_yticks(range(len(names)), told_apart(names))
    ax.set_ylim(len(names) - 0.4, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
