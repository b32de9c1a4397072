"""Start values for the means and covariances of a set of Gaussians."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

MAX_KMEANS_ROWS = 20_000  # start values need no more


def column_moments(rows):
    """Mean and variance of the observed values of each column (0 and 0 where there are none)."""
    X, observed = rows.X, rows.observed
    if observed is None:
        return X.mean(axis=0), X.var(axis=0)
    count = np.maximum(observed.sum(axis=0), 1)
    mean = np.where(observed, X, 0.0).sum(axis=0) / count
    centred = np.where(observed, X - mean, 0.0)
    # a second pass takes out what rounding left in the mean of large values
    mean = mean + centred.sum(axis=0) / count
    return mean, np.square(centred).sum(axis=0) / count


def filled_rows(rows):
    """The rows that have some value, missing values replaced by their column's mean."""
    if rows.observed is None:
        return rows.X
    kept = rows.observed.any(axis=1)
    return np.where(rows.observed, rows.X, column_moments(rows)[0])[kept]


def pooled_covariance(rows):
    """Covariance (d, d) of all rows."""
    X = filled_rows(rows)
    d = X.shape[1]
    if len(X) < 2:
        return np.zeros((d, d))
    covariance = np.cov(X.T).reshape(d, d)
    if rows.observed is not None:
        # filling in means shrinks the variances: scale them back
        true, filled = column_moments(rows)[1], X.var(axis=0)
        stretch = np.sqrt(np.divide(true, filled, out=np.ones(d), where=filled > 0))
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
            X = X[np.sort(rng.choice(n, max_rows, replace=False))]
            enough = len(_distinct_rows(X, n_centres))
        kmeans = KMeans(n_clusters=enough, n_init=10, random_state=random_state)
        centres = kmeans.fit(X).cluster_centers_
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


def start_labels(X, n_groups, **options):
    """Split rows into groups, each row to the nearest of the start centres."""
    centres = start_centres(X, n_groups, **options)
    return pairwise_distances_argmin(X, centres) if len(X) else np.empty(0, dtype=np.intp)


def _distinct_rows(X, wanted, order=None):
    """The first ``wanted`` distinct rows in the given order, or all when there are fewer."""
    found = {}
    for i in range(len(X)) if order is None else order:
        row = X[i] + 0.0  # makes -0.0 and 0.0 the same
        found.setdefault(row.tobytes(), row)
        if len(found) == wanted:
            break
    return np.array(list(found.values()))
