"""Mined rules, hard, soft, or with learned weights: chosen inside the training data."""

from itertools import product

import numpy as np

import skchmm
from skchmm import ConstrainedHMM, ConstraintMiner, CTConstrainedHMM
from skchmm.constraints import ForbiddenEdges, NoReentry, Soft
from skchmm.emissions import Categorical
from skchmm.metrics import (
    segment_f1_score,
    sequence_accuracy_score,
    sequence_macro_f1_score,
    trajectory_validity_rate,
)

from . import receipt, smarthome
from .report import Report, Table, mean_std, number
from .smarthome import pick
from .verdicts import Finding, difference

FILES = smarthome.FILES + receipt.FILES
WEIGHTS = (1.0, 2.0, 4.0)
DAY_SUPPORTS = (1.0, 0.9, 0.8)
CASE_SUPPORTS = (1.0, 0.98, 0.95)
N_INNER = 3
SCORES = ("accuracy", "macro F1", "segment F1")
EXACT = "exact paths"  # shown of short sequences alone
TRUTH = ("admitted", "kept")
COLUMNS = (*SCORES, EXACT, *TRUTH)
KINDS = {"none": ["none"], "hard": ["hard"], "soft": ["soft"], "learned": ["learned"]}
KINDS["chosen"] = list(KINDS)

TEXT = """
Beyond the paper. Rules are mined from labels, and a held-out sequence may break them. They are
used in four ways: not at all (*none*), as they are (*hard*), with one weight for all of them
(*soft*), and with weights learned by maximum likelihood from the labels (*learned*). The share of
the training instances in which a rule has to hold, its support, is one of {days} in the smart home
and of {cases} in the process log; the weight of *soft* is one of {weights}. For each split into
training and test data, support and weight are those with the largest accuracy in a
cross-validation inside the training data ({inner} blocks; of equals, the first), where rules are
mined anew from what is trained on; *chosen* may also choose between the four ways. *Hard, support
1* is what one has without any choice. Nothing of the test data is used.

Smart home: home, blocks of days and mined families of the report on the smart home, decoded by the
order of events and by their times (``clock="log"``, ``semantics="observed"``). Breaks of forbidden
edges and of no-reentry rules are paid one by one. Process log: noise, seeds, splits and Declare
rules of the report on it; all rules together are one, which is paid once (with support 1 and seed
0, {nodes} nodes instead of {hard}). Where hard rules leave no path, the answer is the one without
rules.

*Admitted* is the share of the true test paths that are possible under the hard rules, *kept* the
share that satisfy all rules, hard or soft.
"""


class Days:
    """The smart home; the unit is a day."""

    supports = DAY_SUPPORTS
    shown = SCORES

    def __init__(self, options, *, timed):
        self.home, self.timed = smarthome.load(options), timed
        self.y, self.splits = self.home.y, self.home.folds
        self.n_units = sum(len(test) for _, test in self.splits)

    def rules(self, y, support):
        families = ("stages", "forbidden", "no_reentry")
        miner = ConstraintMiner(families=families, min_support=support, **smarthome.CAPS)
        return miner.fit(y).constraints_

    def soften(self, rules, weight):
        counted = (ForbiddenEdges, NoReentry)
        return [Soft(rule, weight, each=isinstance(rule, counted)) for rule in rules]

    def fit_predict(self, train, test, rules):
        home = self.home
        params = {
            "states": home.states,
            "constraints": rules,
            "emission": Categorical(symbols=list(home.symbols)),
            "on_infeasible": "warn",
        }
        X, y, X_test = pick(home.X, train), pick(home.y, train), pick(home.X, test)
        if not self.timed:
            return ConstrainedHMM(**params).fit(X, y).predict(X_test)
        model = CTConstrainedHMM(semantics="observed", clock="log", **params)
        model.fit(X, y, times=pick(home.times, train))
        return model.predict(X_test, times=pick(home.times, test))

    def units(self, values):
        return values.tolist()


class Cases:
    """The process log; the unit is a seed, since its splits share cases."""

    supports = CASE_SUPPORTS
    shown = (*SCORES, EXACT)

    def __init__(self, options):
        traces, self.activities = receipt.read(options.data / receipt.FILES[0])
        n, self.n_units = len(traces), options.seeds or (1 if options.quick else 5)
        # Case k of seed s is number s * n + k.
        self.X, self.y, self.splits = [], traces * self.n_units, []
        for seed in range(self.n_units):
            rng = np.random.default_rng(seed)
            self.X += [receipt.replace_some(trace, self.activities, rng) for trace in traces]
            order = (rng.permutation(n) + seed * n).tolist()
            cut = int(0.7 * n)
            self.splits.append((order[:cut], order[cut:]))

    def rules(self, y, support):
        """One rule: a controller is compiled once for all that is tried with it."""
        found = receipt.declare_rules(y, self.activities, support)
        return [skchmm.compile(found, self.activities)]

    def soften(self, rules, weight):
        return [Soft(rules[0], weight)]

    def fit_predict(self, train, test, rules):
        model = self.model(rules).fit(pick(self.X, train), pick(self.y, train))
        return model.predict(pick(self.X, test))

    def model(self, rules):
        return ConstrainedHMM(
            states=self.activities,
            constraints=rules,
            emission=Categorical(symbols=self.activities),
            on_infeasible="warn",
        )

    def units(self, values):
        return [float(np.mean(values))]


def run(options):
    tasks = {
        "smart home, order of events": Days(options, timed=False),
        "smart home, times of events": Days(options, timed=True),
        "process log": Cases(options),
    }
    results = {name: _nested(task) for name, task in tasks.items()}
    nodes, hard = _sizes(tasks["process log"])
    text = TEXT.format(days=_either(DAY_SUPPORTS), cases=_either(CASE_SUPPORTS),
                       weights=_either(WEIGHTS), inner=N_INNER, nodes=nodes, hard=hard)  # fmt: skip
    tables = [_table(name, scores, tasks[name].shown) for name, (scores, _) in results.items()]
    tables.append(_choices({name: chosen for name, (_, chosen) in results.items()}))
    records = [
        {"task": name, "rules": row, "unit": k, **{c: values[c][k] for c in COLUMNS}}
        for name, (scores, _) in results.items()
        for row, values in scores.items()
        for k in range(tasks[name].n_units)
    ]
    findings = [_finding(name, scores, tasks[name].shown) for name, (scores, _) in results.items()]
    findings.append(_overall({name: scores for name, (scores, _) in results.items()}))
    return Report("soft", "Rules that may be broken", text, tables, findings, records)


def _nested(task):
    """Row of the table -> score -> values, and row -> what was chosen, split by split."""
    scores, chosen = {}, {}
    for train, test in task.splits:
        inner = [block.tolist() for block in np.array_split(np.array(train), N_INNER)]
        blocks = []
        for block in inner:
            held = set(block)
            blocks.append(_try_all(task, [k for k in train if k not in held], block))
        accuracy = {
            setting: np.mean(np.concatenate([found[setting]["accuracy"] for found in blocks]))
            for setting in blocks[0]
        }
        tested = _try_all(task, train, test)
        picks = {"none": ("none",), "hard, support 1": ("hard", 1.0)}
        for name, kinds in list(KINDS.items())[1:]:
            settings = [setting for setting in accuracy if setting[0] in kinds]
            picks[name] = max(settings, key=lambda setting: round(accuracy[setting], 12))
            chosen.setdefault(name, []).append(picks[name])
        for name, setting in picks.items():
            row = scores.setdefault(name, {column: [] for column in COLUMNS})
            for column, values in tested[setting].items():
                row[column] += task.units(values)
    return scores, chosen


def _try_all(task, train, test):
    """(kind, support, weight) -> score -> one value per test sequence."""
    y, truth = pick(task.y, train), pick(task.y, test)
    found = {("none",): _score(truth, task.fit_predict(train, test, None))}
    rules = {support: task.rules(y, support) for support in task.supports}
    tried = [("hard", support) for support in rules]
    tried += [("soft", *each) for each in product(rules, WEIGHTS)]
    tried += [("learned", support) for support in rules]
    for kind, support, *weight in tried:
        used = rules[support]
        kept = trajectory_validity_rate(truth, used, average=None).astype(float)
        if kind != "hard":
            used = task.soften(used, *(weight or ["learn"]))
        scores = _score(truth, task.fit_predict(train, test, used))
        scores["kept"] = kept
        if kind == "hard":
            scores["admitted"] = kept
        found[kind, support, *weight] = scores
    return found


def _score(truth, predicted):
    each = {"average": None}
    return {
        "accuracy": sequence_accuracy_score(truth, predicted, **each),
        "macro F1": sequence_macro_f1_score(truth, predicted, **each),
        "segment F1": segment_f1_score(truth, predicted, 0.1, **each),
        EXACT: np.array([np.array_equal(a, b) for a, b in zip(truth, predicted)], dtype=float),
        "admitted": np.ones(len(truth)),
        "kept": np.ones(len(truth)),
    }


def _sizes(task):
    """Nodes of the softened rules and of the hard ones, with support 1, on the first split."""
    train, _ = task.splits[0]
    rules = task.rules(pick(task.y, train), 1.0)
    models = [task.model(used) for used in (task.soften(rules, 1.0), rules)]
    fitted = [model.fit(pick(task.X, train), pick(task.y, train)) for model in models]
    return [model.graph_.n_nodes for model in fitted]


def _either(values):
    *first, last = [f"{value:g}" for value in values]
    return f"{', '.join(first)} and {last}"


def _table(name, scores, shown):
    unit = "seeds" if name == "process log" else "test days"
    rows = [
        [row, *(mean_std(values[column]) for column in shown),
         *(number(np.mean(values[column]), 2) for column in TRUTH)]
        for row, values in scores.items()
    ]  # fmt: skip
    caption = f"{name[0].upper()}{name[1:]}: mean over {unit} (deviation):"
    return Table(caption, ["rules", *shown, *TRUTH], rows)


def _choices(chosen):
    rows = [
        [task if k == 0 else "", row, "; ".join(_setting(each) for each in settings)]
        for task, by_row in chosen.items()
        for k, (row, settings) in enumerate(by_row.items())
    ]
    return Table(
        "What was chosen, for one split after the other (support, and weight of *soft*):",
        ["task", "rules", "chosen"],
        rows,
    )


def _setting(setting):
    kind, *numbers = setting
    return " ".join([kind, ", ".join(f"{value:g}" for value in numbers)]).strip()


def _gain(scores, a, b, column):
    return difference(scores[a][column], scores[b][column])


def _finding(name, scores, shown):
    base = "hard, support 1"
    parts = []
    for row in ("soft", "learned", "chosen"):
        gains = ", ".join(f"{column} {_gain(scores, row, base, column)}" for column in shown)
        parts.append(f"*{row}* {gains}")
    admitted = np.mean(scores[base]["admitted"])
    return Finding(
        f"(Not in the paper.) {name[0].upper()}{name[1:]}: what softening buys over hard rules of "
        "support 1.",
        "; ".join(parts) + f". The hard rules admit {admitted:.1%} of the true paths, soft ones "
        "all of them.",
        "beyond",
    )


def _overall(results):
    """Which differences to hard rules are more than chance, over all tasks."""
    better, worse = [], []
    for name, scores in results.items():
        for row in ("none", "hard", "soft", "learned", "chosen"):
            gain = _gain(scores, row, "hard, support 1", "accuracy")
            if gain.low > 0:
                better.append(f"*{row}* ({name})")
            elif gain.high < 0:
                worse.append(f"*{row}* ({name})")
    return Finding(
        "(Not in the paper.) Which rows differ in accuracy from hard rules of support 1 by an "
        "interval that excludes zero.",
        f"better: {', '.join(better) or 'none'}; worse: {', '.join(worse) or 'none'}.",
        "beyond",
    )
