"""PostHocFilter: the first of the best paths that happens to be feasible."""

from collections.abc import Collection, Hashable
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._numbers import check_at_least
from ..inference.chain import labelled
from ..inference.kbest import iterate_paths
from ._plain import PlainHMM


class PostHocFilter(PlainHMM):
    """Hidden Markov model that looks for a feasible path among its best paths.

    The paths of a sequence are found one at a time, the most probable one first. The first path
    that satisfies the constraints is the answer. If none of `n_candidates` paths satisfies them,
    the most probable path is the answer, although it breaks a rule. The number of infeasible paths
    that come first can grow exponentially with the length of the sequence.

    Only decoding uses the constraints. Learning, `predict_proba` and `log_likelihood` are
    those of the hidden Markov model without them.

    Parameters
    ----------
    n_candidates : int, default=50
        Maximum number of paths to look at in a sequence.
    n_states : int, optional
        Number of hidden states; required if neither `states` nor y is given.
    states : sequence of labels, optional
        The hidden states, in this order. Default: the labels in y, sorted; without y, 0, 1, ...
    emission : str, Emission or scikit-learn estimator, default="auto"
        As in :class:`~skchmm.ConstrainedHMM`.
    constraints : constraint, Controller, ConstraintMiner or list of them, optional
    smoothing, n_iter, tol, init, startprob_fixed, transmat_fixed, n_init, max_nodes, n_jobs, \
random_state, verbose
        As in :class:`~skchmm.ConstrainedHMM`.

    Attributes
    ----------
    classes_ : ndarray (S,)
    startprob_ : ndarray (S,)
    transmat_ : ndarray (S, S)
    emission_ : Emission
    constraints_ : list
    n_examined_ : ndarray (n_sequences,)
        How many paths the last call of `predict` or `decode` looked at in each sequence.
    n_feasible_ : int
        For how many of these sequences it found a feasible one.
    history_, n_iter_, converged_
        Of EM.

    See Also
    --------
    skchmm.ConstrainedHMM : the best of all feasible paths, always.

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import PostHocFilter
    >>> from skchmm.constraints import EndsIn
    >>> X, y = np.array(list("xxyyxxyy")), np.array(list("aabbaabb"))
    >>> model = PostHocFilter(constraints=EndsIn("b")).fit(X, y)
    >>> model.predict(np.array(list("yyx")))
    array(['b', 'b', 'b'], dtype='<U1')
    >>> model.n_examined_
    array([3])
    """

    _takes_soft = False

    def __init__(
        self,
        n_candidates: int = 50,
        *,
        n_states: int | None = None,
        states: Collection[Hashable] | None = None,
        emission: Any = "auto",
        constraints: Any = None,
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
        self.n_candidates = n_candidates

    def _check_parameters(self):
        super()._check_parameters()
        check_at_least(self.n_candidates, "n_candidates", 1)

    @property
    def n_examined_(self) -> np.ndarray:
        """How many paths the last call of `predict` or `decode` looked at in each sequence."""
        return self._of_last("n_examined_")

    @property
    def n_feasible_(self) -> int:
        """For how many of these sequences it found a feasible path."""
        return self._of_last("n_feasible_")

    def _of_last(self, name):
        if name not in getattr(self, "_last", ()):
            raise AttributeError(f"{name} is known after a call of predict or decode.")
        return self._last[name]

    def _conclude(self):
        self._last = {}  # predict may not set attributes of a fitted estimator, so it fills this
        return super()._conclude()

    def _best_paths(self, sequences, frames, labels=None):
        frames = frames.whole()
        path, log_prob = super()._best_paths(sequences, frames)
        offsets, chain = sequences.offsets, self._chain()
        feasible = self.controller_.accepts_encoded(path, offsets)
        n_examined = np.ones(len(feasible), dtype=np.int64)
        for s in np.flatnonzero(~feasible):
            begin, end = offsets[s], offsets[s + 1]
            alone = np.array([0, end - begin])
            candidates = islice(iterate_paths(chain, frames, begin, end), self.n_candidates)
            for n_examined[s], (score, candidate) in enumerate(candidates, 1):
                if self.controller_.accepts_encoded(candidate, alone)[0]:
                    path[begin:end], log_prob[s], feasible[s] = candidate, score, True
                    break
        self._last |= {"n_examined_": n_examined, "n_feasible_": int(feasible.sum())}
        return labelled(path, labels), log_prob
