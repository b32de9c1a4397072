"""Temporal logic on finite paths by its definition, and random formulas.

A formula is a nested tuple: ``("atom", labels)``, ``("true",)``, ``("G", f)``, ``("U", f, g)``...
"""

from hypothesis import strategies as st

UNARY = ("!", "X", "WX", "F", "G", "Y", "O", "H")
BINARY = ("U", "R", "W", "S", "&", "|", "->", "<->")
FUTURE = ("!", "X", "WX", "F", "G", "U", "R", "W", "&", "|", "->", "<->")

# How tightly operators bind, from the table in the documentation.
TIGHTNESS = {**dict.fromkeys(UNARY, 5), **dict.fromkeys("URWS", 4), "&": 3, "|": 2, "->": 1,
             "<->": 0}  # fmt: skip


def truth(formula, path):
    """Whether the formula holds at each step of the path."""
    operator, *operands = formula
    steps, T = range(len(path)), len(path) - 1
    if operator == "atom":
        return [x in operands[0] for x in path]
    f, g = [*(truth(operand, path) for operand in operands), None, None][:2]
    definition = {
        "true": lambda t: True,
        "false": lambda t: False,
        "last": lambda t: t == T,
        "!": lambda t: not f[t],
        "&": lambda t: f[t] and g[t],
        "|": lambda t: f[t] or g[t],
        "->": lambda t: g[t] if f[t] else True,
        "<->": lambda t: f[t] is g[t],
        "X": lambda t: t < T and f[t + 1],
        "WX": lambda t: t == T or f[t + 1],
        "F": lambda t: any(f[t:]),
        "G": lambda t: all(f[t:]),
        "U": lambda t: any(g[s] and all(f[t:s]) for s in range(t, T + 1)),
        "W": lambda t: all(f[t:]) or any(g[s] and all(f[t:s]) for s in range(t, T + 1)),
        "R": lambda t: all(g[s] or any(f[t:s]) for s in range(t, T + 1)),
        "Y": lambda t: t > 0 and f[t - 1],
        "O": lambda t: any(f[: t + 1]),
        "H": lambda t: all(f[: t + 1]),
        "S": lambda t: any(g[s] and all(f[s + 1 : t + 1]) for s in range(t + 1)),
    }[operator]
    return [bool(definition(t)) for t in steps]


def holds(formula, path):
    return truth(formula, path)[0]


def written(formula):
    """The formula as text, with no more parentheses than needed."""
    operator, *operands = formula
    if operator == "atom":
        labels = sorted(operands[0])
        return labels[0] if len(labels) == 1 else "{" + " ".join(labels) + "}"
    if not operands:
        return operator
    own = TIGHTNESS[operator]

    def inside(part, least):
        text = written(part)
        return text if TIGHTNESS.get(part[0], 9) >= least else f"({text})"

    if len(operands) == 1:
        return f"{operator} {inside(operands[0], own)}"
    left, right = operands
    # U, R, W, S and -> group from the right, the others from the left.
    from_right = operator in ("U", "R", "W", "S", "->")
    return f"{inside(left, own + from_right)} {operator} {inside(right, own + (not from_right))}"


def formulas(labels, operators=(*UNARY, *BINARY), max_leaves=6):
    atoms = st.one_of(
        st.sampled_from(labels).map(lambda label: ("atom", frozenset([label]))),
        st.sampled_from(labels).map(lambda label: ("atom", frozenset([label]))),
        st.sets(st.sampled_from(labels), min_size=1).map(lambda s: ("atom", frozenset(s))),
        st.sampled_from([("true",), ("false",), ("last",)]),
    )
    unary = st.sampled_from([o for o in operators if o in UNARY])
    binary = st.sampled_from([o for o in operators if o in BINARY])
    return st.recursive(
        atoms,
        lambda parts: st.one_of(st.tuples(unary, parts), st.tuples(binary, parts, parts)),
        max_leaves=max_leaves,
    )
