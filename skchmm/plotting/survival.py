"""SurvivalDisplay: how probable it is that a state has not been entered yet, over time."""

from typing import Any, Self

import numpy as np

from .style import add_legend, label_colors, new_axes, shortened, told_apart

MOST_INSIDE = 6  # curves whose legend has room in the picture


def without_data(estimator, start=None):
    """A model in continuous time like this one, of paths alone: its observations say nothing.

    The start is that of the model, or a label. Rules bind only what is visited, so those that
    count observations (``semantics="observed"``) are left out.
    """
    if not hasattr(estimator, "generator_"):
        raise TypeError(
            f"{type(estimator).__name__} has no generator_: only a fitted CTConstrainedHMM says "
            "what happens over time."
        )
    labels = estimator.classes_.tolist()
    startprob = estimator.startprob_
    if start is not None:
        if start not in labels:
            raise ValueError(f"start={start!r} is none of the states {labels}.")
        startprob = np.eye(len(labels))[labels.index(start)]
    rules = estimator.constraints_ if estimator.semantics == "path" else None
    return type(estimator).from_parameters(
        startprob, estimator.generator_, states=labels, constraints=rules, clock=estimator.clock
    )


def check_grid(times):
    """The times of a curve: finite, from 0 on, in order."""
    times = np.asarray(times, dtype=np.float64)
    if times.ndim != 1 or len(times) == 0:
        raise ValueError(f"times must be a 1-d array of numbers, got shape {times.shape}.")
    if not np.isfinite(times).all() or times[0] < 0 or (np.diff(times) < 0).any():
        raise ValueError("times must be finite, begin at 0 or later, and never decrease.")
    return times


class SurvivalDisplay:
    """P(a state has not been entered yet), as curves over time.

    Parameters
    ----------
    times : array (n_times,)
        Time since the start, in the unit of the generator.
    curves : dict of name to array (n_times,)
        The probabilities, one curve per name.
    into : label or collection of labels
        The states that are waited for.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    PrevalenceDisplay : The share of each state over time, observed and expected.

    Examples
    --------
    >>> from skchmm import CTConstrainedHMM
    >>> from skchmm.plotting import SurvivalDisplay
    >>> rates = [[0, 0.1, 0.1], [0, 0, 0.5], [0, 0, 0]]
    >>> model = CTConstrainedHMM.from_parameters([1, 0, 0], rates, states=["well", "ill", "dead"])
    >>> SurvivalDisplay.survival(model, "dead", [0, 1, 5]).round(3)
    array([1.   , 0.889, 0.463])
    """

    def __init__(self, times: Any, curves: Any, into: Any) -> None:
        self.times = check_grid(times)
        self.curves = {name: np.asarray(curve, dtype=np.float64) for name, curve in curves.items()}
        self.into = into
        for name, curve in self.curves.items():
            if curve.shape != self.times.shape:
                raise ValueError(
                    f"The curve {name!r} has shape {curve.shape}; {len(self.times)} times need "
                    f"({len(self.times)},)."
                )

    @staticmethod
    def survival(estimator: Any, into: Any, times: Any, *, start: Any = None) -> Any:
        """P(none of the states has been entered by each of the times).

        Parameters
        ----------
        estimator : fitted CTConstrainedHMM
        into : label or collection of labels
        times : array (n_times,)
            Time since the start. Numbers, in the unit of the generator (seconds for a model that
            was fitted with datetimes).
        start : label, optional
            The state at time 0. Default: as `startprob_` says.

        Returns
        -------
        ndarray (n_times,)

        Notes
        -----
        The rules of the model bind the path from 0 to the time that is asked for: the answer at
        time t is P(not entered by t | the path up to t keeps the rules). A rule about the end of
        a path is about its end at t. Rules under ``semantics="observed"`` say nothing about times
        without observations, and are left out.
        """
        times = check_grid(times)
        model = without_data(estimator, start)
        silent = [np.zeros((2, len(model.classes_)))] * len(times)
        visits = model.visit_distribution(
            into, silent, times=[[0.0, t] for t in times.tolist()], max_visits=0
        )
        return visits[:, 0]

    @classmethod
    def from_estimator(
        cls, estimator: Any, into: Any, *, times: Any, start: Any = None, ax: Any = None,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Draw the survival curve of a model, or one curve for each of several starts.

        Parameters
        ----------
        estimator : fitted CTConstrainedHMM, or dict of names to such models
        into : label or collection of labels
            The states that are waited for.
        times : array (n_times,)
            Time since the start.
        start : label or list of labels, optional
            The state at time 0, one curve per label. Default: as `startprob_` says.
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        SurvivalDisplay
        """
        models = estimator if isinstance(estimator, dict) else {"": estimator}
        starts = start if isinstance(start, (list, tuple)) else [start]
        curves = {}
        for name, model in models.items():
            for each in starts:
                words = [name] if name else []
                words += [f"from {each}"] if each is not None else []
                curves[", ".join(words)] = cls.survival(model, into, times, start=each)
        return cls(times, curves, into).plot(ax, **options)

    def plot(self, ax: Any = None, *, colors: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        colors : dict of name to colour, optional

        Returns
        -------
        SurvivalDisplay
        """
        many = list(self.curves) if len(self.curves) > MOST_INSIDE else []
        ax = new_axes(ax, 6.5, 3.4, many)
        self.ax_, self.figure_ = ax, ax.figure
        names = told_apart(self.curves, 40)
        colors = label_colors(self.curves, colors)
        for k, (name, curve) in enumerate(self.curves.items()):
            ax.plot(self.times, curve, color=colors[name], lw=1.8, label=names[k])
        several = isinstance(self.into, (list, tuple, set, frozenset))
        labels = list(self.into) if several else [self.into]
        ax.set(
            ylim=(0, 1.03),
            xlabel="time",
            ylabel=f"P(not yet {shortened(' or '.join(map(str, labels)), 24)})",
        )
        ax.set_xlim(0, max(self.times[-1], np.finfo(float).tiny))
        ax.spines[["top", "right"]].set_visible(False)
        if many:
            add_legend(ax, colors)
        elif any(self.curves):
            ax.legend(frameon=False)
        return self
