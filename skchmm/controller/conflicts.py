"""Smallest sets of items that together make something impossible.

Items are 0..n-1; ``feasible(items)`` says whether a set of them can hold together. More items never
make an infeasible set feasible.
"""

from itertools import combinations, islice

MAX_TESTS = 2_000
MAX_SUBSETS = 200_000


class OutOfBudget(Exception):
    """Tests take too long; `feasible` may raise it."""


def smallest_conflict(n, feasible, again=None, *, max_tests=MAX_TESTS):
    """The smallest infeasible set of items, the first of them in lexicographic order.

    All items together must be infeasible. Every infeasible set has an item outside each feasible
    one. So the smallest set that has is a candidate; if it is feasible, it is grown as far as it
    stays so, and there is one more set to have an item outside of. When the search is cut short,
    `again` is asked instead of `feasible`.

    Returns
    -------
    conflict : list of int
    smallest : bool
        False if the search was cut short: the conflict then only has no smaller one within.
    """
    left = max_tests

    def test(items):
        nonlocal left
        left -= 1
        if left < 0:
            raise OutOfBudget
        return feasible(items)

    outside = []  # of each maximal feasible set that is known
    try:
        while True:
            candidate = _hitting_set(n, outside)
            if not test(sorted(candidate)):
                return sorted(candidate), True
            for k in range(n):
                if k not in candidate and test(sorted(candidate | {k})):
                    candidate = candidate | {k}
            rest = set(range(n)) - candidate
            if not rest:
                raise OutOfBudget  # a test that gave up said feasible
            outside.append(rest)
    except OutOfBudget:
        return irreducible(list(range(n)), again or feasible), False


def _hitting_set(n, sets):
    """The smallest set that meets all of them, the first in lexicographic order."""
    needed = [item for each in sets if len(each) == 1 for item in each]
    others = [k for k in range(n) if any(k in each for each in sets) and k not in needed]
    open_sets = [each for each in sets if not each & set(needed)]
    subsets = (
        set(chosen) for size in range(len(others) + 1) for chosen in combinations(others, size)
    )
    for chosen in islice(subsets, MAX_SUBSETS):
        if all(chosen & each for each in open_sets):
            return chosen | set(needed)
    raise OutOfBudget


def irreducible(items, feasible, *, max_tests=MAX_TESTS):
    """A part of infeasible items that is infeasible, and feasible without any one of them.

    QuickXplain: O(k log(n / k)) tests for k items left; when the tests run out, whole groups stay.
    """
    left = max_tests

    def conflict(kept, items, just_added):
        nonlocal left
        if just_added:
            left -= 1
            try:
                if left >= 0 and not feasible(kept):
                    return []
            except OutOfBudget:
                left = 0
        if len(items) == 1 or left <= 0:
            return items
        half = len(items) // 2
        first, second = items[:half], items[half:]
        of_second = conflict(kept + first, second, True)
        of_first = conflict(kept + of_second, first, bool(of_second))
        return of_first + of_second

    if not items or not feasible([]):
        return []
    return sorted(conflict([], list(items), False))
