"""How large automata may get: states, and entries of their tables.

`max_nodes` is what users set. An entry of a table takes about 100 bytes while it is minimised, so
that with many labels the memory is gone long before that many states are reached.
"""

ENTRIES_PER_NODE = 4
_FEWEST_ENTRIES = 4_000_000  # also where max_nodes is small


def most_states(max_nodes, n_labels, n_epochs=1):
    """The most automaton states that `max_nodes` allows over so many labels and epochs."""
    entries = max(_FEWEST_ENTRIES, ENTRIES_PER_NODE * max_nodes)
    return min(max_nodes, entries // (n_labels * n_epochs))


def limit_in_words(max_nodes, n_labels, n_epochs=1):
    """``more than max_nodes=10``, with what it comes to where labels are many."""
    most = most_states(max_nodes, n_labels, n_epochs)
    if most == max_nodes:
        return f"more than max_nodes={max_nodes:,}"
    epochs = "" if n_epochs == 1 else f" and {n_epochs:,} epochs"
    allowed = f"max_nodes={max_nodes:,} allows with {n_labels:,} labels{epochs}"
    return f"more than the {most:,} that {allowed}"
