"""Pictures of a controller: Graphviz text, and matplotlib."""

import re

import numpy as np

_RADIUS = 0.22
_SHOWN = 6  # labels written on an arrow before the rest is only counted
_LONGEST = 14  # of a label on an arrow; with longer ones a key beside the graph explains numbers
_IN_KEY = 24


def _edges(controller):
    """{(from, to): [(epoch, label indices), ...]}, epochs in order."""
    edges = {}
    for e, table in enumerate(controller.tables):
        for q, row in enumerate(table):
            for there in np.unique(row[row >= 0]).tolist():
                edges.setdefault((q, there), []).append((e, np.flatnonzero(row == there)))
    return edges


def to_dot(controller):
    lines = ["digraph controller {", "  rankdir=LR;", '  "" [shape=none];', '  "" -> 0;']
    for q, accepting in enumerate(controller.accept):
        lines.append(f"  {q} [shape={'doublecircle' if accepting else 'circle'}];")
    for (q, there), parts in _edges(controller).items():
        for e, labels in parts:
            when = "" if len(controller.epochs) == 1 else f"t >= {controller.epochs[e]}: "
            text = when + ", ".join(str(controller.states[a]) for a in labels)
            text = text.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'  {q} -> {there} [label="{text}"];')
    return "\n".join([*lines, "}"])


def _names(controller):
    """What to call the labels on arrows."""
    texts = [str(label) for label in controller.states]
    if max(map(len, texts)) <= _LONGEST:
        return texts
    return [f"#{k}" for k in range(1, len(texts) + 1)]


def _key(controller, captions):
    """Which labels the numbers on arrows stand for."""
    used = {int(number) for text in captions for number in re.findall(r"#(\d+)", text)}
    lines = [f"#{k}  {controller.states[k - 1]}" for k in sorted(used)]
    more = [f"… and {len(lines) - _IN_KEY} more"] if len(lines) > _IN_KEY else []
    return "\n".join([*lines[:_IN_KEY], *more])


def _caption(states, controller, parts):
    """What is written on an arrow: the labels, or what they leave out where that is shorter."""
    bounds = [*controller.epochs.tolist(), None]
    lines, spans = [], []
    for e, labels in parts:
        if spans and spans[-1][1] == e and np.array_equal(spans[-1][2], labels):
            spans[-1][1] = e + 1
        else:
            spans.append([e, e + 1, labels])
    for first, past, labels in spans:
        others = np.setdiff1d(np.arange(len(states)), labels)
        if len(states) > 2 and len(others) == 0:
            text = "any"
        elif len(labels) > 2 and len(others) <= len(labels) // 2:
            text = "not " + _listing([states[a] for a in others])
        else:
            text = _listing([states[a] for a in labels])
        start, stop = bounds[first], bounds[past]
        if stop is not None:
            text = f"{text} (t < {stop})" if start == 0 else f"{text} ({start} ≤ t < {stop})"
        elif start > 0:
            text = f"{text} (t ≥ {start})"
        lines.append(text)
    return "\n".join(lines)


def _listing(labels):
    shown = ", ".join(str(label) for label in labels[:_SHOWN])
    more = len(labels) - _SHOWN
    return shown if more <= 0 else f"{shown}, … ({more} more)"


def _layout(controller):
    """Places: a column for each number of steps to get there, rows around the middle."""
    n = len(controller.accept)
    depth, frontier = {0: 0}, [0]
    while frontier:
        found = []
        for q in frontier:
            for there in controller.tables[:, q].ravel().tolist():
                if there >= 0 and there not in depth:
                    depth[there] = depth[q] + 1
                    found.append(there)
        frontier = found
    last = max(depth.values())
    columns = {}
    for q in range(n):
        columns.setdefault(depth.get(q, last + 1), []).append(q)
    places = np.zeros((n, 2))
    for column, members in columns.items():
        for row, q in enumerate(members):
            places[q] = 1.8 * column, 1.3 * ((len(members) - 1) / 2 - row)
    return places


def plot(controller, ax):
    from matplotlib import pyplot as plt
    from matplotlib.patches import Circle

    places = _layout(controller)
    if ax is None:
        width, height = np.ptp(places, axis=0) + 2.5
        _, ax = plt.subplots(figsize=(min(width, 16), min(height, 10)), layout="constrained")
    ax.set_axis_off()
    ink, paper = _colors(ax)
    for q, (x, y) in enumerate(places):
        ax.add_patch(Circle((x, y), _RADIUS, facecolor=paper, edgecolor=ink, zorder=3))
        if controller.accept[q]:
            inner = Circle((x, y), 0.8 * _RADIUS, facecolor="none", edgecolor=ink, zorder=3)
            ax.add_patch(inner)
        ax.text(x, y, str(q), ha="center", va="center", zorder=4, color=ink)
    ax.annotate(
        "",
        places[0] - (_RADIUS, 0),
        places[0] - (3 * _RADIUS, 0),
        arrowprops={"arrowstyle": "-|>", "color": ink},
    )
    names = _names(controller)
    edges = {ends: _caption(names, controller, parts) for ends, parts in _edges(controller).items()}
    for (q, there), caption in edges.items():
        _draw_edge(ax, places[q], places[there], caption, ink, paper, places)
    if names != [str(label) for label in controller.states]:
        key = _key(controller, edges.values())
        style = {"ha": "left", "va": "center", "fontsize": "small", "color": ink}
        ax.text(1.02, 0.5, key, transform=ax.transAxes, **style)
    low, high = places.min(axis=0) - 1, places.max(axis=0) + 1
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    return ax


def _colors(ax):
    """What is seen on the figure's background, and that background."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    paper = ax.figure.get_facecolor()
    if paper[-1] == 0:
        paper = to_rgb(rcParams["figure.facecolor"])
    dark = np.dot(to_rgb(paper), (0.299, 0.587, 0.114)) < 0.5
    return "white" if dark else "black", paper


def _draw_edge(ax, start, end, caption, ink, paper, places):
    from matplotlib.patches import FancyArrowPatch

    style = {"arrowstyle": "-|>", "mutation_scale": 12, "color": ink, "linewidth": 0.9}
    across = end - start
    if not across.any():  # back to itself: a loop above the circle
        left, right = start + (-0.1, 0.2), start + (0.1, 0.2)
        ax.add_patch(
            FancyArrowPatch(left, right, connectionstyle="arc3,rad=-2.2", zorder=2, **style)
        )
        middle, where = start + (0, 0.47), "bottom"
    else:
        # Arrows to the next column are straight; all others bend, forth and back differently.
        bend = 0.0 if 0 < across[0] < 2 else 0.3 * (1 if across[0] < 0 else -1)
        if across[0] == 0:
            bend *= 1.6
        if bend:
            bend = _clear(start, end, bend, places)
        # Where the bend leaves one circle and reaches the other: forth and back stay apart.
        aside = bend * np.array([across[1], -across[0]])
        leave, reach = across / 2 + aside, across / 2 - aside
        start = start + leave / np.hypot(*leave) * _RADIUS
        end = end - reach / np.hypot(*reach) * _RADIUS
        ax.add_patch(
            FancyArrowPatch(
                start,
                end,
                connectionstyle=f"arc3,rad={bend}",
                shrinkA=0,
                shrinkB=0,
                zorder=2,
                **style,
            )
        )
        if bend:
            middle = (start + end) / 2 + bend / 2 * np.array([end[1] - start[1], start[0] - end[0]])
        elif across[1]:  # before the middle, where arrows that cross would share the place
            middle = start + 0.38 * (end - start)
        else:
            middle = (start + end) / 2 + (0, 0.06)
        where = "center" if bend or across[1] else "bottom"
    ax.text(
        *middle,
        caption,
        ha="center",
        va=where,
        fontsize="small",
        zorder=5,
        color=ink,
        bbox={"facecolor": paper, "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
    )


def _clear(start, end, bend, places):
    """The first of some bends with which an arrow runs through no other circle."""
    t = np.linspace(0.05, 0.95, 40)[:, None]
    across = end - start
    others = [place for place in places if (place != start).any() and (place != end).any()]
    for scale in (1, 1.7, -1, 0.6, -1.7, 2.4):
        aside = scale * bend * np.array([across[1], -across[0]])
        curve = start + t * across + 2 * t * (1 - t) * aside
        if all(np.hypot(*(curve - place).T).min() > 1.3 * _RADIUS for place in others):
            return scale * bend
    return bend
