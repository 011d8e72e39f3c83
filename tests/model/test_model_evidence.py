from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from towtank.analysis import LoadPoint
from towtank.analysis.statistics import lag_one
from towtank.model import engine_model
from towtank.model.demand_file import EstimatedDemands, FittedValue, TransactionDemand
from towtank.model.engine_model import Service, Transaction, Variation
from towtank.model.fitting.demand_classes import JUDGING, _class
from towtank.model.fitting.demand_estimators import ESTIMATORS
from towtank.model.fitting.model_file import Station, checked
from towtank.model.fitting.replicates import block_length
from towtank.model.fitting.shape import (
    CPU_TIME,
    SHARP,
    SHORTFALL,
    Evidence,
    _cpus,
    _decide,
    _ends,
    _grown,
    _over,
    _reached,
)
from towtank.model.transactions import _mixed


def estimate(value: float | None) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "method": "runs", "n": 1}


def configuration(loads: list[float], rates: list[float], times: list[float]) -> Any:
    points = [
        {
            "load": load,
            "runs": [f"r{number}"],
            "throughput_per_s": estimate(rate),
            "response_time_s": {"mean": estimate(time)},
        }
        for number, (load, rate, time) in enumerate(zip(loads, rates, times, strict=True))
    ]
    seen = [0.1 * number if number else None for number in range(len(loads))]
    runs = [SimpleNamespace(run=f"r{number}", seen=value) for number, value in enumerate(seen)]
    cpus = np.array([0.5 * load / 10 for load in loads])
    resource = SimpleNamespace(name="content", servers=2)
    read = list(map(LoadPoint.model_validate, points))
    return SimpleNamespace(points=read, runs=runs, resources=[resource], cpus=lambda resource: cpus)


ONE = configuration([10, 20, 30], [10.0, 19.0, 24.0], [0.1, 0.2, 0.7])


def test_ends_of_a_curve() -> None:
    """10 users cause 10 transactions/s. At the same rate per user, 30 users would cause 30 /s; the measured 24 /s are
    0.8 of this.

    The response time at 30 users is seven times that at 10 users. The field `seen` has no value in the first run, so it
    is None at the lowest load.
    """
    assert _reached(ONE).value == pytest.approx(0.8)
    assert _grown(ONE).value == pytest.approx(7.0)
    assert _ends(ONE, lambda run: run.seen) == (None, pytest.approx(0.2))


def test_use_and_demand_of_the_cpus() -> None:
    """At the two load levels, 0.5 and 1.5 of two CPUs are busy, and a transaction uses 50 and 62.5 ms of CPU time."""
    used, demand = _cpus(ONE)
    assert (used.lowest, used.highest) == (pytest.approx(0.25), pytest.approx(0.75))
    assert used.speaks_for is None
    assert (demand.lowest, demand.highest) == (pytest.approx(0.05), pytest.approx(0.0625))


@pytest.mark.parametrize(("highest", "kind"), [(None, None), (0.49, None), (0.5, "cpu"), (0.9, "cpu")])
def test_what_passes_its_limit_speaks_for_a_kind(highest: float | None, kind: str | None) -> None:
    found = _over("use", (0.1, highest), 0.5, "cpu")
    assert (found.lowest, found.highest, found.limit, found.speaks_for) == (0.1, highest, 0.5, kind)


def of_class(values: dict[str, float], low: float) -> TransactionDemand:
    estimates = {
        name: EstimatedDemands(FittedValue(None), {"a": FittedValue(value, low, 1.0)}) for name, value in values.items()
    }
    return _class("a", estimates, 1.0, 1.0)


def test_estimators_of_a_class_are_compared_by_largest_over_smallest() -> None:
    values = dict.fromkeys(JUDGING, 0.01)
    first = next(iter(ESTIMATORS))
    values[JUDGING[-1]] = 0.011
    found = of_class({first: 0.010, **values}, low=0.005)
    assert found.spread == pytest.approx(1.1)
    assert (found.lowest_estimate_s, found.highest_estimate_s) == (0.010, 0.011)
    assert found.identified
    values[JUDGING[-1]] = 0.05
    found = of_class({first: 0.010, **values}, low=0.0)
    assert not found.identified
    assert found.why_not == ["its interval reaches down to zero", found.why_not[1]]
    assert "by a factor of 5" in found.why_not[1]
    values[JUDGING[-1]] = -0.01
    assert of_class({first: 0.010, **values}, low=0.005).spread is None


def test_a_mixture_of_exponential_services_varies_more() -> None:
    """Half of the service times are exponential with a mean of 1 s, the others with a mean of 3 s.

    The mean is 2 s and the mean square (2 + 18) / 2 = 10, so the squared coefficient of variation is 10 / 4 - 1 = 1.5.
    """
    services = [Service(name, 1.0, time, Variation("exponential")) for name, time in (("a", 1.0), ("b", 3.0))]
    found = _mixed(
        engine_model.Station("cpu", services=services), "both", [Transaction("a", 0.5), Transaction("b", 0.5)]
    )
    assert found is not None
    assert (found.visits, found.service_time_s) == (1.0, 2.0)
    assert found.variation.scv == pytest.approx(1.5)


def evidence(what: str, highest: float, kind: str | None) -> Evidence:
    return Evidence(what, 0.1, highest, 0.5, kind)


@pytest.mark.parametrize(
    ("found", "rise", "shortfall", "decided"),
    [
        ([], None, 0.0, ("unknown", None)),
        ([], 1.0, 0.0, ("none", None)),
        ([], 1.0, 2 * SHORTFALL, ("unknown", None)),
        ([evidence(f"{CPU_TIME} web", 0.1, None)], 1.0, 2 * SHORTFALL, ("contention", None)),
        ([evidence("utilization of web", 0.95, "cpu")], SHARP, 0.0, ("cpu", "web")),
        ([evidence("utilization of web", 0.95, "cpu")], 0.9 * SHARP, 2 * SHORTFALL, ("cpu", "web")),
        # The response time grows by a factor of 3.9. At a utilization of 50 %, queues explain a factor of up to four
        # (twice that of M/M/1), so no resource is reported as a limit.
        ([evidence("utilization of web", 0.5, None)], 3.9, 0.0, ("none", None)),
        (
            [evidence("utilization of web", 0.5, None), evidence(f"{CPU_TIME} web", 0.1, None)],
            4.1,
            0.0,
            ("contention", None),
        ),
        # As long as throughput is not reduced, a saturated resource is not reported as a limit.
        ([evidence("utilization of web", 0.95, "cpu")], 0.9 * SHARP, 0.0, ("none", None)),
        ([evidence("use of a", 0.9, "cpu"), evidence("use of b", 0.95, "cpu")], SHARP, 0.0, ("cpu", "b")),
        # A doubt about the load generator outweighs all other evidence, even though throughput and response time are as
        # expected.
        ([evidence("use of a", 0.9, "cpu"), evidence("share of g", 0.8, "generator")], 1.0, 0.0, ("generator", "g")),
    ],
)
def test_what_limits_a_curve(
    found: list[Evidence], rise: float | None, shortfall: float, decided: tuple[str, str | None]
) -> None:
    assert _decide(found, rise, shortfall) == decided


def test_residuals_are_drawn_in_blocks_after_carlstein() -> None:
    """By Carlstein's rule the block length is (sqrt(6) r / (1 - r^2))^(2/3) n^(1/3) for n residuals with the lag-1
    correlation r.

    Residuals are in the order of measurement. The length is rounded up and is at most a quarter of the series.
    """
    stream = np.random.default_rng(4)
    series = np.zeros(60)
    for number in range(1, 60):
        series[number] = 0.6 * series[number - 1] + stream.standard_normal()
    correlation = lag_one(series)
    length = (np.sqrt(6) * correlation / (1 - correlation**2)) ** (2 / 3) * 60 ** (1 / 3)
    order = stream.permutation(60)
    shuffled: Any = SimpleNamespace(misses=series[order], points=SimpleNamespace(place=order))
    assert block_length(shuffled) == int(np.ceil(length)) == 4
    short: Any = SimpleNamespace(misses=series[:29], points=SimpleNamespace(place=np.arange(29)))
    assert block_length(short) == 1
    alike: Any = SimpleNamespace(misses=np.arange(40.0), points=SimpleNamespace(place=np.arange(40)))
    assert block_length(alike) == 10
    alone: Any = SimpleNamespace(misses=stream.standard_normal(60), points=SimpleNamespace(place=np.arange(60)))
    assert block_length(alone) == 1


def test_the_network_of_a_file_is_checked_with_all_delays() -> None:
    """The cycle of one user takes 0.01 s of demand, 0.5 s at other stations and 1 s of think time: 1.51 s in total.

    So one user has a throughput of 1 / 1.51 s. The throughput of two users is that of the exact machine repairman
    model. The delay of 0.5 s must be part of both.
    """
    points = SimpleNamespace(load=np.array([1.0, 2.0]), throughput=np.array([0.6, 1.4]), error=np.array([0.05, 1.0]))
    candidate: Any = SimpleNamespace(fit=SimpleNamespace(points=points))
    found = checked(candidate, [Station("cpu", 1, 0.01, "fit")], 0.5, 1.0)
    step = 1 / 1.51
    # The response time with two users is R(2) = D (1 + Q(1)), with the queue length Q(1) = X(1) D.
    two = 2 / (0.01 * (1 + step * 0.01) + 1.5)
    assert [row["model_throughput"] for row in found] == pytest.approx([step, two], rel=1e-12)
    assert [row["error"] for row in found] == pytest.approx([step / 0.6 - 1, two / 1.4 - 1], rel=1e-9)
    half = 1.959964 * 0.05
    expected = [step / (0.6 + half) - 1, step / (0.6 - half) - 1]
    assert found[0]["error_interval"] == pytest.approx(expected, rel=1e-6)
    assert found[1]["error_interval"] is None, "the interval of the measurement contains zero"
