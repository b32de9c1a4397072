"""Spark: search, prediction, learning from chunks, and a worker that dies."""

import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import ParameterGrid, cross_val_score

from . import work

pyspark = pytest.importorskip("pyspark")
pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(
        shutil.which("java") is None and "JAVA_HOME" not in os.environ,
        reason="Spark needs Java, and there is none",
    ),
]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2,3]")  # two workers, three attempts
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    yield session
    session.stop()


def mapper(spark):
    def spark_map(function, items):
        items = list(items)
        return spark.sparkContext.parallelize(items, len(items)).map(function).collect()

    return spark_map


def test_learning(spark):
    work.check_learning(mapper(spark))


def test_a_worker_that_dies(spark, tmp_path):
    work.check_a_death(mapper(spark), tmp_path)


def test_search(spark):
    X, y, model = work.labelled()
    grid = list(ParameterGrid({"smoothing": [0.1, 1.0]}))

    def score(params):
        return float(cross_val_score(model.set_params(**params), X, y, cv=3).mean())

    found = spark.sparkContext.parallelize(grid, 2).map(score).collect()
    assert found == [score(params) for params in grid]


def test_prediction_by_groups(spark):
    X, _, model = work.labelled()
    table = pd.DataFrame(np.concatenate(X), columns=["a", "b"])
    table["who"], table["row"] = np.repeat(np.arange(len(X)), 40), np.arange(len(table))

    def predict(group):
        group = group.sort_values("row")
        labels = model.predict(group[["a", "b"]].to_numpy())
        return pd.DataFrame({"row": group["row"], "label": labels})

    frame = spark.createDataFrame(table).groupBy("who")
    found = frame.applyInPandas(predict, "row long, label long").toPandas().sort_values("row")
    np.testing.assert_array_equal(found["label"], np.concatenate(model.predict(X)))


def test_the_recipe_of_the_user_guide(spark):
    work.check_recipe("recipe-spark", spark=spark)
