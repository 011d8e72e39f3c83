"""Sizes by interval of a day, for a load that changes over the day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from sizing import sized, written

from towtank.cli import main
from towtank.model.waiting import mmm_wait
from towtank.sizing.by_interval import REMAINS_AT_MOST, remaining

AGENTS = """
classes:
  calls: {rate: 200 /h}
stations:
  agents: {servers: 11, service_time: 180 s}
"""
DAY = "time,load\n08:00,50\n08:30,100\n09:00,200\n09:30,120\n10:00,0\n"


def erlang_c_agents(rate_per_s: float, service_s: float, share: float, within_s: float) -> int:
    """Return the least number of agents with which a share of the calls waits at most a given time, by Erlang's C."""
    agents = int(rate_per_s * service_s) + 1
    while mmm_wait(rate_per_s, service_s, agents, share) > within_s:
        agents += 1
    return agents


def test_each_interval_gets_the_agents_of_its_load(tmp_path: Path, capsys: Any) -> None:
    """By Erlang's C, 50, 100, 200 and 120 calls an hour of 180 s each need 5, 8, 14 and 9 agents, so that 80 % wait
    for less than 20 s.

    If each number is needed for half an hour, this makes 18 agent hours. 14 agents for two and a half hours are 35
    agent hours.
    """
    model, day = written(tmp_path, "model.yaml", AGENTS), written(tmp_path, "day.csv", DAY)
    found = sized(
        capsys, model, "--objective", "80 % wait < 20 s", "--cpus", "agents=1..30", "--profile", day
    )  # fmt: skip
    rows = found["profile"]["intervals"]
    needed = [erlang_c_agents(calls / 3600, 180.0, 0.8, 20.0) for calls in (50, 100, 200, 120)]
    assert needed == [5, 8, 14, 9]
    assert [row["tiers"]["agents"]["cpus"] for row in rows[:4]] == needed
    assert rows[4]["cost"] == 0
    assert not rows[4]["tiers"]
    assert [row["interval"] for row in rows] == [
        "08:00 to 08:30", "08:30 to 09:00", "09:00 to 09:30", "09:30 to 10:00", "10:00 to 10:30",
    ]  # fmt: skip
    assert [row["load"] * 3600 for row in rows] == pytest.approx([50, 100, 200, 120, 0])
    assert found["profile"]["cost_hours"] == pytest.approx(18)
    assert found["profile"]["cost_hours_fixed"] == pytest.approx(35)
    # The answer is the hardware for the busiest interval.
    assert found["answer"]["tiers"]["agents"]["cpus"] == 14


def test_the_busiest_interval_has_the_load_with_growth_and_headroom(tmp_path: Path, capsys: Any) -> None:
    """60 users x 1.5 (peak) x 1.2 (growth of a year) x 1.25 (headroom) are 135 users in the busiest interval.

    The other interval has half of them, 67.5.
    """
    model = "classes: {web: {users: 60, think: 2 s}}\nstations: {app: {servers: 2, demand: 40 ms}}\n"
    sizing = (
        "schema: towtank/sizing/1\nobjectives: [mean < 200 ms]\nheadroom: 25 %\ntiers: {app: {cpus: 1..16}}\n"
        "load: {peak: 1.5, growth: 20 % / year, horizon: 1 year, profile: {csv: day.csv, time: from, load: busy}}\n"
    )
    written(tmp_path, "day.csv", "from,busy\n22:00,0.5\n23:00,1\n")
    found = sized(
        capsys, written(tmp_path, "model.yaml", model), "--for", written(tmp_path, "sizing.yaml", sizing)
    )  # fmt: skip
    rows = found["profile"]["intervals"]
    assert [row["load"] for row in rows] == pytest.approx([67.5, 135.0], rel=1e-3)
    assert rows[1]["interval"] == "23:00 to 24:00"
    assert rows[0]["tiers"]["app"]["cpus"] < rows[1]["tiers"]["app"]["cpus"]


def test_an_interval_without_an_answer_has_its_reasons(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", AGENTS)
    day = written(tmp_path, "day.csv", DAY)
    options = ("--objective", "80 % wait < 20 s", "--cpus", "agents=1..9", "--profile", day)
    found = sized(capsys, model, *options, status=3)
    rows = found["profile"]["intervals"]
    assert [row["configuration"] is None for row in rows] == [False, False, True, False, False]
    assert rows[2]["why_not"]
    assert found["profile"]["cost_hours"] is None


def test_all_faults_of_a_profile_come_at_once(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", AGENTS)
    day = written(tmp_path, "day.csv", "time,load\n08:00,50\n8:61,1\n07:00,2\n09:00,-1\n10:00,many\n11:00\n")
    assert main(["size", model, "--objective", "mean < 1 h", "--profile", day]) == 2
    printed = capsys.readouterr().err
    for place in (":3:1:", ":4:1:", ":5:2:", ":6:2:", ":7"):
        assert f"{day}{place}" in printed
    assert "must be a time of day from 00:00 to 23:59" in printed
    assert "must be later than the interval before it, 08:00" in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,load\n08:00,50\n", "must have 2 to 288 intervals"),
        ("time,load\n08:00,0\n09:00,0\n", "must have a load above 0"),
        ("hour,load\n08:00,0\n", "must have the column 'time'"),
        ("", "must have the column 'time'"),
    ],
)
def test_a_profile_without_a_shape_is_refused(tmp_path: Path, capsys: Any, text: str, message: str) -> None:
    model, day = written(tmp_path, "model.yaml", AGENTS), written(tmp_path, "day.csv", text)
    assert main(["size", model, "--objective", "mean < 1 h", "--profile", day]) == 2
    assert message in capsys.readouterr().err


def present(rate_per_s: float, service_s: float, servers: int, start: Any, length_s: float) -> tuple[float, Any]:
    """Return the mean number of jobs of an M/M/m queue over an interval, from its Markov chain, and the distribution at
    the end of the interval.
    """
    size = len(start)
    rates = np.zeros((size, size))
    for jobs in range(size - 1):
        rates[jobs, jobs + 1] = rate_per_s
        rates[jobs + 1, jobs] = min(jobs + 1, servers) / service_s
    rates -= np.diag(rates.sum(axis=1))
    # Van Loan's block matrix gives the integral of exp(Q t) over the interval together with exp(Q L).
    block = np.block([[rates, np.eye(size)], [np.zeros((size, size)), np.zeros((size, size))]])
    whole = scipy.linalg.expm(block * length_s)
    return float(start @ whole[:size, size:] @ np.arange(size)) / length_s, start @ whole[:size, :size]


def steady(rate_per_s: float, service_s: float, servers: int, size: int) -> Any:
    weights = np.ones(size)
    for jobs in range(1, size):
        weights[jobs] = weights[jobs - 1] * rate_per_s * service_s / min(jobs, servers)
    return weights / weights.sum()


def test_the_part_that_remains_is_exact_without_a_queue() -> None:
    """If no job waits, the excess of jobs from a busier interval decays exponentially with the service time.

    After a fall from 10 to 6 erlang, the mean excess over the next interval, as a fraction of the fall, must be that of
    `remaining`. The Markov chain of 60 servers, where almost no job waits, gives the true value.
    """
    service, length, many = 180.0, 1800.0, 60
    start = steady(200 / 3600, service, many, many)
    mean, _ = present(120 / 3600, service, many, start, length)
    assert (mean - 6.0) / (10.0 - 6.0) == pytest.approx(remaining(service, length), rel=1e-6)


@pytest.mark.parametrize(
    ("service_s", "length_s", "late"), [(20.0, 900.0, True), (20.0, 3600.0, False), (180.0, 1800.0, True)]
)
def test_work_that_remains_from_the_interval_before_is_a_doubt(
    tmp_path: Path, capsys: Any, service_s: float, length_s: float, *, late: bool
) -> None:
    """The load falls from 10 to 6 erlang.

    If the sizing states no doubt about remaining work, the mean number of jobs over the interval, from the Markov
    chain, exceeds its steady value by at most 5 % of the fall.
    """
    begin = int(8 * 3600 + length_s)
    day = f"time,load\n08:00,10\n{begin // 3600:02d}:{begin % 3600 // 60:02d},6\n"
    model = AGENTS.replace("200 /h", f"{10 / service_s} /s").replace("180 s", f"{service_s} s")
    found = sized(
        capsys, written(tmp_path, "model.yaml", model), "--objective", f"80 % wait < {service_s / 9} s",
        "--cpus", "agents=1..30", "--profile", written(tmp_path, "day.csv", day),
    )  # fmt: skip
    many, few = (row["tiers"]["agents"]["cpus"] for row in found["profile"]["intervals"])
    places = 120
    before, after = steady(10 / service_s, service_s, many, places), steady(6 / service_s, service_s, few, places)
    mean, _ = present(6 / service_s, service_s, few, before, length_s)
    states = np.arange(places)
    left = (mean - float(after @ states)) / float((before - after) @ states)
    doubted = any("the work of the busier interval" in doubt for doubt in found["trust"]["doubts"])
    assert doubted == late
    assert late or left <= REMAINS_AT_MOST


@pytest.mark.parametrize(
    ("day", "late"),
    [
        ("08:00,100\n08:30,100\n", None),
        ("08:00,50\n08:30,100\n", None),
        ("08:00,100\n08:30,50\n", "08:30 to 09:00"),
        ("00:00,50\n00:30,60\n01:00,100\n", None),
        ("00:00,50\n00:30,60\n23:30,100\n", "00:00 to 00:30"),
    ],
    ids=["equal", "rising", "falling", "a part of the day", "a whole day"],
)
def test_work_remains_only_from_a_busier_interval_just_before(
    tmp_path: Path, capsys: Any, day: str, late: str | None
) -> None:
    """A doubt is stated for an interval only if the interval just before it is busier.

    With calls of 180 s, 180 / 1800 = 10 % of a fall of the load remain in the next half hour, more than the allowed 5
    %. In a complete day, the last interval counts as the interval before the first.
    """
    found = sized(
        capsys, written(tmp_path, "model.yaml", AGENTS), "--objective", "80 % wait < 20 s",
        "--cpus", "agents=1..30", "--profile", written(tmp_path, "day.csv", f"time,load\n{day}"),
    )  # fmt: skip
    doubts = [doubt for doubt in found["trust"]["doubts"] if "the work of the busier interval" in doubt]
    begins = [] if late is None else [f"the work of the busier interval before {late} remains in it: "]
    assert [doubt[: len(begin)] for doubt, begin in zip(doubts, begins, strict=True)] == begins
