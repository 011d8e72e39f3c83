"""Predictions for many servers from measurements of few servers."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from load_points import changed
from quota_simulation import QuotaServer, closed_stations

from towtank.analysis import NO_ESTIMATE, LoadPoint, RunSummary
from towtank.analysis.system.entries import SharedMachine
from towtank.errors import ModelError
from towtank.model.fitting.across import predict_across, write_prediction
from towtank.model.fitting.closed_curve import ClosedCurve
from towtank.model.fitting.measured import Configuration
from towtank.model.fitting.network import network_throughput
from towtank.model.fitting.quota_curve import QuotaCurve
from towtank.model.prediction_file import PredictionAsked
from towtank.model.quota import Quota

DEMAND, OTHER, THINK = 0.02, 0.01, 1.0
LOADS = [20.0, 40.0, 60.0, 120.0]
ASKED = {"servers_from": 1, "servers_to": 4, "loads": [60.0, 240.0], "service": "content", "hosts": ["node-1"]}


def predicted(measured: Configuration, asked: dict[str, Any]) -> Any:
    return predict_across(measured, PredictionAsked.model_validate(asked))


def estimate(value: float, share: float = 0.01) -> dict[str, Any]:
    half = 1.96 * share * value
    return {"value": value, "low": value - half, "high": value + half, "confidence": 0.95, "method": "x", "n": 20}


def configuration(
    hosts: dict[str, tuple[float, float, float]] | None = None,
    cpus: float = 4.0,
    curve: ClosedCurve | None = None,
    demand: tuple[float, float] = (DEMAND, OTHER),
) -> Configuration:
    """Return exact points of a closed system for one configuration.

    `hosts` maps the name of each host to the CPU time of a transaction in seconds, the number of CPUs, and the highest
    utilization.
    """
    curve = curve or ClosedCurve(1, THINK)
    rates = curve.throughput(np.array([demand]), np.array(LOADS))[0]
    points, runs = [], []
    for number, (load, rate) in enumerate(zip(LOADS, rates, strict=True)):
        response = estimate(load / rate - THINK)
        points.append(
            {
                "load": load,
                "throughput_per_s": estimate(float(rate)),
                "response_time_s": {"mean": response},
                "think_time_s": THINK,
                "runs": [f"r{number}"],
                "tiers": {},
            }
        )
        found = {
            name: {"cpus_used": estimate(work * float(rate)), "cpus_allotted": given, "utilization": used}
            for name, (work, given, used) in (hosts or {}).items()
        }
        runs.append(
            {
                "run": f"r{number}",
                "host": {},
                "hosts": found,
                "throughput_per_s": estimate(float(rate)),
            }
        )
    machine = SharedMachine(cpus, cpus, None, NO_ESTIMATE, None, None, ()) if hosts else None
    read = [replace(RunSummary.read(run), machine=machine) for run in runs]
    return Configuration("one", {"nodes": "one"}, list(map(LoadPoint.model_validate, points)), runs=read)


def test_an_exact_system_is_predicted_exactly() -> None:
    found = predicted(configuration(), ASKED)
    assert found["fitted"]["bottleneck_demand_s"] == pytest.approx(DEMAND, rel=1e-4)
    exact = network_throughput(240, [(DEMAND / 4, 1)] * 4, THINK + OTHER)
    for row in found["rows"]:
        assert row["throughput"]["curve"] == pytest.approx(exact[int(row["load"]) - 1], rel=1e-3)
        low, high = row["throughput"]["band_95"]
        assert low <= row["throughput"]["curve"] <= high


@pytest.mark.waits
def test_what_is_shared_is_a_station_of_its_own_and_becomes_the_limit() -> None:
    # The host `data` has 0.5 CPUs, so 4 ms of CPU time take 8 ms, and throughput is at most 1 / 8 ms = 125 /s. The four
    # nodes of 0.1 CPUs, with 2 ms of CPU time for each transaction, would allow 4 x 0.1 / 2 ms = 200 /s.
    hosts = {"node-1": (0.002, 0.1, 1.0), "data": (0.004, 0.5, 0.4)}
    found = predicted(configuration(hosts), ASKED)
    (data,) = found["shared"]
    assert data["demand_s"] == pytest.approx(0.004)
    assert data["service_time_s"] == pytest.approx(0.008)
    exact = network_throughput(240, [*[(DEMAND / 4, 1)] * 4, (0.008, 1)], THINK + OTHER - 0.008)
    assert found["rows"][1]["throughput"]["curve"] == pytest.approx(exact[-1], rel=1e-3)
    assert found["rows"][1]["throughput"]["curve"] == pytest.approx(125.0, rel=1e-3)


@pytest.mark.waits
def test_a_bigger_host_lets_more_pass_at_full_speed() -> None:
    # A transaction needs 2 ms of CPU time. In each period of 100 ms, a quota of 0.1 CPUs allows 10 ms of CPU time at
    # full speed, and a quota of 0.4 CPUs allows 40 ms.
    few = configuration({"node-1": (0.002, 0.1, 1.0)}, curve=QuotaCurve(1, THINK, quota=Quota(0.1)))
    found = predicted(few, {**ASKED, "servers_to": 1, "cpus_from": 0.1, "cpus_to": 0.4})
    assert found["fitted"]["bottleneck_demand_s"] == pytest.approx(DEMAND, rel=2e-3)
    seen = QuotaCurve(1, THINK, quota=Quota(0.4)).throughput(np.array([[0.005, OTHER]]), np.array([60.0, 240.0]))[0]
    for row, rate in zip(found["rows"], seen, strict=True):
        assert row["throughput"]["curve"] == pytest.approx(rate, rel=2e-3)


def test_beyond_a_whole_cpu_transactions_are_served_at_once_and_none_faster() -> None:
    few = configuration({"node-1": (0.002, 0.1, 1.0)}, curve=QuotaCurve(1, THINK, quota=Quota(0.1)))
    asked = {**ASKED, "servers_to": 1, "cpus_from": 0.1, "cpus_to": 2.5, "loads": [1.0, 4000.0]}
    alone, many = (row["throughput"]["curve"] for row in predicted(few, asked)["rows"])
    assert alone == pytest.approx(1 / (0.002 * 3 / 2.5 + THINK + OTHER), rel=2e-3)
    assert many == pytest.approx(2.5 / 0.002, rel=2e-3)


@pytest.mark.waits
def test_four_hosts_with_quotas_answer_as_a_simulation_does() -> None:
    work = 0.006
    few = configuration({"node-1": (work, 0.1, 1.0)}, curve=QuotaCurve(1, THINK, quota=Quota(0.1)), demand=(0.06, 0.0))
    found = predicted(few, {**ASKED, "cpus_from": 0.1, "cpus_to": 0.1, "loads": [20.0, 45.0, 160.0]})
    for row, most in zip(found["rows"], (0.15, 0.25, 0.05), strict=True):
        servers = [QuotaServer(0.1, 0.1) for _ in range(4)]
        rate, response = closed_stations(int(row["load"]), THINK, work, servers=servers, until_s=4000.0, seed=9)
        assert row["throughput"]["curve"] == pytest.approx(rate, rel=0.03)
        assert row["response_s"]["curve"] == pytest.approx(response, rel=most)


@pytest.mark.waits
def test_requests_of_a_transaction_that_go_to_other_hosts_are_shorter_work_each() -> None:
    work, users = 0.006, 40
    few = configuration({"node-1": (work, 0.1, 1.0)}, curve=QuotaCurve(1, THINK, quota=Quota(0.1)), demand=(0.06, 0.0))
    asked = {**ASKED, "cpus_from": 0.1, "cpus_to": 0.1, "loads": [float(users)]}
    whole = predicted(few, asked)["rows"][0]["response_s"]["curve"]
    for number, (run, load) in enumerate(zip(few.runs, LOADS, strict=True)):
        requests = run.throughput_per_s.scaled(3.0)
        few.runs[number] = replace(run, request_throughput_per_s=requests, users=replace(run.users, asked=load))
    parts = predicted(few, asked)["rows"][0]["response_s"]["curve"]
    servers = [QuotaServer(0.1, 0.1) for _ in range(4)]
    _, seen = closed_stations(users, THINK, work, servers=servers, until_s=8000.0, seed=2, visits=3)
    assert parts == pytest.approx(seen, rel=0.3)
    assert whole > 1.3 * parts


@pytest.mark.waits
def test_cpu_time_that_changes_with_the_load_widens_the_bands() -> None:
    few = configuration({"node-1": (0.002, 0.1, 1.0)}, curve=QuotaCurve(1, THINK, quota=Quota(0.1)))
    asked = {**ASKED, "cpus_from": 0.1, "cpus_to": 0.1}
    low, high = predicted(few, asked)["rows"][1]["throughput"]["band_95"]
    for number, (run, share) in enumerate(zip(few.runs, (1.15, 1.1, 0.95, 0.8), strict=True)):
        used = run.hosts["node-1"].cpus_used.scaled(share)
        few.runs[number] = replace(run, hosts={"node-1": replace(run.hosts["node-1"], cpus_used=used)})
    least, most = predicted(few, asked)["rows"][1]["throughput"]["band_95"]
    assert most - least > 2 * (high - low)


def test_a_shared_host_may_have_another_size_too() -> None:
    hosts = {"node-1": (0.002, 0.1, 1.0), "data": (0.004, 0.5, 0.4)}
    found = predicted(configuration(hosts), {**ASKED, "cpus_of_hosts": {"data": 1.0}})
    exact = network_throughput(240, [*[(DEMAND / 4, 1)] * 4, (0.004, 1)], THINK + OTHER - 0.008)
    assert found["rows"][1]["throughput"]["curve"] == pytest.approx(exact[-1], rel=1e-3)


def test_many_servers_of_many_are_as_many_as_they_are() -> None:
    rates = ClosedCurve(2, THINK).throughput(np.array([[DEMAND, OTHER]]), np.array(LOADS))[0]
    two = configuration()
    for number, (point, load, rate) in enumerate(zip(two.points, LOADS, rates, strict=True)):
        response = {"mean": estimate(load / float(rate) - THINK)}
        two.points[number] = changed(point, throughput_per_s=estimate(float(rate)), response_time_s=response)
        two.runs[number] = replace(two.runs[number], throughput_per_s=two.points[number].throughput_per_s)
    found = predicted(two, {**ASKED, "servers_from": 2})
    assert found["fitted"]["bottleneck_demand_s"] == pytest.approx(DEMAND, rel=1e-3)
    exact = network_throughput(240, [(DEMAND / 4, 1)] * 4, THINK + OTHER)
    assert found["rows"][1]["throughput"]["curve"] == pytest.approx(exact[-1], rel=1e-3)


def test_no_more_is_done_than_the_machine_below_has_cpus_for() -> None:
    hosts = {"node-1": (0.002, 0.1, 1.0), "data": (0.001, 0.5, 0.1)}
    found = predicted(configuration(hosts, cpus=0.3), ASKED)
    assert found["machine_demand_s"] == pytest.approx(0.003)
    assert found["rows"][1]["throughput"]["curve"] == pytest.approx(100.0)


def test_more_of_what_was_not_the_bottleneck_is_refused() -> None:
    hosts = {"node-1": (0.002, 0.1, 0.4), "data": (0.01, 0.5, 0.97)}
    with pytest.raises(
        ModelError, match=r"host data, which the prediction does not enlarge, had the highest utilization \(97 %\)"
    ):
        predicted(configuration(hosts), ASKED)


def test_too_few_levels_are_refused() -> None:
    measured_one = configuration()
    measured_one.points = measured_one.points[:2]
    with pytest.raises(ModelError, match="at least 3 different loads"):
        predicted(measured_one, ASKED)


def test_a_refusal_is_written_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {**ASKED, "from": {"nodes": "one"}, "to": {"nodes": "four"}}
    (tmp_path / "study.json").write_text(json.dumps({"schema": "towtank/study-results/1", "study": {"predict": asked}}))
    monkeypatch.setattr("towtank.model.fitting.across.read_configurations", lambda _: [])
    found = write_prediction(tmp_path)
    assert found is not None
    assert found.made_before
    assert found.refused == "no run of the measured configuration can be modelled"
    assert json.loads((tmp_path / "prediction.json").read_text())["schema"] == "towtank/prediction/1"


def test_without_the_wish_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "study.json").write_text(json.dumps({"schema": "towtank/study-results/1", "study": {"predict": None}}))
    assert write_prediction(tmp_path) is None
    assert not (tmp_path / "prediction.json").exists()
