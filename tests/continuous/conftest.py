"""Matrices here are tiny: threads of the linear algebra library would only wait for each other."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True, scope="package")
def one_blas_thread():
    with threadpool_limits(1, user_api="blas"):
        yield
