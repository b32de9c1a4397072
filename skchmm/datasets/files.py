"""Where data files are, and how their lines are read."""

import gzip
import os
from pathlib import Path


def get_data_home(data_home=None):
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
    with opener(path, "rt", encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            yield number, line.rstrip("\r\n")


def malformed(path, number, message):
    """The error for a line that cannot be read."""
    return ValueError(f"{path}, line {number}: {message}")
