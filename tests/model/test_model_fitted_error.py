from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from towtank.cli.app import run
from towtank.cli.solve_table import percent
from towtank.estimates import share_estimate

FACTORS = [0.9 + 0.001 * number for number in range(201)]
OPEN = "classes: {web: {rate: 10 /s}}\nstations: {cpu: {demand: 50 ms}}\n"
RANGE = "fitted:\n  users: [1, 100]\n  throughput: 100 /s\n  verdict: supported\n"


def written(folder: Path, text: str) -> str:
    path = folder / "model.yaml"
    path.write_text(text, "utf-8")
    return str(path)


def fitted(factors: list[float]) -> str:
    return f"{OPEN}{RANGE}  draws: {{cpu: [{', '.join(f'{factor:.6g}' for factor in factors)}]}}\n"


def document_of(capsys: Any, *command: str) -> Any:
    assert run([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_intervals_of_a_fitted_queue_are_quantiles_over_its_replicates(tmp_path: Path, capsys: Any) -> None:
    """For M/M/1 at 10 /s, R = D / (1 - 10 D) and U = 10 D increase with D, so their quantiles follow from those of D.

    R is the response time, U the utilization and D the demand.
    """
    answer = document_of(capsys, "model", "solve", written(tmp_path, fitted(FACTORS)))
    demands = 0.05 * np.quantile(FACTORS, [0.025, 0.975])
    web, cpu = answer["classes"]["web"]["confidence_interval"], answer["stations"]["cpu"]["confidence_interval"]
    # The response time is a convex function of D, so interpolation between two replicates has an error that grows with
    # the square of their distance.
    assert web["response_time_s"] == pytest.approx(demands / (1 - 10 * demands), rel=1e-4)
    assert cpu["residence_time_s.web"] == pytest.approx(web["response_time_s"])
    assert cpu["utilization"] == pytest.approx(10 * demands, rel=1e-9)
    assert web["throughput_per_s"] == pytest.approx([10, 10])
    assert answer["fitted"] == {"draws": 201, "confidence": 0.95}


def test_replicates_without_a_steady_state_leave_the_upper_end_open(tmp_path: Path, capsys: Any) -> None:
    answer = document_of(capsys, "model", "solve", written(tmp_path, fitted([*FACTORS[:150], *[2.5] * 50])))
    assert answer["classes"]["web"]["confidence_interval"]["response_time_s"][1] is None
    assert answer["stations"]["cpu"]["confidence_interval"]["utilization"][1] == 1


@pytest.mark.parametrize(("saturated", "high"), [(4, 0.1), (5, None)])
def test_the_upper_end_is_open_from_the_first_replicate_without_a_steady_state(
    tmp_path: Path, capsys: Any, saturated: int, high: float | None
) -> None:
    """The 97.5 % quantile of 200 replicates lies between the 195th and the 196th value.

    With a steady state, the response time is 50 ms / (1 - 10 /s x 50 ms) = 0.1 s. If 4 replicates have no steady state,
    the 195th and the 196th value are both 0.1 s. If 5 have none, the 196th is infinite, so there is no upper end.
    """
    factors = [*[1.0] * (200 - saturated), *[2.5] * saturated]
    answer = document_of(capsys, "model", "solve", written(tmp_path, fitted(factors)))
    low, found = answer["classes"]["web"]["confidence_interval"]["response_time_s"]
    assert (low, found) == (pytest.approx(0.1), high if high is None else pytest.approx(high))


def replicates(app: np.ndarray[Any, Any], db: np.ndarray[Any, Any]) -> str:
    """Return the key `fitted` of a model file, with factors of the demands at `app` and `db` for each replicate."""
    rows = {name: [float(f"{factor:.6g}") for factor in factors] for name, factors in (("app", app), ("db", db))}
    return f"{RANGE}  draws: {{app: {rows['app']}, db: {rows['db']}}}\n"


def test_utilization_without_a_steady_state_is_the_offered_load_of_each_station(tmp_path: Path, capsys: Any) -> None:
    """At 90 /s a third of the replicates saturate `app`. The utilization of a station is still min(1, arrival rate x
    demand / servers).

    The utilization of a delay is 0.
    """
    app, db = np.linspace(0.8, 1.25, 200), np.linspace(1.04, 0.96, 200)
    text = (
        "classes: {web: {rate: 90 /s}}\nstations:\n  app: {demand: 10 ms}\n"
        "  db: {demand: 6 ms, servers: 2, discipline: ps}\n  wan: {demand: 40 ms, discipline: delay}\n"
        + replicates(app, db)
    )
    stations = document_of(capsys, "model", "solve", written(tmp_path, text))["stations"]
    offered = {"app": np.minimum(1, 0.9 * app), "db": 90 * 0.006 / 2 * db}
    for name, loads in offered.items():
        ends = stations[name]["confidence_interval"]["utilization"]
        assert ends == pytest.approx(np.quantile(loads, [0.025, 0.975]), rel=1e-4)
    assert stations["wan"]["confidence_interval"]["utilization"] == [0, 0]
    # If `app` is saturated, it passes on at most 90 /s. The next station, `db`, is M/M/2 with processor sharing, with a
    # queue length of 2 u / (1 - u^2).
    used = offered["db"]
    queue = stations["db"]["confidence_interval"]["queue_length"]
    assert queue == pytest.approx(np.quantile(2 * used / (1 - used**2), [0.025, 0.975]), rel=1e-4)
    time = stations["db"]["confidence_interval"]["residence_time_s.web"]
    assert time == pytest.approx([end / 90 for end in queue], rel=1e-9)
    assert stations["wan"]["confidence_interval"]["residence_time_s.web"] == pytest.approx([0.04, 0.04])
    assert stations["app"]["confidence_interval"]["queue_length"][1] is None


def test_a_class_away_from_the_saturated_station_keeps_its_time(tmp_path: Path, capsys: Any) -> None:
    """In half of the replicates `app` is saturated. The class `batch` does not visit it, so its response time is D /
    (1 - 10 D) in all replicates.
    """
    app, db = np.linspace(0.8, 1.2, 200), np.linspace(0.9, 1.1, 200)
    text = (
        "classes: {web: {rate: 99 /s}, batch: {rate: 10 /s}}\nstations:\n  app: {demand: {web: 10 ms}}\n"
        "  db: {demand: {batch: 50 ms}}\n" + replicates(app, db)
    )
    classes = document_of(capsys, "model", "solve", written(tmp_path, text))["classes"]
    times = 0.05 * db / (1 - 0.5 * db)
    found = classes["batch"]["confidence_interval"]["response_time_s"]
    assert found == pytest.approx(np.quantile(times, [0.025, 0.975]), rel=1e-4)
    assert classes["web"]["confidence_interval"]["response_time_s"][1] is None


def test_mixed_networks_know_no_queue_of_a_replicate_without_a_steady_state(tmp_path: Path, capsys: Any) -> None:
    """In some replicates open arrivals saturate `app`. The closed users of `db` also wait there, so `db` has no queue
    length in these replicates.
    """
    text = (
        "classes: {web: {rate: 90 /s}, users: {users: 5, think: 1 s}}\nstations:\n"
        "  app: {demand: 10 ms, discipline: ps}\n  db: {demand: {users: 5 ms}}\n"
        f"{RANGE}  draws: {{app: [1.0, 1.05, 1.2, 1.3], db: [1.0, 1.0, 1.0, 1.0]}}\n"
    )
    db = document_of(capsys, "model", "solve", written(tmp_path, text))["stations"]["db"]["confidence_interval"]
    assert db["queue_length"][1] is None
    assert db["utilization"][1] == 1


CLOSED = """classes: {web: {users: 20, think: 1 s}}
stations: {cpu: {demand: 50 ms, discipline: ps}}
pools: {threads: {size: 4, holds: [cpu]}}
"""


def test_the_knee_of_a_closed_class_and_its_pools_have_the_error_of_the_fit(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The knee N* = (D + Z) / D decreases with the demand D, so its upper end comes from the lower end of D.

    The number of used units of a pool increases with D. Both have intervals that follow from the replicates.
    """
    draws = f"{RANGE}  draws: {{cpu: [{', '.join(f'{factor:.6g}' for factor in FACTORS)}]}}\n"
    path = written(tmp_path, CLOSED + draws)
    answer = document_of(capsys, "model", "solve", path)
    demands = 0.05 * np.quantile(FACTORS, [0.975, 0.025])
    bounds = answer["bounds"]["web"]
    assert bounds["confidence_interval"]["knee_users"] == pytest.approx((demands + 1) / demands, rel=1e-4)
    pool = answer["pools"]["threads"]
    for key in ("utilization", "held", "waiting"):
        low, high = pool["confidence_interval"][key]
        assert low < pool[key] < high
    low, high = pool["confidence_interval"]["waiting_time_s.web"]
    assert low < pool["waiting_time_s"]["web"] < high
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["model", "solve", path]) == 0
    text = capsys.readouterr().out
    # The knee is (0.05 + 1) / 0.05 = 21, with the interval 19.3 to 23.1. The half width is 1.9, so one decimal is
    # printed.
    assert "waiting begins to dominate at 21.0 [19.3, 23.1] users" in text
    row = next(line for line in text.splitlines() if "threads" in line)
    assert row.count("[") == 4


def test_a_table_shows_an_upper_end_that_is_open(tmp_path: Path, capsys: Any) -> None:
    """A fifth of the replicates have no steady state, so the upper end of the interval is printed as unbounded."""
    assert run(["model", "solve", written(tmp_path, fitted([*FACTORS[:150], *[2.5] * 50]))]) == 0
    assert "100 [82, unbounded] ms" in capsys.readouterr().out


def test_the_table_has_the_digits_that_the_fit_supports(tmp_path: Path, capsys: Any) -> None:
    assert run(["model", "solve", written(tmp_path, fitted(FACTORS))]) == 0
    text = capsys.readouterr().out
    # The response time is 0.1 s, with the interval from 0.05 * 0.905 / (1 - 0.4525) = 82.6 ms to 121.0 ms. The half
    # width is 19 ms, so whole milliseconds are printed.
    assert "100 [83, 121] ms" in text
    assert "in 201 replicates of the fit" in text
    assert run(["model", "solve", written(tmp_path, OPEN.replace("50", "51") + RANGE)]) == 0
    text = capsys.readouterr().out
    # The response time is 0.051 / (1 - 0.51) = 104.08 ms.
    assert "104 ms" in text
    assert "104.1 ms" not in text
    assert "the error of the fitted demands is unknown" in text


def test_simulation_says_that_its_intervals_are_without_the_error_of_the_fit(tmp_path: Path, capsys: Any) -> None:
    options = ["--precision", "5 %"]
    answer = document_of(capsys, "model", "simulate", written(tmp_path, fitted(FACTORS)), *options)
    assert any(
        "include the error of the simulation, but not the error of the fit" in text for text in answer["warnings"]
    )
    assert document_of(capsys, "model", "simulate", written(tmp_path, OPEN), *options)["warnings"] == []


def test_a_share_just_below_all_is_above_99_9_per_cent() -> None:
    assert percent(1 - 1e-14) == percent(0.9996) == "above 99.9 %"
    assert (percent(1.0), percent(0.9991)) == ("100.0 %", "99.9 %")
    assert share_estimate(1 - 1e-14, 1 - 2e-14, 1 - 1e-15) == "above 99.9 %"
    assert share_estimate(0.99996, 0.99995, 0.99997) == "99.9960 [99.9950, 99.9970] %"
