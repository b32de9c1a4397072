"""Viterbi and posteriors against dynamax, compiled, batched over sequences of one length."""

import numpy as np

from skchmm import ConstrainedHMM

from .problems import make_problem
from .race import Line, race

NEEDS = ("dynamax", "jax")


def run(quick=False):
    import jax
    import jax.numpy as jnp
    from dynamax.hidden_markov_model import hmm_posterior_mode, hmm_smoother

    n_sequences = 100 if quick else 1000
    problem = make_problem(5, [200] * n_sequences)
    logs = problem.log_likelihoods()
    batch = jnp.asarray(logs.reshape(n_sequences, 200, 5))
    startprob, transmat = jnp.asarray(problem.startprob), jnp.asarray(problem.transmat)
    mode = jax.jit(jax.vmap(lambda x: hmm_posterior_mode(startprob, transmat, x)))
    # What is not returned (expected transitions) is not computed either, once compiled.
    smoother = jax.jit(jax.vmap(lambda x: hmm_smoother(startprob, transmat, x).smoothed_probs))
    model = ConstrainedHMM.from_parameters(problem.startprob, problem.transmat)
    for work, ours, theirs in (
        ("Viterbi", model.predict, mode),
        ("posteriors", model.predict_proba, smoother),
    ):
        functions = {
            "ours": lambda ours=ours: ours(logs, lengths=problem.lengths),
            "theirs": lambda theirs=theirs: np.asarray(theirs(batch)),
        }
        found = functions["theirs"]().reshape(len(logs), *functions["ours"]().shape[1:])
        close = np.isclose(functions["ours"](), found, atol=1e-3)
        seconds = race(functions, seconds=0.5)
        yield Line(work, f"S=5, {n_sequences:,} x 200, likelihoods given", "ConstrainedHMM",
                   seconds["ours"], "dynamax", seconds["theirs"], at_least=3,
                   demand=f"1,000 x 200, S=5: {work}, dynamax",
                   agree=bool(close.mean() > 0.999),
                   note="dynamax in single precision, its default")  # fmt: skip
