"""All label paths up to a length, and what a controller says about each."""

from itertools import product

import numpy as np


def all_paths(states, longest):
    """Every path of 1 to `longest` labels, short ones first, then in the order of the states."""
    return [path for n in range(1, longest + 1) for path in product(states, repeat=n)]


def verdicts(controller, paths):
    """Whether the controller accepts each path."""
    number = {label: a for a, label in enumerate(controller.states)}
    labels = np.array([number[x] for path in paths for x in path], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, paths)])
    return controller.accepts_encoded(labels, offsets).tolist()
