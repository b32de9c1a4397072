"""TopologyMaskedHMM: forbidden edges as zeros of the transition matrix."""

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..constraints.rules import split_edge_rules
from ._plain import PlainHMM


class TopologyMaskedHMM(PlainHMM):
    """Hidden Markov model whose transition matrix has zeros where an edge is forbidden.

    This is the usual way to make a hidden Markov model respect rules. It is enough if all rules
    are about neighbouring steps. The model is learned without constraints. Then the entries of
    ``transmat_`` that the constraints forbid become zero, and the rows are renormalised.

    It enforces only the constraints that are about pairs of neighbouring labels:
    ``ForbiddenEdges``, ``NoDwell``, and whatever else compiles to a memoryless controller, such as
    ``MaxDuration(states, 1)`` or an irreversible ``StageMonotone`` that stages every state. The
    others need memory; they are listed in ``not_enforced_``, and `fit` warns of them.

    Parameters
    ----------
    n_states : int, optional
        Number of hidden states; required if neither `states` nor y is given.
    states : sequence of labels, optional
        The hidden states, in this order. Default: the labels in y, sorted; without y, 0, 1, ...
    emission : str, Emission or scikit-learn estimator, default="auto"
        As in :class:`~skchmm.ConstrainedHMM`.
    constraints : constraint, Controller, ConstraintMiner or list of them, optional
    algorithm : {"viterbi", "posterior", "mea", "map"}, default="viterbi"
        What `predict` returns, as in :class:`~skchmm.ConstrainedHMM`.
    smoothing, n_iter, tol, init, startprob_fixed, transmat_fixed, n_init, max_nodes, n_jobs, \
random_state, verbose
        As in :class:`~skchmm.ConstrainedHMM`.

    Attributes
    ----------
    classes_ : ndarray (S,)
    startprob_ : ndarray (S,)
    transmat_ : ndarray (S, S)
        The masked matrix. If all entries of a row are forbidden, the row is zero: paths can only
        end in its state.
    emission_ : Emission
    constraints_ : list
    not_enforced_ : list
        The constraints that no transition matrix can express.
    history_, n_iter_, converged_
        Of EM, which runs before the mask.

    See Also
    --------
    skchmm.ConstrainedHMM : enforces all constraints, and does not renormalise.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import TopologyMaskedHMM
    >>> from skchmm.constraints import ForbiddenEdges
    >>> X, y = np.array(list("xxyyzzxx")), np.array(list("aabbccaa"))
    >>> model = TopologyMaskedHMM(constraints=ForbiddenEdges([("a", "c")])).fit(X, y)
    >>> model.transmat_.round(3)
    array([[0.625, 0.375, 0.   ],
           [0.143, 0.429, 0.429],
           [0.429, 0.143, 0.429]])
    """

    _takes_soft = False

    def __init__(
        self,
        n_states: int | None = None,
        *,
        states: Collection[Hashable] | None = None,
        emission: Any = "auto",
        constraints: Any = None,
        algorithm: str = "viterbi",
        smoothing: float = 0.5,
        n_iter: int = 100,
        tol: float = 1e-5,
        init: str = "auto",
        startprob_fixed: ArrayLike | None = None,
        transmat_fixed: ArrayLike | None = None,
        n_init: int = 1,
        max_nodes: int = 1_000_000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            n_states=n_states,
            states=states,
            emission=emission,
            constraints=constraints,
            smoothing=smoothing,
            n_iter=n_iter,
            tol=tol,
            init=init,
            startprob_fixed=startprob_fixed,
            transmat_fixed=transmat_fixed,
            n_init=n_init,
            max_nodes=max_nodes,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.algorithm = algorithm

    def _apply_constraints(self):
        forbidden, others = split_edge_rules(
            self.constraints_, self.classes_.tolist(), self.max_nodes
        )
        self._unmasked = self.transmat_
        allowed = np.where(forbidden, 0.0, self.transmat_)
        total = allowed.sum(axis=1, keepdims=True)
        self.transmat_ = np.divide(allowed, total, out=np.zeros_like(allowed), where=total > 0)
        return others

    def _release(self):
        self.transmat_ = self._unmasked
