"""Whole jump paths: filled in between decoded states, and drawn."""

import numpy as np

from ..emissions.base import Frames
from ..exceptions import InfeasibleSequenceError
from .draws import draw_nodes
from .entries import is_marked, lengths_of
from .jumps import Bridge, JumpPath, choose, most_likely_jumps
from .path import PathChain


def fill_in(chain, nodes, frames, times, s, begin, labels, known):
    """The most likely jumps between the nodes that were decoded for sequence s.

    Parameters
    ----------
    chain : ContinuousChain
    nodes : int array (T,)
    frames : Frames of the sequence
    times : Times
        Of all sequences; this one's begin at row `begin`.
    labels : ndarray
        The state labels.
    known : dict
        What was found before, for other sequences.
    """
    graph, start = chain.graph, times.values[begin]
    states = graph.node_states[nodes]
    places = nodes if isinstance(chain, PathChain) else states
    visited, entered, now, exact = [int(places[0])], [start], start, True
    log_prob = chain.log_start[states[0]] + frames.dense()[np.arange(len(states)), states].sum()
    for t in range(1, len(places)):
        gap, entry = float(lengths_of(frames.gaps[t])), bool(is_marked(frames.gaps[t]))
        key = id(chain), int(places[t - 1]), int(places[t]), gap, entry
        if key not in known:
            find = _most_likely_entry if entry else _most_likely_jumps
            known[key] = find(chain, *key[1:4])
        order, log_order, stays, sure = known[key]
        visited += order[1:]
        entered += (now + np.cumsum(stays[:-1])).tolist()
        now = times.values[begin + t]
        if entry:
            entered[-1] = now
        log_order -= chain.step_cost(t, nodes[t - 1], nodes[t])
        log_prob, exact = log_prob + log_order, exact and sure
    log_prob += graph.log_final[nodes[-1]]
    return JumpPath(
        labels[_states(chain, np.array(visited))], times.write(np.array(entered), s),
        times.write(np.array([now]), s)[0], float(log_prob), exact,
    )  # fmt: skip


def _most_likely_jumps(chain, first, last, gap):
    return most_likely_jumps(chain.rates, first, last, gap)


def _most_likely_entry(chain, first, last, gap):
    """As `most_likely_jumps`, where the last jump happens at the end of the gap."""
    entries = chain.entries
    found = []
    for k in np.flatnonzero((entries.targets == last) & (entries.rates > 0)):
        order, log_prob, stays, exact = most_likely_jumps(
            chain.rates, first, int(entries.sources[k]), gap
        )
        found.append((log_prob + entries.log_rates[k], order, stays, exact))
    log_prob, order, stays, _ = max(found, key=lambda each: each[0])
    return [*order, last], log_prob, np.append(stays, 0.0), all(each[-1] for each in found)


def draw_paths(chain, sequences, labels, random_state):
    """Draw a jump path for the times of each sequence, given that the constraints hold.

    Returns
    -------
    list of int arrays, the states at the observations; list of JumpPath
    """
    draw = _draw_path if isinstance(chain, PathChain) else _draw_observed
    y, paths, bridges, times = [], [], {}, sequences.times
    for s, (begin, end) in enumerate(sequences.ranges):
        since = times.values[begin:end] - times.values[begin]
        jumps, first = draw(chain, since, bridges, random_state)
        entered = np.array([0.0] + [time for time, _ in jumps])
        states = np.array([first] + [state for _, state in jumps])
        y.append(states[np.searchsorted(entered, since, side="right") - 1])
        paths.append(
            JumpPath(
                labels[states],
                times.write(times.values[begin] + entered, s),
                times.write(times.values[end - 1 : end], s)[0],
            )
        )
    return y, paths


def draw_between(chain, nodes, gaps, times, s, offsets, labels, random_state):
    """Draw the jumps between nodes (n, T) that were drawn for the observations of sequence s."""
    bridges, paths = {}, []
    moments = times.values[offsets[s] : offsets[s + 1]]
    for places in nodes if isinstance(chain, PathChain) else chain.states_of(nodes):
        jumps = _bridge(chain, places, gaps, moments, bridges, random_state)
        visited = np.array([places[0]] + [place for _, place in jumps])
        entered = np.array([moments[0]] + [time for time, _ in jumps])
        paths.append(
            JumpPath(
                labels[_states(chain, visited)],
                times.write(entered, s),
                times.write(moments[-1:], s)[0],
            )
        )
    return paths


def _states(chain, places):
    """The states of places: nodes, or the states themselves where only they are constrained."""
    return chain.graph.node_states[places] if isinstance(chain, PathChain) else places


def _draw_path(chain, since, bridges, random_state):
    graph, duration = chain.graph, float(since[-1])
    if duration not in bridges:
        bridges[duration] = Bridge(chain.rates, duration, np.exp(graph.log_final))
    able = np.flatnonzero(graph.start_nodes >= 0)
    masses = chain.first[able] * bridges[duration].masses()[graph.start_nodes[able]]
    if not masses.sum() > 0:
        raise InfeasibleSequenceError(
            f"No path of {duration:g} units of time satisfies the constraints."
        )
    first = int(able[choose(masses, random_state)])
    jumps = bridges[duration].draw([graph.start_nodes[first]], random_state)[0]
    return [(time, int(graph.node_states[node])) for time, node in jumps], first


def _draw_observed(chain, since, bridges, random_state):
    gaps = np.diff(since, prepend=0.0)
    blank = Frames(np.zeros((1, chain.graph.n_states)), np.zeros(len(gaps), int), gaps=gaps)
    drawn = draw_nodes(chain, blank, 1, random_state)
    if len(drawn) == 0:
        raise InfeasibleSequenceError(
            f"No sequence of {len(gaps)} states satisfies the constraints."
        )
    states = chain.graph.node_states[drawn[0]]
    return _bridge(chain, states, gaps, since, bridges, random_state), int(states[0])


def _bridge(chain, places, gaps, moments, bridges, random_state):
    """Draw the jumps between places (states, or nodes) at the moments of the observations."""
    jumps = []
    for t in range(1, len(places)):
        gap, entry, last = float(lengths_of(gaps[t])), bool(is_marked(gaps[t])), int(places[t])
        key = gap, entry, last
        if key not in bridges:
            ends = (
                chain.entries.matrix[:, last] if entry else np.arange(chain.rates.n_nodes) == last
            )
            bridges[key] = Bridge(chain.rates, gap, ends)
        drawn = bridges[key].draw([int(places[t - 1])], random_state)[0]
        jumps += [(moments[t - 1] + time, node) for time, node in drawn]
        if entry:
            jumps.append((moments[t], last))
    return jumps
