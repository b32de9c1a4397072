"""What rules do to sequences: ExplanationDisplay, RuleCostDisplay."""

from typing import Any, Self

import numpy as np

from .style import MISTAKE, PALETTE, asked, ink_and_paper, new_axes, shortened, told_apart
from .tables import draw_table

MOST_SEQUENCES = 60


class ExplanationDisplay:
    """Why a sequence has no feasible path: how far paths get as rules are added one by one.

    Each bar reaches to the step up to which some path can still be completed under the rules
    down to its row; the last one breaks off where the last path dies.

    Parameters
    ----------
    rows : list of (text, position)
        A rule, and the step at which the last path dies once it is added; None where there are
        still feasible paths.
    n_steps : int
        Steps of the sequence.
    steps : dict of int to list of labels
        Observations that take part in the conflict, and the labels that can produce them.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    RuleCostDisplay : What each rule costs each sequence.

    Examples
    --------
    >>> from skchmm.plotting import ExplanationDisplay
    >>> display = ExplanationDisplay([("StartsIn('a')", None), ("EndsIn('b')", 7)], n_steps=12)
    >>> len(display.rows)
    2
    """

    def __init__(self, rows: Any, n_steps: Any, steps: Any = None) -> None:
        self.rows = list(rows)
        self.n_steps = n_steps
        self.steps = dict(steps or {})

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, times: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Explain one sequence and draw the conflict.

        Parameters
        ----------
        estimator : fitted estimator with `explain`
        X : array (n_steps, n_features) or 1-d symbols
            One sequence, without a feasible path.
        times : array, optional
            The time of each row, in continuous time.
        ax : matplotlib Axes, optional
        **options : passed to :meth:`plot`

        Returns
        -------
        ExplanationDisplay
        """
        found = asked(estimator.explain, X, times)
        if found.feasible:
            raise ValueError("The sequence has a feasible path: there is nothing to explain.")
        rows = []
        for k in range(len(found.constraints) + 1):
            if k == 0 and found.constraints:
                continue
            rules = found.constraints[:k]
            so_far = asked(estimator.with_constraints(rules or None).explain, X, times)
            text = repr(found.constraints[k - 1]) if k else "the model itself"
            rows.append((text, None if so_far.feasible else so_far.position))
        return cls(rows, found.n_steps, found.steps).plot(ax, **options)

    def plot(self, ax: Any = None) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.

        Returns
        -------
        ExplanationDisplay
        """
        ax = new_axes(ax, 9, 1.3 + 0.42 * len(self.rows))
        self.ax_, self.figure_ = ax, ax.figure
        ink, _ = ink_and_paper(ax)
        for row, (_, position) in enumerate(self.rows):
            end = self.n_steps if position is None else position
            ax.barh(row, end, height=0.6, color=PALETTE[0] if position is None else PALETTE[1])
            if position is not None:
                ax.plot(end, row, "x", color=MISTAKE, ms=9, mew=2.4, clip_on=False, zorder=4)
                side = "left" if end < 0.7 * self.n_steps else "right"
                gap = 0.015 * self.n_steps * (1 if side == "left" else -1)
                words = f"the last path dies at step {position}"
                ax.text(end + gap, row, words, va="center", ha=side, color=ink, fontsize=9)
        for t in self.steps:
            ax.axvline(t + 0.5, color=MISTAKE, lw=0.9, ls=":", zorder=0)
        names = ["+ " * (k > 0) + shortened(text, 44) for k, (text, _) in enumerate(self.rows)]
        ax.set_yticks(range(len(self.rows)), names)
        ax.set_ylim(len(self.rows) - 0.5, -0.6)
        ax.set_xlim(-0.012 * self.n_steps, self.n_steps)
        few = len(self.steps) <= 3
        seen = ", ".join(
            f"step {t} only {' or '.join(map(str, labels)) or 'no state'}"
            for t, labels in self.steps.items()
        )
        note = "dotted: " + (seen if few else f"{len(self.steps)} observations in the conflict")
        ax.set_xlabel("step" + (f" ({note})" if self.steps else ""))
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0)
        return self


class RuleCostDisplay:
    """What each rule costs each sequence, as a table of rules by sequences.

    Parameters
    ----------
    costs : pandas.DataFrame
        As `constraint_costs` gives it.
    column : {"log_prob_gain", "log_likelihood_gain"}
        What would be gained without the rule: by the best path, or by all paths together.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    ExplanationDisplay : Which rule fails where.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import ConstrainedHMM
    >>> from skchmm.constraints import EndsIn, StartsIn
    >>> from skchmm.plotting import RuleCostDisplay
    >>> model = ConstrainedHMM.from_parameters(
    ...     [0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]], states=["a", "b"],
    ...     constraints=[StartsIn("a"), EndsIn("b")])
    >>> display = RuleCostDisplay(model.constraint_costs([np.zeros((3, 2)), np.zeros((4, 2))]))
    >>> display.values.shape  # rules by sequences
    (2, 2)
    """

    def __init__(self, costs: Any, *, column: str = "log_prob_gain") -> None:
        self.column = column
        self.rules = list(dict.fromkeys(costs["constraint"]))
        self.sequences = list(dict.fromkeys(costs["sequence"]))
        values = costs[column].to_numpy(dtype=np.float64)
        self.values = values.reshape(len(self.sequences), -1).T

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, column: str = "log_prob_gain", ax: Any = None, **where: Any
    ) -> Self:
        """Compute the costs and draw them.

        Parameters
        ----------
        estimator : fitted estimator with `constraint_costs`
        X : sequences
        column : see the class
        ax : matplotlib Axes, optional
        **where : `lengths`, `groups` or `times` of the sequences

        Returns
        -------
        RuleCostDisplay
        """
        return cls(estimator.constraint_costs(X, **where), column=column).plot(ax)

    def plot(self, ax: Any = None, *, cmap: str = "Reds") -> Self:
        """Draw the table; of many sequences those to which the rules cost most.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new figure.
        cmap : str or Colormap, default="Reds"

        Returns
        -------
        RuleCostDisplay
        """
        finite = np.where(np.isfinite(self.values), self.values, np.nan)
        largest = np.nanmax(finite, initial=0.0)
        order = np.arange(len(self.sequences))
        note = "sequence"
        if len(order) > MOST_SEQUENCES:
            total = np.minimum(self.values, 10 * largest + 1).sum(axis=0)
            order = np.argsort(-total, kind="stable")[:MOST_SEQUENCES]
            note = f"the {MOST_SEQUENCES} of {len(self.sequences):,} sequences that pay most"
        height = 1.5 + 0.38 * min(len(self.rules), 20)
        ax = new_axes(ax, 9, height)
        self.ax_, self.figure_ = ax, ax.figure
        from matplotlib import colormaps

        scale = colormaps[cmap] if isinstance(cmap, str) else cmap
        scale = scale.with_extremes(bad="black")
        names = told_apart(self.rules, 40)
        image = draw_table(
            ax, np.ma.masked_invalid(self.values[:, order]), names,
            [str(self.sequences[k]) for k in order], cmap=scale, vmin=0, vmax=largest or 1.0,
        )  # fmt: skip
        ax.figure.colorbar(image, ax=ax, label="log P gained without it", shrink=0.9)
        endless = " (black: infeasible only because of it)" if np.isinf(self.values).any() else ""
        ax.set_xlabel(note + endless)
        return self
