"""ControllerDisplay: the automaton that the constraints were compiled into."""

from typing import Any, Self

import numpy as np

from .style import ink_and_paper, new_axes

MOST_CIRCLES = 24


class ControllerDisplay:
    """A controller: a graph of up to 24 automaton states, a table of more.

    The table has a row for each automaton state and a column for each that may follow; the
    colour says how many labels lead from one to the other.

    Parameters
    ----------
    controller : Controller

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    TransitionDisplay : Transitions or rates as a graph.

    Examples
    --------
    >>> import skchmm
    >>> from skchmm.constraints import Precedence
    >>> from skchmm.plotting import ControllerDisplay
    >>> display = ControllerDisplay(skchmm.compile(Precedence("a", "b"), ["a", "b"]))
    >>> display.counts().tolist()  # from the first automaton state only "a" leads on
    [[0, 1], [0, 2]]
    """

    def __init__(self, controller: Any) -> None:
        self.controller = controller

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw `controller_` of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        ControllerDisplay
        """
        return cls(estimator.controller_).plot(ax, **options)

    def counts(self) -> Any:
        """How many labels lead from one automaton state to another, at any time."""
        n = len(self.controller.accept)
        counts = np.zeros((n, n), dtype=np.int64)
        tables = np.asarray(self.controller.tables)
        for q in range(n):
            for labels in tables[:, q].T:
                there = np.unique(labels[labels >= 0])
                counts[q, there] += 1
        return counts

    def plot(self, ax: Any = None, *, kind: str = "auto", cmap: str = "viridis") -> Self:
        """Draw the graph or the table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        kind : {"auto", "graph", "matrix"}
        cmap : str or Colormap, default="viridis"
            Of the table.

        Returns
        -------
        ControllerDisplay
        """
        if kind not in ("auto", "graph", "matrix"):
            raise ValueError(f"kind must be 'auto', 'graph' or 'matrix', got {kind!r}.")
        n = len(self.controller.accept)
        if kind == "graph" or (kind == "auto" and n <= MOST_CIRCLES):
            self.ax_ = self.controller.plot(ax)
            self.figure_ = self.ax_.figure
            return self
        ax = new_axes(ax, 7.5, 6.5)
        self.ax_, self.figure_ = ax, ax.figure
        counts = self.counts()
        here, there = np.nonzero(counts)
        size = np.clip((330 / n) ** 2, 3, 60)
        points = ax.scatter(
            there, here, c=counts[here, there], s=size, marker="s", linewidths=0, cmap=cmap,
            vmin=0, vmax=max(counts.max(), 1),
        )  # fmt: skip
        accepting = np.flatnonzero(self.controller.accept)
        ax.plot(np.full(len(accepting), 1.01), accepting, "<", ms=4, color=ink_and_paper(ax)[0],
                transform=ax.get_yaxis_transform(), clip_on=False)  # fmt: skip
        ax.set(xlim=(-1, n), ylim=(n, -1), aspect="equal")
        bar = ax.figure.colorbar(points, ax=ax, label="labels that lead there", shrink=0.8)
        bar.ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="next automaton state", ylabel="automaton state (◂ right: a path may end)")
        ax.set_title(f"{n:,} states over {len(self.controller.states)} labels", fontsize="medium")
        return self
