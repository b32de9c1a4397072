"""PerceptronCRF: a linear-chain model trained by the averaged perceptron."""

from collections.abc import Collection, Hashable
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._kernels.other.perceptron import train_pass
from .._numbers import check_at_least, check_flag, is_one_of
from ..constraints.compile import flatten
from ..constraints.rules import warn_not_enforced
from ..constraints.soft import Soft
from ..emissions import Frames
from ..estimators.base import SequenceEstimator, all_or_nothing
from ..estimators.em import CallbacksMixin, Progress, with_callbacks
from ..estimators.likelihood import mine_constraints, pop_sample_weight
from ..estimators.questions import KBestMixin
from ..inference.chain import ScoredChain
from ..sequences.aligned import read_weights
from ..sequences.forms import Sequences, read_labels, read_sequences
from ..sequences.labels import choose_states, encode_labels
from ..sequences.values import as_numbers
from ._features import KINDS, ColumnFeatures, DictFeatures, as_rows, holds_dicts


class PerceptronCRF(KBestMixin, CallbacksMixin, SequenceEstimator):
    """Linear-chain conditional random field trained by the averaged perceptron.

    The score of a path is the sum of the weights of its features. Each feature that is observed at
    a step has a weight for every state; each pair of neighbouring steps has a weight for its two
    states; and the first state has a weight. Training decodes each sequence with the current
    weights and corrects them where the path is wrong. The final weights are the mean over all of
    training.

    A column of symbols or integers has one feature per symbol. A column of floating-point numbers
    is one feature, the number itself (scale such columns first, for example with
    ``StandardScaler``). Or each step has a dictionary of features,
    ``{"word": "Main", "length": 4}``, as for sklearn-crfsuite and
    :class:`~sklearn.feature_extraction.DictVectorizer`. Features that were not seen in training,
    and missing values, have no weight.

    Parameters
    ----------
    n_epochs : int, default=6
        Passes over the sequences.
    constraints : constraint, Controller, ConstraintMiner or list of them, optional
    enforce : bool, default=False
        Whether every path must satisfy the constraints. If so, the best path that satisfies them
        is found exactly, and marginals are those of such paths. Otherwise the constraints are
        listed in ``not_enforced_``, and `fit` warns. Training never uses them.
    states : sequence of labels, optional
        The labels, in this order. Default: the labels in y, sorted.
    features : {"auto", "symbols", "numeric"}, default="auto"
        What the columns of X are. "auto": floating-point columns are numbers, others symbols.
    shuffle : bool, default=True
        Whether each pass goes through the sequences in a new order.
    algorithm : {"viterbi", "posterior", "mea", "map"}, default="viterbi"
        What `predict` returns: the path with the best score, the feasible path with the largest sum
        of log marginals or of marginals, or the most probable state of each step.
    on_infeasible : {"raise", "warn", "relax"}, default="raise"
        With ``enforce=True``, what to do with a sequence that has no feasible path.
    max_nodes : int, default=1_000_000
        Largest controller to build.
    n_jobs : int, optional
        Number of threads in prediction; they share the sequences. None means 1, -1 all cores.
    random_state : int, RandomState or None
        For the order of the sequences.
    verbose : int, default=0
        Print the progress of training.

    Attributes
    ----------
    classes_ : ndarray (S,)
    start_weights_ : ndarray (S,)
    transition_weights_ : ndarray (S, S)
    feature_weights_ : ndarray (n_features, S)
    feature_names_ : list of str
        What the rows of ``feature_weights_`` stand for.
    constraints_, not_enforced_ : list
    history_ : list of int
        Steps labelled wrongly in each pass.

    See Also
    --------
    ConstrainedHMM : The hidden Markov model with exact inference under constraints.

    Notes
    -----
    ``decode`` returns scores, not log probabilities. ``predict_proba`` gives the marginals of the
    conditional random field with these weights. The perceptron learns only which path is best, so
    these marginals rank well but tend to be too sure.

    Examples
    --------
    >>> from skchmm import PerceptronCRF
    >>> X = [[{"word": "the"}, {"word": "dog"}], [{"word": "a"}, {"word": "cat"}]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN"]]
    >>> PerceptronCRF(random_state=0).fit(X, y).predict([[{"word": "the"}, {"word": "cow"}]])
    [array(['DET', 'NOUN'], dtype='<U4')]
    """

    # A weight of a sequence, not of a row: declared for routing only, as in likelihood models.
    __metadata_request__fit = {"sample_weight": None}

    _parameter_names = ("start_weights_", "transition_weights_")

    @property
    def _enforces(self):
        return self.enforce

    def __init__(
        self,
        n_epochs: int = 6,
        *,
        constraints: Any = None,
        enforce: bool = False,
        states: Collection[Hashable] | None = None,
        features: str = "auto",
        shuffle: bool = True,
        algorithm: str = "viterbi",
        on_infeasible: str = "raise",
        max_nodes: int = 1_000_000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_epochs = n_epochs
        self.constraints = constraints
        self.enforce = enforce
        self.states = states
        self.features = features
        self.shuffle = shuffle
        self.algorithm = algorithm
        self.on_infeasible = on_infeasible
        self.max_nodes = max_nodes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self):
        self._check_choices()
        check_flag(self.enforce, "enforce")
        check_flag(self.shuffle, "shuffle")
        if not is_one_of(self.features, KINDS):
            raise ValueError(f"features must be one of {KINDS}, got {self.features!r}.")
        check_at_least(self.n_epochs, "n_epochs", 1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    # --------------------------------------------------------------- reading
    def _read(self, X, lengths, groups, *, reset=False):
        if not holds_dicts(X):
            return super()._read(X, lengths, groups, reset=reset)
        if not reset:
            check_is_fitted(self)
        found = read_sequences(np.arange(len(X)), lengths=lengths, groups=groups)
        sequences = Sequences(as_rows(X), found.offsets, found.form, found.ids)
        self._check_features(sequences.X, reset)
        return sequences

    def _features_for(self, X):
        if holds_dicts(X):
            return DictFeatures()
        if len(X.shape) == 1 and X.dtype.kind == "f" and self.features == "auto":
            raise ValueError(
                "Expected 2D array, got 1D array of floating-point numbers instead. Reshape your "
                "data using X.reshape(-1, 1) if it has a single feature, or choose features=."
            )
        return ColumnFeatures(self.features)

    def _pending(self, sequences):
        return self._frames(sequences)

    def _frames(self, sequences):
        found, S = self._features.transform(sequences.X), len(self.classes_)
        weights = as_numbers(self.feature_weights_, "feature_weights_")
        if weights.shape != (found.shape[1], S) or not np.isfinite(weights).all():
            raise ValueError(
                f"feature_weights_ must be finite numbers of the shape {(found.shape[1], S)}, one "
                f"row per feature and one column per state; it has the shape {weights.shape}."
            )
        return Frames(found @ weights).clamp(sequences.known)

    # -------------------------------------------------------------- learning
    @with_callbacks
    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        **weights: Any,
    ) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X : sequences in any of the three forms, or of dictionaries
        y : labels in the same form, none missing
        lengths : sequence of int, optional
        groups : sequence, optional
        sample_weight : sequence of float, optional
            How much a correction of a sequence adds: one weight per sequence for a list, else one
            per row, constant within a sequence.

        Returns
        -------
        self
        """
        sample_weight = pop_sample_weight(weights)
        self._check_parameters()
        if y is None:
            raise ValueError("PerceptronCRF requires y to be passed, but the target y is None.")
        sequences = self._read(X, lengths, groups, reset=True)
        seq_weights = read_weights(sample_weight, sequences)
        labels = read_labels(y, sequences)
        self.classes_ = choose_states(self.states, None, labels)
        codes = encode_labels(labels, self.classes_).astype(np.int32)
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise ValueError(f"y has no label in row {row}; PerceptronCRF needs all of them.")
        rules = mine_constraints(self.constraints, y, lengths, groups)
        for rule in flatten(rules):
            if isinstance(rule, Soft) and rule.learned:
                raise ValueError(
                    f"{rule!r}: PerceptronCRF has no likelihood that a weight could be learned "
                    "from; give the weight as a number."
                )
        self._compile(rules)
        self._features = self._features_for(sequences.X)
        found = self._features.fit_transform(sequences.X)
        self.feature_names_ = self._features.names
        epochs = range(1, self.n_epochs + 1)
        progress = Progress(self, epochs, what="epoch", verbose=self.verbose)
        self._train(found, sequences.offsets, codes, seq_weights, progress)
        self._conclude()
        progress.close()
        return self

    def _train(self, found, offsets, codes, seq_weights, progress):
        S, n = len(self.classes_), len(offsets) - 1
        random_state = check_random_state(self.random_state)
        shapes = (S,), (S, S), (max(found.shape[1], 1), S)
        weights, late = list(map(np.zeros, shapes)), list(map(np.zeros, shapes))
        rows = found.indptr.astype(np.int64), found.indices.astype(np.int32), found.data
        self.history_ = []
        for epoch in range(self.n_epochs):
            progress.begin()
            order = random_state.permutation(n) if self.shuffle else np.arange(n)
            wrong = train_pass(
                *rows, offsets, codes, seq_weights, order.astype(np.int64), float(epoch * n),
                *weights, *late,
            )  # fmt: skip
            change = wrong - self.history_[-1] if self.history_ else None
            self.history_.append(wrong)
            if progress.end(epoch + 1, wrong, change):
                break
        seen = len(self.history_) * n
        start, trans, feature = (weight - part / seen for weight, part in zip(weights, late))
        self.start_weights_, self.transition_weights_ = start, trans
        self.feature_weights_ = feature[: found.shape[1]]

    def _conclude(self):
        self.not_enforced_ = [] if self.enforce else list(self.constraints_)
        warn_not_enforced(self, self.not_enforced_, "enforce=True makes it")
        return super()._conclude()

    def _supports(self, *weights):
        S = len(self.classes_)
        return np.ones(S, dtype=bool), np.ones((S, S), dtype=bool)

    def _new_chain(self, graph, *weights):
        return ScoredChain(graph, *weights)

    def _accuracy(self, sequences, y, sample_weight):
        if y is None:
            raise ValueError("PerceptronCRF models labels given X, not X: score needs y.")
        return super()._accuracy(sequences, y, sample_weight)
