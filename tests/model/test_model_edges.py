from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from towtank.analysis import RunSummary
from towtank.errors import StudyError
from towtank.model.capacity_file import HeldOutLevel, HeldOutResult
from towtank.model.demand_file import ExcludedRun, LevelDemand
from towtank.model.engine_model import EngineModel, JobClass, Service, Station, Variation
from towtank.model.fitting import across, capacity, model_file, replicates
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.demand_levels import DemandOfLevels
from towtank.model.fitting.demands import ResourceDemand
from towtank.model.fitting.dependent_curve import DependentCurve
from towtank.model.fitting.held_out import error_lines, error_of_band
from towtank.model.fitting.intervals import Bounded
from towtank.model.fitting.measured import _from_summary
from towtank.model.fitting.model_file import _relative_error, stations
from towtank.model.fitting.selection import _because
from towtank.model.percentiles import lone_queue, mmm_percentile
from towtank.model.prediction_file import PredictionAsked
from towtank.model.stations import NODE_SEPARATOR, rates_with_servers, servers_of
from towtank.model.waiting import mmm_wait, waits_in_turn


@pytest.mark.parametrize(
    ("demand", "error"),
    [
        (Bounded(2.0, 1.608, 2.392), 0.1),
        (Bounded(2.0, None, 2.4), 0.0),
        (Bounded(2.0, 1.6, None), 0.0),
        (Bounded(2.0), 0.0),
    ],
)
def test_a_demand_has_the_relative_error_of_its_interval(demand: Bounded, error: float) -> None:
    assert _relative_error(demand, demand.value or 0.0) == pytest.approx(error, rel=1e-4)


def test_other_programs_slow_a_dependent_bottleneck() -> None:
    curve, parameters = DependentCurve(4, 1.0), np.array([[0.02, 0.01, 1.5]])
    assert curve.held_up(parameters, 1.0)[0] == pytest.approx(0.02 * 4 / 3)
    assert curve.held_up(parameters)[0] == pytest.approx(0.02)
    assert curve.derived(parameters)["idle_demand_s"][0] == pytest.approx(0.03)
    assert curve.demand_at(parameters, np.array([0.0, 0.5, 1.0])) == pytest.approx([0.03, 0.025, 0.02])


def estimate(value: float, half: float | None = None) -> dict[str, Any]:
    ends = {} if half is None else {"low": value - half, "high": value + half}
    return {"value": value, "method": "batches", "n": 10**6, **ends}


def run(rate: float, users: float | None = 20.0, requests: float | None = 30.0, **hosts: Any) -> RunSummary:
    found = {"throughput_per_s": estimate(rate), "users": {"asked": users}, "hosts": hosts}
    known = {} if requests is None else {"request_throughput_per_s": estimate(requests)}
    return RunSummary.read({**found, **known})


@pytest.mark.parametrize(
    ("runs", "requests"),
    [
        ([run(10.0, requests=30.0)], 3.0),
        ([run(10.0, requests=30.0), run(20.0, 40.0, 60.0)], 3.0),
        ([run(10.0, requests=5.0)], 1.0),
        ([run(10.0, requests=30.0), run(10.0, requests=None)], 1.0),
        ([run(10.0, users=None)], 1.0),
        ([], 1.0),
    ],
)
def test_a_transaction_makes_at_least_one_request(runs: list[RunSummary], requests: float) -> None:
    assert across._requests(SimpleNamespace(runs=runs)) == pytest.approx(requests)  # type: ignore[arg-type]


def use(cpus: float, half: float | None = None, allotted: float | None = 2.0, used: float = 0.5) -> dict[str, Any]:
    return {"cpus_used": estimate(cpus, half), "cpus_allotted": allotted, "utilization": used}


ASKED = PredictionAsked(cpu_period_of_hosts_s={"db": 0.1})


def test_the_demand_of_a_host_is_its_time_over_all_runs() -> None:
    found = across._host("db", [run(10.0, db=use(1.0)), run(30.0, db=use(4.2, used=0.9))], ASKED)
    assert found is not None
    assert found.demand_s == pytest.approx(5.2 / 40)
    # The runs have CPU times of 1 / 10 = 0.1 s and 4.2 / 30 = 0.14 s per transaction. Their standard deviation is 0.02
    # sqrt(2), so the standard error of their mean is 0.02.
    assert found.error_s == pytest.approx(0.02)
    assert (found.cpus, found.cpus_then, found.utilization, found.period_s) == (2.0, 2.0, 0.9, 0.1)
    again = across._host("db", [run(10.0, db=use(1.0))], ASKED.model_copy(update={"cpus_of_hosts": {"db": 8.0}}))
    assert again is not None
    assert (again.cpus_then, again.error_s) == (8.0, 0.0)


def test_the_error_of_a_single_run_is_that_within_it() -> None:
    found = across._host("db", [run(10.0, db=use(1.0, 0.196))], ASKED)
    assert found is not None
    assert found.error_s == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("runs", [[], [run(10.0)], [run(10.0, db=use(1.0, allotted=None))], [run(0.0, db=use(1.0))]])
def test_a_host_without_cpus_or_time_is_left_out(runs: list[RunSummary]) -> None:
    assert across._host("db", runs, ASKED) is None


def test_runs_belong_to_a_place_by_all_of_its_levels() -> None:
    def is_of(factors: dict[str, str], place: dict[str, str]) -> bool:
        return across._is_of(SimpleNamespace(manifest={"factors": factors}), place)  # type: ignore[arg-type]

    both = {"nodes": "four", "index": "present"}
    assert is_of(both, both)
    assert is_of(both, {"nodes": "four"})
    assert not is_of({"nodes": "four"}, both)
    assert not is_of({"nodes": "one", "index": "present"}, {"nodes": "four"})


def resource(demand_s: float, servers: int = 4, background: float | None = 0.0, *busy: float) -> ResourceDemand:
    levels = tuple(LevelDemand(1.0, share, demand_s) for share in busy or (0.5,))
    return ResourceDemand(servers, (), DemandOfLevels(Bounded(demand_s), Bounded(background), levels))


def test_the_next_bottleneck_is_that_with_the_lowest_limit() -> None:
    demands = {
        "app": resource(0.02, 4, 0.0, 0.3, 0.9, 0.6),
        "db": resource(0.02, 2),
        "disk": resource(0.02, 2, 1.0),
        "lan": resource(0.01, 1, -0.5),
        "app / gc": resource(1.0),
        "idle": resource(0.0),
    }
    candidate: Any = SimpleNamespace(fit=SimpleNamespace(curve=ClosedCurve(4, 1.0)))
    document = {"limit_throughput": 200.0, "confidence_interval": {}}
    answer: Any = SimpleNamespace(bottleneck="app", demands=demands, document=document)
    assert capacity._bottleneck(answer, candidate) == (
        "the resource with the highest utilization is app, 90 % at most; the limit of the curve is 200 transactions/s; "
        "without this limit disk would be next, at 50 transactions/s"
    )
    answer.document = {"limit_throughput": None}
    assert "limit of the curve" not in str(capacity._bottleneck(answer, candidate))
    answer.bottleneck = "none"
    assert capacity._bottleneck(answer, candidate) is None
    answer.bottleneck, answer.demands = "app", {"app": demands["app"]}
    assert "would be next" not in str(capacity._bottleneck(answer, candidate))


def summary(path: Path, **more: Any) -> Path:
    tiers, rate = {"db": {"cpus_allotted": 2.0}, "web": {}}, {"throughput_per_s": {"value": 5.0}}
    points = [
        {"load": 10, "verdicts": ["valid"], "runs": ["r1"], "tiers": {"web": {}}, **rate},
        {"load": 20, "verdicts": ["invalid", "suspect"], "runs": ["r2", "r3"], "tiers": tiers, **rate},
        {"load": 30, "verdicts": ["invalid", "invalid"], "runs": ["r4", "r5"], "tiers": tiers, **rate},
    ]
    found = {"load_factor": "users", "configurations": [{"label": "a", "key": {}, "points": points}], **more}
    path.write_text(json.dumps(found))
    return path


def test_levels_whose_runs_are_all_invalid_are_left_out_of_a_fit(tmp_path: Path) -> None:
    (found,) = _from_summary(summary(tmp_path / "study-summary.json"))
    assert [point.load for point in found.points] == [10, 20]
    assert found.excluded == [ExcludedRun("r4, r5", 30, "invalid")]
    assert [(each.name, each.servers) for each in found.resources] == [("db", 2)]


@pytest.mark.parametrize("text", ["[]", "{", '{"load_factor": "rate"}'])
def test_other_summaries_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "study-summary.json"
    path.write_text(text)
    with pytest.raises(StudyError):
        _from_summary(path)


@pytest.mark.parametrize("length", [1, 3])
def test_residuals_are_drawn_in_blocks_that_wrap_around(monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setattr(replicates, "block_length", lambda _fit: length)
    place = np.array([2.0, 0.0, 1.0, 4.0, 3.0])
    fit: Any = SimpleNamespace(points=SimpleNamespace(count=5, place=place))
    drawn = replicates._drawn(fit, 400, np.random.default_rng(1))
    assert drawn.shape == (400, 5)
    counts = np.bincount(drawn.ravel(), minlength=5)
    assert counts.min() > 320
    assert counts.max() < 480
    # Residuals are drawn in blocks of `length`. In a block of three, each residual was measured directly after the one
    # before it, where the first of the five follows the last.
    ordered = place[drawn][:, np.argsort(place)]
    follows = (np.diff(ordered[:, :3]) % 5 == 1).all(axis=1)
    assert follows.all() if length == 3 else not follows.all()


ROWS = [
    {"error": 0.1, "measured_throughput": 8.0, "throughput_band_95": [8.4, 9.2]},
    {"error": -0.25, "measured_throughput": 8.0, "throughput_band_95": [5.0, 7.0]},
]


def test_the_worst_level_is_that_with_the_largest_error_of_either_sign() -> None:
    found = HeldOutResult.model_validate({"points": ROWS})
    assert found.worst is found.points[1]
    assert error_of_band(found.worst.throughput_band_95, found.worst.measured_throughput) == (-0.375, -0.125)
    unknown = HeldOutLevel(error=0.1, measured_throughput=8.0)
    assert error_of_band(unknown.throughput_band_95, 8.0) == (None, None)
    assert error_of_band((None, 10.0), 8.0) == (None, 0.25)


@pytest.mark.parametrize(
    ("interval", "lines"),
    [
        ((0.125, 0.375), ["  held_out_error: 0.25", "  held_out_interval: [0.125, 0.375]"]),
        ((0.125, None), ["  held_out_error: 0.25"]),
        ((None, 0.375), ["  held_out_error: 0.25"]),
        (None, ["  held_out_error: 0.25"]),
    ],
)
def test_an_error_is_written_with_its_interval_if_both_ends_are_known(
    interval: tuple[float | None, float | None] | None, lines: list[str]
) -> None:
    assert error_lines(0.25, interval) == lines


def contender(name: str, aicc: float | None, held_out: bool = False) -> Any:
    return SimpleNamespace(name=name, aicc=aicc, held_out={} if held_out else None, held_out_text=lambda: "5 %")


def test_the_reason_for_a_curve_is_its_criterion_or_its_prediction() -> None:
    one, two = contender("usl", 10.0), contender("closed", 25.0)
    assert _because(one, [one], [one]) == "usl: the only curve that is not rejected"
    assert _because(one, [one, two], [one]) == "usl: smallest AICc, 15 below closed"
    assert _because(one, [one, two], [one, two]).startswith("usl: smallest AICc; closed within")
    tested = contender("usl", 10.0, held_out=True)
    assert "predicts the held-out highest load best (5 %)" in _because(tested, [tested, two], [tested, two])


def test_speeds_of_a_station_that_serves_as_servers_count_them() -> None:
    assert servers_of(Station("s", servers=3)) == 3
    assert servers_of(Station("s", servers=1, rates=(1.0, 2.0, 3.0, 3.0))) == 3
    assert servers_of(Station("s", servers=1, rates=(1.0, 1.9, 3.0, 3.0))) is None
    assert servers_of(Station("s", servers=1, rates=(1.0, 1.0))) == 1
    assert rates_with_servers([1.0, 2.0, 2.0], 4) == pytest.approx([1.0, 2.0, 3.0, 4.0, 4.0])


SERVICE = Service("a", None, 0.1)
QUEUE = Station("s", servers=2, services=[SERVICE])


def alone(station: Station, nodes: int = 1, bounded: bool = False, **load: Any) -> Any:
    names = ["s"] if nodes == 1 else [f"s{NODE_SEPARATOR}{number}" for number in range(1, nodes + 1)]
    stations = [replace(station, name=name) for name in names]
    model = EngineModel([JobClass(**{"name": "a", "arrival_rate_per_s": 8.0, **load})], stations)
    return lone_queue(model, ["s"], "a", bounded=bounded)


def test_a_queue_alone_has_the_arrivals_of_one_node() -> None:
    assert alone(QUEUE) == (8.0, 0.1, 2, None)
    half = replace(QUEUE, services=[replace(SERVICE, visits=0.5)])
    assert alone(half, nodes=2) == (4.0, 0.1, 2, None)
    assert alone(half) is None
    assert alone(QUEUE, nodes=2) is None
    full = replace(QUEUE, capacity=5)
    assert (alone(full), alone(full, bounded=True)) == (None, (8.0, 0.1, 2, 5))
    assert alone(replace(QUEUE, discipline="ps")) is None
    assert alone(replace(QUEUE, rates=(1.0, 1.0))) is None
    assert alone(QUEUE, arrivals=Variation("exponential")) == (8.0, 0.1, 2, None)
    assert alone(QUEUE, arrival_rate_per_s=None, users=5) is None


def test_the_wait_of_one_server_is_exponential_beyond_its_share() -> None:
    # For M/M/1, P(W > t) = rho exp(-(mu - lambda) t). With rho = 0.5, mu = 10 /s and lambda = 5 /s, this is 0.1 at t =
    # ln(5) / 5 s. Half of the jobs do not wait at all.
    assert mmm_wait(5.0, 0.1, 1, 0.9) == pytest.approx(math.log(5) / 5)
    assert mmm_wait(5.0, 0.1, 1, 0.5) == 0.0
    assert mmm_wait(5.0, 0.1, 1, 0.49) == 0.0
    assert mmm_wait(5.0, 0.1, 1, 0.51) > 0


def test_a_wait_with_little_room_is_shorter() -> None:
    # If a server holds at most two jobs and lambda = mu, an accepted arrival finds 0 or 1 jobs with equal probability.
    # The wait behind one job is exponential: P(W > t) = exp(-mu t) / 2. This is 0.1 at t = ln(5) / mu.
    assert mmm_wait(10.0, 0.1, 1, 0.9, 2) == pytest.approx(0.1 * math.log(5))
    assert mmm_wait(10.0, 0.1, 1, 0.9, 1) == 0.0
    assert mmm_wait(10.0, 0.1, 1, 0.4, 2) == 0.0


@pytest.mark.parametrize(
    ("discipline", "name", "waits"), [("fcfs", "a", True), ("ps", "a", False), ("fcfs", "b", False)]
)
def test_a_class_waits_in_turn_at_a_queue_that_it_visits(discipline: str, name: str, waits: bool) -> None:
    stations = [
        Station("queue", discipline, services=[Service("a", None, 0.1)]),
        Station("delay", "delay", services=[Service(name, None, 0.1)]),
    ]
    assert waits_in_turn(EngineModel([], stations), name) is waits


def demand(value: float | None) -> ResourceDemand:
    return ResourceDemand(3, (), DemandOfLevels(Bounded(value), Bounded(None), ()))


def test_stations_take_their_time_from_the_rest_until_it_is_used_up() -> None:
    fit = SimpleNamespace(curve=ClosedCurve(2, 1.0), parameters=np.array([0.02, 0.5]))
    names = ("app", "db", "none", "disk", "lan", "idle")
    resources = [SimpleNamespace(name=name, servers=3) for name in names]
    configuration: Any = SimpleNamespace(bottleneck=lambda: SimpleNamespace(name="app"), resources=resources)
    demands = {name: demand(value) for name, value in zip(names, (0.1, 0.25, None, 0.25, 0.125, 0.0), strict=True)}
    found, left = stations(SimpleNamespace(fit=fit), configuration, demands)  # type: ignore[arg-type]
    shown = [(station.name, station.servers, station.demand_s, station.error) for station in found]
    assert shown == [("app", 2, 0.02, None), ("db", 3, 0.25, 0.0), ("disk", 3, 0.25, 0.0)]
    assert left == 0.0
    alone, rest = stations(SimpleNamespace(fit=fit), None, {})  # type: ignore[arg-type]
    assert [(station.name, station.rates) for station in alone] == [("bottleneck", None)]
    assert rest == 0.5


def test_replicates_change_the_time_elsewhere_against_the_stations(monkeypatch: pytest.MonkeyPatch) -> None:
    every = np.column_stack([np.full(400, 0.03), np.linspace(0.4, 0.6, 400)])
    monkeypatch.setattr(model_file, "at_saturation", lambda *_: every)
    candidate: Any = SimpleNamespace(fit=SimpleNamespace(curve=ClosedCurve(2, 1.0)), replicates=None)
    found = [model_file.Station("app", 2, 0.02, ""), model_file.Station("db", 1, 0.25, "", 0.0)]
    rows = model_file.draws(candidate, found, 0.25)
    assert {len(row) for row in rows.values()} == {200}
    assert rows["app"] == pytest.approx([1.5] * 200)
    assert rows["db"] == [1.0] * 200
    assert rows["elsewhere"] == pytest.approx((every[::2, 1] - 0.25) / 0.25, rel=1e-4)
    assert "elsewhere" not in model_file.draws(candidate, found, 0.0)


def test_a_time_of_mmm_is_the_sum_of_wait_and_service() -> None:
    # At one server the response time is exponential with the rate mu - lambda. Almost without arrivals it is the
    # service time alone.
    assert mmm_percentile(5.0, 0.1, 1, 0.9) == pytest.approx(math.log(10) / 5)
    assert mmm_percentile(1e-9, 0.1, 3, 0.9) == pytest.approx(0.1 * math.log(10))
    # With two servers and lambda = mu, the probability of waiting is 1/3. The rates of service and of waiting are
    # equal, so that P(T > t) = (1 + mu t / 3) exp(-mu t).
    time = mmm_percentile(10.0, 0.1, 2, 0.9)
    assert (1 + 10 * time / 3) * math.exp(-10 * time) == pytest.approx(0.1)
    # With two servers and lambda = mu / 2, the probability of waiting is C = 1/10, and the rate of the waiting time is
    # theta = 1.5 mu.
    time = mmm_percentile(5.0, 0.1, 2, 0.9)
    both = (15 * math.exp(-10 * time) - 10 * math.exp(-15 * time)) / 5
    assert 0.9 * math.exp(-10 * time) + 0.1 * both == pytest.approx(0.1)


def test_speeds_of_a_demand_that_falls_with_the_utilization() -> None:
    # At utilization 0, the demand is twice the demand at full utilization. So with j jobs at m servers, the rate is
    # min(j, m) / (1 + (1 - min(j - 1, m) / m)).
    assert servers_of(Station("s", servers=1, rates=(0.5, 4 / 3, 2.0))) == 2
    assert rates_with_servers([0.5, 4 / 3, 2.0], 1) == pytest.approx([0.5, 1.0])
    assert rates_with_servers([0.5, 4 / 3, 2.0], 4) == pytest.approx([0.5, 2 / 1.75, 2.0, 3.2, 4.0])


def test_a_wait_at_two_servers_with_room_for_four() -> None:
    # With lambda = mu, accepted arrivals find 0 to 3 jobs with the weights 1, 1, 1/2 and 1/4. Behind two jobs, an
    # arrival waits for one exponential time of the rate 2 mu; behind three jobs, it waits for two such times.
    time = 20 * mmm_wait(10.0, 0.1, 2, 0.9, 4)
    assert (math.exp(-time) / 2 + math.exp(-time) * (1 + time) / 4) / 2.75 == pytest.approx(0.1)


def test_a_class_waits_among_others() -> None:
    station = Station("queue", "priority", services=[Service("b", None, 0.1), Service("a", None, 0.1)])
    assert waits_in_turn(EngineModel([], [station]), "a")
