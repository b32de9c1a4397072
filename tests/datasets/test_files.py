import gzip

import pytest

from skchmm.datasets import get_data_home
from skchmm.datasets.files import find_file, read_lines


def test_data_home(tmp_path, monkeypatch):
    monkeypatch.setenv("SKCHMM_DATA", str(tmp_path / "from_env"))
    assert get_data_home() == str(tmp_path / "from_env")
    assert (tmp_path / "from_env").is_dir()
    assert get_data_home(tmp_path / "given") == str(tmp_path / "given")
    monkeypatch.delenv("SKCHMM_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert get_data_home() == str(tmp_path / "skchmm_data")


def test_files_are_found_here_then_in_the_data_home(tmp_path, monkeypatch):
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    here.mkdir()
    monkeypatch.chdir(here)
    (home / "events.txt").write_text("home")
    assert find_file("events.txt", home) == home / "events.txt"
    (here / "events.txt").write_text("here")
    assert find_file("events.txt", home).read_text() == "here"
    with pytest.raises(FileNotFoundError, match=r"'other.txt'.*SKCHMM_DATA"):
        find_file("other.txt", home)


def test_gzipped_files_are_read_whatever_their_name(tmp_path):
    path = tmp_path / "data.txt"
    path.write_bytes(gzip.compress(b"one\r\ntwo\n"))
    assert list(read_lines(path)) == [(1, "one"), (2, "two")]
