"""Regular expressions over labels by their definition, and random ones.

An expression is a nested tuple: ``("set", negated, labels)``, ``("seq", e, f)``, ``("or", e, f)``
or ``("repeat", e, low, high)``.
"""

from hypothesis import strategies as st


def ends(expression, path, start):
    """Where a match that begins at `start` may end."""
    kind, *parts = expression
    if kind == "set":
        negated, labels = parts
        return {start + 1} if start < len(path) and (path[start] in labels) != negated else set()
    if kind == "seq":
        return {e for m in ends(parts[0], path, start) for e in ends(parts[1], path, m)}
    if kind == "or":
        return ends(parts[0], path, start) | ends(parts[1], path, start)
    part, low, high = parts
    here, found = {start}, {start} if low == 0 else set()
    # More rounds than labels are rounds that match nothing, and change nothing.
    for times in range(1, (low + len(path) if high is None else high) + 1):
        here = {e for m in here for e in ends(part, path, m)}
        found |= here if times >= low else set()
    return found


def matches(expression, path):
    return len(path) in ends(expression, path, 0)


def written(expression, level=0):
    """The expression as text; `level` 0 is alternatives, 1 a sequence, 2 a repeated part."""
    kind, *parts = expression
    if kind == "set":
        negated, labels = parts
        if not labels:
            return "."
        if len(labels) == 1 and not negated:
            return min(labels)
        return f"[{'^' if negated else ''}{' '.join(sorted(labels))}]"
    if kind == "repeat":
        part, low, high = parts
        short = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        bounds = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
        return written(part, 2) + short.get((low, high), bounds)
    if kind == "seq":
        text, own = f"{written(parts[0], 1)} {written(parts[1], 1)}", 1
    else:
        text, own = f"{written(parts[0], 0)} | {written(parts[1], 0)}", 0
    return f"({text})" if level > own else text


def expressions(labels, max_leaves=6, longest=4):
    sets = st.sets(st.sampled_from(labels), min_size=1).map(frozenset)
    leaves = st.one_of(
        st.sampled_from(labels).map(lambda label: ("set", False, frozenset([label]))),
        st.tuples(st.just("set"), st.booleans(), sets),
        st.just(("set", True, frozenset())),
    )
    bounds = st.one_of(
        st.sampled_from([(0, None), (1, None), (0, 1)]),
        st.tuples(st.integers(0, longest), st.integers(0, longest)).map(sorted).map(tuple),
        st.tuples(st.integers(0, longest), st.none()),
    )
    return st.recursive(
        leaves,
        lambda parts: st.one_of(
            st.tuples(st.just("seq"), parts, parts),
            st.tuples(st.just("or"), parts, parts),
            st.builds(lambda part, b: ("repeat", part, *b), parts, bounds),
        ),
        max_leaves=max_leaves,
    )
