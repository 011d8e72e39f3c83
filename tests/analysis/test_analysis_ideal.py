"""Line of ideal scaling, compared with exact models. It must not move if the think times at the lowest level deviate by
chance.
"""

from __future__ import annotations

import math
import random

import pytest

from towtank.analysis.aggregation import aggregate
from towtank.analysis.ideal import LAW, LOWEST, ideal_line, share_of_ideal
from towtank.analysis.limits import of_levels
from towtank.analysis.load_point import IdealScaling, LeavesIdeal
from towtank.analysis.run_summary import RunSummary

SERVICE_S, THINK_S, WINDOW_S = 0.01014, 1.0, 12.0


def repairman(users: int) -> tuple[float, float]:
    """Return throughput and mean response time of N users of one exponential server, by exact mean value analysis [1].

    [1] M. Reiser and S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks", Journal of the ACM
    27(2), 313-322, 1980, doi:10.1145/322186.322195.
    """
    queue = response = rate = 0.0
    for population in range(1, users + 1):
        response = SERVICE_S * (1 + queue)
        rate = population / (THINK_S + response)
        queue = rate * response
    return rate, response


def estimate(value: float, half: float, n: int = 12) -> dict[str, object]:
    low, high = value - half, value + half
    return {"value": value, "low": low, "high": high, "confidence": 0.95, "method": "batch means", "n": n}


def run_of(users: int, draws: random.Random | None = None, *, think_s: float | None = None) -> dict[str, object]:
    """Return the summary of a window with random think times. If `draws` is None, the mean think time is exact."""
    rate, response = repairman(users)
    count = rate * WINDOW_S
    think = THINK_S if think_s is None else think_s
    # Mean of `count` exponential think times; its relative standard error is 1 / sqrt(count).
    drawn = think * (draws.gauss(1, 1 / math.sqrt(count)) if draws else 1.0)
    seen = users / (drawn + response)
    times = {key: estimate(response, 0.1 * response) for key in ("mean", "p50", "p90", "p95", "p99")}
    return {
        "run": f"r{users}", "factors": {}, "verdict": {"level": "valid", "reasons": []},
        "users": {"asked": users, "mean": users}, "rate": None,
        # 95 % interval of the throughput, a count of cycles with exponential think times.
        "throughput_per_s": estimate(seen, 2.2 * seen / math.sqrt(count)),
        "response_time_s": {**times, "min": 0.0, "max": 1.0}, "errors": {"share": 0.0}, "transactions": {},
        "tiers": {}, "host": {"disks": {}}, "window": {"start_s": 0.0, "end_s": WINDOW_S},
        "laws": {"little": {"n": users, "z_s": drawn, "x_per_s": seen, "r_s": response}},
    }  # fmt: skip


def levels(*runs):
    return [aggregate("users", run["users"]["asked"], [RunSummary.read(run)]) for run in runs]


def test_mean_value_analysis_gives_the_known_throughputs():
    # A server with a service time of 10.14 ms has the exact throughputs 19.75, 76.92 and 96.36 per second at 20, 80 and
    # 110 users.
    assert [repairman(users)[0] for users in (20, 80, 110)] == pytest.approx([19.75, 76.92, 96.36], abs=0.01)


def test_the_line_is_that_of_the_response_time_law():
    rows = levels(*(run_of(users) for users in (20, 50, 80)))
    line = ideal_line(rows)
    assert line.method == LAW
    assert line.per_user_per_s == pytest.approx(1 / (THINK_S + repairman(20)[1]))
    assert line.interval.low < line.per_user_per_s < line.interval.high
    assert share_of_ideal(line.slope, rows[2].throughput, 80).value == pytest.approx(1 - 0.0264, abs=5e-4)


def test_think_times_drawn_at_the_lowest_level_do_not_move_the_line():
    # At the lowest level the mean of 265 think times is 11 % too short by chance; its standard error is 6 %.
    lowest = run_of(20)
    lowest["laws"]["little"]["z_s"], lowest["laws"]["little"]["x_per_s"] = 0.89, 22.0
    lowest["throughput_per_s"] = estimate(22.0, 2.5)
    rows = levels(lowest, run_of(50), run_of(80))
    line = ideal_line(rows)
    assert share_of_ideal(line.slope, rows[2].throughput, 80).value == pytest.approx(0.974, abs=0.02)
    assert of_levels.limit(rows, line).kind == "none"


def test_a_shortfall_that_is_chance_is_hardly_ever_stated():
    # At 80 users, the true throughput is 2.7 % below the ideal line, which cannot be distinguished from chance. At 150
    # users, beyond the knee at 99.6 users, it is 33 % below the line, which must be found.
    draws, low, short, seen = random.Random(1), 0, 0, 0
    for _ in range(300):
        rows = levels(*(run_of(users, draws) for users in (20, 50, 80)))
        found = of_levels.limit(rows, ideal_line(rows))
        low += "below the ideal line" in found.evidence
        short += found.kind == "unknown"
        beyond = levels(*(run_of(users, draws) for users in (20, 50, 80, 150)))
        seen += of_levels.limit(beyond, ideal_line(beyond)).leaves_ideal_at == LeavesIdeal(after=80, at=150)
    assert short == 0
    assert low <= 0.05 * 300
    assert seen >= 0.95 * 300


def test_a_pace_keeps_the_line_of_the_lowest_level():
    # With a pace of 1 s, users pause less as responses become slower, so that all cycles take 1 s.
    rows = []
    for users, response in ((20, 0.01), (40, 0.01), (80, 0.3)):
        run = run_of(users)
        run["laws"]["little"] = {"z_s": 1 - response, "x_per_s": float(users)}
        run["throughput_per_s"] = estimate(float(users), 0.1)
        rows.append(run)
    line = ideal_line(levels(*rows))
    assert (line.method, line.per_user_per_s) == (LOWEST, pytest.approx(1.0))


def test_failed_transactions_of_the_lowest_level_are_no_shortfall():
    rows = [run_of(users) for users in (20, 40)]
    for run in rows:
        run["errors"] = {"share": 0.2}
        value = 0.8 * run["throughput_per_s"]["value"]
        run["throughput_per_s"] = estimate(value, 0.1)
    points = levels(*rows)
    assert share_of_ideal(ideal_line(points).slope, points[1].throughput, 40).value == pytest.approx(1.0, abs=0.02)


def test_a_line_of_an_older_summary_gives_a_share_without_an_interval():
    rows = levels(run_of(20), run_of(40))
    older = IdealScaling.model_validate({"load": 20, "per_user_per_s": 0.5})
    share = share_of_ideal(older.slope, rows[1].throughput, 40)
    assert (share.low, share.high) == (None, None)


def test_an_open_load_has_the_line_of_its_lowest_level():
    runs = [{**run_of(20), "rate": {"asked": 20}, "laws": {"little": None}}]
    line = ideal_line([aggregate("rate", 20.0, list(map(RunSummary.read, runs)))])
    assert (line.rate, line.method) == (20, LOWEST)
