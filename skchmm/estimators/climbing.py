"""EM of a likelihood model: its steps, from every start on, and what an interrupt leaves."""

from copy import deepcopy
from types import SimpleNamespace

import numpy as np
from sklearn.utils import check_random_state

from ..emissions.base import steps_in_part
from ..exceptions import InfeasibleSequenceError
from .em import accumulation, emission_part, expect, parts_of, run_em, warn_not_converged
from .forgiving import ForgivingChain
from .infeasible import why_infeasible
from .statistics import Statistics, digest


class ClimbingMixin:
    """How a `LikelihoodModel` climbs from start values, with its dynamics and its emission."""

    def _fit_em(self, emission, data, progress):
        parts = self._parts_of(emission, data)
        self._climb(
            lambda parameters: self._take_e_step(parameters, data, parts), emission, data,
            progress, data.key,
        )  # fmt: skip

    def _parts_of(self, emission, data):
        least = steps_in_part(emission) if self._dynamics().in_parts else None
        return parts_of(emission, data, len(self.classes_), self.n_jobs, least=least)

    def _take_e_step(self, parameters, data, parts):
        """The E-step: Statistics of some sequences, whose emission is the last parameter."""
        *parameters, emission = parameters
        chain = self._chain(parameters)
        if self._forgives:
            chain = ForgivingChain(self, chain, parameters)
        expected = expect(chain, emission, parts, self.n_jobs, accumulate=accumulation(emission))
        value = self._objective(expected.smoothed.log_z, data, emission, parameters)
        counts = expected.smoothed.counts
        values = {f"emission {name}": value for name, value in expected.statistics.items()}
        values |= {"starts": expected.starts, **counts._asdict()}
        return data.statistics(values, value)

    def _maximise(self, parameters, statistics):
        """The M-step: parameters from Statistics."""
        *parameters, emission = parameters
        values = statistics.values
        others = {k: v for k, v in values.items() if not k.startswith("emission ")}
        if not emission.needs_labels:
            emission = deepcopy(emission)
            emission.maximise(emission_part(values), smoothing=self.smoothing)
        counts = SimpleNamespace(**others)
        return *self._dynamics().maximise(parameters, values["starts"], counts), emission

    def _climb(self, e_step, emission, data, progress, key):
        """EM from every start on; what an iteration has learned is set when it is complete.

        Parameters
        ----------
        e_step : callable
            parameters -> Statistics
        data : Data
            What the start values are found from.
        key : str or None
            Tells the data from others; None where that is not known.
        """
        if emission.needs_labels and not data.has_labels and self.init != "fitted":
            raise ValueError(
                f"{emission} is learned from labels only, and none were given: pass y, or use an "
                "emission of skchmm.emissions."
            )
        dynamics, random_state = self._dynamics(), check_random_state(self.random_state)
        best, histories, last = None, [], None

        def keep(parameters, history, converged, statistics):
            nonlocal last
            *parameters, emission = parameters
            last = (parameters, emission, list(history), converged), statistics
            self._learned(*last[0])
            if hasattr(self, "_skl_callbacks"):  # they may save the model
                self._keep(key, statistics)

        try:
            for _ in progress.starts():
                start = self._start_em(dynamics, deepcopy(emission), data, random_state)
                run_em(
                    start, e_step, self._maximise, n_iter=self.n_iter, tol=self.tol,
                    progress=progress, log_prior=self._log_prior, keep=keep,
                    first=self._kept(key, start),
                )  # fmt: skip
                histories.append(last[0][2])
                if best is None or histories[-1][-1] > best[0][2][-1]:
                    best = last
        except BaseException as error:
            if last is not None:  # of an interrupt, what is complete stays
                error.keeps_iterations = True  # type: ignore[attr-defined]
                self._learned(*(best or last)[0])
                self._keep(key, (best or last)[1])
                self._conclude()
            raise
        self._learned(*best[0])
        self._keep(key, best[1])
        self.histories_ = histories
        if not self.converged_ and self.n_iter > 0:
            warn_not_converged(self.n_iter, self)

    def _log_prior(self, parameters):
        """Log density of the prior of parameters, whose last is the emission."""
        *parameters, emission = parameters
        of_chain = self._dynamics().log_prior(*parameters)
        return of_chain + emission.log_prior(smoothing=self.smoothing)

    # What the last E-step found is kept, so that learning can go on without doing it again.
    def _keep(self, key, statistics):
        self._last_step = statistics.as_dict() | {"data": key, "of": self._fingerprint()}

    def _kept(self, key, start):
        """Statistics of this start on these data, if they are known."""
        kept = getattr(self, "_last_step", None)
        if self.init != "fitted" or kept is None or key is None or kept["data"] != key:
            return None
        *parameters, emission = start
        same = kept["of"] == self._fingerprint(parameters, emission)
        return Statistics.of_dict(kept) if same else None

    def _fingerprint(self, parameters=None, emission=None):
        """A digest of parameters, by default the fitted ones, and of the rules."""
        if parameters is None:
            parameters, emission = self._parameters(), self.emission_
        rules = list(map(repr, self.constraints_))
        kind, state = type(emission).__name__, emission.__getstate__()
        return digest(list(parameters), kind, state, self.classes_.tolist(), rules)

    def _start_em(self, dynamics, emission, data, random_state):
        """Start values: those of the dynamics, then the emission."""
        if self.init == "fitted":
            return *dynamics.impose(*self._parameters()), emission
        at_random = self.init == "random" or self.n_init > 1
        weights = dynamics.start_weights(data, random_state if at_random else None)
        if not emission.needs_labels:
            init = emission.default_init if self.init == "auto" else self.init
            emission.initialise(
                data.encoded, data.offsets, len(self.classes_), init=init, random_state=random_state
            )
        if data.has_labels:
            self._fit_emission(emission, data, random_state)
        return *dynamics.start(weights, data, random_state if at_random else None), emission

    def _objective(self, log_z, data, emission, parameters=None):
        """log P(Y, Acc) of all sequences by weight."""
        used = data.weights > 0
        bad = np.flatnonzero(np.isneginf(log_z) & used)
        if len(bad):
            raise InfeasibleSequenceError(why_infeasible(self, data, bad, emission, parameters))
        return float(np.dot(log_z[used], data.weights[used]))
