"""Numeric rows: densities and moments of a set of Gaussians, and start values.

Missing values are marginalised. For the Gaussian emissions a state is one component of the set, or
several of them. Covariances are compact: spherical (k,), diag (k, d), full (k, d, d).
"""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from .._kernels.data.kmeans import best_centres, lloyd
from .._kernels.data.normal import MAX_FULL_COLUMNS, diagonal_log_densities, full_log_densities
from .._kernels.data.statistics import diagonal_moments, outer_moments
from .base import check_posteriors

LOG_2PI = np.log(2 * np.pi)
COVARIANCE_TYPES = ("spherical", "diag", "full", "tied")

# Start values need no more rows and starts, where they need not be hmmlearn's.
MAX_KMEANS_ROWS, KMEANS_STARTS = 5_000, 3
ALL_KMEANS_STARTS = 10

_ROUNDING = np.finfo(float).eps
_BATCH = 16_384  # values in a batch of rows, whose temporaries then stay in the cache
_LONG_BATCH = 1 << 20  # the same where a batch is looked at once


class Rows:
    """Numeric rows, with what is missing in them worked out once.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    complete : bool
        Whether it is known that nothing is missing.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    observed : boolean ndarray of shape (n, d), or None when nothing is missing
    patterns : list of (columns, rows)
        The observed columns and the rows that have exactly these; rows without any are left out.
    """

    def __init__(self, X, complete=False):
        self.X = X
        observed = None if complete else ~np.isnan(X)
        self.observed = None if complete or observed.all() else observed
        if self.observed is None:
            self.patterns = [(np.arange(X.shape[1]), slice(None))]
        else:
            self.patterns = list(_patterns(observed))

    def part(self, begin, end):
        """Rows begin..end-1."""
        return Rows(self.X[begin:end], complete=self.complete)

    @property
    def complete(self):
        """Whether nothing is missing."""
        return self.observed is None

    @property
    def partly_missing(self):
        """Whether some row is neither complete nor entirely missing."""
        return any(len(columns) < self.X.shape[1] for columns, _ in self.patterns)


def check_values(values, allowed, needs, emission, X):
    """Refuse values that a distribution does not have; what is said of missing ones is ignored."""
    wrong = ~(allowed | np.isnan(values))
    if wrong.any():
        row, j = np.argwhere(wrong)[0]
        column = repr(X.columns[j]) if hasattr(X, "columns") else j
        raise ValueError(
            f"{emission} emissions need {needs}, but row {row}, column {column} of X is "
            f"{values[row, j]:g}."
        )


def _patterns(observed):
    if observed.shape[1] <= 62:
        codes = observed @ (1 << np.arange(observed.shape[1]))
        distinct, which = np.unique(codes, return_inverse=True)
    else:
        distinct, which = np.unique(observed, axis=0, return_inverse=True)
        which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(which, minlength=len(distinct)))[:-1]):
        columns = np.flatnonzero(observed[rows[0]])
        if len(columns):
            yield columns, rows


def _batches(n, width):
    step = max(1, _BATCH // max(width, 1))
    return (slice(start, start + step) for start in range(0, n, step))


def log_densities(rows, means, covars):
    """Log-density of every row under every Gaussian, (n, k); missing values are integrated out."""
    n, d = rows.X.shape
    if means.shape[1] != d:
        raise ValueError(f"X has {d} features, but the means have {means.shape[1]}.")
    if covars.ndim == 3:
        if rows.observed is None:
            return _log_densities_full(rows.X, means, covars)
        log_p = np.zeros((n, len(means)))
        for columns, where in rows.patterns:
            log_p[where] = _log_densities_full(
                _take(rows.X, where, columns),
                means[:, columns],
                covars[:, columns[:, None], columns],
            )
        return log_p
    variances = covars if covars.ndim == 2 else np.repeat(covars[:, None], d, axis=1)
    # zero variances must not give 0 * inf
    variances = np.maximum(variances, np.finfo(float).tiny)
    with np.errstate(over="ignore"):  # of values far off, which are impossible
        return diagonal_log_densities(np.ascontiguousarray(rows.X), means, variances)


def _take(X, where, columns):
    X = X[where]
    return X if len(columns) == X.shape[1] else X[:, columns]


def _log_densities_full(X, means, covars):
    n, d = X.shape
    factors = cholesky(covars)
    whiten = np.linalg.inv(factors)
    log_norm = d * LOG_2PI + 2.0 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1)
    if d <= MAX_FULL_COLUMNS:
        return full_log_densities(np.ascontiguousarray(X), means, whiten, log_norm)
    log_p = np.empty((n, len(means)))
    for batch in _batches(n, d):
        X_batch = np.ascontiguousarray(X[batch].T)
        for k in range(len(means)):
            z = whiten[k] @ (X_batch - means[k][:, None])
            z *= z
            log_p[batch, k] = log_norm[k] + z.sum(axis=0)
    log_p *= -0.5
    return log_p


def cholesky(covars):
    """Lower Cholesky factors of (k, d, d), with a small ridge on those that rounding spoilt."""
    try:
        return np.linalg.cholesky(covars)
    except np.linalg.LinAlgError:
        return np.stack([_cholesky_with_ridge(covar) for covar in covars])


def _cholesky_with_ridge(covar):
    for ridge in (0.0, 1e-7, 1e-12 * np.abs(np.diagonal(covar)).max()):
        try:
            return np.linalg.cholesky(covar + ridge * np.eye(len(covar)))
        except np.linalg.LinAlgError:
            continue
    raise ValueError("'covars' must be symmetric, positive-definite")


def moments(rows, weights, shift, *, outer, means=None, covars=None):
    """Weighted moments of ``X - shift`` under each column of ``weights`` (n, k).

    The shift is one row (d,), or one for each component (k, d).
    Returns ``weight`` (k, d), ``first`` (k, d) and ``second``: (k, d) sums of squares, or with
    ``outer`` (k, d, d) sums of outer products. Without ``outer`` they are over observed values.
    With it, missing values enter by their expectations given the observed ones under ``means`` and
    ``covars`` (the E-step of a Gaussian with missing values).
    """
    weights = check_posteriors(weights, len(rows.X))
    if outer:
        return _outer_moments(rows, weights, shift, means, covars)
    weight, first, second = diagonal_moments(np.ascontiguousarray(rows.X), weights, shift)
    return {"weight": weight, "first": first, "second": second}


def _outer_moments(rows, weights, shift, means, covars, complete=None):
    k, d = weights.shape[1], rows.X.shape[1]
    if np.ndim(shift) == 2:
        each = [
            _outer_moments(
                rows, weights[:, [i]], shift[i], _one(means, i), _one(covars, i), _moments_by_blas
            )
            for i in range(k)
        ]
        return {name: np.concatenate([one[name] for one in each]) for name in each[0]}
    weight, first, second = np.zeros((k, d)), np.zeros((k, d)), np.zeros((k, d, d))
    for columns, where in rows.patterns:
        X, w = _take(rows.X, where, columns), weights[where]
        total, sums, products = (complete or _complete_moments)(X, w, shift[columns])
        weight += total[:, None]
        if len(columns) == d:
            first += sums
            second += products
            continue
        # every missing value is an affine function of the observed ones, plus noise: the moments of
        # the filled-in rows follow from those of the observed columns
        fill, constant, noise = _conditional(columns, means - shift, covars)
        filled = np.einsum("kdo,ko->kd", fill, sums)
        cross = filled[:, :, None] * constant[:, None, :]
        square = constant[:, :, None] * constant[:, None, :] + noise
        first += filled + total[:, None] * constant
        second += fill @ products @ np.swapaxes(fill, 1, 2) + cross + np.swapaxes(cross, 1, 2)
        second += total[:, None, None] * square
    return {"weight": weight, "first": first, "second": second}


def _one(parameters, i):
    return None if parameters is None else parameters[[i]]


def _complete_moments(X, weights, shift):
    if X.shape[1] > MAX_FULL_COLUMNS:
        return _moments_by_blas(X, weights, shift)
    return outer_moments(
        np.ascontiguousarray(X),
        np.ascontiguousarray(weights),
        np.ascontiguousarray(shift, dtype=np.float64),
    )


def _moments_by_blas(X, weights, shift):
    k, d = weights.shape[1], X.shape[1]
    sums, products = np.zeros((k, d)), np.zeros((k, d, d))
    for batch in _batches(len(X), d):
        centred, w = X[batch] - shift, weights[batch].T
        sums += w @ centred
        for i in range(k):
            products[i] += (centred.T * w[i]) @ centred
    return weights.sum(axis=0), sums, products


def _conditional(columns, means, covars):
    """Matrices, constants and noise that complete the observed columns, for every component.

    A row x has expectation ``fill @ x[columns] + constant`` given its observed columns, with
    covariance ``noise``.
    """
    k, d = means.shape
    missing = np.setdiff1d(np.arange(d), columns)
    across = covars[:, columns[:, None], missing]
    whiten = np.linalg.inv(cholesky(covars[:, columns[:, None], columns]))
    slope = np.swapaxes(np.swapaxes(whiten, 1, 2) @ (whiten @ across), 1, 2)
    fill, constant, noise = np.zeros((k, d, len(columns))), np.zeros((k, d)), np.zeros((k, d, d))
    fill[:, columns, np.arange(len(columns))] = 1.0
    fill[:, missing] = slope
    constant[:, missing] = means[:, missing] - np.einsum("kmo,ko->km", slope, means[:, columns])
    residual = covars[:, missing[:, None], missing] - slope @ across
    noise[:, missing[:, None], missing] = residual
    return fill, constant, noise


def scatter_about(statistics, centres, *, outer):
    """Second moments about ``centres`` (in the shifted coordinates of the statistics)."""
    weight, first, second = (statistics[name] for name in ("weight", "first", "second"))
    if not outer:
        return second - 2.0 * centres * first + centres**2 * weight
    cross = first[..., :, None] * centres[..., None, :]
    squares = centres[..., :, None] * centres[..., None, :]
    return second - cross - np.swapaxes(cross, -1, -2) + squares * weight[..., :1, None]


def rounding(statistics, means, axis=None):
    """Variances (k, d) below which second moments say nothing; summed over an axis before, if any.

    A sum of squares about a point is known to a few units in its last place. So is the scatter
    about any other point, which is a difference of such sums. Of a matrix, which must not be
    singular, so are the values themselves: `means` are where they are. Its eigenvalues are known
    to as many units of its largest as it has columns, and so is its factor.
    """
    weight, second, values = statistics["weight"], statistics["second"], np.zeros(np.shape(means))
    if second.ndim > weight.ndim:
        second, values = np.diagonal(second, axis1=-2, axis2=-1), np.square(means)
        second = second.shape[-1] * second
    if axis is not None:
        weight, second = weight.sum(axis=axis), second.sum(axis=axis)
        values = values.max(axis=axis)
    sums = _ROUNDING * np.abs(second) / np.where(weight > 0, weight, 1.0)
    return sums + _ROUNDING**2 * values


def precision(rows, covariance):
    """Variances (d,) below which a covariance of all rows says nothing."""
    top, bottom = np.fmax.reduce(rows.X, initial=0.0), np.fmin.reduce(rows.X, initial=0.0)
    largest = np.maximum(top, -bottom)
    smallest = np.finfo(float).tiny  # whose matrix is not singular
    return _ROUNDING * np.diagonal(covariance) + np.square(_ROUNDING * largest) + smallest


def floor_covars(covars, floor):
    """The covariances closest in likelihood that are nowhere below ``floor``, (d,) or (k, d).

    For variances this is the larger of the two. For matrices, in coordinates in which the floor is
    the identity, it is the larger of 1 and each eigenvalue. Both maximise the likelihood among
    the covariances that respect the floor, so the objective of EM still never falls.
    """
    if covars.ndim < 3:
        return np.maximum(covars, floor if covars.ndim == 2 else floor.mean(axis=-1))
    covars = (covars + np.swapaxes(covars, 1, 2)) / 2
    floor = np.broadcast_to(floor, covars.shape[:2])
    floored = np.flatnonzero((floor > 0).all(axis=1) & np.isfinite(covars).all(axis=(1, 2)))
    unit = np.sqrt(floor[floored])
    values, vectors = np.linalg.eigh(covars[floored] / (unit[:, :, None] * unit[:, None, :]))
    for i in np.flatnonzero(values[:, 0] < 1.0):
        lifted = (vectors[i] * np.maximum(values[i], 1.0)) @ vectors[i].T
        covars[floored[i]] = (lifted + lifted.T) / 2 * np.outer(unit[i], unit[i])
    return covars


# ----------------------------------------------------------------- start values
class Moments:
    """Counts, means and sums of squares about the mean of the values of columns; they add up.

    Attributes
    ----------
    count, mean, squares : ndarray of shape (d,)
    """

    def __init__(self, count, mean, squares):
        self.count = count
        self.mean = mean
        self.squares = squares

    @classmethod
    def of(cls, rows):
        with np.errstate(over="ignore", invalid="ignore"):
            sums = _sums_about_mean(rows, lambda centred: np.square(centred).sum(axis=0))
        return cls(*sums)._checked()

    def _checked(self):
        with np.errstate(over="ignore"):
            largest = np.square(self.mean) + self.squares
        if not np.isfinite(largest).all():
            raise ValueError("X is too large: its squares are no numbers. Rescale the columns.")
        return self

    @property
    def variances(self):
        return self.squares / np.maximum(self.count, 1)

    def __add__(self, other):
        count = np.maximum(self.count + other.count, 1)
        share, apart = other.count / count, other.mean - self.mean
        with np.errstate(over="ignore"):
            squares = self.squares + other.squares + np.square(apart) * self.count * share
        mean = np.where(self.count > 0, self.mean, 0.0) * (1 - share) + other.mean * share
        return Moments(self.count + other.count, mean, squares)._checked()


def column_moments(rows):
    """Mean and variance of the observed values of each column (0 and 0 where there are none)."""
    moments = Moments.of(rows)
    return moments.mean, moments.variances


def _sums_about_mean(rows, sums_of):
    """Observed values of each column, their means, and what sums_of says of the rows about these.

    A batch of rows at a time, so that no temporary is as large as the data; where a value is
    missing, the row has a zero.
    """
    X, observed = rows.X, rows.observed
    n, d = X.shape
    count = np.full(d, n) if observed is None else observed.sum(axis=0)
    mean = np.zeros(d)
    for _ in range(2):  # the second pass takes out what rounding left in the mean of large values
        total = np.zeros(d)
        for batch in _long_batches(n, d):
            total += _centred(X, observed, batch, mean).sum(axis=0)
        mean = mean + total / np.maximum(count, 1)
    return count, mean, sum(sums_of(_centred(X, observed, b, mean)) for b in _long_batches(n, d))


def _centred(X, observed, batch, mean):
    centred = X[batch] - mean
    return centred if observed is None else np.where(observed[batch], centred, 0.0)


def _long_batches(n, d):
    step = max(1, _LONG_BATCH // max(d, 1))
    return (slice(start, start + step) for start in range(0, n, step))


def n_filled(rows):
    """How many rows have some value."""
    return len(rows.X) if rows.complete else int(np.count_nonzero(rows.observed.any(axis=1)))


def filled_rows(rows):
    """The rows that have some value, missing values replaced by their column's mean."""
    if rows.observed is None:
        return rows.X
    kept = rows.observed.any(axis=1)
    return np.where(rows.observed, rows.X, column_moments(rows)[0])[kept]


def pooled_covariance(rows):
    """Covariance (d, d) of all rows."""
    d, observed = rows.X.shape[1], rows.observed
    n = n_filled(rows)
    if n < 2:
        return np.zeros((d, d))
    count, _, products = _sums_about_mean(rows, lambda centred: centred.T @ centred)
    covariance = products / (n - 1)
    if observed is not None:
        # zeros where values are missing shrink the variances: scale them back
        stretch = np.sqrt(n / np.maximum(count, 1))
        covariance *= np.outer(stretch, stretch)
    return covariance


def spread_covariance(covariance, kind, n_components):
    """One covariance matrix (d, d) as the compact covariances of n components."""
    if kind == "tied":
        return covariance.copy()
    if kind == "full":
        return np.repeat(covariance[None], n_components, axis=0)
    variances = np.diagonal(covariance)
    if kind == "diag":
        return np.repeat(variances[None], n_components, axis=0)
    return np.full(n_components, variances.mean())


def start_centres(X, n_centres, *, init, random_state, max_rows=MAX_KMEANS_ROWS):
    """Distinct start values for the means: k-means centres, or rows drawn at random."""
    n, d = X.shape
    if n == 0:
        return check_random_state(random_state).standard_normal((n_centres, d))
    enough = len(_distinct_rows(X, n_centres))
    if init == "kmeans":
        if max_rows is not None and n > max_rows:
            rng = check_random_state(random_state)
            X = X[np.sort(sample_without_replacement(n, max_rows, random_state=rng))]
            enough = len(_distinct_rows(X, n_centres))
        n_starts = ALL_KMEANS_STARTS if max_rows is None else KMEANS_STARTS
        centres = kmeans_centres(X, enough, n_starts, random_state)
    else:
        rng = check_random_state(random_state)
        centres = _distinct_rows(X, enough, rng.permutation(n))
    if enough < n_centres:
        # equal centres would stay equal for ever
        rng = check_random_state(random_state)
        spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        extra = centres[rng.randint(enough, size=n_centres - enough)]
        extra = extra + 0.1 * spread * rng.standard_normal(extra.shape)
        centres = np.vstack([centres, extra])
    return centres


def kmeans_centres(X, n_centres, n_starts, random_state):
    """What ``KMeans(n_centres, n_init=n_starts, random_state=...)`` finds in finite rows."""
    rng, n_trials = check_random_state(random_state), 2 + int(np.log(n_centres))
    before, mean = None if rng is not random_state else rng.get_state(), X.mean(axis=0)
    rows, tol = np.ascontiguousarray(X - mean, dtype=np.float64), 1e-4 * X.var(axis=0).mean()
    draws = rng.random_sample((n_starts, 1 + (n_centres - 1) * n_trials))
    centres = best_centres(rows, draws, n_centres, n_trials, 300, tol)
    if centres is not None:
        return centres + mean
    from sklearn.cluster import KMeans  # slow to import; it knows how to fill empty clusters

    if before is not None:
        rng.set_state(before)
    return KMeans(n_centres, n_init=n_starts, random_state=random_state).fit(X).cluster_centers_


def start_labels(X, n_groups, **options):
    """Split rows into groups, each row to the nearest of the start centres."""
    centres, labels = start_centres(X, n_groups, **options), np.empty(len(X), dtype=np.int32)
    if len(X):
        lloyd(np.ascontiguousarray(X, dtype=np.float64), centres, 0, 0.0, labels)
    return labels.astype(np.intp)


def _distinct_rows(X, wanted, order=None):
    """The first ``wanted`` distinct rows in the given order, or all when there are fewer."""
    found = {}
    for i in range(len(X)) if order is None else order:
        row = X[i] + 0.0  # makes -0.0 and 0.0 the same
        found.setdefault(row.tobytes(), row)
        if len(found) == wanted:
            break
    return np.array(list(found.values()))
