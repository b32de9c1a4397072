"""Nodes that drift apart, one sequence at a time: nothing is lost, and nothing left to others."""

import re
from itertools import product

import numpy as np
import pytest

from skchmm import ConstrainedHMM
from skchmm._kernels.simd import instructions
from skchmm.constraints import AtMostVisits, ExactVisits, MinDuration, Precedence, Regex
from skchmm.emissions import Frames
from skchmm.inference import sums
from tests.inference.test_lanes import in_log_space

GENE = ["UTR5", "START", "CDS", "STOP", "UTR3"]
RULES = {
    "parts in order": (GENE, Regex("UTR5+ START+ CDS+ STOP+ UTR3+")),
    "codons of one state": (GENE, Regex("UTR5+ START{3} CDS+ STOP{3} UTR3+")),
    "a loop of three": (list("abcde"), Regex("a+ b c d (b c d)* e+")),
    "two loops": (list("abcde"), Regex("(a b c)+ d+ (e b)+")),
    "lines at both ends": (list("abc"), Regex("a{2} b+ c{3}")),
    "a line in a circle": (list("abc"), Regex("(a{2} b c+)+")),
    "a line of four": (list("ab"), Regex("a{4} b+")),
    "a dense graph of 9": (list("abcdefghi"), None),
    "a dense graph of 16": (list("abcdefghijklmnop"), None),
    "memory of one": (list("abcd"), [Precedence("a", "b"), Precedence("c", "d")]),
}


def make(name, seed=0):
    states, rules = RULES[name]
    rng = np.random.default_rng(seed)
    S = len(states)
    start, transmat = rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), size=S)
    return ConstrainedHMM.from_parameters(start, transmat, states=states, constraints=rules), rng


def by_one_way(way, chain, frames, offsets, weights=None):
    """What one kernel answers; it must leave nothing."""
    with pytest.MonkeyPatch.context() as patch:
        for other in {"delays", "lanes", "two_ended", "blocks", "lanes_again"} - {way}:
            patch.setattr(sums.Sums, other, lambda self, chosen, *_: chosen)
        patch.setattr(sums.Sums, "log_space", None)
        counted = chain.smooth(frames, offsets, seq_weights=weights, counts=True)
        plain = chain.smooth(frames, offsets)
        log_z = chain.log_likelihood(frames, offsets)
    np.testing.assert_allclose(plain.posteriors, counted.posteriors, atol=1e-14)
    np.testing.assert_allclose(plain.log_z, counted.log_z, rtol=1e-14)
    np.testing.assert_allclose(log_z, counted.log_z, rtol=1e-14)
    return counted


def check(found, truth, n_steps):
    np.testing.assert_allclose(found.log_z, truth.log_z, rtol=1e-12)
    np.testing.assert_allclose(found.posteriors, truth.posteriors, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        found.counts.transitions, truth.counts.transitions, rtol=0, atol=1e-13 * n_steps
    )


PATTERNS = {  # of the same rules, over the letters of the states
    "parts in order": "a+b+c+d+e+",
    "codons of one state": "a+b{3}c+d{3}e+",
    "a loop of three": "a+bcd(bcd)*e+",
    "two loops": "(abc)+d+(eb)+",
    "lines at both ends": "aab+ccc",
    "a line in a circle": "(aabc+)+",
    "a line of four": "aaaab+",
}


def obeys(name, path):
    letters = "".join("abcdefgh"[i] for i in path)
    if name == "memory of one":
        return "b" not in letters.split("a")[0] and "d" not in letters.split("c")[0]
    return re.fullmatch(PATTERNS[name], letters) is not None


@pytest.mark.parametrize("way", ["two_ended", "blocks"])
@pytest.mark.parametrize("name", [name for name in RULES if len(RULES[name][0]) < 9])
def test_enumeration(name, way, instruction_sets):
    """By the definition: all paths, those that obey the rules, their probabilities."""
    model, rng = make(name)
    S, T = len(RULES[name][0]), 6
    chain = model._chain()
    paths = product(range(S), repeat=T)
    if name == "codons of one state":  # too long for all paths
        T = 10
        paths = (
            [0] * a + [1] * 3 + [2] * b + [3] * 3 + [4] * c
            for a, b, c in ((2, 1, 1), (1, 2, 1), (1, 1, 2))
        )
    paths = [np.array(path) for path in paths if obeys(name, path)]
    assert paths
    log_b = rng.normal(size=(T, S)) * 3
    weights, gamma, xi = [], np.zeros((T, S)), np.zeros((S, S))
    for p in paths:
        steps = chain.transmat[p[:-1], p[1:]]
        weights.append(chain.start[p[0]] * steps.prod() * np.exp(log_b[np.arange(T), p].sum()))
    for p, weight in zip(paths, np.array(weights) / np.sum(weights)):
        gamma[np.arange(T), p] += weight
        np.add.at(xi, (p[:-1], p[1:]), weight)
    for isa, k in instruction_sets.items():
        if isa == "plain" and way == "two_ended":
            continue
        instructions.use_instruction_set(k)
        found = by_one_way(way, chain, Frames(log_b), np.array([0, T]))
        np.testing.assert_allclose(found.log_z, np.log(np.sum(weights)), rtol=1e-12)
        np.testing.assert_allclose(found.posteriors, gamma, atol=1e-12)
        np.testing.assert_allclose(found.counts.transitions, xi, atol=1e-12)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_long_sequences_from_both_ends(name, scale, instruction_sets):
    """Longer than what rows are left for at once, of odd and even lengths, as symbols and dense."""
    model, rng = make(name)
    chain, S = model._chain(), len(RULES[name][0])
    assert chain.graph.n_nodes <= 16
    lengths = [4101, 2048, 31, 2051, 15, 4400]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.normal(size=(12, S)) * scale
    index = rng.integers(0, 12, offsets[-1])
    weights = rng.random(len(lengths))
    truth = in_log_space(chain, Frames(table, index), offsets, weights)
    for isa, k in instruction_sets.items():
        if isa == "plain":
            continue
        instructions.use_instruction_set(k)
        for frames in (Frames(table, index), Frames(table[index])):
            check(by_one_way("two_ended", chain, frames, offsets, weights), truth, offsets[-1])


def random_pattern(rng, states):
    """Runs of some states, of up to five steps or of any length; one at least is of any length."""
    chosen = rng.permutation(states)[: rng.integers(1, len(states) + 1)]
    counts = rng.integers(1, 6, len(chosen))
    free = rng.random(len(chosen)) < 0.4
    free[rng.integers(len(chosen))] = True
    runs = [f"{s}+" if any_ else f"{s}{{{n}}}" for s, any_, n in zip(chosen, free, counts)]
    return " ".join(runs) if rng.random() < 0.8 else "(" + " ".join(runs) + ")+"


@pytest.mark.parametrize("seed", range(60))
def test_lines_of_nodes(seed, instruction_sets):
    """Runs of fixed lengths, in any order: one sequence after the other as in log space."""
    rng = np.random.default_rng(seed)
    S = rng.integers(1, 9)
    states = list("abcdefgh"[:S])
    model = ConstrainedHMM.from_parameters(
        rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), size=S), states=states,
        constraints=Regex(random_pattern(rng, states)),
    )  # fmt: skip
    chain = model._chain()
    lengths = rng.permutation([2, 3, 5, 8, 13, 40, 41, 300, 701])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    table = rng.normal(size=(12, S)) * rng.choice([0.3, 1.0, 4.0])
    index = rng.integers(0, 12, offsets[-1])
    truth = in_log_space(chain, Frames(table, index), offsets)
    for frames in (Frames(table, index), Frames(table[index])):
        for k in instruction_sets.values():
            instructions.use_instruction_set(k)
            with pytest.MonkeyPatch.context() as patch:
                for other in ("delays", "lanes"):
                    patch.setattr(sums.Sums, other, lambda self, chosen: chosen)
                found = chain.smooth(frames, offsets)
            np.testing.assert_allclose(found.log_z, truth.log_z, rtol=1e-12)
            np.testing.assert_allclose(found.posteriors, truth.posteriors, rtol=0, atol=1e-12)


@pytest.mark.parametrize("way", ["two_ended", "blocks"])
def test_what_is_accepted_is_next_to_nothing(way, instruction_sets):
    """All that fits the data ends in d, which no path may; what is left is e^-2000 of a row."""
    model = ConstrainedHMM.from_parameters(
        [1.0, 0.0, 0.0, 0.0],
        [[0.5, 0.3, 0.1, 0.1], [0.0, 0.5, 0.25, 0.25], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
        states=list("abcd"), constraints=Regex("a+ b+ c+"),
    )  # fmt: skip
    chain, T = model._chain(), 1000
    log_b = np.tile([-2.0, -2.0, -1.0, 0.0], (T, 1))
    log_b[T // 2 :] = [0.0, -1.0, -4.0, 0.0]
    truth = in_log_space(chain, Frames(log_b), np.array([0, T]))
    for isa, k in instruction_sets.items():
        if isa == "plain" and way == "two_ended":
            continue
        instructions.use_instruction_set(k)
        check(by_one_way(way, chain, Frames(log_b), np.array([0, T])), truth, T)


@pytest.mark.parametrize("rule", [AtMostVisits(0, 99), ExactVisits(0, 80)])
def test_many_controller_states(rule, instruction_sets):
    """The levels of a counter are further apart than doubles hold, and all of them count."""
    rng = np.random.default_rng(0)
    S, T = 4, 1500
    transmat = 0.7 * np.eye(S) + 0.3 / S
    model = ConstrainedHMM.from_parameters(
        np.full(S, 1 / S), transmat, states=list(range(S)), constraints=rule
    )
    chain = model._chain()
    table = rng.normal(size=(9, S)) * 1.5
    table[:, 0] += 1.0
    index = rng.integers(0, 9, T)
    offsets = np.array([0, 700, T])
    weights = rng.random(2)
    truth = in_log_space(chain, Frames(table, index), offsets, weights)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        for frames in (Frames(table, index), Frames(table[index])):
            check(by_one_way("blocks", chain, frames, offsets, weights), truth, T)


@pytest.mark.parametrize("scale", [5.0, 30.0])
@pytest.mark.parametrize(
    "rules",
    [
        [MinDuration(s, 700) for s in "abc"],
        [MinDuration("a", 30), AtMostVisits("b", 20)],
        AtMostVisits("a", 200),
    ],
    ids=["lines", "lines and levels", "levels"],
)
def test_lines_far_apart(rules, scale, instruction_sets):
    """Many nodes that nothing has reached yet, and values that within a few steps move by more than
    doubles hold: nothing is cut off on the way."""
    rng = np.random.default_rng(0)
    S, T = 3, 600
    model = ConstrainedHMM.from_parameters(
        rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), size=S), states=list("abc"),
        constraints=rules,
    )  # fmt: skip
    chain, offsets = model._chain(), np.array([0, T])
    frames = Frames(rng.normal(size=(T, S)) * scale)
    truth = in_log_space(chain, frames, offsets)
    for k in instruction_sets.values():
        instructions.use_instruction_set(k)
        with pytest.MonkeyPatch.context() as patch:
            for other in ("delays", "lanes", "two_ended", "lanes_again"):
                patch.setattr(sums.Sums, other, lambda self, chosen, *_: chosen)
            found = chain.smooth(frames, offsets, counts=True)
        check(found, truth, T)
