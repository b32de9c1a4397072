"""k-means centres are those of scikit-learn, draws and order included."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

from skchmm.emissions.numeric import kmeans_centres


@pytest.mark.parametrize("seed", range(30))
def test_the_centres_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n, d, k, n_starts = rng.integers([20, 1, 1, 1], [300, 5, 7, 11])
    X = rng.normal(size=(n, d)) + 4 * rng.integers(0, 3, size=(n, 1))
    theirs, ours = np.random.RandomState(seed), np.random.RandomState(seed)
    expected = KMeans(k, n_init=n_starts, random_state=theirs).fit(X).cluster_centers_
    np.testing.assert_allclose(kmeans_centres(X, k, n_starts, ours), expected, atol=1e-10)
    assert ours.rand() == theirs.rand()
    again = kmeans_centres(X, k, n_starts, seed)
    np.testing.assert_allclose(again, expected, atol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(10))
def test_centres_that_are_left_without_rows(seed):
    # Few distinct rows and as many centres: seeds of equal rows leave one of them empty.
    X = np.repeat([[0.0], [1.0], [1.0 + 1e-9], [5.0]], 8, axis=0)
    theirs, ours = np.random.RandomState(seed), np.random.RandomState(seed)
    expected = KMeans(4, n_init=3, random_state=theirs).fit(X).cluster_centers_
    found = kmeans_centres(X, 4, 3, ours)
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(expected, axis=0), atol=1e-6)
    assert ours.rand() == theirs.rand()
