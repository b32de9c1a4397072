"""TransitionDisplay: transition probabilities or rates, as a graph or as a table."""

from typing import Any, Self

import numpy as np

from .style import ink_and_paper, label_colors, new_axes, readable_on, told_apart
from .tables import draw_table

MOST_CIRCLES = 12
MOST_ARROWS = 300  # of a graph
KINDS = ("auto", "graph", "matrix")


class TransitionDisplay:
    """Transition probabilities, or the rates of a generator, between labels.

    Parameters
    ----------
    matrix : array (n_labels, n_labels)
        Transition matrix, or generator with rows that sum to 0.
    labels : sequence of labels
    generator : bool, default=False
        Whether the matrix is a generator.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    ControllerDisplay : A controller as a graph.

    Examples
    --------
    >>> from skchmm.plotting import TransitionDisplay
    >>> display = TransitionDisplay([[0.9, 0.1], [0.0, 1.0]], ["a", "b"])
    >>> display.arrows()
    [(0, 1, 0.1)]
    """

    def __init__(self, matrix: Any, labels: Any, *, generator: bool = False) -> None:
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.labels = list(labels)
        self.generator = generator
        if self.matrix.shape != (len(self.labels),) * 2:
            raise ValueError(
                f"matrix has shape {self.matrix.shape}; {len(self.labels)} labels need "
                f"({len(self.labels)}, {len(self.labels)})."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw `transmat_`, or `generator_`, of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        TransitionDisplay
        """
        generator = hasattr(estimator, "generator_")
        matrix = estimator.generator_ if generator else estimator.transmat_
        labels = estimator.classes_.tolist()
        return cls(matrix, labels, generator=generator).plot(ax, **options)

    def arrows(self, threshold: float = 0.0) -> Any:
        """(from, to, value) of the changes of label above a threshold."""
        changes = self.matrix - np.diag(np.diag(self.matrix))
        return [(i, j, float(changes[i, j])) for i, j in np.argwhere(changes > threshold).tolist()]

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "auto",
        threshold: Any = None,
        colors: Any = None,
        cmap: str = "Blues",
    ) -> Self:
        """Draw the graph or the table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        kind : {"auto", "graph", "matrix"}
            By default a graph of up to 12 labels, a table of more.
        threshold : float, optional
            Arrows of a graph below it are left out. Default: 2 % of the largest. At most 300
            arrows are drawn, the largest ones.
        colors : dict of label to colour, optional
            Of the circles.
        cmap : str or Colormap, default="Blues"
            Of the table.

        Returns
        -------
        TransitionDisplay
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}, got {kind!r}.")
        if kind == "auto":
            kind = "graph" if len(self.labels) <= MOST_CIRCLES else "matrix"
        side = 6.0 if kind == "graph" else min(3 + 0.4 * len(self.labels), 10)
        ax = new_axes(ax, side + (kind == "matrix"), side)
        self.ax_, self.figure_ = ax, ax.figure
        if kind == "graph":
            self._draw_graph(threshold, label_colors(self.labels, colors))
        else:
            self._draw_matrix(cmap)
        return self

    def _draw_matrix(self, cmap):
        values = self.matrix.copy()
        name = "transition probability"
        if self.generator:
            np.fill_diagonal(values, 0)
            name = "rate of jumps"
        texts = np.vectorize(lambda x: round(float(x), 2), otypes=[object])(values)
        image = draw_table(
            self.ax_, values, self.labels, self.labels, texts=texts, cmap=cmap, vmin=0
        )
        self.figure_.colorbar(image, ax=self.ax_, label=name, shrink=0.8)
        self.ax_.set(xlabel="to", ylabel="from")

    def _draw_graph(self, threshold, colors):
        from matplotlib.patches import Circle, FancyArrowPatch

        ax, n = self.ax_, len(self.labels)
        ax.set_axis_off()
        ink, paper = ink_and_paper(ax)
        angles = np.pi / 2 - 2 * np.pi * np.arange(n) / n
        places = np.column_stack([np.cos(angles), np.sin(angles)]) * (n > 1)
        radius = min(0.26, 1.9 / max(n, 4))
        largest = max((value for *_, value in self.arrows()), default=1)
        threshold = 0.02 * largest if threshold is None else threshold
        arrows = self.arrows(threshold)
        if len(arrows) > MOST_ARROWS:
            arrows = sorted(arrows, key=lambda arrow: arrow[2])[-MOST_ARROWS:]
        thin = min(1.0, (60 / max(len(arrows), 1)) ** 0.5)  # so that many do not make one blot
        for i, j, value in arrows:
            across = places[j] - places[i]
            unit = across / np.hypot(*across)
            ax.add_patch(FancyArrowPatch(
                places[i] + radius * unit, places[j] - radius * unit, arrowstyle="-|>",
                connectionstyle="arc3,rad=0.16", mutation_scale=13 * thin, color=ink, shrinkA=1,
                shrinkB=1, lw=thin * (0.6 + 3.4 * value / largest),
                alpha=thin * (0.35 + 0.6 * value / largest),
            ))  # fmt: skip
            # A third of the way, on the bend: arrows that cross or go back write elsewhere.
            spot = places[i] + 0.36 * across + 0.075 * np.array([across[1], -across[0]])
            if n <= 8:
                ax.text(
                    *spot, f"{value:.2g}", fontsize=8, ha="center", va="center", color=ink,
                    bbox={"facecolor": paper, "edgecolor": "none", "pad": 0.6, "alpha": 0.85},
                )  # fmt: skip
        names = told_apart(self.labels, 14 if n <= MOST_CIRCLES else 9)
        for k, (label, place) in enumerate(zip(self.labels, places)):
            ax.add_patch(Circle(place, radius, facecolor=colors[label], lw=0, zorder=3))
            stays = self.matrix[k, k]
            detail = f"{stays:.2f}"
            if self.generator:
                detail = "for good" if stays >= 0 else f"for {-1 / stays:.3g}"
            text = f"{names[k]}\nstays {detail}" if n <= MOST_CIRCLES else names[k]
            size = 8 if n <= 8 else 7 if n <= MOST_CIRCLES else 5
            style = {"ha": "center", "va": "center", "fontsize": size, "zorder": 4}
            ax.text(*place, text, color=readable_on(colors[label]), **style)
        left_out = len(self.arrows()) - len(arrows)
        if left_out:
            note = f"{left_out} arrows below {threshold:.2g} are left out"
            if len(arrows) == MOST_ARROWS:
                note = f"the {MOST_ARROWS} largest of {left_out + MOST_ARROWS} arrows"
            ax.text(0.5, 0, note, transform=ax.transAxes, ha="center", fontsize=8, color=ink)
        ax.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
