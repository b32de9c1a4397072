"""The recordings of activities, and the rules of the protocol they follow."""

from itertools import groupby

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Bunch

from skchmm.constraints import (
    AtLeastVisits,
    ForbiddenEdges,
    NoReentry,
    Precedence,
    Regex,
    StageMonotone,
    StartsIn,
)
from skchmm.datasets import load_runs

FILES = ("har/hapt_1s_features.csv.gz", "har/hapt_raw_int16.npz")
RATE = 50  # samples a second of the raw recordings
WINDOWS = (50, 25, 10, 5)  # samples
OTHER = "OTHER"  # unlabelled, and the short transitions between postures
NAMES = {1: "WALKING", 2: "UPSTAIRS", 3: "DOWNSTAIRS", 4: "SITTING", 5: "STANDING", 6: "LYING"}
LABELS = {0: OTHER, **NAMES, **dict.fromkeys(range(7, 13), OTHER)}
SCRIPT = (
    "STANDING", "SITTING", "STANDING", "LYING", "SITTING", "LYING", "WALKING",
    "DOWNSTAIRS", "UPSTAIRS", "DOWNSTAIRS", "UPSTAIRS", "DOWNSTAIRS", "UPSTAIRS",
)  # fmt: skip
CHAIN = list(dict.fromkeys(SCRIPT))
STATES = (*sorted(CHAIN), OTHER)
N_SPLITS = 5


def load(options):
    """The runs that follow the protocol, and the fifths of the subjects."""
    data = load_runs(options.data / FILES[0], run="exp", label="label", time="second",
                     group="user", labels=LABELS)  # fmt: skip
    kept = [k for k, path in enumerate(data.y) if follows(path)]
    data.n_recorded = len(data.X)
    for name in ("X", "y"):
        data[name] = [data[name][k] for k in kept]
    data.groups = data.groups[kept]
    data.subjects = np.unique(data.groups)
    order = np.random.default_rng(0).permutation(data.subjects)
    data.fifths = [part.tolist() for part in np.array_split(order, N_SPLITS)]
    return data


def follows(path):
    return [label for label, _ in groupby(a for a in path if a != OTHER)] == list(SCRIPT)


def rules():
    between = [(a, b) for a in CHAIN for b in CHAIN if a != b]
    script = " ".join(f"{label} ({label} | {OTHER})*" for label in SCRIPT)
    return [
        StartsIn(OTHER),
        ForbiddenEdges(between),
        StageMonotone(CHAIN),
        *(Precedence(a, b) for a, b in zip(CHAIN, CHAIN[1:])),
        Regex(f"{OTHER}* {script}"),
    ]


def once_only():
    """The paper's protocol, in which no activity is entered twice: false of these recordings."""
    once = [rule for a in CHAIN for rule in (NoReentry(a), AtLeastVisits(a, 1))]
    return rules()[:-1] + once


def windowed(options, n_samples):
    """The runs that follow the protocol, with the same features over other windows."""
    data = Bunch(X=[], y=[], groups=[])
    with np.load(options.data / FILES[1]) as raw:
        for name in raw.files:
            if not name.startswith("x_"):
                continue
            n = len(raw[name]) // n_samples * n_samples
            acceleration, rotation = np.split(raw[name][:n] / [1e4, 1e4, 1e4, 2e3, 2e3, 2e3], 2, 1)
            sizes = [np.linalg.norm(each, axis=1) for each in (acceleration, rotation)]
            rows = np.column_stack([acceleration, rotation, *sizes]).reshape(-1, n_samples, 8)
            codes = raw[f"y{name[1:]}"][:n].reshape(-1, n_samples)
            path = np.array([LABELS[int(np.bincount(each).argmax())] for each in codes])
            if follows(path):
                data.X.append(np.concatenate([rows.mean(axis=1), rows.std(axis=1)], axis=1))
                data.y.append(path)
                data.groups.append(int(name[-2:]))
    data.groups = np.array(data.groups)
    return data


def split(data, held_out):
    """Scaled training and test runs, with the subjects of `held_out` left for the test."""
    train = [k for k, group in enumerate(data.groups) if group not in held_out]
    test = [k for k, group in enumerate(data.groups) if group in held_out]
    scaler = StandardScaler().fit(np.concatenate([data.X[k] for k in train]))
    return Bunch(
        X=[scaler.transform(data.X[k]) for k in train],
        y=[data.y[k] for k in train],
        X_test=[scaler.transform(data.X[k]) for k in test],
        y_test=[data.y[k] for k in test],
        subjects=data.groups[test],
    )
