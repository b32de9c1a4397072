"""Viterbi and posteriors against dynamax, compiled, batched over sequences of one length."""

from functools import partial

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
    startprob, transmat = jnp.asarray(problem.startprob), jnp.asarray(problem.transmat)
    table = jnp.log(jnp.asarray(problem.parameters[0])).T
    symbols = jnp.asarray(problem.X.reshape(n_sequences, 200))
    logs = problem.log_likelihoods()
    frames = jnp.asarray(logs.reshape(n_sequences, 200, 5))

    # What is not returned (expected transitions) is not computed either, once compiled.
    works = {
        "Viterbi": lambda x: hmm_posterior_mode(startprob, transmat, x),
        "posteriors": lambda x: hmm_smoother(startprob, transmat, x).smoothed_probs,
    }
    given = ConstrainedHMM.from_parameters(problem.startprob, problem.transmat)
    for work, theirs in works.items():
        method = "predict" if work == "Viterbi" else "predict_proba"
        on_symbols = jax.jit(jax.vmap(lambda x, theirs=theirs: theirs(table[x])))
        on_frames = jax.jit(jax.vmap(theirs))
        wanted = {"at_least": 3, "demand": f"1,000 x 200, S=5: {work}, dynamax"}
        for what, model, X, compiled, batch, demand in (
            ("symbols", problem.ours(), problem.X, on_symbols, symbols, wanted),
            ("likelihoods", given, logs, on_frames, frames, {}),
        ):
            functions = {
                "ours": partial(getattr(model, method), X, lengths=problem.lengths),
                "theirs": partial(_call, compiled, batch),
            }
            ours, found = functions["ours"](), functions["theirs"]()
            close = np.isclose(ours, found.reshape(ours.shape), atol=1e-3)
            seconds = race(functions, seconds=0.5)
            yield Line(work, f"S=5, {n_sequences:,} x 200, {what}", "ConstrainedHMM",
                       seconds["ours"], "dynamax", seconds["theirs"],
                       agree=bool(close.mean() > 0.999),
                       note="dynamax in single precision, its default", **demand)  # fmt: skip


def _call(compiled, batch):
    return np.asarray(compiled(batch))  # waits for the answer
