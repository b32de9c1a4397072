"""What wrong constraints cost: total variation between two constrained posteriors."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..constraints.compile import compile
from ..exceptions import InfeasibleSequenceError
from ..sequences.forms import read_sequences


@dataclass(frozen=True)
class MisspecificationBound:
    """How far the posterior under constraints chi is from that under the true chi*.

    mu is the unconstrained posterior of the whole path given the observations; all arrays have one
    value per sequence unless said otherwise.

    Attributes
    ----------
    log_mu : ndarray
        log mu(chi).
    log_mu_true : ndarray
        log mu(chi*).
    log_mu_both : ndarray
        log mu(chi and chi*).
    trajectory_tv : ndarray
        Total variation between the two posteriors of the whole path, exactly.
    marginal_bound : ndarray
        Bound on the total variation between the two posteriors of the label at any one step.
    marginal_tv : ndarray, or list of ndarray for a list of sequences
        That total variation itself, one value per step.
    max_marginal_tv : ndarray
        The largest over the steps.
    mean_marginal_tv : ndarray
        The mean over the steps.
    """

    log_mu: np.ndarray
    log_mu_true: np.ndarray
    log_mu_both: np.ndarray
    trajectory_tv: np.ndarray
    marginal_bound: np.ndarray
    marginal_tv: np.ndarray | list
    max_marginal_tv: np.ndarray
    mean_marginal_tv: np.ndarray

    @property
    def mu(self) -> np.ndarray:
        return np.exp(self.log_mu)

    @property
    def mu_true(self) -> np.ndarray:
        return np.exp(self.log_mu_true)

    @property
    def mu_both(self) -> np.ndarray:
        return np.exp(self.log_mu_both)


def misspecification_bound(
    model: Any,
    constraints: Any,
    true_constraints: Any,
    X: Any,
    *,
    lengths: Collection[int] | None = None,
    groups: Any = None,
) -> MisspecificationBound:
    """The exact cost of inference under wrong constraints, and its bound.

    With mu the unconstrained posterior of the whole path, chi the paths that `constraints` allow
    and chi* those that `true_constraints` allow, the posteriors of the path differ in total
    variation by exactly ::

        1 - mu(chi and chi*) / max(mu(chi), mu(chi*))

    and those of the label at any one step by at most ::

        min(1, (mu(chi) + mu(chi*) - 2 mu(chi and chi*)) / max(mu(chi), mu(chi*))).

    Parameters
    ----------
    model : fitted ConstrainedHMM
        Its parameters are used; its own constraints are ignored.
    constraints : None, constraint, Controller or list of them
        The constraints that inference would use.
    true_constraints : None, constraint, Controller or list of them
        The constraints that really hold.
    X : sequences in any of the three forms
    lengths, groups : see the three forms

    Returns
    -------
    MisspecificationBound

    Raises
    ------
    InfeasibleSequenceError
        If a sequence has no path under one of the two sets of constraints.

    See Also
    --------
    trajectory_validity_rate : The share of paths that obey the rules.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import ConstrainedHMM
    >>> from skchmm.constraints import EndsIn, StartsIn
    >>> from skchmm.metrics import misspecification_bound
    >>> model = ConstrainedHMM.from_parameters(
    ...     [0.5, 0.5], [[0.8, 0.2], [0.4, 0.6]], states=["a", "b"])
    >>> X = np.log([[0.5, 0.5], [0.9, 0.1], [0.3, 0.7]])
    >>> result = misspecification_bound(model, StartsIn("a"), [StartsIn("a"), EndsIn("b")], X)
    >>> result.max_marginal_tv.round(4), result.marginal_bound.round(4)
    (array([0.616]), array([0.616]))
    """
    sequences = read_sequences(X, lengths=lengths, groups=groups)
    where = {"lengths": lengths, "groups": groups}
    specified = model.with_constraints(constraints)
    true = model.with_constraints(true_constraints)
    log_mu = specified.log_feasibility(X, **where)
    log_mu_true = true.log_feasibility(X, **where)
    for name, log_mass in (("constraints", log_mu), ("true_constraints", log_mu_true)):
        if np.isneginf(log_mass).any():
            which = sequences.describe(int(np.argmin(log_mass)))
            raise InfeasibleSequenceError(f"No path of {which} satisfies {name}.")
    log_mu_both = _log_mu_both(model, constraints, true_constraints, sequences, X, where)

    largest = np.maximum(log_mu, log_mu_true)
    shared = np.exp(log_mu_both - largest)
    difference = np.exp(log_mu - largest) + np.exp(log_mu_true - largest) - 2 * shared

    marginals = _flat(specified.predict_proba(X, **where))
    true_marginals = _flat(true.predict_proba(X, **where))
    marginal_tv = np.abs(marginals - true_marginals).sum(axis=1) / 2
    starts = sequences.offsets[:-1]
    return MisspecificationBound(
        log_mu=log_mu,
        log_mu_true=log_mu_true,
        log_mu_both=log_mu_both,
        trajectory_tv=np.clip(1 - shared, 0, 1),
        marginal_bound=np.clip(difference, 0, 1),
        marginal_tv=sequences.restore(marginal_tv),
        max_marginal_tv=np.maximum.reduceat(marginal_tv, starts),
        mean_marginal_tv=np.add.reduceat(marginal_tv, starts) / sequences.lengths,
    )


def _log_mu_both(model, constraints, true_constraints, sequences, X, where):
    limit = {"max_nodes": model.max_nodes}
    both = compile(constraints, model.classes_, **limit)
    both &= compile(true_constraints, model.classes_, **limit)
    if both.is_empty():
        return np.full(sequences.n_sequences, -np.inf)
    return model.with_constraints(both).log_feasibility(X, **where)


def _flat(values):
    return np.concatenate(values) if isinstance(values, list) else values
