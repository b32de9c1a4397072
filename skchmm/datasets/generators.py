"""Synthetic problems: exact draws from the constrained prior."""

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from .._numbers import is_whole
from ..constraints import ExactVisits, ForbiddenEdges, NoReentry, Precedence, StartsIn
from ..constraints.compile import compile
from ..graph import AugmentedGraph
from ..inference.sampling import draw_constrained_paths


def make_chain(
    n_sequences: int = 100,
    n_steps: int | tuple[int, int] = 200,
    *,
    stay: float = 0.975,
    noise: float = 0.4,
    random_state: Any = None,
    return_X_y: bool = False,
) -> Any:
    """Draw the chain problem: A, B, C, END in this order, with REST anywhere.

    Five states and eight symbols. A path has A before B before C before END, enters END exactly
    once, A, B and C at most once (with the order, exactly once), and jumps neither backward nor
    over a state. The chain itself starts anywhere, stays with probability `stay` and moves to each
    other state alike; paths are drawn from it given that they satisfy the constraints, never by
    rejection. State i shows symbol i with probability 1 - `noise`, otherwise any of the eight.

    With the defaults a decoder that does not know the constraints, fitted on 60 sequences of 200
    steps, labels about 98% of the steps right, and about 87% of its paths are valid.

    Parameters
    ----------
    n_sequences : int, default=100
    n_steps : int or (int, int), default=200
        The length of the sequences; of a pair, drawn between the two (both included).
    stay : float, default=0.975
        Probability to stay in a state. Less makes shorter segments, and fewer valid paths.
    noise : float, default=0.4
        Probability of a symbol that tells nothing.
    random_state : None, int or RandomState
    return_X_y : bool, default=False
        Only ``(X, y)``.

    Returns
    -------
    Bunch
        X (list of int arrays), y (list of arrays of labels), states, constraints, startprob,
        transmat, emissionprob, DESCR.

    See Also
    --------
    make_protocol : Draw recordings of people who follow a protocol.

    Examples
    --------
    >>> from skchmm.datasets import make_chain
    >>> data = make_chain(3, n_steps=50, random_state=0)
    >>> [len(x) for x in data.X], data.states
    ([50, 50, 50], ('A', 'B', 'C', 'END', 'REST'))
    """
    states = ("A", "B", "C", "END", "REST")
    chain = states[:4]
    skips = [
        (a, b) for i, a in enumerate(chain) for j, b in enumerate(chain) if j not in (i, i + 1)
    ]
    constraints = [
        *(Precedence(a, b) for a, b in zip(chain[:-1], chain[1:])),
        ExactVisits("END", 1),
        *(NoReentry(a) for a in chain[:-1]),
        ForbiddenEdges(skips),
    ]
    if not (_is_number(noise) and 0 <= noise <= 1):
        raise ValueError(f"noise must be a probability, got {noise!r}.")
    S, K = len(states), 8
    emissionprob = (1 - noise) * np.eye(S, K) + noise / K
    random_state = check_random_state(random_state)
    problem = _Problem(states, constraints, np.full(S, 1 / S), _sticky(S, stay))
    paths = problem.draw(n_sequences, n_steps, random_state)
    X = [_symbols(emissionprob, path, random_state) for path in paths]
    return problem.bunch(
        X,
        paths,
        return_X_y,
        emissionprob=emissionprob,
        DESCR=f"{n_sequences} draws of A, B, C, END with REST (stay={stay}, noise={noise}).",
    )


def make_protocol(
    n_sequences: int = 20,
    n_steps: int | tuple[int, int] = (250, 350),
    *,
    activities: Sequence[Hashable] = ("folding", "sweeping", "walking", "boxes", "bike"),
    rest: Hashable = "sitting",
    n_features: int = 6,
    separation: float = 1.0,
    subject: float = 0.3,
    stay: float = 0.97,
    random_state: Any = None,
    return_X_y: bool = False,
) -> Any:
    """Draw a protocol of activities, seen through Gaussian features.

    Subjects begin at rest, do each activity once, in order, and rest between any two. Each state
    has a mean, drawn with standard deviation `separation` in each feature; each subject is off by
    an offset of standard deviation `subject`; the features of a step have standard
    deviation 1.

    Parameters
    ----------
    n_sequences : int, default=20
        Subjects, one sequence each.
    n_steps : int or (int, int), default=(250, 350)
        The length of the sequences; of a pair, drawn between the two (both included).
    activities : sequence of labels
        In the order of the protocol.
    rest : label, default="sitting"
    n_features : int, default=6
    separation, subject : float
        See above.
    stay : float, default=0.97
        Probability to stay in a state of the unconstrained chain.
    random_state : None, int or RandomState
    return_X_y : bool, default=False
        Only ``(X, y)``.

    Returns
    -------
    Bunch
        X (list of float arrays), y (list of arrays of labels), groups (the subjects), states,
        constraints, startprob, transmat, means, offsets, DESCR.

    See Also
    --------
    make_chain : Draw sequences from a random chain under rules.

    Examples
    --------
    >>> from skchmm.datasets import make_protocol
    >>> data = make_protocol(2, n_steps=100, random_state=0)
    >>> data.X[0].shape, str(data.y[0][0])
    ((100, 6), 'sitting')
    """
    listed = isinstance(activities, (list, tuple, np.ndarray))
    if (
        not listed
        or getattr(activities, "ndim", 1) != 1
        or len(activities) == 0
        or not all(isinstance(activity, Hashable) for activity in activities)
    ):
        raise ValueError(f"activities must be a list of labels, got {activities!r}.")
    if not is_whole(n_features) or n_features < 1:
        raise ValueError(f"n_features must be a positive integer, got {n_features!r}.")
    for name, value in (("separation", separation), ("subject", subject)):
        if not (_is_number(value) and 0 <= value < np.inf):
            raise ValueError(f"{name} must be a standard deviation, at least 0, got {value!r}.")
    activities = tuple(activities)
    states = (*activities, rest)
    constraints = [
        StartsIn(rest),
        *(Precedence(a, b) for a, b in zip(activities[:-1], activities[1:])),
        *(ExactVisits(a, 1) for a in activities),
    ]
    if len(activities) > 1:
        between = [(a, b) for a in activities for b in activities if a != b]
        constraints.append(ForbiddenEdges(between))
    S = len(states)
    random_state = check_random_state(random_state)
    problem = _Problem(states, constraints, np.full(S, 1 / S), _sticky(S, stay))
    paths = problem.draw(n_sequences, n_steps, random_state)
    means = random_state.normal(scale=separation, size=(S, n_features))
    offsets = random_state.normal(scale=subject, size=(n_sequences, n_features))
    X = [
        means[path] + offset + random_state.normal(size=(len(path), n_features))
        for path, offset in zip(paths, offsets)
    ]
    return problem.bunch(
        X,
        paths,
        return_X_y,
        groups=np.arange(n_sequences),
        means=means,
        offsets=offsets,
        DESCR=f"{n_sequences} subjects in a protocol of {len(activities)} activities.",
    )


class _Problem:
    """A chain under constraints."""

    def __init__(self, states, constraints, startprob, transmat):
        self.states = states
        self.constraints = constraints
        self.startprob = startprob
        self.transmat = transmat
        controller = compile(constraints, states)
        self.graph = AugmentedGraph(controller, startprob > 0, transmat > 0)

    def draw(self, n_sequences, n_steps, random_state):
        """A list of paths of state numbers; those of one length are drawn together."""
        if not is_whole(n_sequences) or n_sequences < 1:
            raise ValueError(f"n_sequences must be a positive integer, got {n_sequences!r}.")
        span = (n_steps, n_steps) if is_whole(n_steps) else n_steps
        span = tuple(span) if isinstance(span, (tuple, list)) else ()
        if len(span) != 2 or not all(map(is_whole, span)) or not 1 <= span[0] <= span[1]:
            raise ValueError(
                "n_steps must be a positive integer, or the smallest and the largest number of "
                f"steps, got {n_steps!r}."
            )
        low, high = span
        lengths = random_state.randint(low, high + 1, size=n_sequences)
        paths = [None] * n_sequences
        for length in np.unique(lengths):
            which = np.flatnonzero(lengths == length)
            draws = draw_constrained_paths(
                self.graph, self.startprob, self.transmat, int(length), len(which), random_state
            )
            for i, path in zip(which, draws):
                paths[i] = path
        return paths

    def bunch(self, X, paths, return_X_y, **more):
        labels = np.array(self.states)
        y = [labels[path] for path in paths]
        if return_X_y:
            return X, y
        return Bunch(
            X=X,
            y=y,
            states=self.states,
            constraints=self.constraints,
            startprob=self.startprob,
            transmat=self.transmat,
            **more,
        )


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _sticky(n_states, stay):
    if not (_is_number(stay) and 0 < stay < 1):
        raise ValueError(f"stay must be a probability between 0 and 1, got {stay!r}.")
    transmat = np.full((n_states, n_states), (1 - stay) / (n_states - 1))
    np.fill_diagonal(transmat, stay)
    return transmat


def _symbols(emissionprob, path, random_state):
    """One symbol a step, by inversion."""
    steps = np.cumsum(emissionprob, axis=1)[path, :-1]
    return (random_state.random_sample((len(path), 1)) > steps).sum(axis=1)
