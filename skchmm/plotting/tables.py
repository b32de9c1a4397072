"""Tables as pictures: a colour for each entry, with names and numbers where they can be read."""

import numpy as np

from .style import MOST_NAMES, readable_on, shortened, told_apart

MOST_NUMBERS = 16  # rows or columns of a table whose entries are written out


def draw_table(ax, values, rows, columns, *, texts=None, **options):
    """Draw a matrix; name every k-th row and column where there are too many for all.

    Parameters
    ----------
    values : array (n_rows, n_columns)
    rows, columns : names
    texts : array of numbers, optional
        What is written on the entries, zeros excepted, if the table is small enough.
    **options : passed to ``ax.imshow``

    Returns
    -------
    AxesImage
    """
    image = ax.imshow(values, aspect="auto", interpolation="nearest", **options)
    for set_ticks, names in ((ax.set_yticks, rows), (ax.set_xticks, columns)):
        every = -(-len(names) // (2 * MOST_NAMES))
        places = np.arange(0, len(names), every)
        shown = told_apart([names[k] for k in places])
        set_ticks(places, shown, fontsize=9 if every == 1 else 7)
    if max((len(shortened(name)) for name in columns), default=0) * len(columns) > 40:
        ax.tick_params(axis="x", rotation=90)
    if texts is not None and max(np.shape(values)) <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(np.asarray(texts)):
            if value:
                color = readable_on(image.cmap(image.norm(values[i, j])))
                text = f"{value:.2g}" if isinstance(value, float) else str(value)
                ax.text(j, i, text, ha="center", va="center", color=color, fontsize=8)
    return image
