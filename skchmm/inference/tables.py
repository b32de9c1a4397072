"""Tables of frames, as kernels read them best."""

import numpy as np

from ..graph.augmented import WIDTH


def table_by_node(graph, table, frames):
    """A table that few rows serve many steps with has one column per node; nothing is gathered.

    Returns the table, and whether its columns are nodes.
    """
    if frames.index is None or 4 * len(table) > frames.n_steps:
        return table, False
    wide = np.zeros((len(table), WIDTH * graph.ahead.n_blocks))
    wide[:, : graph.n_nodes] = table.take(graph.node_states, axis=1)
    return wide, True
