"""Percentiles of the waiting time with service in the order of arrival, compared with known distributions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import scipy

from towtank.model import load_model, solve_models, wait_percentiles
from towtank.model.stations import stations_of


def percentiles_of(folder: Path, *names: str) -> Callable[[float], float]:
    """Return a function that returns percentiles of the waiting time of jobs that visit the given M/M/1 stations.

    The service time at each station is 1 s, and its utilization is 50 %.
    """
    path = folder / "model.yaml"
    stations = {name: {"servers": 1, "discipline": "fcfs", "demand": {"jobs": "1 s"}} for name in names}
    path.write_text(json.dumps({"classes": {"jobs": {"rate": "0.5 /s"}}, "stations": stations}), "utf-8")
    model = load_model(path).document
    answer = solve_models([model])[0].solution
    return wait_percentiles(model, stations_of(answer), "jobs")[0]


def test_the_wait_at_two_queues_in_a_row_is_that_of_their_sum(tmp_path: Path) -> None:
    """At each of two M/M/1 queues in a row with 50 % utilization, a job waits with probability 1/2 (Burke, Jackson).

    A wait is exponential with a mean of 2 s, so P(W > t) = exp(-t / 2) (1/2 + (1 + t / 2) / 4).
    """
    percentile = percentiles_of(tmp_path, "first", "second")

    def beyond(time_s: float) -> float:
        return math.exp(-time_s / 2) * (0.5 + (1 + time_s / 2) / 4)

    for share in (0.5, 0.9, 0.95, 0.99):
        exact = scipy.optimize.brentq(lambda time_s, share=share: beyond(time_s) - (1 - share), 0.0, 100.0)
        assert percentile(share) == pytest.approx(exact, rel=0.05)
    assert percentile(0.2) == 0.0, "a quarter of the jobs do not wait at either queue"


def test_two_visits_wait_as_long_as_at_two_queues(tmp_path: Path) -> None:
    """Two waits at one station are computed as two independent waits at two M/M/1 stations in a row.

    A job visits the station twice, for 0.5 s each time, so the utilization is 50 %. For two independent waits, P(W > t)
    = exp(-t) (1/2 + (1 + t) / 4).
    """
    path = tmp_path / "model.yaml"
    station = {"servers": 1, "discipline": "fcfs", "service_time": {"jobs": "500 ms"}, "visits": {"jobs": 2}}
    path.write_text(
        json.dumps({"classes": {"jobs": {"rate": "0.5 /s"}}, "stations": {"twice": station}}), encoding="utf-8"
    )
    model = load_model(path).document
    percentile, _ = wait_percentiles(model, stations_of(solve_models([model])[0].solution), "jobs")
    for share in (0.5, 0.9, 0.99):
        exact = scipy.optimize.brentq(
            lambda time_s, share=share: math.exp(-time_s) * (0.5 + (1 + time_s) / 4) - (1 - share), 0.0, 100.0
        )
        assert percentile(share) == pytest.approx(exact, rel=0.05)
