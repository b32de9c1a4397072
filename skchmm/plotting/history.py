"""HistoryDisplay: how EM got on, for every restart."""

from typing import Any, Self

from .style import PALETTE, new_axes


class HistoryDisplay:
    """The objective of EM at each iteration, one line per restart; the best one stands out.

    Parameters
    ----------
    histories : list of list of float
        The objective at each iteration, one list per restart.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    TransitionDisplay : Transitions or rates as a graph.

    Examples
    --------
    >>> from skchmm.plotting import HistoryDisplay
    >>> HistoryDisplay([[-9.0, -5.0, -4.5], [-8.0, -6.0]]).best
    0
    """

    def __init__(self, histories: Any) -> None:
        self.histories = [list(history) for history in histories]
        if not any(self.histories):
            raise ValueError("There is no history: the model was not learned by EM.")

    @property
    def best(self) -> Any:
        """Which restart ends highest."""
        ends = [history[-1] if history else float("-inf") for history in self.histories]
        return ends.index(max(ends))

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the history of a fitted estimator.

        Parameters
        ----------
        estimator : estimator fitted by EM
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        HistoryDisplay
        """
        histories = getattr(estimator, "histories_", None) or [estimator.history_]
        return cls(histories).plot(ax, **options)

    def plot(self, ax: Any = None, *, skip: int = 0) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        skip : int, default=0
            First iterations that are left out, to see the later ones better.

        Returns
        -------
        HistoryDisplay
        """
        ax = new_axes(ax, 6.5, 3.2)
        self.ax_, self.figure_ = ax, ax.figure
        one = len(self.histories) == 1
        for k, history in enumerate(self.histories):
            style = {"color": "0.6", "lw": 0.9, "zorder": 1}
            if k == self.best:
                name = "" if one else f"restart {k + 1}, the best of {len(self.histories)}"
                style = {"color": PALETTE[0], "lw": 2, "zorder": 2, "label": name}
            steps = range(skip, len(history))
            (line,) = ax.plot(steps, history[skip:], **style)
            if len(steps):
                ax.plot(steps[-1], history[-1], "o", ms=4, color=line.get_color(), zorder=3)
        ax.set(xlabel="iteration", ylabel="objective of EM")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.spines[["top", "right"]].set_visible(False)
        if not one:
            ax.legend(frameon=False, loc="lower right")
        return self
