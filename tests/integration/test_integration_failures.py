"""Five failures of services and hosts, at a small scale. The run continues, and no document that was confirmed as
stored is lost.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from host_support import requires, virtual_host
from integration_bench import Bench

from towtank.study import needed_packages

STUDY = Path(__file__).parents[2] / "studies" / "content-failures"
DISK = {"size": "256 MiB", "file_system": "ext4"}
SMALLER = (
    "repetitions=1",
    "factors.users=[10]",
    "overrides={parameters.think_mean: 200 ms, parameters.edit_time: 50 ms, "
    'parameters.accounts: "${system.directory.users_csv}"}',
    "services.content.settings.credentials_lifetime=1 s",
    "services.content.population.scale=0.00004",
    "services.directory.population.users=20",
    "load.stages={settle: 1 s, steady: 30 s, ramp_down: 1 s}",
    "events.node_restarted.at=steady + 6 s",
    "events.node_restarted.for=6 s",
    "events.database_restarted.at=steady + 6 s",
    "events.database_restarted.for=1 s",
    "events.directory_stopped.at=steady + 6 s",
    "events.directory_started.at=steady + 14 s",
    "events.disk_filled.at=steady + 6 s",
    "events.disk_filled.for=10 s",
    "events.network_cut.at=steady + 6 s",
    "events.network_cut.for=5 s",
    "claims=[]",
)
pytestmark = [pytest.mark.waits, pytest.mark.timeout(600)]


def run(bench: Bench, failure: str, sets: str) -> dict[str, Any]:
    """Execute a run with the given failure; return the summary of the run."""
    pytest.importorskip("content_server")
    requires(virtual_host(cpus=0.5, memory="64 MiB", disks={"contents": DISK}))
    missing = [package for package in needed_packages(str(STUDY)) if package.found() is None]
    if missing:
        pytest.skip("; ".join(f"{package.kind}: {package.install}" for package in missing))
    changes = [part for change in (*SMALLER, f"factors.failure={{{failure}: {sets}}}") for part in ("--set", change)]
    arguments = ("--quick", "--quiet", "--no-report", "--out", bench.results, *changes)
    ended = bench.towtank("run", STUDY / "study.yaml", *arguments)
    assert bench.statuses() == {"r001": "complete"}, ended.stdout + ended.stderr
    summary: dict[str, Any] = json.loads((bench.results / "runs" / "r001" / "summary.json").read_text())
    assert not {reason["kind"] for reason in summary["verdict"]["reasons"]} & {"service_died", "event_failed"}
    stored = summary["stored"]
    named = json.dumps(stored["named"])
    assert stored["acknowledged"] > 5
    assert stored["lost"] == stored["different"] == stored["unreadable"] == stored["unread"] == 0, named
    assert stored["found"] == stored["acknowledged"]
    return summary


def described(summary: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an event of the summary, and assert that it succeeded and that it began after the end of the measurement
    window.
    """
    event: dict[str, Any] = summary["events"][name]
    assert event["failed"] is None
    assert summary["window"]["asked_end_s"] <= event["begin_s"] < event["end_s"]
    return event


def good_while(summary: dict[str, Any], begin_s: float, end_s: float) -> float:
    """Return the sum of the throughputs of the whole seconds between two times, which is the number of successful
    transactions.
    """
    timeline = summary["timeline"]
    seconds = zip(timeline["t_s"], timeline["throughput_per_s"], strict=True)
    return sum(rate for at, rate in seconds if rate and begin_s + 1 <= at <= end_s - 1)


def test_a_node_is_killed_and_restarted_and_the_other_works_on(bench: Bench) -> None:
    summary = run(bench, "node", "{events.node_restarted.happens: true}")
    event = described(summary, "node_restarted")
    assert event["end_s"] >= event["begin_s"] + 6
    assert good_while(summary, event["begin_s"], event["end_s"]) > 0


def test_the_database_is_killed_and_recovers(bench: Bench) -> None:
    summary = run(bench, "database", "{events.database_restarted.happens: true}")
    event = described(summary, "database_restarted")
    assert event["disturbed"]
    assert event["during"]["failed_requests"]
    assert good_while(summary, event["end_s"], event["end_s"] + 30) > 0, "the server must work again with its database"


def test_the_directory_is_stopped_and_logins_are_refused(bench: Bench) -> None:
    levels = "{events.directory_stopped.happens: true, events.directory_started.happens: true}"
    summary = run(bench, "directory", levels)
    event = described(summary, "directory_stopped")
    assert described(summary, "directory_started")["end_s"] == event["until_s"]
    assert event["during"]["failed_requests"]["status_5xx"] > 0
    assert good_while(summary, event["until_s"], event["until_s"] + 30) > 0


def test_a_disk_is_filled_and_documents_are_refused(bench: Bench) -> None:
    summary = run(bench, "disk", "{events.disk_filled.happens: true}")
    event = described(summary, "disk_filled")
    assert event["left"]["free_bytes"] < 0.1 * 256 * 2**20
    assert event["during"]["failed_requests"]["status_5xx"] > 0
    assert good_while(summary, event["begin_s"], event["end_s"]) > 0, "transactions without writes must continue"


def test_the_network_is_cut_and_what_waited_goes_on(bench: Bench) -> None:
    summary = run(bench, "network", "{events.network_cut.happens: true}")
    event = described(summary, "network_cut")
    before = event["before"]["throughput_per_s"]
    assert good_while(summary, event["begin_s"], event["end_s"]) < 0.5 * before * (event["end_s"] - event["begin_s"])
    assert good_while(summary, event["end_s"], event["end_s"] + 30) > 0
