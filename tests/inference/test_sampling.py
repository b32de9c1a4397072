from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import chi2

from skchmm.constraints import EndsIn, ExactVisits, Occupancy, Precedence, VisitBy, Window
from skchmm.constraints.compile import compile, satisfies
from skchmm.exceptions import InfeasibleSequenceError
from skchmm.graph import AugmentedGraph
from skchmm.inference.sampling import draw_constrained_paths

STATES = ("A", "B", "C")
CATALOGS = [
    [],
    [ExactVisits("A", 2)],
    [Precedence("A", "B"), EndsIn({"B", "C"})],
    [Window("B", 1, 3), Precedence("A", "C")],
    [VisitBy("A", 2), EndsIn("B")],
]


def parameters(seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    startprob, transmat = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
    if sparse:
        transmat[0, 2] = 0
        transmat[0] /= transmat[0].sum()
    return startprob, transmat


def graph_of(constraints, startprob, transmat):
    return AugmentedGraph(compile(constraints, STATES), startprob > 0, transmat > 0)


@pytest.mark.parametrize("constraints", CATALOGS, ids=str)
@pytest.mark.parametrize("n_steps", [3, 5])
@pytest.mark.parametrize("sparse", [False, True])
def test_draws_have_the_probabilities_of_the_constrained_prior(constraints, n_steps, sparse):
    startprob, transmat = parameters(sparse=sparse)
    graph = graph_of(constraints, startprob, transmat)
    n = 20_000
    paths = draw_constrained_paths(graph, startprob, transmat, n_steps, n, random_state=0)
    assert paths.shape == (n, n_steps)
    mass = {}
    for path in product(range(3), repeat=n_steps):
        if satisfies([STATES[i] for i in path], constraints, STATES):
            steps = [transmat[edge] for edge in pairwise(path)]
            mass[path] = startprob[path[0]] * np.prod(steps)
    total = sum(mass.values())
    counts = Counter(map(tuple, paths.tolist()))
    assert set(counts) <= {path for path, p in mass.items() if p > 0}
    expected = {path: n * p / total for path, p in mass.items() if n * p / total >= 5}
    rest = n - sum(expected.values())
    statistic = sum((counts[path] - m) ** 2 / m for path, m in expected.items())
    if rest >= 5:
        statistic += (n - sum(counts[path] for path in expected) - rest) ** 2 / rest
    assert chi2.sf(statistic, max(len(expected) - (rest < 5), 1)) > 1e-4


def test_same_seed_same_paths():
    startprob, transmat = parameters()
    graph = graph_of(CATALOGS[1], startprob, transmat)
    first, second, third = (
        draw_constrained_paths(graph, startprob, transmat, 30, 5, random_state=seed)
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, third)


def test_accepted_mass_may_be_vanishingly_small():
    # All but one step in A, which 1 path in 1e1500 or so does.
    startprob, transmat = np.full(3, 1 / 3), np.full((3, 3), 0.4995)
    transmat[:, 0] = 0.001
    constraints = [Occupancy("A", at_least=499)]
    graph = graph_of(constraints, startprob, transmat)
    paths = draw_constrained_paths(graph, startprob, transmat, 500, 200, random_state=0)
    assert ((paths != 0).sum(axis=1) <= 1).all()
    # The odd step pays 0.999 / 0.001 wherever it is: nearly always there is one, anywhere.
    odd = np.argmax(paths != 0, axis=1)
    assert len(np.unique(odd)) > 100


def test_masses_of_nodes_may_be_any_factor_apart():
    # From B nothing but B; a path that starts in A (as all do) must do the unlikely 400 times.
    startprob = np.array([1.0, 0.0, 0.0])
    transmat = np.array([[1e-3, 0.999, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])
    graph = graph_of([VisitBy("B", 1000), Occupancy("A", at_least=400)], startprob, transmat)
    paths = draw_constrained_paths(graph, startprob, transmat, 450, 3, random_state=0)
    assert ((paths == 0).sum(axis=1) >= 400).all()


def test_no_path_of_that_length():
    startprob, transmat = parameters()
    graph = graph_of([ExactVisits("A", 2)], startprob, transmat)
    with pytest.raises(InfeasibleSequenceError, match="No path of 2 steps"):
        draw_constrained_paths(graph, startprob, transmat, 2)
    with pytest.raises(ValueError, match="at least one step"):
        draw_constrained_paths(graph, startprob, transmat, 0)
