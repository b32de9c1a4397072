"""Observations one at a time: filtered marginals and decisions a fixed lag behind."""

from collections import deque
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._kernels.discrete.filtering import best_source, completions, first_step, step
from .._numbers import is_whole
from ..exceptions import InfeasibleSequenceError, InfeasibleSequenceWarning, warn
from ..graph.completion import Live
from ..sequences.forms import Sequences
from ..sequences.labels import read_known
from ..sequences.values import as_array, concatenate, is_missing, plain
from .levels import take_off_levels


class Update(NamedTuple):
    """What is known after an observation."""

    step: int  # of the observation
    proba: np.ndarray  # (S,) filtered marginals of its state, columns as in classes_
    label: object  # decided for step - lag; None before that is 0


class ConstrainedStream:
    """Filtering and decoding while the observations of a sequence arrive, on feasible paths only.

    After the observation y_t the marginals are P(x_t | y_0..y_t, F_t). F_t is the event that the
    path can still be completed so that it obeys the rules:

    - With `n_steps`, the whole path of `n_steps` steps satisfies the constraints. The future is
      weighted by the chain: a state is improbable now if the rules are hardly ever met from it in
      the time that is left.
    - Without `n_steps`, x_0..x_t is the beginning of some feasible path of any length (x_0..x_t
      itself included), however improbable its rest is.

    The label of step t - lag is decided after y_t. It is the label at that step of the most
    probable path x_0..x_t given y_0..y_t, F_t *and the labels that were decided before*. So the
    decided labels are always the beginning of a feasible path; :meth:`finish` completes it.

    Parameters
    ----------
    model : fitted ConstrainedHMM
    n_steps : int, optional
        The length of the sequence, if it is known.
    lag : int, default=0
        How many steps later a label is decided. Each decision takes O(lag * edges) time.

    Attributes
    ----------
    n_seen : int
        Observations so far.
    path : ndarray
        The labels decided so far.
    log_feasibility : float
        log P(F_t | y_0..y_t): how likely it is, after the observations so far, that the rules will
        be met (with `n_steps`) or can be met (without).

    See Also
    --------
    ConstrainedHMM : The hidden Markov model with exact inference under constraints.

    Notes
    -----
    An observation that some states cannot have produced (probability zero) may contradict labels
    that were decided before, although it does not contradict the constraints. In this case, and if
    the sequence has no feasible path at all, :class:`~skchmm.InfeasibleSequenceError` is raised.
    With ``on_infeasible="warn"`` or ``"relax"`` in the model, the stream warns and continues
    without the earlier decisions, or without the constraints. The cost of a soft rule counts as
    soon as the rule is broken; where a combination with `Window` or `VisitBy` is softened, this may
    be noticed later, at the latest at the end.

    Examples
    --------
    >>> from skchmm import ConstrainedHMM
    >>> from skchmm.constraints import EndsIn
    >>> model = ConstrainedHMM.from_parameters(
    ...     [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], states=["a", "b"], constraints=EndsIn("b"))
    >>> stream = model.stream(n_steps=3, lag=1)
    >>> for row in ([-1.0, -2.0], [-1.0, -1.0], [0.0, -0.5]):
    ...     update = stream.push(row)
    ...     print(update.step, update.proba.round(2), update.label)
    0 [0.37 0.63] None
    1 [0.19 0.81] b
    2 [0. 1.] b
    >>> stream.finish()
    array(['b'], dtype='<U1')
    """

    def __init__(self, model: Any, *, n_steps: int | None = None, lag: int = 0) -> None:
        check_is_fitted(model)
        if n_steps is not None and (not is_whole(n_steps) or n_steps < 1):
            raise ValueError(f"n_steps must be a positive number of steps, got {n_steps!r}.")
        if not is_whole(lag) or lag < 0:
            raise ValueError(f"lag must be a number of steps, 0 or more, got {lag!r}.")
        self.model, self.n_steps, self.lag = model, n_steps, lag
        self.n_seen = 0
        self._free = _Filter(model._chain(constrained=False), lag)
        self._filter = _Filter(model._chain(), lag)
        self._future = self._futures(model._chain())
        self._rows = []  # the observations that the emission needs to see again
        self._decided = []  # state indices
        self._node = None  # of the last decision
        self._window = []  # emissions of the steps that are not decided
        self._values = []  # of the best paths from the last decision on, a row per step of these
        self._constrained, self._finished = True, False

    def _futures(self, chain):
        if self.n_steps is None:
            return Live(chain.graph)
        chain.graph.controller.check_length(self.n_steps)
        masses = np.empty((self.n_steps, chain.graph.n_nodes))
        completions(chain.graph.layout, chain.log_weights, masses)
        return masses

    def __getstate__(self):
        """Without the chains, and what follows from them and the number of steps."""
        chained = ("_free", "_filter", "_future")
        state = {name: value for name, value in vars(self).items() if name not in chained}
        state["_seen"] = [
            (one.alpha, one.log_scale, list(one._values))
            for one in (self._free, self._filter)[: 1 + self._constrained]
        ]
        return state

    def __setstate__(self, state):
        state = dict(state)
        self.__init__(state["model"], n_steps=state["n_steps"], lag=state["lag"])
        seen = state.pop("_seen")
        self.__dict__.update(state)
        if not self._constrained:
            self._filter, self._future = self._free, _Anything(self._free.chain.graph.n_nodes)
        for one, (alpha, log_scale, values) in zip((self._free, self._filter), seen):
            one.alpha, one.log_scale, one._t = alpha, log_scale, self.n_seen
            one._values.extend(values)
        if not self._fits_together():
            raise ValueError(
                "This is no saved ConstrainedStream: what it has seen does not fit its model."
            )

    def _fits_together(self):
        """Whether the sizes are those that kernels rely on."""

        def are_rows(rows, size):
            return all(
                isinstance(row, np.ndarray) and row.shape == (size,) and row.dtype == np.float64
                for row in rows
            )

        graph, begun = self._filter.chain.graph, self.n_seen > 0
        return (
            0 <= self.n_seen <= (np.inf if self.n_steps is None else self.n_steps)
            and all(
                are_rows([*one._values, *[one.alpha] * begun], one.chain.graph.n_nodes)
                and len(one._values) == min(self.n_seen, self.lag + 1)
                for one in (self._free, self._filter)
            )
            and are_rows(self._window, graph.n_states)
            and are_rows(self._values, graph.n_nodes)
            and len(self._window) == len(self._values) == self.n_seen - len(self._decided)
            and all(state in range(graph.n_states) for state in self._decided)
            and (self._node in range(graph.n_nodes) if self._decided else self._node is None)
        )

    @property
    def path(self) -> np.ndarray:
        return self.model.classes_[np.array(self._decided, dtype=np.int64)]

    @property
    def log_feasibility(self) -> float:
        if self.n_seen == 0 or not self._constrained:
            return np.nan
        ahead = self._filter.alpha + self._future[self.n_seen - 1]
        return float(_log_sum(ahead) + self._filter.log_scale - self._free.log_total())

    def push(self, x: Any, known: Any = None) -> Update:
        """Take the next observation.

        Parameters
        ----------
        x : a row of features, or one symbol or number where there is one feature
            None or NaN where it is missing.
        known : label or set of labels, optional
            What is known of the label of this step, which is held.

        Returns
        -------
        Update
            ``step``, ``proba`` (the filtered marginals, columns as in `classes_`) and ``label``
            (the decision about ``step - lag``; None while there is no such step).
        """
        t = self.n_seen
        if self._finished or t == self.n_steps:
            raise ValueError(f"The sequence has ended after its {t} steps.")
        self._filter.chain.graph.controller.check_length(t + 1)
        rows, log_b = self._emission(x, known)
        alpha = self._free.ahead(log_b)
        if not (alpha > -np.inf).any():
            why = ": every state has probability zero there" if np.isneginf(log_b).all() else ""
            raise InfeasibleSequenceError(
                f"The observations up to step {t} have probability zero under the model, with or "
                f"without constraints{why}."
            )
        self._rows = rows
        if self._filter is not self._free:
            self._filter.push(log_b, self._filter.ahead(log_b))
        self._free.push(log_b, alpha)
        self._extend(t, log_b)
        self.n_seen += 1
        if not np.isfinite(self._filter.alpha + self._future[t]).any():
            self._leave_constraints(f"No feasible path agrees with the observations up to step {t}")
        elif not np.isfinite(self._values[-1] + self._future[t]).any():
            self._leave_decisions(
                f"The observation at step {t} contradicts the labels that were decided before it, "
                f"{self.lag} steps behind; with a larger lag they are decided later"
            )
        label = None
        if t >= self.lag:
            label = self._decide(self._future[t], len(self._window) - self.lag)
        return Update(t, self._filter.marginals(self._future[t]), label)

    def finish(self) -> np.ndarray:
        """End the sequence here.

        Returns
        -------
        ndarray of labels
            The decisions about the last steps, so that `path` is complete and feasible.
        """
        if self._finished or self.n_seen == 0:
            raise ValueError("There is no sequence to finish.")
        if self.n_steps is not None and self.n_seen < self.n_steps:
            raise ValueError(f"The sequence has {self.n_steps} steps, of which {self.n_seen} came.")
        before = len(self._decided)
        accept = self._filter.chain.graph.log_final
        last = self._values[-1] if self._values else _at(self._node, len(accept))
        if not np.isfinite(last + accept).any():
            self._leave_constraints(
                f"No feasible path with the labels decided before ends after {self.n_seen} steps"
            )
            accept = np.zeros(self._filter.chain.graph.n_nodes)
        self._finished = True
        if self._window:
            self._decide(accept, len(self._window))
        return self.path[before:]

    # ------------------------------------------------------------- decisions
    def _extend(self, t, log_b):
        """Add step t to the window, with the values of paths that agree with the decisions."""
        chain = self._filter.chain
        if t == 0:
            values = _first(chain, log_b)
        else:
            before = self._values[-1] if self._values else _at(self._node, chain.graph.n_nodes)
            values = _step(chain, t, before, log_b, best=True)
        self._window.append(log_b)
        self._values.append(values - max(values.max(initial=-np.inf), -1e300))

    def _decide(self, future, n):
        """Decide the first n steps of the window; the label of the last of them."""
        chain, t = self._filter.chain, self.n_seen - 1
        nodes = [int(np.argmax(self._values[-1] + future))]
        for back in range(len(self._window) - 1):
            before = self._values[-2 - back]
            nodes.append(
                best_source(chain.graph.layout, chain.log_weights, t - back, before, nodes[-1])
            )
        nodes = nodes[::-1][:n]
        self._node = nodes[-1]
        self._decided += chain.graph.node_states[nodes].tolist()
        # What is left of the window starts from the decision.
        rest, self._window, self._values = self._window[n:], [], []
        for k, log_b in enumerate(rest):
            self._extend(self.n_seen - len(rest) + k, log_b)
        return self.model.classes_[self._decided[-1]]

    def _complain(self, what, instead):
        if self.model.on_infeasible == "raise":
            raise InfeasibleSequenceError(f"{what}.")
        warn(f"{what}. {instead}", InfeasibleSequenceWarning)

    def _leave_constraints(self, what):
        self._complain(what, "From here on the constraints are left out.")
        self._constrained = False
        self._filter, self._future = self._free, _Anything(self._free.chain.graph.n_nodes)
        self._values = self._free.last_values(len(self._window))

    def _leave_decisions(self, what):
        self._complain(what, "From here on those labels are not taken into account.")
        self._values = self._filter.last_values(len(self._window))

    # -------------------------------------------------------------- emissions
    def _emission(self, x, known):
        """The observations with this one, and its log-likelihood under every state."""
        model = self.model
        order = getattr(model.emission_, "order", 0)
        rows = [*self._rows[max(len(self._rows) - order, 0) :], _row(x, model.n_features_in_)]
        X = concatenate(rows)
        frames = model._frames(Sequences(X, np.array([0, len(X)]), "stacked", name="x"))
        frames, _ = take_off_levels(frames.part(len(X) - 1, len(X)))  # marginals are as before
        if known is not None:
            labels = np.empty(1, dtype=object)
            labels[0] = known
            frames = frames.clamp(read_known(labels, model.classes_, "known"))
        return rows, np.ascontiguousarray(frames.dense()[-1])


class _Filter:
    """The forward recursion of a chain, one step at a time, and that of the best paths."""

    def __init__(self, chain, lag):
        self.chain = chain
        self.alpha = None  # log, the largest 0
        self.log_scale = 0.0
        self._values = deque(maxlen=min(lag, 2**62) + 1)
        self._t = 0

    def ahead(self, log_b):
        """Log masses of the nodes after one more observation."""
        if self._t == 0:
            return _first(self.chain, log_b)
        return _step(self.chain, self._t, self.alpha, log_b, best=False)

    def push(self, log_b, alpha):
        if self._t == 0:
            values = alpha
        else:
            values = _step(self.chain, self._t, self._values[-1], log_b, best=True)
        self._t += 1
        top = max(alpha.max(initial=-np.inf), -1e300)
        self.alpha = alpha - top
        self.log_scale += top
        self._values.append(values - max(values.max(initial=-np.inf), -1e300))

    def last_values(self, n):
        """Values of the best paths at the last n steps."""
        return list(self._values)[len(self._values) - n :]

    def log_total(self):
        return _log_sum(self.alpha) + self.log_scale

    def marginals(self, future):
        log_mass = self.alpha + future
        mass = np.exp(log_mass - log_mass.max())
        graph = self.chain.graph
        by_state = np.bincount(graph.node_states, weights=mass, minlength=graph.n_states)
        return by_state / by_state.sum()


class _Anything:
    """A future that excludes nothing."""

    def __init__(self, n_nodes):
        self._row = np.zeros(n_nodes)

    def __getitem__(self, t):
        return self._row


def _first(chain, log_b):
    out = np.empty(chain.graph.n_nodes)
    first_step(chain.graph.layout, chain.log_start, log_b, out)
    return out


def _step(chain, t, before, log_b, *, best):
    out = np.empty(chain.graph.n_nodes)
    step(chain.graph.layout, chain.log_weights, t, before, log_b, best, out)
    return out


def _at(node, n_nodes):
    row = np.full(n_nodes, -np.inf)
    row[node] = 0.0
    return row


def _log_sum(values):
    top = values.max(initial=-np.inf)
    return top if top == -np.inf else top + np.log(np.exp(values - top).sum())


def _row(x, n_features):
    """One observation as the single row of a 2-d array."""
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = plain(x)[()]
    if isinstance(x, (str, bytes)) or not hasattr(x, "__len__"):
        missing = is_missing(x)
        row = np.full((1, n_features), None) if missing else as_array([x], "x").reshape(1, 1)
    else:
        row = as_array(x, "x")
        row = row.reshape(1, -1) if row.ndim == 1 else row
    if row.ndim != 2 or len(row) != 1:
        raise ValueError(f"push takes one observation, not an array of shape {row.shape}.")
    if row.shape[1] != n_features:
        raise ValueError(
            f"The observation has {row.shape[1]} features, but the model is expecting {n_features} "
            "features as input."
        )
    return row
