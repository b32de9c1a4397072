"""Centres of k-means, as scikit-learn finds them, at the cost of the arithmetic alone."""

import numpy as np
from sklearn.utils import check_random_state

from .._kernels.data.kmeans import lloyd, seed

_ITERATIONS, _TOLERANCE = 300, 1e-4  # those of scikit-learn


def kmeans_centres(X, n_centres, n_starts, random_state):
    """What ``KMeans(n_centres, n_init=n_starts, random_state=...)`` finds in finite rows."""
    rng, n_trials = check_random_state(random_state), 2 + int(np.log(n_centres))
    before = None if rng is not random_state else rng.get_state()
    mean = X.mean(axis=0)
    rows, tol = np.ascontiguousarray(X - mean, dtype=np.float64), _TOLERANCE * X.var(axis=0).mean()
    least, best, known = np.inf, None, None
    for draws in rng.random_sample((n_starts, 1 + (n_centres - 1) * n_trials)):
        centres, labels = np.empty((n_centres, X.shape[1])), np.empty(len(X), dtype=np.int32)
        seed(rows, draws, n_trials, centres)
        inertia = lloyd(rows, centres, _ITERATIONS, tol, labels)
        if inertia < 0:
            if before is not None:
                rng.set_state(before)
            return _by_sklearn(X, n_centres, n_starts, random_state)
        # One clustering may be found several times; the first order of its centres stays.
        if inertia < least and (known is None or _differ(known, labels, n_centres)):
            least, best, known = inertia, centres, labels
    return best + mean


def nearest_centres(X, centres):
    """The number of the nearest centre of each row."""
    labels = np.empty(len(X), dtype=np.int32)
    if len(X):
        rows, centres = (np.array(values, dtype=np.float64, order="C") for values in (X, centres))
        lloyd(rows, centres, 0, 0.0, labels)
    return labels.astype(np.intp)


def _differ(one, other, n):
    """Whether two clusterings are more than names apart."""
    return len(np.unique(one * n + other)) > n


def _by_sklearn(X, n_centres, n_starts, random_state):
    """Its way to go on where a centre is left without rows."""
    from sklearn.cluster import KMeans  # slow to import, and hardly ever needed

    found = KMeans(n_centres, n_init=n_starts, random_state=random_state).fit(X)
    return found.cluster_centers_
