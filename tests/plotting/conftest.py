"""Models to draw, and no windows."""

import numpy as np
import pytest

from skchmm import ConstrainedHMM
from skchmm.constraints import Precedence

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def model():
    X = np.array(list("xxyyzzxxyz"))
    y = np.array(list("aabbccaabc"))
    return ConstrainedHMM(constraints=Precedence("a", "b")).fit(X, y, lengths=[6, 4])
