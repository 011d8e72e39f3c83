"""Percentiles of the wait in turn, against distributions that are known."""

from __future__ import annotations

import math
from typing import Any

import pytest
import scipy

from towtank.model import solve_models, wait_percentiles
from towtank.model.stations import stations_of


def station(name: str) -> dict[str, Any]:
    return {"name": name, "services": [{"class": "jobs", "service_time_s": 1.0}]}


def percentiles_of(*names: str) -> Any:
    model = {
        "classes": [{"name": "jobs", "arrival_rate_per_s": 0.5}],
        "stations": [{"discipline": "fcfs", "servers": 1, **station(name)} for name in names],
    }
    (answer,) = solve_models([model])
    return wait_percentiles(model, stations_of(answer), "jobs")


def test_the_wait_at_two_queues_in_a_row_is_that_of_their_sum() -> None:
    """M/M/1 in tandem at 50 %: each job waits at each with 1/2, then for an exponential time of 2 s (Burke, Jackson).

    P(W > t) = exp(-t / 2) (1/2 + (1 + t / 2) / 4).
    """
    percentile, _ = percentiles_of("first", "second")

    def beyond(time_s: float) -> float:
        return math.exp(-time_s / 2) * (0.5 + (1 + time_s / 2) / 4)

    for share in (0.5, 0.9, 0.95, 0.99):
        exact = scipy.optimize.brentq(lambda time_s, share=share: beyond(time_s) - (1 - share), 0.0, 100.0)
        assert percentile(share) == pytest.approx(exact, rel=0.05)
    assert percentile(0.2) == 0.0, "a quarter of the jobs wait nowhere"
