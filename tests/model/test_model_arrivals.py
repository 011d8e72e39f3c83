"""Jobs that stop waiting, arrive in batches, or have uniformly distributed times, compared with exact values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from towtank.cli import main

SHORT = ("--precision", "1.5 %", "--seed", "7")


def answered(capsys: Any, command: str, text: str, folder: Path, *more: str) -> dict[str, Any]:
    path = folder / "model.yaml"
    path.write_text(text, "utf-8")
    status = main(["model", command, str(path), *more, "--json"])
    printed = capsys.readouterr()
    assert status == 0, printed.err
    return dict(json.loads(printed.out))


def erlang_a(rate: float, service_s: float, servers: int, patience_s: float) -> tuple[float, float]:
    """Return the share of jobs that give up, and the mean number in the system, of an M/M/m + M queue.

    With n jobs, the min(n, m) jobs in service leave at the rate min(n, m) / S. Each of the other jobs gives up at the
    rate 1 / T, where T is the mean patience (C. Palm, "Research on telephone traffic carried by full availability
    groups", Tele 1, 1957).
    """
    weights = [1.0]
    for jobs in range(1, 600):
        leaves = min(jobs, servers) / service_s + max(jobs - servers, 0) / patience_s
        weights.append(weights[-1] * rate / leaves)
    total = sum(weights)
    waiting = sum(max(jobs - servers, 0) * weight for jobs, weight in enumerate(weights)) / total
    present = sum(jobs * weight for jobs, weight in enumerate(weights)) / total
    return waiting / patience_s / rate, present


@pytest.mark.parametrize(("rate", "servers", "patience_s"), [(9.0, 10, 0.5), (12.0, 10, 2.0), (0.8, 1, 3.0)])
def test_callers_who_give_up_are_those_of_erlang_a(
    tmp_path: Path, capsys: Any, rate: float, servers: int, patience_s: float
) -> None:
    """The rate of callers who give up, and the mean number of callers, are those of the formula.

    In the second case, 12 calls/s arrive at 10 agents who serve 1 call/s each. If no caller gave up, the queue would
    grow without end.
    """
    text = (
        f"classes: {{calls: {{rate: {rate} /s, patience: {patience_s} s}}}}\n"
        f"stations: {{agents: {{servers: {servers}, service_time: 1 s}}}}\n"
    )
    found = answered(capsys, "simulate", text, tmp_path, *SHORT)
    lost, present = erlang_a(rate, 1.0, servers, patience_s)
    calls = found["classes"]["calls"]
    assert calls["timed_out_per_s"] == pytest.approx(lost * rate, rel=0.05)
    assert calls["throughput_per_s"] == pytest.approx((1 - lost) * rate, rel=0.02)
    assert found["stations"]["agents"]["queue_length"] == pytest.approx(present, rel=0.04)


@pytest.mark.parametrize(("sizes", "second"), [("constant", 5.0), ("geometric", 9.0)])
def test_arrivals_in_batches_wait_for_each_other(tmp_path: Path, capsys: Any, sizes: str, second: float) -> None:
    """In M[X]/M/1, the mean number in the system is rho (1 + E X^2 / E X) / (2 (1 - rho)) for batches of X jobs
    (Gross, Shortle, Thompson and Harris, *Fundamentals of Queueing Theory*, 4th ed., 2008, section 3.1).

    E X^2 / E X is 5 for batches of exactly 5 jobs, and 2 x 5 - 1 = 9 for geometric batch sizes with the mean 5.
    """
    job_class = f"rate: 6 /s, batch: 5, batch_sizes: {sizes}"
    text = f"classes: {{jobs: {{{job_class}}}}}\nstations: {{s: {{service_time: 100 ms}}}}\n"
    found = answered(capsys, "simulate", text, tmp_path, *SHORT)
    assert found["classes"]["jobs"]["throughput_per_s"] == pytest.approx(6.0, rel=0.03)
    assert found["stations"]["s"]["queue_length"] == pytest.approx(0.6 * (1 + second) / 0.8, rel=0.05)


def test_times_between_two_bounds_are_uniform(tmp_path: Path, capsys: Any) -> None:
    """Times between 40 and 160 ms have the mean 100 ms and scv ((160 - 40) / (160 + 40))^2 / 3 = 0.12.

    The mean response time of M/G/1 is S + rho S (1 + scv) / (2 (1 - rho)). At a station where no job waits, the
    percentiles of the response time are those of the service time.
    """
    text = "classes: {jobs: {rate: 6 /s}}\nstations: {s: {service_time: 100 ms, distribution: uniform, scv: 0.12}}\n"
    solved = answered(capsys, "solve", text, tmp_path)
    exact = 0.1 + 0.6 * 0.1 * 1.12 / 0.8
    assert solved["exact"]
    assert solved["classes"]["jobs"]["response_time_s"] == pytest.approx(exact, rel=1e-9)
    found = answered(capsys, "simulate", text, tmp_path, *SHORT)
    assert found["classes"]["jobs"]["response_time_s"] == pytest.approx(exact, rel=0.03)
    alone = answered(capsys, "simulate", text.replace("{service", "{discipline: delay, service"), tmp_path, *SHORT)
    for name, share in (("p50", 0.5), ("p95", 0.95)):
        assert alone["classes"]["jobs"]["response_time_percentiles_s"][name] == pytest.approx(
            0.04 + 0.12 * share, rel=0.01
        )


def test_a_full_station_with_times_between_two_bounds_is_solved(tmp_path: Path, capsys: Any) -> None:
    """An M/G/1/2 station holds two jobs. It loses the fraction 1 - 1 / (p + a) of the arrivals.

    a = 6 /s x 0.1 s = 0.6 is the offered load. p is the probability of no arrival during a service: the mean of exp(-6
    t) over service times t from 40 to 160 ms (from the Markov chain at departures).
    """
    text = (
        "classes: {jobs: {rate: 6 /s}}\n"
        "stations: {s: {capacity: 2, service_time: 100 ms, distribution: uniform, scv: 0.12}}\n"
    )
    found = answered(capsys, "solve", text, tmp_path)
    none = (math.exp(-0.24) - math.exp(-0.96)) / (0.96 - 0.24)
    assert found["stations"]["s"]["loss_probability"] == pytest.approx(1 - 1 / (none + 0.6), rel=1e-9)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("patience: 1 s, timeout: 2 s", "classes.jobs.patience: must not be given together with 'timeout'"),
        ("batch: 2.5", "classes.jobs.batch: must be a mean size from 1 to 100000, and a whole number"),
        ("batch_sizes: geometric", "classes.jobs.batch_sizes: must be given together with 'batch'"),
    ],
)
def test_wrong_arrivals_are_faults(tmp_path: Path, capsys: Any, key: str, message: str) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(f"classes: {{jobs: {{rate: 1 /s, {key}}}}}\nstations: {{s: {{service_time: 100 ms}}}}\n", "utf-8")
    assert main(["model", "simulate", str(path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("key", ["patience: 1 s", "batch: 2"])
def test_the_solver_refuses_arrivals_that_only_simulation_takes_into_account(
    tmp_path: Path, capsys: Any, key: str
) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(f"classes: {{jobs: {{rate: 1 /s, {key}}}}}\nstations: {{s: {{service_time: 100 ms}}}}\n", "utf-8")
    assert main(["model", "solve", str(path)]) == 2
    printed = capsys.readouterr().err
    assert f"classes.jobs.{key.partition(':')[0]}" in printed
    assert "only 'towtank model simulate' supports it" in printed


def test_jobs_give_up_in_queues_only(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "model.yaml"
    for station in ("discipline: lcfs-pr, service_time: 1 s", "rates: [1, 1.5], service_time: 1 s"):
        path.write_text(
            f"classes: {{jobs: {{rate: 0.5 /s, patience: 1 s}}}}\nstations: {{s: {{{station}}}}}\n", "utf-8"
        )
        assert main(["model", "simulate", str(path)]) == 2
        assert "stations.s" in capsys.readouterr().err
