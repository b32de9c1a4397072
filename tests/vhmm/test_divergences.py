"""Divergences by integration, or by drawing."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import dirichlet, gamma, multivariate_normal, norm, wishart

from skchmm.vhmm import divergences


def by_integration(q, p):
    low, high = q.ppf([1e-13, 1 - 1e-13])
    return quad(lambda x: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), low, high, limit=500)[0]


def test_normal():
    q, p = (1.0, 0.5), (-0.3, 2.0)
    found = divergences.kl_normal_distribution(*q, *p)
    expected = by_integration(norm(q[0], np.sqrt(q[1])), norm(p[0], np.sqrt(p[1])))
    assert found == pytest.approx(expected, rel=1e-7)


def test_gamma():
    q, p = (3.0, 0.5), (1.5, 2.0)
    expected = by_integration(gamma(q[0], scale=1 / q[1]), gamma(p[0], scale=1 / p[1]))
    assert divergences.kl_gamma_distribution(*q, *p) == pytest.approx(expected, rel=1e-7)


def test_a_wishart_distribution_of_numbers_is_a_gamma_distribution():
    found = divergences.kl_wishart_distribution(5.0, [[3.0]], 2.0, [[0.4]])
    assert found == pytest.approx(divergences.kl_gamma_distribution(2.5, 1.5, 1.0, 0.2))


def test_vectors_and_matrices():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(4, 2, 2))
    covars = roots @ np.swapaxes(roots, 1, 2) + np.eye(2)
    means = rng.normal(size=(2, 2))
    q, p = multivariate_normal(means[0], covars[0]), multivariate_normal(means[1], covars[1])
    drawn = q.rvs(size=100_000, random_state=0)
    apart = q.logpdf(drawn) - p.logpdf(drawn)
    found = divergences.kl_multivariate_normal_distribution(
        means[0], covars[0], means[1], covars[1]
    )
    assert abs(found - apart.mean()) < 6 * apart.std() / np.sqrt(len(apart))
    drawn = wishart.rvs(6.0, np.linalg.inv(covars[2]), size=20_000, random_state=0)
    densities = (
        wishart.logpdf(np.moveaxis(drawn, 0, -1), dof, np.linalg.inv(scale))
        for dof, scale in ((6.0, covars[2]), (3.0, covars[3]))
    )
    apart = np.subtract(*densities)
    found = divergences.kl_wishart_distribution(6.0, covars[2], 3.0, covars[3])
    assert abs(found - apart.mean()) < 6 * apart.std() / np.sqrt(len(apart))


def test_dirichlet():
    q, p = np.array([2.0, 1.5, 4.0]), np.array([1.0, 3.0, 0.7])
    drawn = dirichlet.rvs(q, size=100_000, random_state=0).T
    apart = dirichlet.logpdf(drawn, q) - dirichlet.logpdf(drawn, p)
    found = divergences.kl_dirichlet(q, p)
    assert abs(found - apart.mean()) < 6 * apart.std() / np.sqrt(apart.size)
    both = divergences.kl_dirichlet([q, p], [p, p])
    assert both == pytest.approx([found, 0.0])


def test_what_is_impossible_under_a_dirichlet_distribution_says_nothing():
    q, p = [2.0, 1.5], [1.0, 3.0]
    found = divergences.kl_dirichlet([2.0, 0.0, 1.5], [1.0, 0.0, 3.0])
    assert found == pytest.approx(divergences.kl_dirichlet(q, p))
    assert divergences.kl_dirichlet([[0.0, 0.0]], [[0.0, 0.0]]).tolist() == [0.0]


@pytest.mark.filterwarnings("error")
def test_dirichlet_parameters_below_the_smallest_number_with_all_its_digits():
    """The logarithm of the gamma function of 2e-311 is infinite, its limit is not."""
    tiny = np.finfo(float).tiny
    found = divergences.kl_dirichlet([2.0, 1.0], [2e-311, 1.0])
    assert found == pytest.approx(divergences.kl_dirichlet([2.0, 1.0], [tiny, 1.0]))
    assert divergences.kl_dirichlet([2e-311, 2e-311], [2e-311, 2e-311]) == 0.0
