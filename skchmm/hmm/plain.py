"""EM where nothing is overridden: what stays the same in all iterations is looked at once.

An iteration over few steps is mostly the looking up, checking and naming that hooks need. Here are
the same sums and the same updates without it.
"""

from operator import is_

import numpy as np

from ..estimators.transitions import update
from ..inference.chain import Chain
from ..inference.schedule import threads_of
from .hooks import LEARNING_HOOKS, overridden

MOST_STEPS = 20_000  # beyond, kernels take nearly all of the time


class PlainSteps:
    """The E-step and the M-step of a model without rules, of unweighted sequences without labels.

    Parameters
    ----------
    model : BaseHMM
    data : Data
    part : Part
        All of the data.
    """

    def __init__(self, model, data, part):
        self.model, self.data, self.part = model, data, part
        self.one = len(part.offsets) == 2
        self.fixed = model._fixed()
        letters = model._emission_parameters
        self.letters = [letter for letter in letters if letter in model.params]
        self.names = [letters[letter] for letter in self.letters]
        self.learns_all = len(self.letters) == len(letters)
        self.parameters = self.emission = self.graph = None

    @classmethod
    def serve(cls, model, data, parts):
        """Whether they are for this model and these sequences."""
        return (
            data.known is None
            and data.sample_weight is None
            and len(parts) == 1
            and data.sequences.n_steps <= MOST_STEPS
            and threads_of(model.n_jobs, data.sequences.n_steps) == 1
            and not model._emission_is_custom()
            and not overridden(model, "_do_estep", *LEARNING_HOOKS)
        )

    def expect(self):
        """The log-likelihood, and what `maximise` takes."""
        model, part = self.model, self.part
        chain, emission = self._chain(), self._emission()
        frames = emission.log_likelihood(part.encoded)
        model._check_underflow(frames)
        log_z, posteriors, counts = chain.smooth(frames, part.offsets, counts=True)
        log_prob = float(log_z[0] if self.one else log_z.sum())
        if log_prob == -np.inf:
            model._objective(log_z, self.data, emission)  # says which sequence, and why
        starts = posteriors[0] if self.one else posteriors[part.offsets[:-1]].sum(axis=0)
        statistics = emission.accumulate(part.encoded, posteriors, part.offsets)
        return log_prob, (starts, counts.transitions, statistics)

    def _chain(self):
        model = self.model
        found = model.startprob_, model.transmat_
        mine = self.parameters is not None and all(map(is_, self.parameters, found))
        # zeros stay zero: as many others as before are the same ones
        if mine and tuple(map(np.count_nonzero, found)) == self.n_possible:
            chain = model._chains[True] = Chain(self.graph, *found)
            return chain
        chain = model._chain()
        self.graph, self.n_possible = chain.graph, tuple(map(np.count_nonzero, found))
        return chain

    def _emission(self):
        """The emission with the parameters of the model; the last one, if it has them."""
        model, emission = self.model, self.emission
        if emission is None or not all(
            getattr(model, name) is getattr(emission, inner) for name, inner in self.names
        ):
            emission = self.emission = model._learning_emission()
        return emission

    def maximise(self, statistics):
        """The parameters that `params` names, from what `expect` found."""
        model = self.model
        starts, transitions, of_emission = statistics
        if "s" in model.params:
            prior, fixed = model.startprob_prior, self.fixed[0]
            model.startprob_ = update(model.startprob_, starts, prior, fixed)
        if "t" in model.params:
            prior, fixed = model.transmat_prior, self.fixed[1]
            model.transmat_ = update(model.transmat_, transitions, prior, fixed)
        self.parameters = model.startprob_, model.transmat_
        if self.letters:
            self.emission.maximise(of_emission)
            model._take(self.emission, self.letters)
            if not self.learns_all:
                self.emission = None
