"""The prices of oil that come with the package."""

from pathlib import Path

import numpy as np

from skchmm import datasets
from skchmm.datasets import load_oil_prices


def test_a_price_for_each_week():
    oil = load_oil_prices()
    assert oil.prices.shape == oil.times.shape == (1723,)
    gaps = np.diff(oil.times).astype(int)
    assert gaps.min() >= 3 and gaps.max() <= 11  # the last trading day of every week
    assert not np.is_busday(oil.times, weekmask="0000011").any()
    assert "1723 weeks" in oil.DESCR


def test_what_everybody_knows_of_the_price_of_oil():
    oil = load_oil_prices()
    years = oil.times.astype("datetime64[Y]").astype(int) + 1970
    assert years[oil.prices.argmax()] == 2008 and oil.prices.max() > 140
    assert oil.prices[years == 1998].mean() < 16 < 90 < oil.prices[years == 2012].mean()


def test_the_origin_stands_beside_the_prices():
    text = (Path(datasets.__file__).parent / "data" / "oil_prices.rst").read_text()
    assert "public domain" in text and "U.S. Energy Information Administration" in text
