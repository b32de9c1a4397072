"""Parquet and Arrow files as chunks of whole sequences."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from .._numbers import is_whole


def read_sequences(
    source: Any,
    groups: str,
    *,
    columns: str | Collection[str] | None = None,
    y: str | None = None,
    times: str | None = None,
    sample_weight: str | None = None,
    rows: int = 1_000_000,
) -> list["SequenceChunk"]:
    """Chunks of whole sequences of a table in Parquet or Arrow files, for `fit_chunks`.

    Only the column with the ids of the sequences is read here. A chunk is a small function that
    reads its rows where it is called; it can be pickled, and so go to any worker that can open the
    files. Needs pyarrow.

    Parameters
    ----------
    source : path, list of paths, pyarrow.dataset.Dataset or pyarrow.Table
        A file, or a folder of files, whose rows follow each other in the order of their names. A
        path may be a URI such as ``s3://...``.
    groups : str
        The column with the id of the sequence of each row. The rows of a sequence are next to
        each other; a sequence may go from one file to the next.
    columns : str or list of str, optional
        The columns of X; a single name gives 1-d symbols. Default: all that are not named here.
    y, times, sample_weight : str, optional
        Columns of labels, times and weights.
    rows : int, default=1_000_000
        About how many rows a chunk has: the first sequence that reaches this number ends it.

    Returns
    -------
    list of SequenceChunk
        Each a function without arguments that returns the arguments of `fit`, as a dict.

    See Also
    --------
    skchmm.ConstrainedHMM.fit_chunks

    Examples
    --------
    >>> import pyarrow as pa  # doctest: +SKIP
    >>> table = pa.table({"who": ["ann", "ann", "bob"], "seen": ["x", "y", "x"]})  # doctest: +SKIP
    >>> chunks = read_sequences(table, groups="who", columns="seen", rows=2)  # doctest: +SKIP
    >>> [chunk.n_rows for chunk in chunks]  # doctest: +SKIP
    [2, 1]
    """
    if not (is_whole(rows) and rows >= 1):
        raise ValueError(f"rows must be an integer >= 1, got {rows!r}.")
    pieces, names = _pieces_of(source)
    single = isinstance(columns, str)
    others = {"y": y, "times": times, "sample_weight": sample_weight}
    roles = {"groups": groups, **{role: name for role, name in others.items() if name is not None}}
    if columns is None:
        columns = [name for name in names if name not in roles.values()]
    wanted = [columns] if single else list(columns)
    missing = [name for name in [*wanted, *roles.values()] if name not in names]
    if missing:
        raise ValueError(f"There is no column {missing[0]!r}; the columns are {list(names)}.")
    chunks, parts, n_rows, ids = [], [], 0, _Ids()
    for piece in pieces:
        begin = 0
        for start in ids.starts_in(piece.read([groups]).column(0)):
            if n_rows + start - begin >= rows:
                if start > begin:
                    parts.append(piece.part(begin, start))
                chunks.append(SequenceChunk(parts, wanted, single, roles))
                parts, n_rows, begin = [], 0, start
        if piece.n_rows > begin:
            parts.append(piece.part(begin, piece.n_rows))
            n_rows += piece.n_rows - begin
    if parts:
        chunks.append(SequenceChunk(parts, wanted, single, roles))
    return chunks


class SequenceChunk:
    """Some rows of a table, whole sequences, that are read when it is called.

    Attributes
    ----------
    n_rows : int

    See Also
    --------
    read_sequences : makes them.

    Examples
    --------
    >>> chunks = read_sequences("visits.parquet", groups="patient")  # doctest: +SKIP
    >>> chunks[0]()["X"]  # doctest: +SKIP
    """

    def __init__(self, parts: list, columns: list, single: bool, roles: dict) -> None:
        self._parts, self._columns, self._single, self._roles = parts, columns, single, roles

    @property
    def n_rows(self) -> int:
        return sum(end - begin for _, begin, end in self._parts)

    def __repr__(self) -> str:
        return f"<SequenceChunk: {self.n_rows:,} rows>"

    def __call__(self) -> dict[str, Any]:
        """Read the rows: the arguments of `fit` by name."""
        import pyarrow as pa

        names = list(dict.fromkeys([*self._columns, *self._roles.values()]))
        table = pa.concat_tables(
            [piece.read(names).slice(begin, end - begin) for piece, begin, end in self._parts]
        )
        X = table.column(self._columns[0]) if self._single else table.select(self._columns)
        return {"X": X, **{role: table.column(name) for role, name in self._roles.items()}}


class _Ids:
    """Where sequences begin, from one piece to the next."""

    def __init__(self):
        self.seen, self.last = set(), None

    def starts_in(self, column):
        """Rows of a column of ids at which a sequence begins."""
        if column.null_count:
            raise ValueError("Some rows have no id: the column of groups has missing values.")
        values = column.to_numpy()
        if len(values) == 0:
            return []
        starts = np.flatnonzero(values[1:] != values[:-1]) + 1
        starts = np.append(0, starts) if values[0] != self.last or not self.seen else starts
        for group in values[starts].tolist():
            if group in self.seen:
                raise ValueError(
                    f"The rows of a sequence must be next to each other, but those of {group!r} "
                    "are not. Sort the table by sequence first."
                )
            self.seen.add(group)
        self.last = values[-1]
        return starts.tolist()


class _Piece:
    """A part of a file that can be read alone: a row group of Parquet, a batch of Arrow."""

    def __init__(self, files, path, kind, number, n_rows):
        self.files, self.path, self.kind = files, path, kind
        self.number, self.n_rows = number, n_rows

    def part(self, begin, end):
        """Some of its rows, (piece, begin, end)."""
        if self.kind == "table":  # so that nothing else travels with them
            rows = self.path.slice(begin, end - begin)
            return _Piece(None, rows, "table", 0, end - begin), 0, end - begin
        return self, begin, end

    def read(self, columns):
        if self.kind == "table":
            return self.path.select(columns)
        return _open(self.files, self.path, self.kind, columns, self.number)


def _open(files, path, kind, columns, number):
    import pyarrow as pa
    from pyarrow import parquet

    with files.open_input_file(path) as file:
        if kind == "parquet":
            return parquet.ParquetFile(file).read_row_group(number, columns=columns)
        batch = pa.ipc.open_file(file).get_batch(number)
        return pa.Table.from_batches([batch]).select(columns)


def _pieces_of(source):
    """Pieces of all files, in order, and the names of their columns."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("read_sequences needs pyarrow: pip install pyarrow.") from error
    if isinstance(source, pa.RecordBatch):
        source = pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return [_Piece(None, source, "table", 0, source.num_rows)], source.schema.names
    pieces, names = [], None
    for files, path in _paths(source):
        found, columns = _pieces_of_file(files, path)
        if names is not None and columns != names:
            raise ValueError(f"{path} has the columns {columns}, files before it {names}.")
        pieces, names = pieces + found, columns
    if names is None:
        raise ValueError(f"There are no Parquet or Arrow files in {source}.")
    return pieces, names


def _paths(source):
    from pyarrow import fs

    if hasattr(source, "files") and hasattr(source, "filesystem"):  # a data set
        yield from ((source.filesystem, path) for path in source.files)
        return
    for each in source if isinstance(source, (list, tuple)) else [source]:
        files, path = (
            fs.FileSystem.from_uri(each)
            if isinstance(each, str) and "://" in each
            else (fs.LocalFileSystem(), str(Path(each).absolute()))
        )
        if files.get_file_info(path).type != fs.FileType.Directory:
            yield files, path
            continue
        inside = files.get_file_info(fs.FileSelector(path, recursive=True))
        names = sorted(info.path for info in inside if info.type == fs.FileType.File)
        yield from ((files, name) for name in names if not Path(name).name.startswith((".", "_")))


def _pieces_of_file(files, path):
    import pyarrow as pa
    from pyarrow import parquet

    with files.open_input_file(path) as file:
        magic = file.read(6)
        file.seek(0)
        if magic[:4] == b"PAR1":
            found = parquet.ParquetFile(file)
            sizes = [found.metadata.row_group(k).num_rows for k in range(found.num_row_groups)]
            kind, names = "parquet", found.schema_arrow.names
        elif magic == b"ARROW1":
            found = pa.ipc.open_file(file)
            sizes = [found.get_batch(k).num_rows for k in range(found.num_record_batches)]
            kind, names = "arrow", found.schema.names
        else:
            raise ValueError(f"{path} is neither a Parquet nor an Arrow file.")
    return [_Piece(files, path, kind, k, n) for k, n in enumerate(sizes)], names
