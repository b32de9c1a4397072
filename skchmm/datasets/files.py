"""Where data files are, and how their lines are read."""

import gzip
import os
import warnings
import zlib
from os import PathLike
from pathlib import Path


def get_data_home(data_home: str | PathLike | None = None) -> str:
    """The folder in which loaders look for files that are not where you are.

    By default ``skchmm_data`` in the home directory, or what the environment variable
    ``SKCHMM_DATA`` says. It is created if it does not exist. Nothing is ever downloaded.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Another folder.

    Returns
    -------
    str

    See Also
    --------
    load_casas : Activities at home from sensor logs of CASAS.
    load_transcripts : Genes from a genome and its annotation.

    Examples
    --------
    >>> import tempfile
    >>> from skchmm.datasets import get_data_home
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     get_data_home(folder) == folder
    True
    """
    home = _data_home(data_home)
    home.mkdir(parents=True, exist_ok=True)
    return str(home)


def _data_home(data_home):
    if data_home is None:
        data_home = os.environ.get("SKCHMM_DATA", Path("~") / "skchmm_data")
    return Path(data_home).expanduser()


def find_file(path, data_home=None):
    """The path itself if there is such a file, otherwise the one in the data home."""
    here = Path(path).expanduser()
    if here.is_file():
        return here
    home = _data_home(data_home)
    if (home / here).is_file():
        return home / here
    raise FileNotFoundError(
        f"There is no file {str(path)!r}, neither in {Path.cwd()} nor in the data home {home}: "
        f"give a full path or data_home=..., or set the environment variable SKCHMM_DATA."
    )


def read_lines(path):
    """Numbered lines (from 1) without their ends; gzipped files are told by their first bytes."""
    with open(path, "rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    opener = gzip.open if zipped else open
    number = 0
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                yield number, line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        with opener(path, "rb") as file:  # text is decoded some lines ahead
            number = next(i for i, line in enumerate(file, start=1) if not _is_utf8(line))
        raise ValueError(
            f"{path} is not a text in UTF-8: {error.reason} in line {number}. Is it the right "
            f"file? Otherwise save it as UTF-8."
        ) from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is damaged after line {number}: {error}.") from None


def _is_utf8(line):
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def malformed(path, number, message):
    """The error for a line that cannot be read."""
    return ValueError(f"{path}, line {number}: {message}")


class BadRows:
    """The rows of a file that cannot be used: all in one error, or skipped with a warning.

    Parameters
    ----------
    path : path-like
    on_bad_rows : {"raise", "skip"}
    """

    shown = 20  # rows listed in a message before the rest is only counted

    def __init__(self, path, on_bad_rows):
        if on_bad_rows not in ("raise", "skip"):
            raise ValueError(f"on_bad_rows must be 'raise' or 'skip', got {on_bad_rows!r}.")
        self.path, self.on_bad_rows, self.found = path, on_bad_rows, []

    def add(self, number, message):
        """Note a row, given by the number of its line."""
        self.found.append(f"line {number}: {message}")

    def report(self, stacklevel, *others):
        """Raise or warn about all rows that were noted, in other files too; how many here."""
        if self.on_bad_rows == "raise":
            errors = [bad._error() for bad in (self, *others) if bad.found]
            if errors:
                raise ValueError("\n".join(errors))
        for bad in (self, *others):
            if bad.found:
                message = f"{len(bad.found)} bad rows were skipped, the first is {bad.found[0]}."
                warnings.warn(f"{bad.path}: {message}", stacklevel=stacklevel + 1)
        return len(self.found)

    def _error(self):
        n, hint = len(self.found), "on_bad_rows='skip' leaves them out."
        if n == 1:
            return f"{self.path}, {self.found[0]}. {hint}"
        rows = self.found[: self.shown] + ([f"and {n - self.shown} more"] * (n > self.shown))
        return f"{self.path}, {n} bad rows; {hint}\n  " + "\n  ".join(rows)
