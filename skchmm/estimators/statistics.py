"""What an E-step finds out about some sequences, in a form that adds up."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from joblib import hash as hash_of_object

from .._numbers import is_whole

# Numbers of chunks are below this, names of chunks (their digests) from it on.
_NAMES = 1 << 64

# So many columns of sums tell where in the data a value stands; a prime, so that rows of hardly any
# data are as long as a multiple of it.
_COLUMNS = 1021


@dataclass(frozen=True, repr=False)
class Statistics:
    """Expected statistics of some sequences under a model, as `e_step` returns them.

    They add up: ``a + b`` is what one E-step over the sequences of both would have found, and
    `merge` adds up those of many chunks. `m_step` of a model turns them into its next parameters.
    Statistics know which parameters they were computed from and of which chunks: those of
    different parameters cannot be added, nor one chunk twice, nor chunks between which a sequence
    given by ``groups=`` was cut.

    Attributes
    ----------
    log_likelihood : float
        log P(Y, Acc) of all the sequences, by weight.
    n_sequences, n_steps : int
    values : dict of str to array
        The sums: expected starts and transitions (or jumps and times, or durations), and those of
        the emission.
    fingerprint : str
        Of the parameters they were computed from.
    chunks : tuple of (begin, end)
        The numbers of the chunks, as ranges.
    groups : tuple (first, last), or None
        The ids of the first and the last sequence, where these have ids.

    See Also
    --------
    skchmm.ConstrainedHMM.e_step, skchmm.ConstrainedHMM.m_step, skchmm.ConstrainedHMM.fit_chunks

    Examples
    --------
    >>> import numpy as np
    >>> from skchmm import ConstrainedHMM, Statistics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(3, size=60)
    >>> model = ConstrainedHMM(2, n_iter=0, random_state=0).fit(X, lengths=[30, 30])
    >>> parts = [model.e_step(X[:30]), model.e_step(X[30:])]
    >>> total = Statistics.merge(parts)
    >>> total
    <Statistics: 2 sequences, 60 steps, log-likelihood -66.0014>
    >>> model.m_step(total).score(X, lengths=[30, 30]) > total.log_likelihood
    True
    """

    values: dict[str, Any]
    log_likelihood: float
    n_sequences: int
    n_steps: int
    n_labels: int = 0  # steps whose label was given
    fingerprint: str = ""
    chunks: tuple[tuple[int, int], ...] = ()
    groups: tuple[Any, Any] | None = field(default=None)

    def __repr__(self) -> str:
        return (
            f"<Statistics: {self.n_sequences:,} sequences, {self.n_steps:,} steps, log-likelihood "
            f"{self.log_likelihood:.6g}>"
        )

    def __add__(self, other: "Statistics") -> "Statistics":
        if not isinstance(other, Statistics):
            return NotImplemented
        if self.fingerprint != other.fingerprint:
            raise ValueError(
                "These statistics were computed from different parameters, so their sum has no "
                "meaning: compute all of an iteration with the same model, then call m_step once."
            )
        if self.values.keys() != other.values.keys():
            raise ValueError(
                f"Statistics of {sorted(self.values)} and of {sorted(other.values)} do not add up."
            )
        return Statistics(
            {name: value + other.values[name] for name, value in self.values.items()},
            self.log_likelihood + other.log_likelihood,
            self.n_sequences + other.n_sequences,
            self.n_steps + other.n_steps,
            self.n_labels + other.n_labels,
            self.fingerprint,
            _together(self.chunks, other.chunks),
            join_groups(self.groups, other.groups),
        )

    def __radd__(self, other: Any) -> "Statistics":
        return self if isinstance(other, int) and other == 0 else NotImplemented  # for sum()

    def as_dict(self) -> dict[str, Any]:
        """The sums and their size as plain values, to be saved with a model."""
        names = ("values", "log_likelihood", "n_sequences", "n_steps", "n_labels")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def of_dict(cls, saved: dict[str, Any]) -> Self:
        """What `as_dict` gave."""
        names = ("values", "log_likelihood", "n_sequences", "n_steps", "n_labels")
        return cls(**{name: saved[name] for name in names})

    @classmethod
    def merge(cls, statistics: Iterable["Statistics"]) -> Self:
        """Add up the statistics of chunks, in a tree whose shape depends on their number alone.

        Neighbours are added in pairs, then pairs of pairs, and so on. So the result is the same to
        the last bit whoever computed them and in whatever order they were done, as long as they
        come here in the order of the chunks. Only O(log n) of them are held at a time. What is
        merged from 2, 4, 8, ... neighbouring chunks each may be merged in turn, with the same
        result: no process needs to see all chunks.

        Parameters
        ----------
        statistics : iterable of Statistics
            In the order of the chunks.

        Returns
        -------
        Statistics

        See Also
        --------
        skchmm.ConstrainedHMM.e_step : the statistics of a chunk.
        skchmm.ConstrainedHMM.m_step : the parameters that follow from statistics.

        Examples
        --------
        >>> from skchmm import ConstrainedHMM, Statistics
        >>> model = ConstrainedHMM(2, n_iter=0, random_state=0).fit(list("abbabab"))
        >>> chunks = [list("abba"), list("ab"), list("bbb"), list("a")]
        >>> found = [model.e_step(X, chunk=k) for k, X in enumerate(chunks)]
        >>> whole = Statistics.merge(found)
        >>> halves = Statistics.merge([Statistics.merge(found[:2]), Statistics.merge(found[2:])])
        >>> halves.log_likelihood == whole.log_likelihood
        True
        """
        total = fold(statistics)
        if total is None:
            raise ValueError("There are no statistics to merge.")
        return total


def fold(items):
    """Sum in a tree of fixed shape, holding O(log n) items: pairs, pairs of pairs...; or None."""
    waiting = []  # (items in it, sum), ever smaller ones
    for item in items:
        size = 1
        while waiting and waiting[-1][0] == size:
            before, left = waiting.pop()
            item, size = left + item, size + before
        waiting.append((size, item))
    total = None
    while waiting:
        _, left = waiting.pop()
        total = left if total is None else left + total
    return total


# -------------------------------------------------------------- who is who among chunks
def named(chunk):
    """A chunk as a range of numbers: that of its number, or of a digest of its name."""
    if is_whole(chunk) and 0 <= chunk < _NAMES:
        return ((int(chunk), int(chunk) + 1),)
    number = _NAMES + int(digest(chunk)[:24], 16)
    return ((number, number + 1),)


def _together(a, b):
    """The ranges of both, neighbours joined; what is in both is an error."""
    ranges = sorted(a + b) if a and b and a[-1][1] > b[0][0] else a + b
    out = []
    for begin, end in ranges:
        if out and begin < out[-1][1]:
            which = f"Chunk {begin}" if begin < _NAMES else "A chunk"
            raise ValueError(
                f"{which} is in both: it would count twice. If two chunks really hold the same "
                "data, tell them apart by name or number, e_step(..., chunk=number)."
            )
        if out and begin == out[-1][1]:
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
    return tuple(out)


def join_groups(a, b):
    """First and last group of both; one that both have at an end was cut."""
    if a is None or b is None:
        return a or b
    cut = [group for group in a if group in b]
    if cut:
        raise ValueError(
            f"The sequence {cut[0]!r} is in two chunks: its rows were cut where one chunk ends and "
            "the other begins, and each part would be taken for a sequence of its own. Cut the "
            "data between sequences; skchmm.datasets.read_sequences does so for Parquet and Arrow."
        )
    return a[0], b[-1]


# ------------------------------------------------------------------------------- digests
def digest(*things):
    """A short text that differs if anything in these things does."""
    found = blake2b(digest_size=16)
    for thing in things:
        _feed(found, thing)
    return found.hexdigest()


def _feed(found, thing):
    if isinstance(thing, np.ndarray) and thing.dtype.kind != "O":
        found.update(f"{thing.dtype.str}{thing.shape}".encode())
        found.update(np.ascontiguousarray(thing).view(np.uint8).data if thing.size else b"")
    elif isinstance(thing, dict):
        for key in sorted(thing, key=repr):
            found.update(repr(key).encode())
            _feed(found, thing[key])
    elif isinstance(thing, (list, tuple)):
        found.update(f"{len(thing)}[".encode())
        for part in thing:
            _feed(found, part)
    elif isinstance(thing, (str, bytes, int, float, bool, np.generic, type(None))):
        found.update(f"{type(thing).__name__}{thing!r},".encode())
    elif isinstance(thing, np.ndarray):
        found.update(f"{thing.shape}{thing.tolist()!r}".encode())
    elif type(thing).__module__.startswith("skchmm."):
        found.update(type(thing).__name__.encode())
        _feed(found, thing.__getstate__())
    else:
        found.update(hash_of_object(thing).encode())


def digest_of_rows(array):
    """A digest of large data at the speed of memory; None where it is not plain.

    A file that is mapped to be read is known by its name and its last change.
    """
    if type(array) not in (np.ndarray, np.memmap) or array.dtype.hasobject or array.ndim > 2:
        return None
    file = array
    while file is not None and not isinstance(file, np.memmap):
        file = getattr(file, "base", None)
    if file is not None and file.mode == "r" and file.filename is not None:
        place = array.ctypes.data - file.ctypes.data + file.offset
        where = str(file.filename), os.stat(file.filename).st_mtime_ns, place
        return digest(*where, array.dtype.str, array.shape, array.strides)
    if array.nbytes <= _COLUMNS * 64:
        return digest(array)
    sums, row_bytes = np.zeros(_COLUMNS, dtype=np.uint64), array[:1].nbytes
    rows = max(1, (1 << 20) // max(row_bytes, 1))
    for begin in range(0, len(array), rows):
        values = np.ascontiguousarray(array[begin : begin + rows]).reshape(-1).view(np.uint8)
        n = len(values) // (8 * _COLUMNS) * 8 * _COLUMNS
        if n:
            sums *= np.uint64(31)
            sums += values[:n].view(np.uint64).reshape(-1, _COLUMNS).sum(axis=0, dtype=np.uint64)
        if n < len(values):
            tail = np.zeros(8 * _COLUMNS, dtype=np.uint8)
            tail[: len(values) - n] = values[n:]
            sums *= np.uint64(31)
            sums += tail.view(np.uint64)
    return digest(array.dtype.str, array.shape, sums)
