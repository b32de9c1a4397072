"""Parquet and Arrow files are read in whole sequences."""

import pickle

import numpy as np
import pytest

from skchmm import ConstrainedHMM, CTConstrainedHMM
from skchmm.datasets import read_sequences

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.filterwarnings("ignore:EM did not converge")

LENGTHS = [5, 30, 1, 12, 40, 3, 19, 19, 8]
N = sum(LENGTHS)
RNG = np.random.default_rng(0)
TABLE = pa.table(
    {
        "who": np.repeat([f"subject {k}" for k in range(len(LENGTHS))], LENGTHS),
        "seen": np.array(["x", "y", "z"])[RNG.integers(3, size=N)],
        "a": RNG.normal(size=N),
        "b": RNG.normal(size=N),
        "state": np.array(["s", "t"])[RNG.integers(2, size=N)],
        "at": np.arange(N) * 0.5,
        "weight": np.repeat(np.arange(1.0, len(LENGTHS) + 1), LENGTHS),
    }
)


def written(kind, folder):
    """The table in files that cut sequences."""
    if kind == "table":
        return TABLE
    if kind == "batch":
        return TABLE.to_batches()[0]
    if kind == "one file":
        pq.write_table(TABLE, folder / "all.parquet", row_group_size=7)
        return folder / "all.parquet"
    for k, begin in enumerate(range(0, N, 50)):
        part = TABLE.slice(begin, 50)
        if kind == "arrow":
            with pa.ipc.new_file(folder / f"{k}.arrow", part.schema) as file:
                for batch in part.to_batches(max_chunksize=11):
                    file.write_batch(batch)
        else:
            pq.write_table(part, folder / f"{k}.parquet", row_group_size=7)
    if kind == "data set":
        return ds.dataset(folder)
    return [folder / f"{k}.parquet" for k in range(3)] if kind == "list" else folder


KINDS = ["table", "batch", "one file", "folder", "arrow", "list", "data set"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [1, 20, 41, 10_000])
def test_whole_sequences(kind, rows, tmp_path):
    chunks = read_sequences(written(kind, tmp_path), "who", rows=rows)
    found = [pickle.loads(pickle.dumps(chunk))() for chunk in chunks]
    assert [chunk.n_rows for chunk in chunks] == [len(part["groups"]) for part in found]
    ids = [list(dict.fromkeys(part["groups"].to_pylist())) for part in found]
    assert [each for part in ids for each in part] == [f"subject {k}" for k in range(len(LENGTHS))]
    for part in found[:-1]:
        last = part["groups"].to_pylist().count(part["groups"][-1].as_py())
        assert rows <= len(part["groups"]) < rows + last
    together = pa.concat_tables([part["X"] for part in found])
    assert together.equals(TABLE.drop_columns("who"))
    if rows == 1:
        assert len(chunks) == len(LENGTHS)


def test_learning_from_files_is_learning_from_the_table(tmp_path):
    chunks = read_sequences(written("folder", tmp_path), "who", columns="seen", rows=30)
    assert len(chunks) > 3
    model = ConstrainedHMM(2, n_iter=4, tol=0, random_state=0)
    expected = model.fit(TABLE["seen"], lengths=LENGTHS).history_
    np.testing.assert_allclose(model.fit_chunks(chunks).history_, expected, rtol=1e-12)
    goes_on = pickle.loads(pickle.dumps(model)).set_params(init="fitted", n_iter=0)
    assert goes_on.fit_chunks(chunks).history_ == model.history_[-1:]


def test_columns_of_every_role(tmp_path):
    source = written("arrow", tmp_path)
    chunks = read_sequences(
        source, "who", columns=["a", "b"], y="state", times="at", sample_weight="weight", rows=30
    )
    X = TABLE.select(["a", "b"])
    expected = CTConstrainedHMM().fit(
        X, TABLE["state"], times=TABLE["at"], lengths=LENGTHS, sample_weight=TABLE["weight"]
    )
    found = CTConstrainedHMM().fit_chunks(chunks)
    np.testing.assert_allclose(found.generator_, expected.generator_, rtol=1e-12)
    np.testing.assert_allclose(found.emission_.means_, expected.emission_.means_, rtol=1e-12)
    assert found.feature_names_in_.tolist() == ["a", "b"]


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(ValueError, match="no column 'whom'"):
        read_sequences(TABLE, "whom")
    with pytest.raises(ValueError, match="rows must be"):
        read_sequences(TABLE, "who", rows=0)
    mixed = TABLE.take([0, 1, 10, 2])
    with pytest.raises(ValueError, match=r"'subject 0' are not\. Sort the table"):
        read_sequences(mixed, "who")
    with pytest.raises(ValueError, match="no id"):
        read_sequences(pa.table({"who": ["a", None], "x": [1, 2]}), "who")
    with pytest.raises(ValueError, match="no Parquet or Arrow files"):
        read_sequences(tmp_path, "who")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ValueError, match=r"notes.txt is neither"):
        read_sequences(tmp_path, "who")
    (tmp_path / "notes.txt").unlink()
    pq.write_table(TABLE, tmp_path / "1.parquet")
    pq.write_table(TABLE.drop_columns("a"), tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=r"2.parquet has the columns"):
        read_sequences(tmp_path, "who")
