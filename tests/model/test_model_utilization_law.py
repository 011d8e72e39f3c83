"""The utilization law checks fitted curves: no limit may be above servers / demand.

A curve through the measurements of two different systems is reported as doubtful.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from towtank.cli import main
from towtank.model.fitting import utilization_law
from towtank.model.fitting.curves import FARTHEST
from towtank.model.fitting.goodness import FIT_REJECTED, Judgement
from towtank.model.fitting.observations import observations
from towtank.model.fitting.prediction import predict_curve
from towtank.model.fitting.selection import CLOSED_TOLERANCE, choose
from towtank.model.fitting.utilization_law import highest_throughput, judge_one_system

DEMAND_S, BACKGROUND, SERVERS = 0.0152, 0.1, 8
LIMIT = (SERVERS - BACKGROUND) / DEMAND_S


def seen(seed: int = 1, count: int = 60, change: float = 1.0) -> Any:
    """Return hourly measurements of a system. Its demand changes after half of the series by the factor `change`.

    The load varies with the time of day, and throughput follows Amdahl's law.
    """
    stream = np.random.default_rng(seed)
    load = 40 + 260 * np.abs(np.sin(np.arange(count) / 3.7))
    rates = load * 1.2 / (1 + 0.0006 * (load - 1)) * np.exp(0.01 * stream.standard_normal(count))
    demand = np.where(np.arange(count) < count // 2, DEMAND_S / change, DEMAND_S)
    busy = BACKGROUND + demand * rates * np.exp(0.01 * stream.standard_normal(count))
    return observations(load, rates, busy=busy, think=np.full(count, 0.5))


def test_all_servers_are_busy_at_the_throughput_of_the_utilization_law() -> None:
    """All 8 servers are busy at X = (8 - 0.1) / 0.0152 = 520 /s, because 0.1 + 15.2 ms X servers are busy at X."""
    value, most = highest_throughput(seen(), SERVERS) or (0.0, 0.0)
    assert value == pytest.approx(LIMIT, rel=0.03)
    assert value < most < 1.1 * LIMIT


def test_no_curve_has_a_limit_above_that_of_the_busy_servers() -> None:
    """Amdahl's law, fitted to these points, has the limit 1.2 / 0.0006 = 2,000 /s. The CPUs allow only a quarter of
    this.
    """
    choice = choose(("amdahl",), seen(), SERVERS, 0.5, None)
    assert choice.chosen is None
    assert "utilization law" in choice.why
    blind = observations(seen().load, seen().throughput)
    chosen = choose(("amdahl",), blind, SERVERS, 0.5, None).chosen
    assert chosen is not None


def test_a_limit_below_that_of_the_busy_servers_stands() -> None:
    """A lock limits throughput to 100 /s. This is below the 520 /s of the CPUs, so the utilization law does not reject
    the curve.
    """
    load = np.arange(2.0, 62.0, 2.0)
    rates = 10 * load / (1 + 0.1 * (load - 1)) * np.exp(0.005 * np.random.default_rng(2).standard_normal(len(load)))
    points = observations(load, rates, busy=BACKGROUND + DEMAND_S * rates)
    chosen = choose(("amdahl",), points, SERVERS, 0.0, None).chosen
    assert chosen is not None


def test_three_points_on_a_line_do_not_give_a_closed_system_without_demand() -> None:
    """A closed curve without demand, whose limit is a million transactions per second, is rejected.

    The server uses 1.6 ms of CPU time per transaction, at CPU utilizations of 6, 16 and 32 %, so one CPU allows about
    600 /s. Without the utilization law, the fit would attribute the busy CPU to background work.
    """
    points = observations(
        np.array([20.0, 60.0, 140.0]),
        np.array([25.7, 84.3, 197.7]),
        response=np.array([0.0081, 0.0113, 0.0243]),
        think=np.array([0.745, 0.692, 0.695]),
        busy=np.array([0.058, 0.164, 0.318]),
    )
    # Other programs use most of the CPU, and less of it under load.
    points = replace(points, others=np.array([0.94, 0.83, 0.68]))
    found = choose(("closed",), points, 1, 0.7, None).candidates[0]
    assert found.judgement.level == FIT_REJECTED
    assert any("utilization law" in text for _, text in found.judgement.reasons)


@pytest.mark.parametrize(
    ("curve", "factor", "is_rejected"),
    [
        ("closed", CLOSED_TOLERANCE - 0.01, False),
        ("closed", CLOSED_TOLERANCE + 0.01, True),
        ("usl", 0.99, False),
        ("usl", 1.01, True),
    ],
)
def test_the_limit_of_a_closed_system_may_exceed_the_bound_of_its_busy_servers_by_half(
    curve: str, factor: float, is_rejected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fitted curve is rejected if its limit exceeds the bound that follows from the busy servers by too much.

    In each case the limit is `factor` times the bound. The factor is slightly below or slightly above the tolerance,
    which is larger for a closed curve.
    """
    points = straight()
    fit = choose((curve,), points, SERVERS, 8.0, None).candidates[0].fit
    derived = fit.curve.derived(fit.parameters[None, :])
    limit = float(next(derived[name][0] for name in ("peak_throughput", "limit_throughput") if name in derived))
    if not np.isfinite(limit):
        limit = float(fit.throughput(np.array([FARTHEST * points.load.max()]))[0])
    monkeypatch.setattr(utilization_law, "highest_throughput", lambda *_: (limit / factor, limit / factor))
    found = choose((curve,), points, SERVERS, 8.0, None).candidates[0]
    reasons = [text for level, text in found.judgement.reasons if level == FIT_REJECTED]
    assert any("utilization law" in text for text in reasons) is is_rejected


def straight(seed: int = 1) -> Any:
    """Return measurements of a closed system far below its limit of 8 / 20 ms = 400 /s.

    Throughput is linear in the number of users, from 60 to 299 /s.
    """
    stream = np.random.default_rng(seed)
    load = np.linspace(500, 2400, 12).round()
    rates = load / 8.05 * (1 + 0.004 * stream.standard_normal(12))
    return observations(load, rates, busy=0.02 * rates * (1 + 0.01 * stream.standard_normal(12)) + 0.02)


@pytest.mark.parametrize("seed", range(3))
def test_no_prediction_is_above_all_servers_busy(seed: int) -> None:
    """A straight line would predict 497 /s for 4,000 users, but eight CPUs allow only 8 / 20 ms = 400 /s."""
    chosen = choose(("linear", "closed"), straight(seed), SERVERS, 8.0, None).chosen
    assert chosen is not None
    assert chosen.name == "closed"
    row = predict_curve(chosen, [4000.0], 8.0)[0]
    assert 0.95 * 400 < (row.throughput.curve if row.throughput else 0.0) < 1.02 * 400


def test_a_straight_line_alone_is_not_carried_above_all_servers_busy() -> None:
    choice = choose(("linear",), straight(), SERVERS, 8.0, None)
    assert choice.chosen is None
    assert "its prediction at a load of 4800 of 597 /s is above" in choice.why
    rows = predict_curve(choice.candidates[0], [2400.0, 4000.0], 8.0)
    assert rows[0].throughput is not None
    assert "rejected" in (rows[1].refused or "")


def test_a_straight_line_below_the_limit_of_the_servers_stands() -> None:
    points = straight()
    half = observations(points.load, points.throughput, busy=points.busy / 2)
    chosen = choose(("linear",), half, SERVERS, 8.0, None).chosen
    assert chosen is not None
    found = predict_curve(chosen, [4000.0], 8.0)[0].throughput
    assert found is not None
    assert found.curve == pytest.approx(4000 / 8.05, rel=0.01)


@pytest.mark.parametrize(("top", "known"), [(7.98, True), (8.01, True), (8.15, True), (8.2, False), (9.0, False)])
def test_the_law_bears_the_error_of_a_reading(top: float, known: bool) -> None:
    rates = np.array([100.0, 200.0, 300.0, 380.0, 396.0, 398.0])
    busy = np.array([2.0, 4.0, 6.0, 7.6, 7.95, top])
    found = highest_throughput(observations(10 * rates, rates, busy=busy), SERVERS)
    assert (found is not None) == known
    if found is not None:
        assert found[0] == pytest.approx(400, rel=0.01)


def test_two_regimes_in_one_curve_are_a_doubt() -> None:
    judgement = Judgement()
    judge_one_system(judgement, seen(change=1.3))
    assert judgement.level == "doubtful"
    # The system changes at the 31st point. The test must name this point, although the fitted line runs between the two
    # systems.
    assert "at point 31 " in judgement.reasons[0][1]


def test_one_regime_is_none() -> None:
    doubted = 0
    for seed in range(50):
        judgement = Judgement()
        judge_one_system(judgement, seen(seed))
        doubted += judgement.level != "supported"
    assert doubted <= 1


def test_the_command_reports_both_reasons(tmp_path: Path, capsys: Any) -> None:
    points = seen(change=1.3)
    rows = sorted(zip(points.place, points.load, points.throughput, points.busy, strict=True))
    text = "users,throughput,busy\n" + "\n".join(f"{n:.5g},{x:.6g},{u:.6g}" for _, n, x, u in rows) + "\n"
    (tmp_path / "hours.csv").write_text(text, "utf-8")
    options = ("--busy", "busy", "--servers", "8", "--think", "0.5 s", "--json")
    main(["model", "fit", "amdahl", str(tmp_path / "hours.csv"), *options])
    reasons = [reason["text"] for reason in json.loads(capsys.readouterr().out)["verdict"]["reasons"]]
    assert any("utilization law" in reason for reason in reasons)
    assert any("more than one system" in reason for reason in reasons)
