"""What a reader sees in a picture."""

from matplotlib import colors as mcolors


def bars(ax):
    """(left, right, bottom, top, colour) of every bar of the strips, in the order of drawing."""
    found = []
    for collection in ax.collections:
        faces = collection.get_facecolors()
        if len(faces) == 0:  # lines
            continue
        for k, path in enumerate(collection.get_paths()):
            (left, bottom), (right, top) = path.vertices.min(axis=0), path.vertices.max(axis=0)
            color = mcolors.to_hex(faces[k % len(faces)])
            found.append((left, right, bottom, top, color))
    return found


def color_at(ax, row, t):
    """The colour of the strip of a row at time t."""
    for left, right, bottom, top, color in bars(ax):
        if left <= t < right and min(bottom, top) < row < max(bottom, top):
            return color
    return None


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend_texts(where):
    legend = where.get_legend() if hasattr(where, "get_legend") else where.legends[0]
    return [text.get_text() for text in legend.get_texts()]


def is_inside(artist, figure):
    """Whether an artist lies in its figure once that is laid out."""
    figure.canvas.draw()
    box, page = artist.get_window_extent(), figure.bbox
    return box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
