from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from sizing import sized, written

from towtank.cli import main
from towtank.model.percentiles import erlang_b
from towtank.model.waiting import mmm_wait

TRUNK = """
classes:
  calls: {rate: 8.108 /s}
stations:
  trunk: {servers: 1, capacity: 5, service_time: 1 s}
"""


def cpus(found: dict[str, Any], tier: str = "trunk") -> int:
    return int(found["answer"]["tiers"][tier]["cpus"])


def mmmk_loss(work: float, servers: int, room: int) -> float:
    """Return the share of arrivals that an M/M/m/K queue loses, from its birth-death chain."""
    weights = [1.0]
    for jobs in range(1, room + 1):
        weights.append(weights[-1] * work / min(jobs, servers))
    return weights[-1] / sum(weights)


def test_candidates_with_more_servers_than_room_are_left_out(tmp_path: Path, capsys: Any) -> None:
    """Of 1 to 20 CPUs, the 15 options with more than 5 CPUs are left out, because the station holds at most 5 jobs.

    3 CPUs meet the objective of 2 s: an M/M/3/5 queue has a response time of 1.51 s.
    """
    model = written(tmp_path, "model.yaml", TRUNK)
    question = (model, "--objective", "mean < 2 s", "--cpus", "trunk=1..20")
    for more in ((), ("--exhaustive",)):
        found = sized(capsys, *question, *more)
        assert cpus(found) == 3
        assert any(
            "15 options were left out because they have more CPUs" in doubt for doubt in found["trust"]["doubts"]
        )


def test_a_tier_without_an_option_that_fits_is_refused(tmp_path: Path, capsys: Any) -> None:
    model = written(tmp_path, "model.yaml", TRUNK)

    assert main(["size", model, "--objective", "mean < 2 s", "--cpus", "trunk=6..9"]) == 2
    assert "tiers.trunk.cpus: must allow at most 5 CPUs" in capsys.readouterr().err


def test_dropped_arrivals_without_an_objective_are_a_doubt(tmp_path: Path, capsys: Any) -> None:
    """One CPU serves 1 /s, but 8.108 /s arrive: M/M/1/5 drops 87.7 % of the arrivals.

    Only accepted arrivals have a response time. With at most 5 jobs in the station, the response time is below 6 s at
    any arrival rate.
    """
    model = written(tmp_path, "model.yaml", TRUNK)
    found = sized(capsys, model, "--objective", "mean < 6 s", "--cpus", "trunk=1..5")
    lost = mmmk_loss(8.108, 1, 5)
    assert lost == pytest.approx(0.877, abs=5e-4)
    doubt = next(doubt for doubt in found["trust"]["doubts"] if "drop" in doubt)
    assert "full stations drop 87.7 % of the arrivals" in doubt
    assert "give `loss < 1 %`" in doubt
    assert "of which full stations drop above 99.9 %" in found["answer"]["no_limit"]


@pytest.mark.parametrize(("most", "needed"), [(0.01, 15), (0.05, 13), (0.2, 9)])
def test_loss_is_an_objective(tmp_path: Path, capsys: Any, most: float, needed: int) -> None:
    """By Erlang's loss formula, 8.108 erlang need the given number of trunks (lines) to meet the objective; one trunk
    less does not suffice.
    """
    assert erlang_b(needed, 8.108) <= most < erlang_b(needed - 1, 8.108)
    for count in (needed - 1, needed):
        model = written(tmp_path, "model.yaml", TRUNK.replace("capacity: 5", f"capacity: {count}"))
        options = ("--objective", f"loss < {100 * most:g} %", "--cpus", f"trunk={count}")
        found = sized(capsys, model, *options, status=0 if count == needed else 3)
        assert (found["answer"] is not None) == (count == needed)
    objective = found["answer"]["scenarios"][0]["objectives"][0]
    assert objective["value"] == pytest.approx(erlang_b(needed, 8.108), rel=1e-9)
    assert objective["shown"].endswith("%")
    assert not any("full stations drop" in doubt for doubt in found["trust"]["doubts"])
    # The load limit is the load at which the loss equals the limit of its objective.
    at_limit = float(found["answer"]["load_at_limit"])
    assert erlang_b(needed, at_limit) == pytest.approx(most, rel=0.01)


def test_the_probability_counts_losses(tmp_path: Path, capsys: Any) -> None:
    """The probability of the answer is the fraction of random samples whose loss meets the objective of 1 %.

    The service time S is 1 s on average, with a relative standard deviation of 10 %. The loss is at most 1 % if S <=
    1.012 s, which holds for about half of the random values of S.
    """
    model = written(tmp_path, "model.yaml", TRUNK.replace("capacity: 5", "capacity: 15"))
    assert erlang_b(15, 8.108) < 0.01 < erlang_b(15, 8.3)
    options = ("--objective", "loss < 1 %", "--cpus", "trunk=15", "--uncertainty", "10 %", "--probability", "10 %")
    found = sized(capsys, model, *options)
    assert 0.4 < found["answer"]["probability"] < 0.65


AGENTS = """
classes:
  calls: {rate: 200 /h}
stations:
  agents: {servers: 11, service_time: 180 s}
"""


@pytest.mark.parametrize(("share", "needed"), [("80", 14), ("95", 16), ("99.5", 19)])
def test_waiting_time_is_an_objective(tmp_path: Path, capsys: Any, share: str, needed: int) -> None:
    """The sizing finds the number of agents that answers a given fraction of calls within 20 s.

    P(W <= t) = 1 - C exp(-(m - a) t / S) with Erlang's C, m agents, load a and service time S.
    """
    model = written(tmp_path, "model.yaml", AGENTS)
    found = sized(capsys, model, "--objective", f"{share} % wait < 20 s", "--cpus", "agents=11..30")
    assert cpus(found, "agents") == needed
    part = float(share) / 100
    value = found["answer"]["scenarios"][0]["objectives"][0]["value"]
    assert value == pytest.approx(mmm_wait(200 / 3600, 180.0, needed, part), rel=1e-9)
    assert mmm_wait(200 / 3600, 180.0, needed - 1, part) > 20


def test_waits_of_a_full_station_count_the_arrivals_that_find_room() -> None:
    """In an M/M/1/2 queue, an accepted arrival finds one job with probability a / (1 + a). It then waits for an
    exponential time; otherwise it does not wait.
    """

    work, time = 0.8, 2.0
    waits = work / (1 + work)
    assert mmm_wait(work / time, time, 1, 0.9, 2) == pytest.approx(time * math.log(waits / 0.1), rel=1e-9)
    assert mmm_wait(work / time, time, 1, 0.5, 2) == 0.0
    assert mmm_wait(3.0, 1.0, 4, 0.99, 4) == 0.0
    # If the queue has much space, the result equals that of an unlimited queue.
    assert mmm_wait(0.8, 1.0, 1, 0.95, 400) == pytest.approx(mmm_wait(0.8, 1.0, 1, 0.95), rel=1e-9)


def test_waits_where_jobs_share_the_servers_are_refused(tmp_path: Path, capsys: Any) -> None:

    model = written(tmp_path, "model.yaml", AGENTS.replace("180 s", "180 s, discipline: ps"))
    assert main(["size", model, "--objective", "80 % wait < 20 s"]) == 2
    assert "objectives[0]: must be about a class that waits in a queue" in capsys.readouterr().err


@pytest.mark.parametrize("percent", ["80", "97.5"])
def test_any_percentile_is_an_objective(tmp_path: Path, capsys: Any, percent: str) -> None:
    """For M/M/1 a percentile of the response time is -ln(1 - share) S / (1 - rho)."""

    model = written(tmp_path, "model.yaml", "classes: {jobs: {rate: 8 /s}}\nstations: {app: {service_time: 100 ms}}\n")
    found = sized(capsys, model, "--objective", f"p{percent} < 3 s", "--cpus", "app=1")
    value = found["answer"]["scenarios"][0]["objectives"][0]["value"]
    assert value == pytest.approx(-math.log(1 - float(percent) / 100) * 0.1 / 0.2, rel=1e-9)


@pytest.mark.parametrize("text", ["p0 < 1 s", "p100 < 1 s", "0 % wait < 1 s", "loss > 1 %", "loss < 2 s", "wait < 1 s"])
def test_other_objectives_are_refused_in_a_line(tmp_path: Path, capsys: Any, text: str) -> None:

    model = written(tmp_path, "model.yaml", AGENTS)
    assert main(["size", model, "--objective", text]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("<command line>: objectives[0]: must ")
    assert "Traceback" not in printed


@pytest.mark.parametrize(("variation", "by"), [("", "exact"), (", scv: 3", "approximate")])
def test_a_waiting_time_states_how_it_was_computed(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, variation: str, by: str
) -> None:
    """The mean of M/G/1 is exact, but percentiles of its waiting time are those of a gamma distribution."""
    monkeypatch.setenv("COLUMNS", "200")
    text = f"classes: {{jobs: {{rate: 5 /s}}}}\nstations: {{app: {{service_time: 100 ms{variation}}}}}\n"
    model = written(tmp_path, "model.yaml", text)
    assert main(["size", model, "--objective", "80 % wait < 2 s", "--cpus", "app=1"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "all up" in line]
    assert line.split("│")[-2].strip() == by
