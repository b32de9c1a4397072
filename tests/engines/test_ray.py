"""Ray: search, prediction, learning from chunks, and a worker that dies."""

import numpy as np
import pytest
from joblib import parallel_config

from . import work

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def ray_map(function, items):
    """Results in order; Ray starts a task again whose worker died."""

    @ray.remote(max_retries=3)
    def run(function, item):
        return function(item)

    function = ray.put(function)
    return ray.get([run.remote(function, item) for item in items])


def test_learning():
    work.check_learning(ray_map)


def test_a_worker_that_dies(tmp_path):
    work.check_a_death(ray_map, tmp_path)


def test_references_are_to_be_fetched():
    remote = ray.remote(lambda function, item: function(item))
    with pytest.raises(TypeError, match="fetch them in map"):
        work.model().fit_chunks(
            work.chunks(), map=lambda f, items: [remote.remote(f, item) for item in items]
        )


def test_search():
    from ray.util.joblib import register_ray

    expected = work.search().cv_results_["mean_test_score"]
    register_ray()
    with parallel_config("ray", n_jobs=2):
        found = work.search()
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected)


def test_prediction_over_a_data_set():
    import pandas as pd
    import ray.data

    X, _, model = work.labelled()
    table = pd.DataFrame(np.concatenate(X), columns=["a", "b"])
    table["who"], table["row"] = np.repeat(np.arange(len(X)), 40), np.arange(len(table))

    def predict(group):
        group = group.sort_values("row")
        return group.assign(label=model.predict(group[["a", "b"]].to_numpy()))

    data = ray.data.from_pandas(table).groupby("who").map_groups(predict, batch_format="pandas")
    found = data.to_pandas().sort_values("row")
    np.testing.assert_array_equal(found["label"], np.concatenate(model.predict(X)))


def test_workers_are_not_oversubscribed():
    run = ray.remote(work.threads_in_worker)
    assert ray.get([run.remote(k) for k in range(2)]) == [1, 1]


def test_the_recipe_of_the_user_guide():
    work.check_recipe("recipe-ray")
