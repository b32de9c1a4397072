"""Spans of time and truth values are no numbers of anything."""

import numpy as np
import pytest

from skchmm import ConstrainedHMM, HSMMDecoder, PerceptronCRF, PostHocFilter, hmm
from skchmm.constraints import AtMostVisits
from skchmm.emissions import Categorical

HOURS = np.timedelta64(3, "h")


@pytest.mark.parametrize("wrong", [HOURS, True, np.True_])
@pytest.mark.parametrize(
    "make",
    [
        lambda n: ConstrainedHMM(2, n_iter=n),
        lambda n: ConstrainedHMM(2, n_init=n),
        lambda n: ConstrainedHMM(n),
        lambda n: ConstrainedHMM(2, emission=Categorical(order=n)),
        lambda n: HSMMDecoder(n, n_states=2),
        lambda n: PerceptronCRF(n_epochs=n),
        lambda n: PostHocFilter(n_candidates=n),
        lambda n: hmm.CategoricalHMM(n),
        lambda n: ConstrainedHMM(2, constraints=AtMostVisits(0, n)),
    ],
)
def test_whole_numbers(make, wrong):
    with pytest.raises((TypeError, ValueError), match=r"none|integer|whole|at least|must|>="):
        make(wrong).fit(np.array([0, 1, 1, 0, 1]), np.array([0, 1, 1, 0, 1]))


def test_fractions_are_meant_exactly():
    from skchmm._numbers import exact, whole_parts

    for n in (3, 7, 60, 300, 999):
        for k in range(1, n):
            assert exact(k / n) * n == k
            assert whole_parts(k / n, [n]).tolist() == [k]
    assert exact(0.1234567890123) * 10**13 == 1234567890123
