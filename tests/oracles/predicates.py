"""The contract's table of constraints, line by line, as functions of a label path.

They share nothing with the automata: each reads the whole path and says whether the
definition holds. `holds(constraint, path)` picks the one for a constraint object.
"""

from itertools import pairwise


def as_set(states):
    """One label or a collection of labels as a set."""
    return {states} if isinstance(states, (str, int)) else set(states)


def entries(path, states):
    """Times t with x_t in A and (t = 0 or x_{t-1} not in A)."""
    A = as_set(states)
    return [t for t in range(len(path)) if path[t] in A and (t == 0 or path[t - 1] not in A)]


def precedence(path, before, after):
    before, after = as_set(before), as_set(after)
    return all(
        any(path[s] in before for s in range(t)) for t in range(len(path)) if path[t] in after
    )


def forbidden_edges(path, edges):
    return not any(
        here in as_set(source) and there in as_set(target)
        for here, there in pairwise(path)
        for source, target in edges
    )


def stage_monotone(path, stages, allow_backward=True):
    def stage(label):
        return next((g for g, labels in enumerate(stages) if label in as_set(labels)), None)

    staged = [stage(label) for label in path if stage(label) is not None]
    for t in range(1, len(staged)):
        highest = max(staged[:t])
        if staged[t] > highest + 1 or (not allow_backward and staged[t] < highest):
            return False
    return True


def at_least_visits(path, states, k):
    return len(entries(path, states)) >= k


def at_most_visits(path, states, k):
    return len(entries(path, states)) <= k


def exact_visits(path, states, k):
    return len(entries(path, states)) == k


def transitions(path, k):
    return sum(here != there for here, there in pairwise(path)) == k


def segments(path, k):
    return transitions(path, k - 1)


def all_different(path, states=None):
    counted = [label for label in path if states is None or label in as_set(states)]
    return len(counted) == len(set(counted))


def no_dwell(path, states):
    A = as_set(states)
    return not any(here in A and there in A for here, there in pairwise(path))


def no_reentry(path, states):
    return len(entries(path, states)) <= 1


def cool_down(path, states, delta):
    A = as_set(states)
    for u in range(1, len(path)):
        if path[u - 1] in A and path[u] not in A:
            later = [e for e in entries(path, A) if e > u]
            if later and later[0] - u < delta + 1:
                return False
    return True


def starts_in(path, states):
    return path[0] in as_set(states)


def ends_in(path, states):
    return path[-1] in as_set(states)


def runs(path, states):
    """(start, stop) of every maximal run inside A."""
    A = as_set(states)
    return [
        (start, next((t for t in range(start, len(path)) if path[t] not in A), len(path)))
        for start in entries(path, A)
    ]


def min_duration(path, states, k):
    return all(stop - start >= k for start, stop in runs(path, states) if stop < len(path))


def max_duration(path, states, k):
    return all(stop - start <= k for start, stop in runs(path, states))


def occupancy(path, states, at_least=None, at_most=None):
    steps = sum(label in as_set(states) for label in path)
    return (at_least is None or steps >= at_least) and (at_most is None or steps <= at_most)


def window(path, states, start, stop):
    return all(start <= t < stop for t, label in enumerate(path) if label in as_set(states))


def visit_by(path, states, deadline):
    return any(label in as_set(states) for t, label in enumerate(path) if t <= deadline)


def tag_scheme(path, scheme, entities, outside="O", separator="-"):
    """The rules of each scheme, tag by tag."""
    begin, inside, end = "BME" if scheme == "BMES" else "BIL"
    for e in as_set(entities):
        tags = [x.split(separator)[0] if x.endswith(separator + e) else None for x in path]
        for t, tag in enumerate(tags):
            before = tags[t - 1] if t else None
            after = tags[t + 1] if t + 1 < len(tags) else None
            if scheme == "BIO" and tag == "I" and before not in ("B", "I"):
                return False
            if scheme == "IOB1" and tag == "B" and before not in ("B", "I"):
                return False
            if scheme in ("BILOU", "BMES"):
                if tag in (inside, end) and before not in (begin, inside):
                    return False
                if tag in (begin, inside) and after not in (inside, end):
                    return False
    return True


PREDICATES = {
    "Precedence": precedence,
    "ForbiddenEdges": forbidden_edges,
    "StageMonotone": stage_monotone,
    "AtLeastVisits": at_least_visits,
    "AtMostVisits": at_most_visits,
    "ExactVisits": exact_visits,
    "Transitions": transitions,
    "Segments": segments,
    "AllDifferent": all_different,
    "NoDwell": no_dwell,
    "NoReentry": no_reentry,
    "CoolDown": cool_down,
    "StartsIn": starts_in,
    "EndsIn": ends_in,
    "MinDuration": min_duration,
    "MaxDuration": max_duration,
    "Occupancy": occupancy,
    "Window": window,
    "VisitBy": visit_by,
}


def holds(constraint, path):
    """Whether a path satisfies a constraint, or all of a list of them (None: always)."""
    if constraint is None:
        return True
    if isinstance(constraint, (list, tuple)):
        return all(holds(each, path) for each in constraint)
    kind = type(constraint).__name__
    if kind == "And":
        return all(holds(each, path) for each in constraint.constraints)
    if kind == "Or":
        return any(holds(each, path) for each in constraint.constraints)
    if kind == "Not":
        return not holds(constraint.constraint, path)
    return PREDICATES[kind](path, **constraint.get_params(deep=False))
