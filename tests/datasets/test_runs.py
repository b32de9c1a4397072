import numpy as np
import pandas as pd
import pytest

from skchmm.datasets import load_runs

TABLE = """\
exp,user,second,label,x,z,note
1,7,0,5,0.5,1,a
1,7,2,0,0.7,3,b
1,7,1,5,0.6,2,c
2,7,0,2,0.1,4,d
3,8,0,2,,5,e
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(TABLE)
    return path


def test_one_sequence_a_run(path):
    data = load_runs(path, run="exp", time="second", label="label", group="user", unlabelled=0)
    assert data.feature_names == ["x", "z"]
    assert data.X[0].tolist() == [[0.5, 1], [0.6, 2], [0.7, 3]]
    assert np.isnan(data.X[2][0, 0])
    assert [y.tolist() for y in data.y] == [[5, 5, -1], [2], [2]]
    assert [times.tolist() for times in data.times] == [[0, 1, 2], [0], [0]]
    assert data.ids.tolist() == [1, 2, 3]
    assert data.groups.tolist() == [7, 7, 8]
    assert data.states == (2, 5)


def test_frames_names_and_several_run_columns(path):
    frame = pd.read_csv(path)
    names = {2: "walk", 5: "sit"}
    data = load_runs(
        frame, run=["exp", "user"], label="label", features=["z"], labels=names, unlabelled=0
    )
    assert data.ids.tolist() == data.groups.tolist() == ["1/7", "2/7", "3/8"]
    assert data.X[0].tolist() == [[1], [3], [2]]
    assert data.y[0].tolist() == ["sit", None, "sit"]
    assert data.states == ("sit", "walk")
    assert data.times is None
    X, y = load_runs(frame, run="exp", return_X_y=True)
    assert [x.shape for x in X] == [(3, 5), (1, 5), (1, 5)]
    assert y is None
    whole = frame[frame.label > 0]
    assert load_runs(whole, run="exp", label="label", labels=names).y[0].dtype.kind == "U"


def test_tab_separated_gzipped_and_in_the_data_home(path, tmp_path):
    pd.read_csv(path).to_csv(tmp_path / "runs.tsv.gz", sep="\t", index=False)
    data = load_runs("runs.tsv.gz", run="exp", data_home=tmp_path, label="label")
    assert len(data.X) == 3


def test_rows_of_a_run_need_not_be_next_to_each_other(path):
    frame = pd.read_csv(path).iloc[[0, 3, 1, 4, 2]]
    data = load_runs(frame, run="exp", time="second", label="label")
    assert data.ids.tolist() == [1, 2, 3]
    assert data.y[0].tolist() == [5, 5, 0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1,7,1,5,0.6", "1,7,1,5,high", r"runs\.csv, line 4: 'x' is 'high', which is no number"),
        ("1,7,1,5", "1,7,2,5", r"runs\.csv, line 4: its run has the same 'second' twice"),
        ("1,7,1,5", "1,7,,5", r"runs\.csv, line 4: 'second' is empty"),
        ("1,7,1,5", ",7,1,5", r"runs\.csv, line 4: 'exp' is empty"),
        ("1,7,1,5", "1,9,1,5", r"runs\.csv, line 4: 'user' changes within a run"),
        ("0.6,2,c", "0.6,2,c,d", r"runs\.csv: .*line 4"),
        ("second", "minute", r"runs\.csv has no column 'second'; it has 'exp', 'user', 'minute'"),
    ],
)
def test_malformed_tables(path, old, new, message):
    path.write_text(TABLE.replace(old, new, 1))
    with pytest.raises(ValueError, match=message):
        load_runs(path, run="exp", time="second", label="label", group="user", features=["x", "z"])


def test_labels_without_a_name(path):
    with pytest.raises(ValueError, match=r"line 5: its label is not in labels"):
        load_runs(path, run="exp", label="label", labels={5: "sit"}, unlabelled=0)


def test_tables_without_rows_or_features(path):
    frame = pd.read_csv(path)
    with pytest.raises(ValueError, match="no rows"):
        load_runs(frame.iloc[:0], run="exp")
    with pytest.raises(ValueError, match="no numeric feature"):
        load_runs(frame[["exp", "note"]], run="exp")


def test_files_that_are_no_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day;x\n1;2\n")
    with pytest.raises(ValueError, match=r"no column 'day'; it has 'day;x'. A single column often"):
        load_runs(path, run="day")
    path.write_bytes(b"day,x\n\xff\xfe,2\n")
    with pytest.raises(ValueError, match=r"t\.csv is not a text in UTF-8"):
        load_runs(path, run="day")
    path.write_text("")
    with pytest.raises(ValueError, match=r"t\.csv is empty"):
        load_runs(path, run="day")


@pytest.mark.parametrize("content", [b"\x1f\x8b", b"\x1f\x8b\x08\x00\x00\x00", b"no gzip"])
def test_damaged_compressed_files(tmp_path, content):
    path = tmp_path / "runs.csv.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"runs\.csv\.gz is damaged"):
        load_runs(path, run="a")
