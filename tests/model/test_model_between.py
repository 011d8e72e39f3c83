from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towtank.cli import main
from towtank.model.engine_model import Variation
from towtank.model.loading import load_model

DISK = """classes: {jobs: {rate: 6 /s}}
stations:
  disk:
    service_time: between(40 ms, 160 ms)
"""


def ended(capsys: Any, command: str, text: str, folder: Path, *more: str) -> tuple[int, str, str]:
    path = folder / "model.yaml"
    path.write_text(text, "utf-8")
    status = main(["model", command, str(path), *more])
    printed = capsys.readouterr()
    return status, printed.out, printed.err.replace(f"{path}:", "")


@pytest.mark.parametrize("command", ["solve", "simulate"])
def test_a_station_with_times_between_bounds_is_that_with_their_mean_and_variation(
    tmp_path: Path, capsys: Any, command: str
) -> None:
    """M/G/1 with the mean S = 100 ms and the variance (120 ms)^2 / 12 has the response time S + rho S (1 + scv) / (2
    (1 - rho)), with scv = 0.12.
    """
    status, out, err = ended(capsys, command, DISK, tmp_path, "--json")
    assert status == 0, err
    response_s = json.loads(out)["classes"]["jobs"]["response_time_s"]
    assert response_s == pytest.approx(0.1 + 0.6 * 0.1 * 1.12 / 0.8, rel=1e-9 if command == "solve" else 0.02)


def test_times_between_bounds_are_uniform(tmp_path: Path, capsys: Any) -> None:
    """At a delay station the response time equals the service time, so its percentile p is 40 ms + p x 120 ms."""
    text = DISK.replace("disk:\n", "disk:\n    discipline: delay\n")
    found = json.loads(ended(capsys, "simulate", text, tmp_path, "--json")[1])
    shown = found["classes"]["jobs"]["response_time_percentiles_s"]
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        assert shown[name] == pytest.approx(0.04 + 0.12 * share, rel=0.01)


def test_all_mean_times_take_bounds(tmp_path: Path) -> None:
    text = """classes:
  web: {users: 3, think: "between(0 s, 10 s)"}
  batch: {rate: 1 /s}
stations:
  cpu: {demand: {web: "between(1 s, 3 s)", batch: 20 ms}, scv: {batch: 4}}
  disk: {service_time: " between (10 ms , 30 ms) ", visits: 2}
"""
    path = tmp_path / "model.yaml"
    path.write_text(text, "utf-8")
    model = load_model(path).document
    web = model.classes[0]
    assert web.think_time_s == 5.0
    assert (web.think.distribution, web.think.scv) == ("uniform", pytest.approx(1 / 3))
    cpu, disk = (station.services for station in model.stations)
    assert cpu[0].service_time_s == 2.0
    # The scv is the variance (3 - 1)^2 / 12 divided by the squared mean 2^2.
    assert (cpu[0].variation.distribution, cpu[0].variation.scv) == ("uniform", pytest.approx(4 / 12 / 4))
    assert cpu[1].variation == Variation(scv=4.0)
    assert disk[0].service_time_s == pytest.approx(0.02)
    assert disk[1].variation.scv == pytest.approx((0.02**2 / 12) / 0.02**2)


def test_a_value_from_the_command_line_may_have_bounds(tmp_path: Path, capsys: Any) -> None:
    text = DISK.replace("between(40 ms, 160 ms)", "1 ms")
    change = ("--set", "stations.disk.service_time=between(40 ms, 160 ms)", "--json")
    assert ended(capsys, "solve", text, tmp_path, *change)[1] == ended(capsys, "solve", DISK, tmp_path, "--json")[1]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (
            "between(30 ms, 10 ms)",
            "must be between a shorter and a longer duration, got 'between(30 ms, 10 ms)' instead",
        ),
        (
            "between(10 ms, 10 ms)",
            "must be between a shorter and a longer duration, got 'between(10 ms, 10 ms)' instead",
        ),
        ("between(-1 ms, 10 ms)", "at least 0, got '-1 ms' instead"),
        ("between(1, 10 ms)", "must be a duration in"),
        ("between(1 ms)", "must be two durations as between(10 ms, 30 ms), in quotes within braces, got"),
        ("between(1 ms, 2 ms, 3 ms)", "must be two durations as between(10 ms, 30 ms), in quotes within braces, got"),
    ],
)
def test_wrong_bounds_are_faults(tmp_path: Path, capsys: Any, bounds: str, message: str) -> None:
    status, _, err = ended(capsys, "solve", DISK.replace("between(40 ms, 160 ms)", bounds), tmp_path)
    (fault,) = (line for line in err.splitlines() if line.startswith("4:19: stations.disk.service_time: "))
    assert status == 2
    assert message in fault


@pytest.mark.parametrize("key", ["distribution: gamma", "scv: 1", "samples: {jobs: [1 ms, 3 ms]}"])
def test_bounds_exclude_another_distribution(tmp_path: Path, capsys: Any, key: str) -> None:
    status, _, err = ended(capsys, "simulate", f"{DISK}    {key}\n", tmp_path)
    name = key.partition(":")[0]
    assert status == 2
    assert f"stations.disk.{name}: must be left out for 'jobs': between(40 ms, 160 ms) is a distribution\n" in err


def test_bounds_of_the_think_time_exclude_another_distribution(tmp_path: Path, capsys: Any) -> None:
    text = (
        'classes: {jobs: {users: 2, think: "between(1 s, 3 s)", think_scv: 1, think_distribution: gamma}}\n'
        "stations: {disk: {demand: 1 ms}}\n"
    )
    status, _, err = ended(capsys, "solve", text, tmp_path)
    assert status == 2
    for key in ("think_scv", "think_distribution"):
        assert f"classes.jobs.{key}: must be left out: between(1 s, 3 s) is a distribution\n" in err


def test_a_uniform_distribution_without_scv_begins_at_zero() -> None:
    assert Variation("uniform").squared == pytest.approx(1 / 3)


def test_a_sweep_separates_values_outside_of_bounds(tmp_path: Path, capsys: Any) -> None:
    sweep = ("--sweep", "stations.disk.service_time=between(40 ms, 160 ms),100 ms", "--json")
    points = json.loads(ended(capsys, "solve", DISK, tmp_path, *sweep)[1])["points"]
    times = [point["classes"]["jobs"]["response_time_s"] for point in points]
    assert times == pytest.approx([0.1 + 0.06 * 1.12 / 0.8, 0.1 / 0.4])
    status, _, err = ended(capsys, "solve", DISK, tmp_path, "--sweep", "stations.disk.service_time=between(2 s, 1 s)")
    assert status == 2
    assert err.count("<command line>") == 1
    assert "must be between a shorter and a longer duration, got 'between(2 s, 1 s)' instead" in err


def test_the_think_time_of_a_transaction_has_no_bounds_of_its_own(tmp_path: Path, capsys: Any) -> None:
    text = (
        'classes: {users: {users: 2, transactions: {buy: {share: 100 %, think: "between(1 s, 3 s)"}}}}\n'
        "stations: {disk: {demand: 1 ms}}\n"
    )
    status, _, err = ended(capsys, "solve", text, tmp_path)
    assert status == 2
    assert err.endswith(
        "classes.users.transactions.buy.think: must be a mean, since all think times of a class have one distribution: "
        "give the bounds as `think` of the class, or of a class of its own, got 'between(1 s, 3 s)' instead\n"
    )
