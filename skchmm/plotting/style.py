"""What all pictures share: colours, legends, places on the time axis. Needs matplotlib to draw."""

from collections import Counter
from typing import Any

import numpy as np

# Tol's bright scheme and Okabe-Ito's black-free rest: told apart with any colour vision.
PALETTE = (
    *("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"),
    *("#bbbbbb", "#e69f00", "#009e73", "#882255"),
)
MISTAKE = "#c1121f"
MOST_COLUMNS = 2000  # more steps than this are drawn several to a column
MOST_NAMES = 24  # labels that a legend or an axis names
LONGEST = 28  # characters of a label


def label_colors(labels: Any, colors: Any = None) -> Any:
    """A colour for every label: those given, the palette's for others, a colour wheel past it.

    See Also
    --------
    add_legend : A legend of labels.
    """
    from matplotlib import colormaps

    given = dict(colors or {})
    palette = PALETTE
    if len(labels) > len(PALETTE):
        palette = colormaps["turbo"](np.linspace(0.05, 0.95, len(labels)))
    return {label: given.get(label, palette[k]) for k, label in enumerate(labels)}


def shortened(label, longest=LONGEST):
    """A label as text, its middle left out where it is long."""
    text = str(label)
    if len(text) <= longest:
        return text
    kept = longest - 1
    return f"{text[: kept - kept // 3]}…{text[len(text) - kept // 3 :]}"


def told_apart(labels, longest=LONGEST):
    """Short texts for labels; where shortening makes some equal, they keep what differs."""
    texts = [str(label) for label in labels]
    short = [shortened(text, longest) for text in texts]
    kept = longest // 3
    for same, number in Counter(short).items():
        alike = {text for text, name in zip(texts, short) if number > 1 and name == same}
        if len(alike) < 2:
            continue
        first, last = min(alike), max(alike)  # all begin as these two do
        differs = next((k for k, (x, y) in enumerate(zip(first, last)) if x != y), len(first))
        for k, name in enumerate(short):
            if name == same:
                rest = shortened_end(texts[k][max(differs - 3, 0) :], longest - kept)
                short[k] = f"{texts[k][: kept - 1]}…{rest}"
    return short


def shortened_end(text, longest):
    """The beginning of a text that is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def legend_grid(names, width):
    """Columns and rows of a legend of these names that is at most `width` inches wide."""
    widths = [0.075 * len(shortened(name)) + 0.42 for name in names[: MOST_NAMES + 1]] or [0.0]
    for columns in range(len(widths), 0, -1):
        rows = -(-len(widths) // columns)
        if sum(max(widths[k : k + rows]) for k in range(0, len(widths), rows)) <= width:
            break
    return -(-len(widths) // rows), rows


def add_legend(where: Any, colors: Any, *, mistakes: Any = False, **options: Any) -> Any:
    """A legend of the labels above the axes (or figure) `where`; of many, the first.

    Parameters
    ----------
    where : matplotlib Axes or Figure
    colors : dict of label to colour
    mistakes : bool or str, default=False
        Whether to explain the red line, or what to call it.
    **options : passed to ``where.legend``

    See Also
    --------
    label_colors : One colour per label.
    """
    from matplotlib.patches import Patch

    shown = list(colors.items())[:MOST_NAMES]
    names = told_apart([label for label, _ in shown])
    handles = [Patch(color=color, label=name) for name, (_, color) in zip(names, shown)]
    if len(colors) > len(shown):
        handles.append(Patch(alpha=0, label=f"… and {len(colors) - len(shown)} more"))
    if mistakes:
        text = mistakes if isinstance(mistakes, str) else "differs from truth"
        handles.append(Patch(color=MISTAKE, label=text))
    figure = where if hasattr(where, "get_figwidth") else where.figure
    width = where.bbox.width / figure.dpi * (1 if where is figure else 1.1)  # before the layout
    columns, _ = legend_grid([handle.get_label() for handle in handles], width)
    style = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": columns}
    style |= {"frameon": False, "handlelength": 1, "handleheight": 1, "columnspacing": 1.2}
    where.legend(handles=handles, fontsize=9, borderaxespad=0.2, **{**style, **options})


def new_axes(ax, width, height, names=()):
    """The axes given, or those of a new figure with room for a legend of some names."""
    import matplotlib.pyplot as plt

    if ax is None:
        rows = legend_grid(names, width)[1] if len(names) else 0
        _, ax = plt.subplots(figsize=(width, height + 0.21 * rows), layout="constrained")
    return ax


def readable_on(color):
    """Black or white, whichever is read better on a colour."""
    from matplotlib.colors import to_rgb

    return "white" if np.dot(to_rgb(color), (0.299, 0.587, 0.114)) < 0.6 else "#222222"


def ink_and_paper(ax):
    """The colour of lines and words, and that of the figure they stand on."""
    import matplotlib as mpl

    paper = ax.figure.get_facecolor()
    if paper[-1] == 0:
        paper = mpl.rcParams["figure.facecolor"]
    return readable_on(paper), paper


def check_times(times, n_steps):
    """The times as an array, one per step; None where none are given."""
    if times is None:
        return None
    times = np.asarray(times)
    if times.shape != (n_steps,):
        raise ValueError(f"times has shape {times.shape}; {n_steps} steps need ({n_steps},).")
    return times


def place(times):
    """Times as numbers on an axis, and of which kind: 'dates', 'seconds' or 'numbers'."""
    from matplotlib.dates import date2num

    times = np.asarray(times)
    if times.dtype.kind == "m":
        return times / np.timedelta64(1, "s"), "seconds"
    if times.dtype.kind == "M" or (times.dtype == object and hasattr(times.flat[0], "tzinfo")):
        return date2num(times), "dates"
    return times.astype(np.float64), "numbers"


def step_edges(times, n_steps=None):
    """Where each step is drawn to begin and end, as numbers.

    Without times step t is drawn from t to t + 1. With times it reaches halfway to its
    neighbours, and the picture ends where the data end.
    """
    if times is None:
        return np.arange(n_steps + 1, dtype=np.float64)
    times, _ = place(times)
    if len(times) == 1:
        return times[0] + np.array([-0.5, 0.5])
    return np.concatenate([times[:1], (times[1:] + times[:-1]) / 2, times[-1:]])


def show_times(ax, times, edges, note=""):
    """Set up the horizontal axis: its ends, its dates, its name and what was reduced."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    kind = "steps" if times is None else place(times[:1])[1]
    ax.set_xlim(edges[0], edges[-1] if edges[-1] > edges[0] else edges[0] + 1)
    if kind == "dates":
        locator = AutoDateLocator()
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    name = {"steps": "step", "seconds": "seconds"}.get(kind, "time")
    if kind == "seconds" or note:
        ax.set_xlabel(f"{name} ({note})" if note else name)


def column_bounds(n_steps):
    """Where the columns of a reduced picture begin, and past the last one."""
    return np.linspace(0, n_steps, min(n_steps, MOST_COLUMNS) + 1).astype(np.int64)


def runs(path):
    """(start, stop) of the maximal runs of a path."""
    borders = np.flatnonzero(path[1:] != path[:-1]) + 1
    return list(zip([0, *borders.tolist()], [*borders.tolist(), len(path)]))


def asked(method, X, times, *arguments, **options):
    """Call a method of an estimator, with the times if it takes them."""
    from inspect import signature

    if times is not None and "times" in signature(method).parameters:
        options["times"] = times
    return method(X, *arguments, **options)
