"""How work on chunks of sequences is given to any map: what travels, and what comes back.

A task goes to a worker with the model once; from the second iteration on with its parameters alone.
A worker that does not know the model (it may be new) says so, and is sent it.
"""

import pickle
from collections import OrderedDict
from copy import copy
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any
from uuid import uuid4

import numpy as np

from .._numbers import is_whole
from ..controller.progress import Counted
from ..sequences.labels import distinct_labels
from .statistics import digest, digest_of_rows, fold, join_groups

# What a chunk given as a tuple holds, in this order; a dict at its end has the rest by name.
ARGUMENTS = ("X", "y", "lengths", "groups", "sample_weight")

FILE_BYTES = 1 << 22  # of mapped files are read together

_MODELS_KEPT = 4  # by a worker
_seen: OrderedDict[str, Any] = OrderedDict()


class Spread:
    """Chunks of sequences, and the map that spreads work on them.

    Parameters
    ----------
    chunks : iterable that can be gone through again
    map : callable
        (function, iterable) -> results, in order; or things whose ``result()`` gives them.
    per_task : int
        How many chunks a task works through: 1, 2, 4, 8, ...
    verbose : int, default=0
        Whether to show how far it is.
    """

    def __init__(self, chunks, map, per_task, verbose=0):
        listed = hasattr(chunks, "__iter__") and getattr(chunks, "ndim", 1) != 0
        if isinstance(chunks, (str, bytes)) or not listed:
            raise TypeError(f"chunks must be a list of chunks, got {type(chunks).__name__}.")
        if iter(chunks) is chunks:
            raise TypeError(
                "chunks can be gone through only once, but learning needs to go through them "
                "again and again: give a list (of functions that load a chunk, if the data are "
                "large), or an object whose __iter__ begins anew."
            )
        if not callable(map):
            raise TypeError(f"map must be a function such as the builtin map, got {map!r}.")
        if not (is_whole(per_task) and per_task >= 1) or (per_task & (per_task - 1)):
            raise ValueError(
                f"per_task must be 1, 2, 4, 8, ..., got {per_task!r}: sums of any other number of "
                "chunks would be added up in another order."
            )
        self.chunks, self.map, self.per_task = chunks, map, int(per_task)
        self.verbose = verbose

    def results(self, task, wanted=None):
        """What a task gives for each item, in order; `wanted` chooses chunks and says more."""
        items = Items(self.chunks, self.per_task, wanted)
        total = len(items) if hasattr(self.chunks, "__len__") else None
        what = "chunks" if items.per_task == 1 else f"tasks of {items.per_task} chunks"
        with Counted(task.what, total, what, self.verbose) as progress:
            for done, found in enumerate(self._in_order(task, items), start=1):
                progress.tell(done)
                yield found

    def _in_order(self, task, items):
        number = -1
        given = list(items) if isinstance(self.chunks, (list, tuple)) else items  # some maps ask
        for number, found in enumerate(self.map(task, given)):
            found = _result_of(found)
            if found is None:  # by a worker that does not know the model
                item = next(islice(items, number, None))
                found = _result_of(next(iter(self.map(task.whole(), [item]))))
            if not isinstance(found, tuple) or len(found) != 2:
                raise TypeError(
                    f"map must return what the function returns; it gave {type(found).__name__}. "
                    "If these are references to results, fetch them in map."
                )
            if found[0] != items.firsts[number]:
                raise ValueError(
                    f"map must keep the order of the chunks: in place {number} came what was "
                    f"computed of chunk {found[0]}."
                )
            yield found[1]
        if items.firsts is None or number + 1 < len(items.firsts):
            raise ValueError(
                f"map returned {number + 1} results for {len(items.firsts or ())} tasks."
            )
        if number < 0:
            raise ValueError("There are no chunks to learn from.")

    def fold(self, task):
        """The results of all chunks, added up in the order of the chunks."""
        return fold(self.results(task))

    def key(self):
        """Tells these chunks from others; None where that would take long."""
        if not isinstance(self.chunks, (list, tuple)):
            return None
        found = blake2b(digest_size=16)
        for chunk in self.chunks:
            mine = _key_of(chunk)
            if mine is None:
                return None
            found.update(mine.encode())
        return found.hexdigest()


class Items:
    """What tasks take: lists of (number, chunk, what is wanted of it).

    It is no iterator, which Dask would refuse.
    """

    def __init__(self, chunks, per_task, wanted):
        self.chunks, self.per_task, self.wanted = chunks, per_task, wanted
        self.firsts = None  # numbers of the first chunks of items, as far as they were taken

    def __len__(self):
        n = len(self.chunks) if self.wanted is None else len(self.wanted)
        return -(-n // (self.per_task if self.wanted is None else 1))

    def __iter__(self):
        item, firsts = [], []
        self.firsts = self.firsts or firsts
        for number, chunk in enumerate(self.chunks):
            more = None if self.wanted is None else self.wanted.get(number)
            if self.wanted is not None and more is None:
                continue
            item.append((number, chunk, more))
            if len(item) == self.per_task or self.wanted is not None:
                firsts.append(item[0][0])
                yield item
                item = []
        if item:
            firsts.append(item[0][0])
            yield item


def _result_of(found):
    """A result, also where map gave something that is still to have it."""
    wait = getattr(found, "result", None)
    return wait() if callable(wait) and not isinstance(found, tuple) else found


class Task:
    """Something to be computed of every chunk by a model, here or elsewhere.

    Parameters
    ----------
    model : estimator
    method : str
        Which takes what a chunk holds, its number and what is wanted of it.
    state : dict
        Attributes of the model that change from task to task: its parameters.
    """

    def __init__(self, model, method, state, key=None, with_model=True):
        self.model, self.method, self.state = model, method, state
        self.key = uuid4().hex if key is None else key
        self.with_model = with_model

    @property
    def what(self):
        """What to call it in the terminal."""
        looks = self.method in ("_survey_chunk", "_sequences_of_chunk")
        return "looked at" if looks else "learned from"

    def next(self, state):
        """The same with other parameters, for workers that know the model."""
        return Task(self.model, self.method, state, self.key, with_model=False)

    def whole(self):
        """The same for workers that do not."""
        return Task(self.model, self.method, self.state, self.key)

    def __getstate__(self):
        state = vars(self).copy()
        state["model"] = portable(self.model) if self.with_model else None
        return state

    def __setstate__(self, state):
        vars(self).update(state)
        if self.key in _seen:
            _seen.move_to_end(self.key)
        elif self.model is not None:
            _seen[self.key] = self.model
            while len(_seen) > _MODELS_KEPT:
                _seen.popitem(last=False)
        self.model = _seen.get(self.key)

    def __call__(self, item):
        if self.model is None:
            return None
        return item[0][0], fold(self._of(*each) for each in item)

    def _of(self, number, chunk, wanted):
        worker = with_state(self.model, self.state)
        try:
            return getattr(worker, self.method)(load(chunk), number, wanted)
        except Exception as error:
            error.add_note(f"In chunk {number}.")
            raise
        finally:
            _share(worker, self.model)


def portable(model):
    """A model without what every worker makes again and what follows it in the state."""
    light = copy(model)
    left_out = ("_skl_callbacks", "_callback_fit_ctx", "_last_step", "_counted", "histories_")
    for name in (*left_out, *model._state_names):
        vars(light).pop(name, None)
    if vars(light).get("constraints_") and getattr(light, "_mask", None) is None:
        vars(light).pop("controller_", None)
    return light


def with_state(model, state):
    """A copy with other parameters, which has the same graph at hand."""
    if "constraints_" in vars(model) and not hasattr(model, "controller_"):
        model._compile(model.constraints_)
    worker = copy(model)
    _share(model, worker)
    vars(worker).update(state)
    return worker


def _share(model, other):
    vars(other).update({k: vars(model)[k] for k in model._not_saved if k in vars(model)})


def load(chunk):
    """What a chunk holds, as arguments by name."""
    if callable(chunk):
        chunk = chunk()
    if isinstance(chunk, dict):
        found = dict(chunk)
    elif isinstance(chunk, tuple):
        more = chunk[-1] if chunk and isinstance(chunk[-1], dict) else {}
        given = chunk[:-1] if more or (chunk and isinstance(chunk[-1], dict)) else chunk
        if len(given) > len(ARGUMENTS):
            raise ValueError(
                f"A chunk is a tuple of {', '.join(ARGUMENTS)}, as far as they are needed; this "
                f"one has {len(given)} parts."
            )
        found = dict(zip(ARGUMENTS, given)) | more
    else:
        found = {"X": chunk}
    unknown = set(found) - {*ARGUMENTS, "times"}
    if unknown or "X" not in found:
        wrong = f"it has {sorted(map(str, unknown))}" if unknown else "it has no X"
        raise ValueError(f"A chunk holds X and perhaps {', '.join(ARGUMENTS[1:])}, times; {wrong}.")
    return found


def chunks_of_files(X, sample_weight, times):
    """Chunks of a list of mapped files; None for other data, and for files that are small."""
    mapped = isinstance(X, (list, tuple)) and all(type(rows) is np.memmap for rows in X)
    if not mapped or sum(rows.nbytes for rows in X) <= FILE_BYTES:
        return None
    cuts, size = [0], 0
    for k, rows in enumerate(X):
        if size and size + rows.nbytes > FILE_BYTES:
            cuts.append(k)
            size = 0
        size += rows.nbytes
    given = {"X": X, "sample_weight": sample_weight, "times": times}
    given = {name: values for name, values in given.items() if values is not None}
    return [{k: v[a:b] for k, v in given.items()} for a, b in zip(cuts, [*cuts[1:], len(X)])]


def _key_of(chunk):
    if callable(chunk):
        try:
            return digest(pickle.dumps(chunk))
        except Exception:  # anything may refuse to be pickled
            return None
    keys = []
    for name, value in sorted(load(chunk).items()):
        values = value if isinstance(value, list) else [value]
        for each in values:
            plain = each is None or isinstance(each, (int, float, str))
            key = digest(each) if plain else digest_of_rows(each)
            if key is None:
                return None
            keys.append(f"{name}{key}")
    return digest(keys)


@dataclass(frozen=True)
class Survey:
    """What a first look at chunks finds; it adds up."""

    n_steps: int
    n_labels: int  # known ones
    sizes: tuple[int, ...]  # sequences of each chunk
    labels: np.ndarray | None  # the different ones
    features: tuple  # number and names of columns, and whether there are times
    emission: str  # of which kind
    rows: Any  # what the emission notes of the rows
    groups: tuple | None

    def __add__(self, other):
        for mine, theirs, what in (
            (self.features[0], other.features[0], "columns"),
            (self.features[1], other.features[1], "names of columns"),
            (self.features[2], other.features[2], "times"),
            (self.emission, other.emission, "emission='auto'"),
        ):
            if mine != theirs:
                raise ValueError(
                    f"Chunks must agree: of {what}, one gives {mine}, another {theirs}. If their "
                    "types differ, convert them or choose an emission."
                )
        return Survey(
            self.n_steps + other.n_steps,
            self.n_labels + other.n_labels,
            self.sizes + other.sizes,
            join_labels(self.labels, other.labels),
            self.features,
            self.emission,
            None if self.rows is None else self.rows + other.rows,
            join_groups(self.groups, other.groups),
        )


def join_labels(a, b):
    """Labels of both, some perhaps twice, without turning numbers into strings."""
    if a is None or b is None:
        return b if a is None else a
    if a.dtype.kind != b.dtype.kind and not {a.dtype.kind, b.dtype.kind} <= {*"iuf"}:
        a, b = a.astype(object), b.astype(object)
    both = np.concatenate([a, b])
    if both.dtype.kind != "O":
        return np.unique(both)
    out = list(distinct_labels(both.tolist()))
    both = np.empty(len(out), dtype=object)
    both[:] = out
    return both
