"""PrevalenceDisplay: the share of each state over time, in the data and according to the model."""

from typing import Any, Self

import numpy as np

from .style import label_colors, place, told_apart
from .survival import check_grid, without_data

MOST_PANELS = 12


class PrevalenceDisplay:
    """The share of each state over time: observed as points, expected as lines.

    Parameters
    ----------
    times : array (n_times,)
        Time since the start of a sequence, in the unit of the generator.
    expected : array (n_times, n_labels)
        Shares according to the model.
    labels : sequence of labels
    observed : array (n_times, n_labels), optional
        Shares in the data; NaN where no sequence is observed any more.
    n_observed : array (n_times,), optional
        How many sequences these are shares of.

    Attributes
    ----------
    axes_ : dict of label to matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    SurvivalDisplay : How long it takes until a state is entered.

    Examples
    --------
    >>> from skchmm.plotting import PrevalenceDisplay
    >>> y, times = [["well", "ill"], ["well", "well"]], [[0.0, 2.0], [1.0, 5.0]]
    >>> shares, n = PrevalenceDisplay.observed_shares(y, times, [0, 2, 3], ["well", "ill"])
    >>> shares.tolist(), n.tolist()
    ([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]], [2, 2, 1])
    """

    def __init__(
        self,
        times: Any,
        expected: Any,
        labels: Any,
        *,
        observed: Any = None,
        n_observed: Any = None,
    ) -> None:
        self.times = check_grid(times)
        self.labels = list(labels)
        self.expected = np.asarray(expected, dtype=np.float64)
        self.observed = None if observed is None else np.asarray(observed, dtype=np.float64)
        self.n_observed = None if n_observed is None else np.asarray(n_observed)
        shape = (len(self.times), len(self.labels))
        for name, table in (("expected", self.expected), ("observed", self.observed)):
            if table is not None and table.shape != shape:
                raise ValueError(f"{name} has shape {table.shape}, it should have {shape}.")

    @staticmethod
    def observed_shares(
        y: Any, times: Any, at: Any, labels: Any, *, final: Any = (), exact: Any = ()
    ) -> Any:
        """Which share of the sequences shows each label at some times since their start.

        Between two steps a sequence shows the label of the nearer one, as in `PathDisplay`. After
        its last step it counts no longer, unless that label is one that is never left. A step
        without a label (None, NaN, or a set of labels) says nothing.

        Parameters
        ----------
        y : list of 1-d arrays of labels
        times : list of 1-d arrays of numbers, datetimes or timedeltas
            The times of the steps; each sequence starts at its first. Datetimes count in seconds.
        at : array (n_times,)
        labels : sequence of labels
        final : collection of labels
            Labels that are never left.
        exact : collection of labels
            Labels that are seen when they are entered, and so not before.

        Returns
        -------
        shares : ndarray (n_times, n_labels)
        n_observed : ndarray (n_times,)
        """
        at = check_grid(at)
        numbers = {label: k for k, label in enumerate(labels)}
        counts = np.zeros((len(at), len(numbers)))
        for path, moments in zip(y, times, strict=True):
            path, since = list(path), _since_start(moments)
            if len(path) != len(since):
                raise ValueError(f"A sequence has {len(path)} labels and {len(since)} times.")
            told = [k for k, label in enumerate(path) if not _says_nothing(label)]
            path, since = [path[k] for k in told], since[told]
            strange = [label for label in path if label not in numbers]
            if strange:
                raise ValueError(f"y has the label {strange[0]!r}; the labels are {list(labels)}.")
            if not path:
                continue
            n_rows = len(at) if path[-1] in final else np.searchsorted(at, since[-1], "right")
            entered = [b in exact and a != b for a, b in zip(path, path[1:])]
            halfway = np.where(entered, since[1:], (since[1:] + since[:-1]) / 2)
            step = np.searchsorted(halfway, at[:n_rows], side="right")
            shown = np.array([numbers[label] for label in path])[step]
            counts[np.arange(n_rows), shown] += 1
        total = counts.sum(axis=1)
        shares = np.divide(
            counts, total[:, None], out=np.full_like(counts, np.nan), where=total[:, None] > 0
        )
        return shares, total.astype(np.int64)

    @staticmethod
    def expected_shares(estimator: Any, at: Any) -> Any:
        """The probability of each state at some times since the start, before any observation.

        Parameters
        ----------
        estimator : fitted CTConstrainedHMM
        at : array (n_times,)

        Returns
        -------
        ndarray (n_times, n_states)

        Notes
        -----
        The rules of the model bind the whole path up to the last of these times. Rules under
        ``semantics="observed"`` say nothing about times without observations, and are left out.

        Examples
        --------
        >>> from skchmm import CTConstrainedHMM
        >>> from skchmm.plotting import PrevalenceDisplay
        >>> model = CTConstrainedHMM.from_parameters(
        ...     [1.0, 0.0], [[-0.5, 0.5], [0.0, 0.0]], states=["well", "ill"])
        >>> PrevalenceDisplay.expected_shares(model, [0, 1, 2]).round(2).tolist()
        [[1.0, 0.0], [0.61, 0.39], [0.37, 0.63]]
        """
        at = check_grid(at)
        model = without_data(estimator)
        silent = np.zeros((2, len(model.classes_)))
        return model.predict_proba(silent, times=[0.0, at[-1]], at=at)

    @classmethod
    def from_estimator(
        cls, estimator: Any, y: Any, times: Any, *, at: Any = None, **options: Any
    ) -> Self:
        """Compare known or decoded labels with what the model expects.

        Sequences that end early are taken to be like those that go on; where they are not, the
        two differ although the model is right.

        Parameters
        ----------
        estimator : fitted CTConstrainedHMM
        y : list of 1-d arrays of labels
            Known labels, or what `predict` returns.
        times : list of 1-d arrays of numbers, datetimes or timedeltas
            Their times; time 0 of the picture is the first of each sequence.
        at : array (n_times,), optional
            Where to look. Default: 60 times, up to the end of all but the longest tenth.
        **options : passed to :meth:`plot`

        Returns
        -------
        PrevalenceDisplay
        """
        labels = estimator.classes_.tolist()
        if at is None:
            ends = [_since_start(moments)[-1] for moments in times]
            at = np.linspace(0, np.quantile(ends, 0.9), 60)
        never_left = np.diag(estimator.generator_) == 0
        final = [label for label, never in zip(labels, never_left) if never]
        exact = estimator.exact_entry
        exact = () if exact is None else (exact,) if isinstance(exact, str) else np.ravel(exact)
        observed, n = cls.observed_shares(y, times, at, labels, final=final, exact=exact)
        expected = cls.expected_shares(estimator, at)
        return cls(at, expected, labels, observed=observed, n_observed=n).plot(**options)

    def plot(self, *, axes: Any = None, colors: Any = None) -> Self:
        """Draw one panel per state; of many, those that are expected most.

        Parameters
        ----------
        axes : collection of matplotlib Axes, optional
            One per state. Default: those of a new figure.
        colors : dict of label to colour, optional

        Returns
        -------
        PrevalenceDisplay
        """
        import matplotlib.pyplot as plt

        most = np.argsort(-self.expected.max(axis=0), kind="stable")[:MOST_PANELS]
        shown = [self.labels[k] for k in sorted(most.tolist())]
        if axes is None:
            columns = min(4, len(shown))
            rows = -(-len(shown) // columns)
            figure, grid = plt.subplots(
                rows, columns, figsize=(2.6 * columns + 0.8, 2.1 * rows + 0.7), sharex=True,
                sharey=True, layout="constrained", squeeze=False,
            )  # fmt: skip
            left_out = len(self.labels) - len(shown)
            note = f"; {left_out} states with smaller shares are left out" if left_out else ""
            figure.supxlabel(f"time since the start{note}", fontsize="medium")
            figure.supylabel("share of sequences", fontsize="medium")
            axes = grid.ravel()
            for ax in axes[len(shown) :]:
                ax.set_axis_off()
        axes = list(np.ravel(axes))
        if len(axes) < len(shown):
            raise ValueError(f"{len(shown)} states need as many axes, got {len(axes)}.")
        self.axes_, self.figure_ = dict(zip(shown, axes)), axes[0].figure
        colors = label_colors(shown, colors)
        for (label, ax), name in zip(self.axes_.items(), told_apart(shown, 24)):
            k, color = self.labels.index(label), colors[label]
            ax.plot(self.times, self.expected[:, k], color=color, lw=2, label="expected")
            if self.observed is not None:
                ax.plot(self.times, self.observed[:, k], "o", ms=3, color=color, alpha=0.7,
                        mec="none", label="observed")  # fmt: skip
            ax.set_title(name, fontsize=9)
            ax.set_ylim(-0.03, 1.03)
            ax.spines[["top", "right"]].set_visible(False)
        if self.observed is not None:
            axes[0].legend(frameon=False, fontsize=8)
        return self


def _says_nothing(label):
    return label is None or label != label or isinstance(label, (set, frozenset))


def _since_start(moments):
    """Times since the first of them, as numbers; of dates in seconds, as the generator has them."""
    moments = np.asarray(moments)
    return place(moments - moments[0])[0]
