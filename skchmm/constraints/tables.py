"""Controllers that only look at whether a label is in a set A."""

import numpy as np

from ..controller import Controller


def trivial(states):
    """The controller that accepts every path."""
    return Controller(states, np.zeros((1, len(states)), dtype=np.int32), np.array([True]))


def accepts_nothing(controller):
    """Whether a minimal controller accepts no path."""
    if len(controller.epochs) == 1 and controller.horizon is None:
        # Trimmed: what is left leads to acceptance, however many steps away.
        return not (controller.tables >= 0).any()
    return controller.is_empty()


def membership(states, members, inside, outside, accept, *, epochs=(0,)):
    """The controller of two columns: the next state after a label in A, and after any other.

    Parameters
    ----------
    states : tuple of labels
    members : bool array (n_states,), which states are in A
    inside, outside : int arrays (n,) or (n_epochs, n); -1 is dead
    accept : bool array (n,)
    epochs : first step of each epoch
    """
    inside = np.atleast_2d(np.asarray(inside, dtype=np.int32))
    outside = np.atleast_2d(np.asarray(outside, dtype=np.int32))
    tables = np.where(members, inside[:, :, None], outside[:, :, None])
    return Controller(states, tables, np.asarray(accept, dtype=bool), epochs=epochs)
