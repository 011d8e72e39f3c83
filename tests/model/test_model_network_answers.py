"""Results of a network that was fitted to exact measurements of a known network."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from results_1 import RESULTS_1
from test_model_networks import exact
from two_tiers import LEVELS

from towtank.analysis import LoadPoint, ObjectiveAnswer, RunSummary
from towtank.model.fitting import mix
from towtank.model.fitting.curves import FARTHEST
from towtank.model.fitting.demand_estimators import Series, response_times
from towtank.model.fitting.goodness import FIT_REJECTED, FIT_SUPPORTED
from towtank.model.fitting.intervals import Bounded
from towtank.model.fitting.knees import of_objectives
from towtank.model.fitting.measured import read_configurations
from towtank.model.fitting.networks import answers
from towtank.model.fitting.networks.closed import conditions, solve
from towtank.model.fitting.networks.drifting import reached
from towtank.model.fitting.networks.replicates import Network, fit_network
from towtank.model.fitting.networks.seconds import _visits
from towtank.model.fitting.prediction import FARTHEST_SATURATED, SATURATED

TOP = LEVELS[-1]


@pytest.fixture(scope="module")
def network() -> Network:
    return fit_network(exact(), count=3)


def test_the_utilization_reached_is_that_of_the_busiest_level(network: Network) -> None:
    of = network.measured
    assert reached(network) == pytest.approx(of.levels().busy[-1] / [2, 1])
    others = np.zeros((len(LEVELS), 2))
    others[0] = [0.2, 9.0]
    beside = dataclasses.replace(network, measured=dataclasses.replace(of, others=others))
    assert reached(beside) == pytest.approx([of.levels().busy[-1][0] / 2, 1.0])


@pytest.mark.parametrize(("share", "times"), [(SATURATED, FARTHEST_SATURATED), (0.999 * SATURATED, FARTHEST)])
def test_a_network_that_was_saturated_predicts_farther(
    network: Network, monkeypatch: pytest.MonkeyPatch, share: float, times: float
) -> None:
    limit = float(network.measured.levels().throughput[-1]) / share * (1 - 1e-12)
    monkeypatch.setattr(answers, "limits", lambda _: [answers.StationLimit("db", Bounded(limit))])
    farthest, why = answers.farthest(network)
    assert farthest == pytest.approx(times * TOP)
    assert why == f"the highest throughput measured is {100 * share:.0f} % of the capacity of db"


def ranges(network: Network, level: str, loads: list[float] | None) -> list[tuple[float, str, bool]]:
    rows = answers._predictions(network, level, loads)
    assert all(("refused" in row) != ("throughput" in row) for row in rows)
    return [(row["load"], row["range"], "refused" in row) for row in rows]


def test_a_rejected_network_answers_within_the_measurements_only(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "farthest", lambda _: (2.0 * TOP, "as far as it goes"))
    least = float(LEVELS[0])
    loads = [least - 1, least, least + 0.5, TOP, TOP + 1, 2.0 * TOP, 2.0 * TOP + 1]
    places = ["beyond", "measured", "between", "measured", "beyond", "beyond", "beyond"]
    supported, rejected = (ranges(network, level, loads) for level in (FIT_SUPPORTED, FIT_REJECTED))
    assert [(load, place) for load, place, _ in supported] == list(zip(loads, places, strict=True))
    assert [refused for _, _, refused in supported] == [False] * 6 + [True]
    assert [refused for _, _, refused in rejected] == [place == "beyond" for place in places]


def test_the_levels_of_exact_measurements_are_those_of_the_network(network: Network) -> None:
    of = network.measured
    solved = solve(of, [(network.parameters, condition) for condition in conditions(of)])
    rows = answers._levels(network, solved)
    assert [row["load"] for row in rows] == [float(level) for level in LEVELS]
    for row in rows:
        # Little's law: all users think or wait.
        assert row["throughput"] * (row["response_s"] + row["think_s"]) == pytest.approx(row["load"])
        for name in ("throughput", "response_s"):
            fitted = f"fitted_{name.removesuffix('_s')}_band_95"
            assert row[fitted] == pytest.approx([row[name]] * 2, rel=0.03)
        for use in row["utilization"].values():
            assert use["fitted_band_95"] == pytest.approx([use["measured"]] * 2, rel=0.03)


def test_requests_per_transaction_are_counted_over_all_runs() -> None:
    runs = [
        {
            "steps": {"buy / pay": {"count": 30}, "buy / look": {"count": 10}, "buy later / pay": {"count": 99}},
            "transactions": {"buy": {"count": 15}, "idle": {"count": 7}},
        },
        {"steps": None, "transactions": {"buy": {"count": 1}}},
        {"steps": {"idle / ping": {"count": 6}, "buy / pay": {"count": 8}}, "transactions": {"buy": {"count": 4}}},
    ]
    configuration: Any = SimpleNamespace(runs=list(map(RunSummary.read, runs)))
    # 48 requests in 20 transactions `buy` are 2.4 requests each. The 7 transactions `idle` extend beyond the window and
    # have only 6 requests in it; `other` has no steps. So both count as 1.
    assert _visits(configuration, ("buy", "idle", "other")).tolist() == [2.4, 1.0, 1.0]


def test_a_transaction_without_a_known_demand_has_the_mean_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    (configuration,) = (each for each in read_configurations(RESULTS_1) if each.key["search_index"] == "absent")
    known = mix.mix_of(configuration, 1)
    assert known is not None
    shares, names = mix._shares(configuration)
    new = shares.copy() / 2
    new = np.where(np.arange(len(shares))[:, None] == len(shares) - 1, new, shares)
    extra = 1 - new.sum(axis=1)
    monkeypatch.setattr(mix, "_shares", lambda _: (np.column_stack([new, extra]), [*names, "unseen"]))
    found = mix.mix_of(configuration, 1)
    assert found is not None
    assert found.work == pytest.approx(known.work)


def test_the_demand_at_a_shared_processor_is_the_response_time_without_waiting() -> None:
    """At one processor-sharing server, R = D / (1 - U). From the response times R, the demands D must be found.

    The demands are 20 and 50 ms, and the utilizations U of two intervals are 0.5 and 0.8. With two servers, or without
    response times, no demand is found.
    """
    busy, demands = np.array([0.5, 0.8]), np.array([0.02, 0.05])
    responses = demands / (1 - busy[:, None])
    series = Series(busy, np.ones((2, 2)), responses, 1, np.zeros(2))
    found = response_times(series)
    assert found is not None
    assert found[1:] == pytest.approx(demands)
    assert response_times(dataclasses.replace(series, servers=2)) is None
    assert response_times(dataclasses.replace(series, responses=None)) is None


def timed(value: float) -> dict[str, Any]:
    return {"value": value, "low": value - 0.1, "high": value + 0.1, "method": "t", "n": 4}


def test_the_knee_of_an_objective_is_that_of_its_transaction() -> None:
    """Each knee is the load at which the line between two levels reaches the limit of the objective.

    The p95 of all transactions is 0.5 s at 10 users and 1.5 s at 20, so it reaches 1 s at 15 users. The p95 of `search`
    is 0.8 s at 20 users and 1.2 s at 30, so it reaches 1 s at 25 users. No p95 reaches 4 s.
    """
    points = [
        LoadPoint.model_validate(
            {
                "load": load,
                "response_time_s": {"p95": timed(whole)},
                "transactions": {"search": {"p95_s": timed(search)}},
            }
        )
        for load, whole, search in ((10.0, 0.5, 0.2), (20.0, 1.5, 0.8), (30.0, 3.5, 1.2))
    ]
    objectives = [
        {"text": "p95 < 1 s", "metric": "p95_s", "limit": 1.0},
        {"text": "p95 of search < 1 s", "metric": "p95_s", "limit": 1.0, "transaction": "search"},
        {"text": "p95 < 4 s", "metric": "p95_s", "limit": 4.0},
        {"text": "errors < 1 %", "metric": "errors", "limit": 0.01},
    ]
    configuration: Any = SimpleNamespace(
        points=points, objectives=list(map(ObjectiveAnswer.model_validate, objectives))
    )
    whole, search, high = of_objectives(configuration)
    assert (whole.load, search.load, high.load) == (pytest.approx(15.0), pytest.approx(25.0), None)
    configuration.points = points[:1]
    assert of_objectives(configuration) == []
