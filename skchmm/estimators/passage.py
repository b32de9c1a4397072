"""How long states last and how long it takes to reach them, according to the rates alone."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..continuous.passage import Passage
from ..continuous.path import PathChain
from ..graph import AugmentedGraph
from ..sequences.labels import members
from ..sequences.values import as_numbers


class PassageMixin:
    """`sojourn_times`, `hazard` and `expected_time_to`, for a model in continuous time."""

    def sojourn_times(self) -> np.ndarray:
        """Mean time that a stay in each state lasts, in the unit of `times`.

        Returns
        -------
        ndarray (S,)
            One over the rate of leaving; infinite for a state that is never left: where the
            generator has no jump, or only jumps that the rules always forbid.

        Notes
        -----
        How long a stay lasts does not depend on where the jump goes that ends it. So this is
        also the mean of stays that end with a jump which the rules allow.

        Examples
        --------
        >>> from skchmm import CTConstrainedHMM
        >>> rates = [[0, 0.2, 0.05], [0, 0, 0.5], [0, 0, 0]]
        >>> states = ["well", "ill", "dead"]
        >>> model = CTConstrainedHMM.from_parameters([1, 0, 0], rates, states=states)
        >>> model.sojourn_times()
        array([ 4.,  2., inf])
        """
        chain = self._free_of_observations()
        rates, out = chain.rates, np.full(len(self.classes_), np.inf)
        left = np.unique(chain.graph.node_states[rates.sources[rates.rates > 0]])
        out[left] = -1.0 / np.diag(self.generator_)[left]
        return out

    def hazard(self, into: Any, times: Any, *, start: Any = None) -> np.ndarray:
        """The rate at which states are entered, given that they were not entered before.

        Parameters
        ----------
        into : label or collection of labels
            The states that are waited for.
        times : array (n_times,)
            Time since the start, in the unit of the generator; must not decrease.
        start : label, optional
            The state at time 0. Default: as `startprob_` says.

        Returns
        -------
        ndarray (n_times,)
            NaN where they have been entered with certainty.

        Notes
        -----
        Given that no rule was broken before, and that the path can still be completed. Rules
        under ``semantics="observed"`` say nothing about times without observations, and are left
        out.

        Examples
        --------
        The longer patients were well at the start, the more of them are ill by now, of whom more
        die:

        >>> from skchmm import CTConstrainedHMM
        >>> rates = [[0, 0.2, 0.05], [0, 0, 0.5], [0, 0, 0]]
        >>> states = ["well", "ill", "dead"]
        >>> model = CTConstrainedHMM.from_parameters([1, 0, 0], rates, states=states)
        >>> model.hazard("dead", [0, 1, 5, 20]).round(3)
        array([0.05 , 0.118, 0.214, 0.249])
        """
        times = as_numbers(times, "times")
        if times.ndim != 1 or not np.isfinite(times).all():
            raise ValueError("times must be a 1-d array of finite numbers.")
        if (times < 0).any() or (np.diff(times) < 0).any():
            raise ValueError("times must begin at 0 or later, and never decrease.")
        chain = self._free_of_observations()
        waited = self._members(into, "into")
        startprob = self.startprob_
        if start is not None:
            startprob = self._members(start, "start") / 1.0
            if startprob.sum() != 1 or startprob[waited].any():
                raise ValueError(f"start must be one state that is not waited for, got {start!r}.")
        graph = chain.graph
        weights, able = np.zeros(graph.n_nodes), graph.start_nodes >= 0
        weights[graph.start_nodes[able]] = startprob[able]
        return Passage(chain.rates, waited[graph.node_states]).hazards(weights, times)

    def expected_time_to(self, into: Any, *, if_entered: bool = False) -> np.ndarray:
        """Expected time until states are entered, from each state as the first.

        Parameters
        ----------
        into : label or collection of labels
            The states that are waited for.
        if_entered : bool, default=False
            Whether to look only at paths that enter them. Otherwise the answer is infinite from
            where they may never be entered.

        Returns
        -------
        ndarray (S,)
            0 for the states themselves. NaN where rules forbid that a path starts, or, with
            `if_entered`, where none enters.

        Notes
        -----
        Given that no rule is broken until then. Rules under ``semantics="observed"`` say nothing
        about times without observations, and are left out.

        Examples
        --------
        >>> from skchmm import CTConstrainedHMM
        >>> rates = [[0, 0.2, 0.05], [0, 0, 0.5], [0, 0, 0]]
        >>> states = ["well", "ill", "dead"]
        >>> model = CTConstrainedHMM.from_parameters([1, 0, 0], rates, states=states)
        >>> model.expected_time_to("dead")
        array([5.6, 2. , 0. ])

        Some die without the illness; those who fall ill do so after:

        >>> model.expected_time_to("ill")
        array([inf,  0., inf])
        >>> model.expected_time_to("ill", if_entered=True)
        array([ 4.,  0., nan])
        """
        chain = self._free_of_observations()
        waited, graph = self._members(into, "into"), chain.graph
        passage = Passage(chain.rates, waited[graph.node_states])
        times = passage.expected_times()
        if not if_entered:
            times[passage.never()] = np.inf
        out, able = np.full(len(waited), np.nan), graph.start_nodes >= 0
        out[able] = times[graph.start_nodes[able]]
        return out

    def _members(self, states, name):
        """Which states (S,) these labels are."""
        found = members(states, self.classes_.tolist(), name)
        if not found.any():
            raise ValueError(f"{name}: no state is given.")
        return found

    def _free_of_observations(self):
        """The chain of jump paths that may start anywhere; rules on observations are left out."""
        check_is_fitted(self)
        if self.clock is not None:
            raise ValueError(
                f"With clock={self.clock!r} the rates are per unit of a clock that starts anew at "
                "every observation; without observations they say nothing about time."
            )
        S = len(self.classes_)
        _, generator = self._parameters()
        starts, support = np.ones(S, dtype=bool), generator > 0
        if self.semantics == "observed":
            graph = AugmentedGraph.unconstrained(self.controller_.states, starts, support)
        else:
            graph = AugmentedGraph(self.controller_, starts, support, max_nodes=self.max_nodes)
        return PathChain(graph, np.full(S, 1.0 / S), generator)
