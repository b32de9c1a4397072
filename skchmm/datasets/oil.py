"""A series of prices that comes with the package."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from .files import read_lines

OIL = Path(__file__).parent / "data" / "oil_prices.csv.gz"


def load_oil_prices() -> Any:
    """Load the weekly price of crude oil from 1986 to 2019. It comes with the package.

    The spot price of West Texas Intermediate on the last trading day of each of 1,723 weeks, in
    dollars per barrel: a market with calm years and crises, and without labels.

    Returns
    -------
    Bunch
        prices (array of float), times (array of datetime64, one per price), DESCR.

    See Also
    --------
    load_fly_genes : Labelled sequences that come with the package.

    Notes
    -----
    Prices of the U.S. Energy Information Administration, in the public domain. Their origin stands
    beside the file.

    Examples
    --------
    >>> from skchmm.datasets import load_oil_prices
    >>> oil = load_oil_prices()
    >>> print(oil.times[0], oil.prices[0])
    1986-01-03 26.0
    """
    rows = [line.split(",") for _, line in read_lines(OIL)][1:]
    times, prices = zip(*rows)
    return Bunch(
        prices=np.array(prices, dtype=np.float64),
        times=np.array(times, dtype="datetime64[D]"),
        DESCR=f"{OIL.name}: the price of crude oil in dollars per barrel in {len(rows)} weeks, "
        f"{times[0]} to {times[-1]}.",
    )
