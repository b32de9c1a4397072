"""Learning of a ConstrainedHMM: labelled, unlabelled and partly labelled sequences."""

import numbers
from copy import deepcopy

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import emissions
from ._base import encode_labels
from ._estimation import count_labels, normalise, read_fixed, run_em, warn_not_converged
from ._expectation import accumulation, expect, parts_of
from ._progress import CallbackSupportMixin, Progress, with_callbacks
from .constraints.compile import compile, flatten
from .emissions.base import steps_in_part
from .exceptions import InfeasibleSequenceError
from .sequences import read_labels, read_step_weights, read_weights

ALGORITHMS = ("viterbi", "posterior", "map")


class LearningMixin(CallbackSupportMixin):
    """`fit`, for estimators with the parameters of ConstrainedHMM."""

    # scikit-learn takes a sample_weight in the signature of fit for a weight of exchangeable rows
    # and tests it as one. Here it weighs sequences, so it is declared for routing instead.
    __metadata_request__fit = {"sample_weight": None}

    @with_callbacks
    def fit(self, X, y=None, *, lengths=None, groups=None, **weights):
        """Learn from labelled, unlabelled or partly labelled sequences.

        Parameters
        ----------
        X : sequences in any of the three forms
        y : labels in the same form, optional
            With all labels: maximum likelihood with pseudocount `smoothing`. Without: EM. Partly
            missing (None, NaN, or -1 among integers): EM with the known labels held.
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            One weight a sequence for a list, else one a row, constant within a sequence. With all
            labels known the rows of a sequence may differ in weight: an emission counts with the
            weight of its row, a transition with that of the row it leads to.

        Returns
        -------
        self
        """
        sample_weight = weights.pop("sample_weight", None)
        if weights:
            raise TypeError(f"fit() got an unexpected keyword argument {next(iter(weights))!r}")
        self._check_parameters()
        sequences = self._read(X, lengths, groups, reset=True)
        step_weights = read_step_weights(sample_weight, sequences)
        labels = None if y is None else read_labels(y, sequences)
        if self.init == "fitted":
            check_is_fitted(self, "transmat_", msg="init='fitted' needs a fitted estimator.")
            emission = deepcopy(self.emission_)
        else:
            _check_columns(self.emission, sequences.X)
            emission = emissions.resolve(self.emission, sequences.X)
        if self.init != "fitted":
            self.classes_ = self._choose_classes(labels, emission)
        S = len(self.classes_)
        encoded = emission.encode(sequences.X, sequences.offsets, reset=self.init != "fitted")
        codes = None if y is None else encode_labels(labels, self.classes_)
        self.constraints_ = self._resolve_constraints(y, lengths, groups)
        self.controller_ = compile(
            self.constraints_, self.classes_.tolist(), max_nodes=self.max_nodes
        )
        self._chains = {}
        start_fixed = read_fixed(self.startprob_fixed, (S,), "startprob_fixed")
        trans_fixed = read_fixed(self.transmat_fixed, (S, S), "transmat_fixed")
        data = Data(encoded, sequences, step_weights, codes, start_fixed, trans_fixed)
        context = self._init_callback_context(max_subtasks=None)
        if codes is not None and (codes >= 0).all():
            self._fit_labelled(emission, data)
        else:
            data.weights = read_weights(sample_weight, sequences)
            least = steps_in_part(emission) if self._in_parts else None
            data.parts = parts_of(emission, data, S, self.n_jobs, least=least)
            self._fit_em(emission, data, context)
        self.graph_ = self._chain().graph
        return self

    def _check_parameters(self):
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {ALGORITHMS}, got {self.algorithm!r}.")
        if self.on_infeasible not in ("raise", "warn"):
            raise ValueError(
                f"on_infeasible must be 'raise' or 'warn', got {self.on_infeasible!r}."
            )
        if self.init not in ("auto", "kmeans", "random", "fitted"):
            raise ValueError(
                f"init must be 'auto', 'kmeans', 'random' or 'fitted', got {self.init!r}."
            )
        for name in ("smoothing", "tol"):
            if not isinstance(getattr(self, name), numbers.Real):
                raise ValueError(f"{name} must be a number, got {getattr(self, name)!r}.")
        if not self.smoothing >= 0:
            raise ValueError(f"smoothing must not be negative, got {self.smoothing!r}.")
        if not (isinstance(self.n_iter, (int, np.integer)) and self.n_iter >= 0):
            raise ValueError(f"n_iter must be an integer >= 0, got {self.n_iter!r}.")
        if not (isinstance(self.n_init, (int, np.integer)) and self.n_init >= 1):
            raise ValueError(f"n_init must be an integer >= 1, got {self.n_init!r}.")

    def _resolve_constraints(self, y, lengths, groups):
        """Constraints as a flat list; a miner in it learns from y."""
        given = self.constraints
        given = list(given) if isinstance(given, (list, tuple)) else [given]
        parts = []
        for part in given:
            if hasattr(part, "fit") and not isinstance(part, type):  # a miner
                if y is None:
                    raise ValueError(
                        f"{type(part).__name__} mines constraints from labels: give y."
                    )
                part = clone(part).fit(y, lengths=lengths, groups=groups).constraints_
            parts.append(part)
        return flatten([part for part in parts if part is not None])

    def _fit_labelled(self, emission, data):
        S = len(self.classes_)
        starts, transitions = count_labels(data.codes, data.offsets, S, data.step_weights)
        self.startprob_ = normalise(starts + self.smoothing, data.start_fixed)
        self.transmat_ = normalise(transitions + self.smoothing, data.fixed)
        emission.fit_supervised(
            data.encoded, data.codes, S, data.step_weights, offsets=data.offsets,
            smoothing=self.smoothing, random_state=self.random_state,
        )  # fmt: skip
        self.emission_ = emission
        self.history_, self.n_iter_, self.converged_ = [], 0, True

    def _fit_em(self, emission, data, context):
        if emission.needs_labels and (data.codes is None or not (data.codes >= 0).any()):
            raise ValueError(
                f"{emission} is learned from labels only, and none were given: pass y, or use an "
                "emission of skchmm.emissions."
            )
        random_state = check_random_state(self.random_state)
        best = None
        for _ in range(self.n_init):
            start = self._start_em(deepcopy(emission), data, random_state)
            result = run_em(
                start,
                lambda parameters, learn: self._e_step(parameters, data, learn),
                lambda parameters, statistics: self._m_step(parameters, statistics, data),
                n_iter=self.n_iter,
                tol=self.tol,
                progress=Progress(self, context, self.verbose),
            )
            if best is None or result[1][-1] > best[1][-1]:
                best = result
            if self.init == "fitted":
                break
        (self.startprob_, self.transmat_, self.emission_), self.history_, self.converged_ = best
        self.n_iter_ = len(self.history_) - 1
        if not self.converged_ and self.n_iter > 0:
            warn_not_converged(self.n_iter, self)

    def _start_em(self, emission, data, random_state):
        """Start values: (startprob, transmat, emission)."""
        S = len(self.classes_)
        if self.init == "fitted":
            startprob, transmat = self.startprob_.copy(), self.transmat_.copy()
            return (
                _imposed(startprob, data.start_fixed),
                _imposed(transmat, data.fixed),
                emission,
            )
        starts, transitions = np.ones(S), np.ones((S, S))
        if self.init == "random" or self.n_init > 1:
            starts = random_state.dirichlet(starts)
            transitions = random_state.dirichlet(np.ones(S), size=S)
        if not emission.needs_labels:
            init = emission.default_init if self.init == "auto" else self.init
            emission.initialise(data.encoded, data.offsets, S, init=init, random_state=random_state)
        if data.codes is not None and (data.codes >= 0).any():
            counted = count_labels(data.codes, data.offsets, S, data.step_weights)
            starts = starts + counted[0]
            transitions = transitions + counted[1]
            emission.fit_supervised(
                data.encoded, data.codes, S, data.step_weights, offsets=data.offsets,
                smoothing=self.smoothing, random_state=random_state,
            )  # fmt: skip
        return (
            normalise(starts, data.start_fixed),
            normalise(transitions, data.fixed),
            emission,
        )

    def _e_step(self, parameters, data, learn):
        startprob, transmat, emission = parameters
        chain = self._chain(startprob, transmat)
        accumulate = accumulation(emission) if learn else None
        expected = expect(chain, emission, data.parts, self.n_jobs, accumulate=accumulate)
        return self._objective(expected.smoothed.log_z, data), expected

    def _objective(self, log_z, data):
        """log P(Y, Acc) of all sequences by weight."""
        used = data.weights > 0
        bad = np.flatnonzero(np.isneginf(log_z) & used)
        if len(bad):
            raise InfeasibleSequenceError(self._explain_briefly(data.sequences, bad[0]))
        return float(np.dot(log_z[used], data.weights[used]))

    def _m_step(self, parameters, expected, data):
        startprob, transmat, emission = parameters
        startprob, emission = start_and_emission(startprob, emission, expected, data)
        transmat = normalise(expected.smoothed.transitions, data.fixed, transmat)
        return startprob, transmat, emission


def start_and_emission(startprob, emission, expected, data):
    """The M-step of what does not depend on how states follow each other."""
    if not emission.needs_labels:
        emission = deepcopy(emission)
        emission.maximise(expected.statistics)
    return normalise(expected.starts, data.start_fixed, startprob), emission


class Data:
    """What a fit looks at, read once."""

    def __init__(self, encoded, sequences, step_weights, codes, start_fixed, fixed):
        self.encoded = encoded
        self.sequences = sequences
        self.offsets = sequences.offsets
        self.step_weights = step_weights
        self.weights = self.parts = None  # for EM; one weight a sequence
        self.codes = codes
        self.start_fixed = start_fixed
        self.fixed = fixed  # transitions, or rates


def _check_columns(emission, X):
    """1-d rows are symbols; 1-d numbers may have been meant as one row as well as one column."""
    if emission == "auto" and len(X.shape) == 1 and getattr(X.dtype, "kind", "") == "f":
        raise ValueError(
            "Expected 2D array, got 1D array of floating-point numbers instead. Reshape your data "
            "using X.reshape(-1, 1) if it has a single feature, or choose an emission."
        )


def _imposed(probabilities, fixed):
    """Probabilities with the given entries in place, the others scaled to what is left."""
    return probabilities if fixed is None else normalise(probabilities, fixed)
