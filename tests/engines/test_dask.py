"""Dask: search, prediction, learning from chunks, and a worker that dies."""

import numpy as np
import pytest
from joblib import parallel_config

from . import work

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_learning(client):
    work.check_learning(client.map)
    gathered = work.model().fit_chunks(
        work.chunks(), map=lambda f, items: client.gather(client.map(f, items))
    )
    work.same(work.model().fit_chunks(work.chunks()), gathered)


def test_a_worker_that_dies(client, tmp_path):
    work.check_a_death(client.map, tmp_path)


def test_search(client):
    expected = work.search().cv_results_["mean_test_score"]
    with parallel_config("dask"):
        found = work.search(n_jobs=-1)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected)


def test_prediction_over_a_bag(client):
    import dask.bag

    X, _, model = work.labelled()
    bag = dask.bag.from_sequence(X, npartitions=4)
    found = bag.map_partitions(lambda part: model.predict(list(part))).compute()
    for path, expected in zip(found, model.predict(X)):
        np.testing.assert_array_equal(path, expected)


def test_prediction_over_partitions_of_an_array(client):
    import dask.array

    X, _, model = work.labelled()
    lengths = [len(x) for x in X]
    rows = dask.array.from_array(np.concatenate(X), chunks=(120, 2))  # three sequences each
    with pytest.raises(TypeError, match="Dask collection"):
        model.predict(rows, lengths=lengths)
    found = rows.map_blocks(
        lambda block: model.predict(block, lengths=[40] * (len(block) // 40)),
        drop_axis=1,
        dtype=int,
    )
    np.testing.assert_array_equal(found.compute(), model.predict(rows.compute(), lengths=lengths))
    chunks = [(part.compute, [40, 40, 40]) for part in rows.to_delayed().ravel()]
    learner = work.model()
    found = learner.fit_chunks([_Block(*chunk) for chunk in chunks]).history_
    np.testing.assert_allclose(
        found, work.model().fit(rows.compute(), lengths=lengths).history_, rtol=1e-12
    )


class _Block:
    def __init__(self, compute, lengths):
        self.compute, self.lengths = compute, lengths

    def __call__(self):
        return {"X": self.compute(), "lengths": self.lengths}


def test_workers_are_not_oversubscribed(client):
    assert client.gather(client.map(work.threads_in_worker, [0, 1])) == [1, 1]


def test_the_recipe_of_the_user_guide():
    work.check_recipe("recipe-dask")
