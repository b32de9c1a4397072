"""Confidence intervals: by the curvature of the likelihood, or by fits to draws from the model."""

import warnings
from collections.abc import Collection
from copy import copy, deepcopy
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from ..controller.progress import Counted
from ..emissions.scales import Generator, Simplex, scales_of
from ..exceptions import InfeasibleSequenceError, warn
from ..sequences.forms import read_labels
from ..sequences.labels import read_known
from ..sequences.values import missing_in
from .asking import check_number
from .em import Data, expect, parts_of
from .infeasible import describe_infeasible

_STEP = 1e-4  # of differences, on scales on which 1 is a large change

Intervals = dict[str, tuple[np.ndarray, np.ndarray]]


class IntervalsMixin:
    """`confidence_intervals`, for a `LikelihoodModel`."""

    def confidence_intervals(
        self,
        X: Any,
        y: Any = None,
        *,
        level: float = 0.95,
        method: str = "information",
        n_draws: int = 200,
        lengths: Collection[int] | None = None,
        groups: Any = None,
        random_state: Any = None,
        **times: Any,
    ) -> Intervals:
        """Intervals for the parameters of starts, transitions and emission.

        Parameters
        ----------
        X, y, lengths, groups : what the model was fitted to
            With y, the labels of steps are taken to be known.
        level : float, default=0.95
            The share of intervals that contain the true value, if the model is right.
        method : {"information", "bootstrap"}, default="information"
            "information": from the curvature of the log-likelihood at the fitted parameters,
            which must be a maximum. "bootstrap": from fits of the model to draws from itself, as
            many and as long as the data. The bootstrap is slower. It is better for few data, and
            for parameters near a bound.
        n_draws : int, default=200
            Number of draws of the bootstrap.
        random_state : int, RandomState or None
            For the draws of the bootstrap. Default: the parameter of the estimator.
        times : the observation times, in continuous time

        Returns
        -------
        dict of (lower, upper)
            Arrays of the shape of each parameter, by its name: ``"startprob_"``, ``"transmat_"`` or
            ``"generator_"``, and those of the emission, ``"means_"`` say. Several tables of one
            name are ``"probabilities_[0]"`` and so on; of a `Product`, ``"age__means_"``. What is
            given, or lies on a bound (a probability of zero), has equal lower and upper values.

        Notes
        -----
        The curvature is computed from differences of the score. The score itself is exact: that of
        the expected statistics (Fisher's identity). Intervals are computed on scales without bounds
        (logarithms, log odds) and transformed back. Both methods run in parallel with `n_jobs`, and
        show their progress with ``verbose``.

        The rules are taken into account: the likelihood is log P(Y, Acc), and draws obey the rules.

        Examples
        --------
        >>> import numpy as np
        >>> from skchmm import ConstrainedHMM
        >>> rng = np.random.default_rng(0)
        >>> X = np.repeat([[0.0], [4.0]], 60, axis=0) + rng.normal(size=(120, 1))
        >>> model = ConstrainedHMM(2, random_state=0, tol=1e-9).fit(X)
        >>> lower, upper = model.confidence_intervals(X)["means_"]
        >>> bool(((lower < model.emission_.means_) & (model.emission_.means_ < upper)).all())
        True
        """
        if method not in ("information", "bootstrap"):
            raise ValueError(f"method must be 'information' or 'bootstrap', got {method!r}.")
        if not isinstance(level, Real) or not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        sequences = self._read(X, lengths, groups, **times)
        if method == "bootstrap":
            check_number(n_draws, "n_draws must be a positive number of draws")
            return self._by_bootstrap(sequences, y is not None, level, n_draws, random_state)
        known = None if y is None else read_known(read_labels(y, sequences), self.classes_)
        encoded = self.emission_.encode(sequences.X, sequences.offsets, reset=False)
        bad = np.flatnonzero(np.isneginf(self._log_likelihoods(sequences)))
        if len(bad):
            frames = self._frames(sequences)
            raise InfeasibleSequenceError(
                describe_infeasible(self, sequences, bad[0], frames, len(bad))
            )
        return self._by_information(Data(sequences, None, known, encoded), level)

    # ----------------------------------------------------------- information
    def _by_information(self, data, level):
        coordinates = Coordinates(self, data)
        n = coordinates.n_free
        moves = _STEP * np.vstack([np.eye(n), -np.eye(n)])
        scores = self._run(coordinates.score, moves, "score")
        curvature = (scores[n:] - scores[:n]) / (2 * _STEP)
        covariance = _inverse((curvature + curvature.T) / 2)
        return coordinates.intervals(covariance, ndtri((1 + level) / 2))

    # ------------------------------------------------------------- bootstrap
    def _by_bootstrap(self, sequences, labelled, level, n_draws, random_state):
        seeds = self._random(random_state).randint(2**31 - 1, size=n_draws)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = self._run(lambda seed: _refit(self, sequences, labelled, seed), seeds, "draw")
        tails = [(1 - level) / 2, (1 + level) / 2]
        return {
            name: tuple(np.quantile([each[name] for each in fitted], tails, axis=0))
            for name in fitted[0]
        }

    def _run(self, function, items, what):
        """A function of each item, in parallel."""
        results = []
        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")
        with Counted("computed", len(items), f"{what}s", self.verbose) as progress:
            for result in jobs(delayed(function)(item) for item in items):
                results.append(result)
                progress.tell(len(results))
        return np.array(results) if what == "score" else results


def _refit(model, sequences, labelled, seed):
    """The parameters of a model that is fitted to a draw from another."""
    rng = check_random_state(int(seed))
    again = copy(model)
    again._chains = {}
    for name, value in (("init", "fitted"), ("n_init", 1), ("n_jobs", None), ("verbose", 0)):
        setattr(again, name, value)
    if sequences.times is None:
        options = {}
        X, y = again.sample(sequences.lengths, random_state=rng)
    else:
        times = sequences.split(sequences.times.values)
        X, y, times = again.sample(times=times, random_state=rng, return_times=True)
        options = {"times": times}
    X = [_with_gaps(drawn, real) for drawn, real in zip(X, sequences.split(sequences.X))]
    again.fit(X, y if labelled else None, **options)
    return dict(_named(again))


def _with_gaps(drawn, real):
    """A draw without the values that the data do not have."""
    if not (isinstance(drawn, np.ndarray) and isinstance(real, np.ndarray)):
        return drawn
    real = real.reshape(len(real), -1)
    missing = np.stack([missing_in(column) for column in real.T], axis=1)
    if missing.shape != drawn.shape or not missing.any():
        return drawn
    if drawn.dtype.kind in "iub":
        drawn = drawn.astype(np.float64)
    elif drawn.dtype.kind != "f":
        drawn = drawn.astype(object)
    drawn[missing] = np.nan if drawn.dtype.kind == "f" else None
    return drawn


def _named(model):
    for name in model._parameter_names:
        yield name, getattr(model, name)
    for name, _, _, _, scale in scales_of(model.emission_):
        yield name, scale.values


class Coordinates:
    """The free parameters of a model on scales without bounds, and the score there.

    Parameters
    ----------
    model : fitted LikelihoodModel
    data : Data
    """

    def __init__(self, model, data):
        self.model, self.emission = model, model.emission_
        dynamics = model._dynamics()
        start, matrix = model._parameters()
        free = None if dynamics.fixed is None else np.isnan(dynamics.fixed)
        kind = Generator if "generator_" in dynamics.names else Simplex
        first = None if dynamics.start_fixed is None else np.isnan(dynamics.start_fixed)
        self.dynamic = [Simplex(start[None], None if first is None else first[None])]
        self.dynamic.append(kind(matrix, free))
        self.of_emission = scales_of(self.emission)
        scales = [*self.dynamic, *(found[-1] for found in self.of_emission)]
        ends = np.cumsum([scale.n_free for scale in scales])
        self.scales, self.places = scales, [slice(e - s.n_free, e) for s, e in zip(scales, ends)]
        self.n_free = int(ends[-1])
        self.parts = parts_of(self.emission, data, len(start), None, least=None)

    def at(self, by):
        """Parameters and emission, all moved."""
        values = [scale.moved(by[place]) for scale, place in zip(self.scales, self.places)]
        emission = deepcopy(self.emission)
        for (_, owner, attribute, j, _), value in zip(scales_of(emission), values[2:]):
            if j is None:
                setattr(owner, attribute, value)
            else:
                getattr(owner, attribute)[j] = value
        return (values[0][0], values[1]), emission

    def score(self, by):
        """The derivatives of log P(Y, Acc) by all coordinates, at a place that is moved."""
        parameters, emission = self.at(by)
        model = copy(self.model)
        model._chains = dict(model._chains)  # whose graphs are still good
        expected = expect(
            model._chain(parameters), emission, self.parts, None,
            accumulate=lambda part, frames, posteriors: self._emission_score(by, part, posteriors),
        )  # fmt: skip
        counts = expected.smoothed.counts
        start, matrix = self.dynamic
        scores = [start.score(parameters[0][None], expected.starts[None])]
        if isinstance(matrix, Generator):
            scores.append(matrix.score(parameters[1], counts.jumps, counts.stays))
        else:
            scores.append(matrix.score(parameters[1], counts.transitions))
        return np.concatenate([*scores, expected.statistics["score"]])

    def _emission_score(self, by, part, posteriors):
        """Of the expected log-likelihood of rows; a parameter of each state is moved at once."""
        found = np.zeros(self.n_free)
        for scale, place in zip(self.scales[2:], self.places[2:]):
            for slot in np.unique(scale.slots):
                mine = np.flatnonzero(scale.slots == slot)
                move = np.zeros(self.n_free)
                move[place.start + mine] = _STEP
                gain = 0.0
                for sign in (1, -1):
                    emission = self.at(by + sign * move)[1]
                    log_p = emission.log_likelihood(part.encoded).dense()
                    gain = gain + sign * np.where(posteriors > 0, log_p, 0.0)
                by_state = (posteriors * gain).sum(axis=0) / (2 * _STEP)
                rows = scale.rows[mine]
                found[place.start + mine] = np.where(rows < 0, by_state.sum(), by_state[rows])
        return {"score": found[self.places[1].stop :]}

    def intervals(self, covariance, z):
        found = {}
        names = [*self.model._parameter_names, *(name for name, *_ in self.of_emission)]
        for name, scale, place in zip(names, self.scales, self.places):
            lower, upper = scale.interval(covariance[place, place], z)
            found[name] = (lower[0], upper[0]) if name == "startprob_" else (lower, upper)
        return found


def _inverse(information):
    """Its inverse; infinite variances of coordinates that the data say nothing about."""
    size = np.sqrt(np.maximum(np.diagonal(information), 0.0))
    told = size > 1e-6 * max(size.max(initial=0.0), 1e-300)
    covariance = np.zeros(information.shape)
    covariance[~told, ~told] = np.inf
    used = np.ix_(told, told)
    scaled = information[used] / np.outer(size[told], size[told])
    values, vectors = np.linalg.eigh(scaled)
    if (values <= 1e-9).any():
        warn(
            "The log-likelihood is not curved in every direction at the fitted parameters: they "
            "are not those of a maximum (fit longer, with a smaller tol), or the data do not tell "
            "some of them apart. Intervals in such directions are infinite; those of "
            "method='bootstrap' are not.",
            UserWarning,
        )
    loose = (vectors[:, values <= 1e-9] ** 2).sum(axis=1) > 1e-6
    inverse = (vectors / np.where(values > 1e-9, values, np.inf)) @ vectors.T
    inverse[loose, loose] = np.inf
    with np.errstate(invalid="ignore"):
        covariance[used] = inverse / np.outer(size[told], size[told])
    return covariance
