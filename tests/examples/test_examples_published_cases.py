"""The commands are applied to published measurements. Their results agree with the findings of the publications."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from towtank.cli import main
from towtank.sizing import answer_rule, load_rules

FOLDER = Path(__file__).parents[2] / "examples" / "published-cases"


def answer(capsys: Any, *arguments: str, status: int = 0) -> dict[str, Any]:
    """Run a command with `--json`, check its exit status, and return the document."""
    found = main([*arguments, "--json"])
    printed = capsys.readouterr()
    assert found == status, printed.err
    return dict(json.loads(printed.out))


def fit(capsys: Any, series: str, *curve: str, status: int = 0) -> dict[str, Any]:
    path = str(FOLDER / f"drives-{series}.csv")
    return answer(capsys, "model", "fit", *curve, path, "--x", "drives", "--y", "gb_per_hour", status=status)


def knee(found: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(each for each in found["knees"] if each["kind"] == kind)


@pytest.mark.parametrize(("series", "of_one_drive"), [("large-file-save", 365), ("large-file-restore", 340)])
def test_the_law_of_scalability_of_drives_with_large_files(capsys: Any, series: str, of_one_drive: float) -> None:
    """In Table 15.9.2.1, one drive has a throughput of 365 or 340 GB/h, and 16 drives have 14.3 or 13.8 times as much.

    The points show no contention. The verdict is therefore doubtful, but the law is not rejected.
    """
    found = fit(capsys, series, "usl")
    assert found["verdict"]["level"] == "doubtful"
    low, high = found["confidence_interval"]["lambda"]
    assert low <= of_one_drive <= high
    assert found["sigma"] == 0
    assert found["kappa"] == pytest.approx(5.2e-4, rel=0.1)
    # The publication expects no gain from more than 16 drives. The fitted law has its peak at more than 32.
    assert found["peak_load"] > 32


@pytest.mark.parametrize("series", ["large-file-save", "large-file-restore"])
def test_the_knee_of_drives_with_large_files_is_where_the_system_was_full(capsys: Any, series: str) -> None:
    """According to section 15.9.2, the sixteenth drive adds less throughput, because parts of the system become
    saturated.
    """
    found = fit(capsys, series)
    assert found["curve"] == "closed"
    assert found["verdict"]["level"] == "supported"
    where = knee(found, "model")
    assert where["low"] <= 16 <= where["high"]


def test_drives_with_mixed_objects_have_a_peak(capsys: Any) -> None:
    """In Table 15.9.4.1, one drive reaches 140 GB/h and twelve drives reach 1,010 GB/h. The last three drives added 32,
    33 and 15 GB/h, so the peak is near: between 12 and 20 drives.
    """
    found = fit(capsys, "user-mix-save", "usl")
    assert found["verdict"]["level"] == "supported"
    assert found["sigma"] == pytest.approx(0.0043, abs=0.001)
    assert found["kappa"] == pytest.approx(0.0042, abs=0.0003)
    assert 12 < found["peak_load"] < 20
    assert found["peak_throughput"] == pytest.approx(1050, rel=0.02)


def test_a_printed_point_that_fits_no_curve_is_named(capsys: Any) -> None:
    """Table 15.9.4.1 prints 69, 135 and 150 GB/h for restores with one, two and three drives."""
    found = fit(capsys, "user-mix-restore", status=4)
    assert found["curve"] is None
    (reason,) = (each["text"] for each in found["verdict"]["reasons"])
    assert "amdahl: the curve misses the points by 27 % at load 2" in reason


def test_users_of_a_content_server_are_on_a_line_without_a_limit(capsys: Any) -> None:
    """Throughput quadruples from 250 to 1,000 users.

    The points show no limit, so predictions begin at the throughput of 1,000 users.
    """
    path = str(FOLDER / "content-users.csv")
    found = answer(capsys, "model", "fit", path, "--x", "users", "--y", "throughput")
    assert found["curve"] == "linear"
    assert found["lambda"] == pytest.approx(4 / 1000)
    beyond = next(each for each in found["predictions"] if each["load"] > 1000)
    assert beyond["bound"] == "upper"
    assert beyond["throughput"]["band_95"][0] == pytest.approx(4)


def test_the_cpus_do_not_explain_the_response_time_of_the_content_server(capsys: Any) -> None:
    """The publication measured 150 ms at 250 users and 500 ms at 1,000 users.

    In total, 6 and 23 CPUs were busy (1.1 of them elsewhere).
    """
    found = answer(capsys, "model", "solve", str(FOLDER / "content-node.yaml"), "--users", "250,500,750,1000")
    times = [each["classes"]["users"]["response_time_s"] for each in found["points"]]
    assert times == pytest.approx([0.15] * 4, rel=0.01)
    lowest, *_, highest = (each["classes"]["users"]["throughput_per_s"] for each in found["points"])
    assert 23 * lowest / highest == pytest.approx(6, rel=0.05)
    assert 23 * lowest / (1000 / 5.5) == pytest.approx(6, rel=0.05)
    busy = found["points"][-1]["stations"]["content"]["utilization"] * 30
    # With the measured response time of 0.5 s in place of 0.15 s, 19.6 CPUs are busy.
    assert busy * (1000 / 5.5) / highest == pytest.approx(19.6, rel=1e-3)


def test_memory_for_the_index_decides_the_users_of_a_requirements_server() -> None:
    """According to the guide, every configuration whose memory holds the index supports 450 users.

    Configurations with 32 GB support fewer.
    """
    rule = load_rules()["cacheable_index"]
    users: dict[bool, set[int]] = {True: set(), False: set()}
    with (FOLDER / "users-by-memory.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            found = answer_rule(rule, {name: 1e9 * float(row[f"{name}_gb"]) for name in ("memory", "heap", "index")})
            assert found.value == pytest.approx(1e9 * (float(row["memory_gb"]) - float(row["heap_gb"])))
            assert found.follows is not None
            users[found.follows].add(int(row["users"]))
    assert users[True] == {450}
    assert min(users[False]) == 350


@pytest.mark.parametrize(
    ("artefacts", "machine", "memory_full", "disk_full"),
    [("500k", "m64", "2026-02-21", "2030-10-21"), ("1m", "m128", "2027-10-18", "2030-02-27")],
)
def test_a_requirements_server_gets_the_memory_of_its_index(
    capsys: Any, artefacts: str, machine: str, memory_full: str, disk_full: str
) -> None:
    """A heap of 24 GiB and an index of 39 or 75 GiB need 63 or 99 GiB of memory.

    The index grows by 20 % a year. It fills the 40 or 104 GiB beside the heap after ln(40/39) / ln 1.2 = 0.139 or
    ln(104/75) / ln 1.2 = 1.793 years. The data reach 240 or 320 GiB after ln 2.4 / ln 1.2 = 4.80 or 4.16 years.
    """
    sizing = str(FOLDER / f"requirements-{artefacts}.yaml")
    found = answer(capsys, "size", str(FOLDER / "requirements-server.yaml"), "--for", sizing)
    assert found["answer"]["tiers"]["server"]["machine"] == machine
    dates = {row["what"]: row["missed_from"] for row in found["dates"]}
    assert dates["the answer: memory of a node of server"] == memory_full
    assert dates["the answer: data on storage (1 disk)"] == disk_full
