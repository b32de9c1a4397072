"""``python -m benchmarks.coverage``: how often confidence intervals contain the true values."""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

from skchmm import ConstrainedHMM, CTConstrainedHMM
from skchmm.constraints import ForbiddenEdges
from skchmm.emissions import Categorical, Gamma, Gaussian, NegativeBinomial, Poisson

from .tables import simple_table, write_csv

RESULTS = Path(__file__).parent / "coverage_results"
START, TRANSMAT = [0.6, 0.4], [[0.85, 0.15], [0.25, 0.75]]
GENERATOR = [[-0.5, 0.4, 0.1], [0.3, -0.5, 0.2], [0.1, 0.3, -0.4]]
TEXT = """\
How often intervals contain the true values
===========================================

Written by ``python -m benchmarks.coverage``. Data are drawn from a known model, the model is fitted
to them by EM from there, and each of its parameters gets an interval at the level of 95 percent.
The numbers are the shares of intervals that contain the true value, over all entries of a
parameter; with {n_draws} data sets, {error:.1f} percentage points more or less are chance for one
entry. *Information* is the curvature of the likelihood. *Bootstrap* fits {n_boot} draws from the
fitted model, on the first {n_few} data sets. There are few starts in the data, so their intervals
are the least normal. Few draws make the percentiles of a bootstrap narrower than they should be,
and few data sets its shares uncertain: by up to {few:.0f} points with {n_few}.

"""


def models():
    """Name -> a known model and how to draw data from it."""
    three = [[0.7, 0.2, 0.1], [0.15, 0.25, 0.6]]
    emissions = {
        "Gaussian": Gaussian.from_parameters([[0.0], [3.0]], [[1.0], [2.0]]),
        "Poisson": Poisson.from_parameters([[2.0], [8.0]]),
        "categorical": Categorical.from_parameters(three),
        "gamma": Gamma.from_parameters([[2.0], [6.0]], [[1.0], [1.5]]),
        "negative binomial": NegativeBinomial.from_parameters([[2.0], [12.0]], [[2.0], [4.0]]),
    }
    for name, emission in emissions.items():
        model = ConstrainedHMM.from_parameters(START, TRANSMAT, emission=emission, **_settings())
        yield name, model, {"length": [50] * 20}
    emission = Gaussian.from_parameters([[0.0], [3.0], [6.0]], np.ones((3, 1)))
    for name, rules in (
        ("continuous time", None),
        ("continuous time, a jump forbidden", ForbiddenEdges([(0, 2)])),
    ):
        generator = np.array(GENERATOR)
        if rules is not None:
            generator[0, 2] = 0.0
            np.fill_diagonal(generator, 0.0)
        model = CTConstrainedHMM.from_parameters(
            [0.4, 0.3, 0.3], generator, emission=emission, constraints=rules, **_settings()
        )
        times = np.cumsum(np.random.default_rng(0).exponential(size=(30, 15)), axis=1)
        yield name, model, {"times": list(times)}


def _settings():
    return {"init": "fitted", "n_iter": 500, "tol": 1e-8}


def named(model, intervals):
    """Name -> the true values; those of the emission are found by their own names."""
    return {
        name: getattr(model if hasattr(model, name) else model.emission_, name)
        for name in intervals
    }


def contained(model, design, seed, method, n_boot):
    """Name -> which intervals contain the true value, NaN where nothing was learned."""
    X, _ = model.sample(random_state=seed, **design)
    times = {"times": design["times"]} if "times" in design else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = _again(model).fit(X, **times)
        found = fitted.confidence_intervals(
            X, method=method, n_draws=n_boot, random_state=seed, **times
        )
    truth = named(model, found)
    return {
        name: np.where(lower < upper, (lower <= truth[name]) & (truth[name] <= upper), np.nan)
        for name, (lower, upper) in found.items()
    }


def _again(model):
    """A copy that EM may change."""
    if isinstance(model, CTConstrainedHMM):
        parameters = (model.startprob_, model.generator_)
    else:
        parameters = (model.startprob_, model.transmat_)
    return type(model).from_parameters(
        *parameters, emission=model.emission_, constraints=model.constraints, **_settings()
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few data sets, written elsewhere")
    parser.add_argument("--output", type=Path, default=None, help="folder for the results")
    parser.add_argument("--draws", type=int, default=300, help="data sets of each model")
    parser.add_argument("--boot", type=int, default=100, help="draws of each bootstrap")
    options = parser.parse_args(arguments)
    n_draws, n_boot = (3, 5) if options.quick else (options.draws, options.boot)
    n_few = max(2, n_draws // 4)
    records = []
    for name, model, design in models():
        for method, n in (("information", n_draws), ("bootstrap", n_few)):
            if method == "bootstrap" and name not in ("Gaussian", "Poisson"):
                continue
            every = [contained(model, design, seed, method, n_boot) for seed in range(n)]
            for parameter in every[0]:
                values = np.stack([each[parameter] for each in every])
                if np.isfinite(values).any():
                    share = 100 * np.nanmean(values)
                    records.append(
                        {"model": name, "method": method, "parameter": parameter, "percent": share}
                    )
                    print(f"{name:34s} {method:12s} {parameter:16s} {share:5.1f}", flush=True)
    output = options.output or (None if options.quick else RESULTS)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        write_csv(output / "coverage.csv", records, decimals=1)
        rows = [[r["model"], r["method"], r["parameter"], f"{r['percent']:.1f}"] for r in records]
        error = 200 * np.sqrt(0.95 * 0.05 / n_draws)
        text = TEXT.format(
            n_draws=n_draws,
            error=error,
            n_boot=n_boot,
            n_few=n_few,
            few=200 * np.sqrt(0.95 * 0.05 / n_few),
        )
        table = simple_table(["model", "method", "parameter", "percent"], rows)
        (output / "README.rst").write_text(text + table + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
