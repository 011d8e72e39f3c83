"""Coverage of 95 % intervals from a single run, for series with a known true value.

`TOWTANK_CERTIFY=500` sets the number of series for each cell of the table and enables all cells. Without this variable,
a few cells use few series. `make certify` sets the variable and writes the table.
"""

from __future__ import annotations

import numpy as np
import pytest
from certification import Section
from covering import QUANTILES, SERIES, of_autoregressive, of_independent, of_queue

COVERAGE = 0.93
"""Smallest allowed fraction of intervals that contain the true value. [1]"""
RARE = 0.10
"""Smallest fraction of series with an interval for which the coverage is tested. [1]

Below it, only the number of wrong intervals is limited, to the fraction `WRONG` of all series.
"""
WRONG = 0.03
COUNT = SERIES or 150
CORRELATIONS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
SECONDS = (10, 20, 30, 60, 120, 300, 600) if SERIES else (20, 60, 300)
QUEUES = [
    (rate, utilization, seconds)
    for rate in (100.0, 1000.0)
    for utilization in (0.5, 0.8, 0.9, 0.95)
    for seconds in ((20, 30, 60, 120, 300, 600) if SERIES else (60,))
    if rate * seconds <= 60_000 and (SERIES or rate == 100.0)
]


TOO_SHORT = {(100.0, 0.9, 20), (100.0, 0.9, 30), (100.0, 0.95, 30), (100.0, 0.95, 60), (100.0, 0.95, 120)}
"""Queues (rate [1/s], utilization, window [s]) whose relaxation time is long relative to the window.

For these queues, the coverage of the mean response time may be below `COVERAGE`; see docs/background/intervals.md.
"""
SECTION = Section(
    "Intervals of one run",
    "series | window | quantity | series with an interval | coverage of these intervals | wrong intervals, of all "
    "series",
    f"{COUNT} series each, with fixed seeds. The coverage of 95 % intervals must be at least {100 * COVERAGE:.0f} %. "
    f"At most {100 * (1 - COVERAGE):.0f} % of all series may have a wrong interval. This limit is "
    f"{100 * WRONG:.0f} %, and the coverage is not tested, if fewer than {100 * RARE:.0f} % of the series have an "
    "interval. The tolerance is four standard deviations. The mean response time of five queues is excepted, because "
    "their relaxation time is long relative to the window: M/M/1 with 100 /s at a utilization of 0.9 in 20 and 30 s, "
    "and of 0.95 in 30, 60 and 120 s.",
)


def holds(cell, *, short=False):
    """Return True if the coverage is at least `COVERAGE` minus four standard deviations, and the fraction of wrong
    intervals is small enough.

    With `short`, only the fraction of wrong intervals among all series is tested.
    """
    assert cell.made == COUNT
    slack = 4 * (0.05 * 0.95 / COUNT) ** 0.5
    seldom = cell.share_given < RARE
    enough = seldom or short or cell.coverage >= COVERAGE - 4 * (0.05 * 0.95 / cell.given) ** 0.5
    return enough and cell.wrong <= (WRONG if seldom else 1 - COVERAGE) + slack


@pytest.mark.certify
@pytest.mark.parametrize("seconds", SECONDS)
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_mean_of_an_autoregressive_series(seconds, correlation, tabled):
    cell = of_autoregressive(seconds, COUNT, seconds, correlation)
    tabled(SECTION, *cell.row(f"AR(1), {correlation}", f"{seconds} s", "mean"), holds=holds(cell))


@pytest.mark.certify
@pytest.mark.parametrize(("rate", "utilization", "seconds"), QUEUES)
def test_throughput_mean_and_quantiles_of_a_queue(rate, utilization, seconds, tabled):
    for name, cell in of_queue(seconds, COUNT, rate, utilization, seconds).items():
        short = bool(SERIES) and name == "mean" and (rate, utilization, seconds) in TOO_SHORT
        kind = f"M/M/1 at {utilization}, {rate:g} /s"
        tabled(SECTION, *cell.row(kind, f"{seconds} s", name), holds=holds(cell, short=short))


def lognormal(stream, count):
    """Return random times with median 1 s whose logarithms have a standard deviation of 1.5."""
    return stream.lognormal(0.0, 1.5, count)


def heavy(stream, count):
    """Return random times of a Lomax distribution (Pareto II) with shape 2.5: mean 1 / 1.5 s, infinite third moment."""
    return stream.pareto(2.5, count)


INDEPENDENT = {
    "lognormal": (lognormal, {
        "mean": float(np.exp(1.125)),
        "p50": 1.0,
        "p90": float(np.exp(1.5 * 1.2815515655)),
        "p95": float(np.exp(1.5 * 1.6448536270)),
        "p99": float(np.exp(1.5 * 2.3263478740)),
    }),
    "Lomax": (heavy, {"mean": 1 / 1.5, **{name: (1 - p) ** (-1 / 2.5) - 1 for name, p in QUANTILES.items()}}),
}  # fmt: skip


@pytest.mark.certify
@pytest.mark.parametrize("name", list(INDEPENDENT))
@pytest.mark.parametrize("seconds", [20, 60, 300] if SERIES else [60])
def test_skewed_and_heavy_tails(name, seconds, tabled):
    draw, truths = INDEPENDENT[name]
    for quantity, cell in of_independent(seconds, COUNT, (50.0, seconds), draw, truths).items():
        # A few long times contribute most of the variance, so the distribution of the mean is skewed. Therefore a
        # coverage of 90 % is accepted.
        at_least_90 = cell.coverage is None or cell.coverage >= 0.90 - 4 * (0.1 * 0.9 / COUNT) ** 0.5
        kind = f"{name}, 50 /s"
        allowed = at_least_90 and (quantity == "mean" or holds(cell))
        tabled(SECTION, *cell.row(kind, f"{seconds} s", quantity), holds=allowed)


def test_no_interval_of_ten_seconds():
    assert of_autoregressive(1, 50, 10, 0.0).given == 0
