"""JumpPathDisplay: paths in continuous time, with what happens between observations."""

from typing import Any, Self

import numpy as np

from .strips import draw_strip, finish_rows
from .style import MOST_NAMES, add_legend, asked, label_colors, new_axes, place, show_times


class JumpPathDisplay:
    """Jump paths of one sequence as strips, with ticks where there are observations.

    Parameters
    ----------
    paths : JumpPath, list of them, or dict of names to them
        As `decode_path`, `sample_path` or `sample_posterior` of
        :class:`~skchmm.CTConstrainedHMM` give them.
    times : array, optional
        The times of the observations.
    labels : sequence of labels, optional
        The labels in the order of the legend. Default: in order of appearance.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    PathDisplay : Label paths as coloured strips.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import CTConstrainedHMM
    >>> from skchmm.plotting import JumpPathDisplay
    >>> model = CTConstrainedHMM.from_parameters(
    ...     [1, 0], [[-0.1, 0.1], [0, 0]], states=["a", "b"])
    >>> path = model.decode_path(np.log([[0.9, 0.1], [0.1, 0.9]]), times=[0, 4])
    >>> JumpPathDisplay(path).labels
    ['a', 'b']
    """

    def __init__(self, paths: Any, *, times: Any = None, labels: Any = None) -> None:
        if hasattr(paths, "segments"):
            paths = {"path": paths}
        elif not isinstance(paths, dict):
            paths = {f"path {k + 1}": path for k, path in enumerate(paths)}
        self.paths = paths
        self.times = None if times is None else np.asarray(times)
        present = dict.fromkeys(x for path in paths.values() for x in path.states.tolist())
        self.labels = list(dict.fromkeys([*(labels if labels is not None else ()), *present]))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        times: Any,
        *,
        n_samples: int = 0,
        random_state: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the decoded jump path of one sequence and, if asked, draws from the posterior.

        Parameters
        ----------
        estimator : fitted CTConstrainedHMM
        X : array (n_steps, n_features) or 1-d symbols
            One sequence.
        times : array
            The time of each row.
        n_samples : int, default=0
            Jump paths drawn given the data, shown below the decoded one.
        random_state : int, RandomState or None
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        JumpPathDisplay
        """
        paths = {"decoded": asked(estimator.decode_path, X, times)}
        if n_samples:
            _, drawn = estimator.sample_posterior(
                X, n_samples, times=times, random_state=random_state, return_paths=True
            )
            paths |= {f"draw {k + 1}": path for k, path in enumerate(drawn)}
        return cls(paths, times=times, labels=estimator.classes_.tolist()).plot(ax, **options)

    def plot(
        self, ax: Any = None, *, colors: Any = None, legend: bool = True, text: bool = True
    ) -> Self:
        """Draw the strips.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        colors : dict of label to colour, optional
        legend : bool, default=True
        text : bool, default=True
            Write the label into stays that are wide enough.

        Returns
        -------
        JumpPathDisplay
        """
        colors, named = label_colors(self.labels, colors), self.labels
        if len(named) > MOST_NAMES:
            seen = {x for path in self.paths.values() for x in path.states.tolist()}
            named = [label for label in named if label in seen]
        ax = new_axes(ax, 9, 0.8 + 0.5 * len(self.paths), named if legend else ())
        self.ax_, self.figure_ = ax, ax.figure
        bounds = [place(_entries_and_end(path))[0] for path in self.paths.values()]
        ends = np.array([min(b[0] for b in bounds), max(b[-1] for b in bounds)])
        for row, (path, edges) in enumerate(zip(self.paths.values(), bounds)):
            draw_strip(
                ax, row, edges[:-1], edges[1:], path.states.tolist(), colors, text=text,
                span=ends[1] - ends[0],
            )  # fmt: skip
        finish_rows(ax, list(self.paths))
        if self.times is not None:
            at = place(self.times)[0]
            low = len(self.paths) - 0.45
            ax.vlines(at, low, low + 0.25, color="0.5", lw=0.8)
            ax.set_ylim(low + 0.3, -0.5)
            ax.set_xlabel("ticks: observations")
        note = ax.get_xlabel()
        show_times(ax, _entries_and_end(next(iter(self.paths.values()))), ends, note)
        if legend:
            add_legend(ax, {label: colors[label] for label in named})
        return self


def _entries_and_end(path):
    return np.append(
        np.asarray(path.times), np.asarray(path.end, dtype=np.asarray(path.times).dtype)
    )
