"""One data set an emission, and one EM step for independent steps: used by several test files."""

import numpy as np

from skchmm.emissions import (
    GMM,
    Bernoulli,
    Categorical,
    Exponential,
    Gamma,
    Gaussian,
    LogNormal,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Product,
    StudentT,
    VonMises,
)

COVARIANCE_TYPES = ["spherical", "diag", "full", "tied"]


def vectors(rng, n=120, d=3, missing=0.0):
    centres = 4 * rng.standard_normal((3, d))
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + centres[rng.integers(3, size=n)]
    X[rng.random((n, d)) < missing] = np.nan
    return X


def symbols(rng, n=120, missing=0.0):
    X = rng.choice(
        np.array(["a", "b", "c", "d"], dtype=object), size=(n, 1), p=[0.4, 0.3, 0.2, 0.1]
    )
    X[rng.random((n, 1)) < missing] = None
    return X


def counts(rng, n=120, d=3, missing=0.0, whole_rows=False):
    X = rng.poisson(rng.choice([1.0, 5.0, 12.0], size=(n, 1)), size=(n, d)).astype(float)
    X[rng.random((n, 1 if whole_rows else d)).repeat(d if whole_rows else 1, 1) < missing] = np.nan
    return X


def positive(rng, n=120, d=3, missing=0.0):
    return np.exp(vectors(rng, n, d, missing) / 3)


def bits(rng, n=120, d=3, missing=0.0):
    return 1.0 * (vectors(rng, n, d) > 0) + np.where(rng.random((n, d)) < missing, np.nan, 0.0)


def several_columns(rng, n=120, missing=0.0):
    return np.hstack([symbols(rng, n, missing), symbols(rng, n, missing)])


def mixed(rng, n=120, missing=0.0):
    """A symbol, two numbers and a count."""
    columns = symbols(rng, n, missing), vectors(rng, n, 2, missing), counts(rng, n, 1, missing)
    return np.hstack([column.astype(object) for column in columns])


def learnable():
    """(name, emission, data) of every emission that EM can learn, without and with gaps."""
    for missing in (0.0, 0.25):
        gaps = "gaps" if missing else "complete"

        def make(data, missing=missing, **options):
            return lambda rng: data(rng, missing=missing, **options)

        for kind in COVARIANCE_TYPES:
            yield f"gaussian-{kind}-{gaps}", Gaussian(kind), make(vectors)
            yield f"gmm-{kind}-{gaps}", GMM(2, covariance_type=kind), make(vectors)
        for order in (0, 1, 2):
            yield f"categorical-{order}-{gaps}", Categorical(order), make(symbols)
        yield f"categorical-columns-{gaps}", Categorical(), make(several_columns)
        yield f"poisson-{gaps}", Poisson(), make(counts)
        yield f"bernoulli-{gaps}", Bernoulli(), make(bits)
        yield f"exponential-{gaps}", Exponential(), make(positive)
        yield f"gamma-{gaps}", Gamma(), make(positive)
        for kind in ("diag", "full"):
            yield f"lognormal-{kind}-{gaps}", LogNormal(kind), make(positive)
        yield f"negative-binomial-{gaps}", NegativeBinomial(), make(counts)
        yield f"student-t-{gaps}", StudentT(), make(vectors)
        yield f"von-mises-{gaps}", VonMises(), make(vectors)
        parts = {0: Categorical(), (1, 2): Gaussian("full"), 3: NegativeBinomial()}
        yield f"product-{gaps}", Product(parts), make(mixed)
        yield f"multinomial-{gaps}", Multinomial(), make(counts, whole_rows=True)


CASES = [(name, emission, data) for name, emission, data in learnable()]
NAMES = [case[0] for case in CASES]


def responsibilities(emission, E, n_states):
    """Posterior of the state of each step, states equally likely, and the log-likelihood."""
    log_joint = emission.log_likelihood(E).dense() - np.log(n_states)
    log_total = np.logaddexp.reduce(log_joint, axis=1)
    return np.exp(log_joint - log_total[:, None]), log_total.sum()


def parameters(emission):
    """Names and arrays of the fitted parameters."""
    names = ["probabilities_", "means_", "covars_", "weights_", "rates_", "shapes_", "scales_"]
    names += ["sizes_", "locs_", "dofs_", "kappas_"]
    if isinstance(emission, Product):
        parts = emission.emissions_.items()
        return {(n, c, j): v for c, part in parts for (n, j), v in parameters(part).items()}
    found = {}
    for name in names:
        value = getattr(emission, name, None)
        for j, array in enumerate(value if isinstance(value, list) else [value]):
            if array is not None:
                found[name, j] = array
    return found


# Known parameters of two states.
KNOWN = {
    "poisson": Poisson.from_parameters([[1.0], [7.0]]),
    "diag": Gaussian.from_parameters([[0.0, 1.0], [3.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]),
    "spherical": Gaussian.from_parameters([[0.0, 1.0], [3.0, 0.0]], [1.0, 2.0], "spherical"),
    "full": Gaussian.from_parameters(
        [[0.0, 1.0], [3.0, 0.0]], [[[1.0, 0.5], [0.5, 2.0]], np.eye(2)], "full"
    ),
    "tied": Gaussian.from_parameters([[0.0, 1.0], [3.0, 0.0]], [[1.0, 0.5], [0.5, 2.0]], "tied"),
    "gmm": GMM.from_parameters(
        [[0.3, 0.7]] * 2, [[[0.0], [3.0]], [[7.0], [12.0]]], np.ones((2, 2, 1))
    ),
    "lognormal": LogNormal.from_parameters([[0.0], [2.0]], [[1.0], [0.5]]),
    "categorical": Categorical.from_parameters([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]),
    "columns": Categorical.from_parameters([[[0.7, 0.3], [0.2, 0.8]], [[0.9, 0.1], [0.4, 0.6]]]),
    "bernoulli": Bernoulli.from_parameters([[0.2, 0.5], [0.9, 0.3]]),
    "exponential": Exponential.from_parameters([[1.0], [0.1]]),
    "gamma": Gamma.from_parameters([[1.0], [5.0]], [[1.0], [2.0]]),
    "negative_binomial": NegativeBinomial.from_parameters([[1.0], [9.0]], [[1.5], [3.0]]),
    "student_t": StudentT.from_parameters([[0.0], [5.0]], [[1.0], [2.0]], [[3.0], [4.0]]),
    "von_mises": VonMises.from_parameters([[0.0], [2.0]], [[3.0], [4.0]]),
    "product": Product.from_parameters(
        {
            (2, 0): Gaussian.from_parameters([[0.0, 1.0], [3.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]),
            1: Poisson.from_parameters([[1.0], [7.0]]),
        }
    ),
}
