from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from even_runs import even_script
from synthetic_runs import MONOTONIC_NS, SECOND, WALL_NS, Stage, write_run

from towtank.analysis import summarize_run
from towtank.results import lines
from towtank.results.folder import RunFolder

STAGES = [Stage("steady", "steady", 40.0, 4)]
# Rates at which the counters of this test grow. [1/s]
CONTENT = {
    'content_server_storage_bytes_total{direction="read"}': 5e6,
    'content_server_storage_bytes_total{direction="write"}': 1e5,
    'content_server_storage_calls_total{call="read"}': 50.0,
    'content_server_storage_calls_total{call="open"}': 20.0,
}
DISK = {'host_disk_read_bytes_total{disk="data"}': 1e6, 'host_disk_read_operations_total{disk="data"}': 10.0}
MOUNT = {
    "glusterfs_read_bytes_total": 5e6,
    'glusterfs_calls_total{call="read"}': 60.0,
    'glusterfs_calls_total{call="lookup"}': 40.0,
    'glusterfs_server_calls_total{server="store-1",call="read"}': 30.0,
    'glusterfs_server_calls_total{server="store-1",call="lookup"}': 5.0,
    'glusterfs_server_calls_total{server="store-2",call="read"}': 10.0,
}
HOSTS = {"brick-1": {"provider": "namespaces"}, "brick-2": {"provider": "namespaces"}}


def write_stream(run: RunFolder, name: str, kind: str, rates: dict[str, float], **gauges: float) -> None:
    head = {"k": "header", "schema": "towtank/service-metrics/1", "service": name, "kind": kind}
    with (run.observe / f"{name}.ndjson").open("wb") as stream:
        stream.write(lines.encode({**head, "source": "prometheus"}))
        for second in range(42):
            values = {key: rate * second for key, rate in rates.items()} | gauges
            at = {"t_ns": MONOTONIC_NS + second * SECOND, "wall_ns": WALL_NS + second * SECOND}
            stream.write(lines.encode({"k": "metrics", **at, "took_s": 0.001, "cpu_s_total": 0.0, "values": values}))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    script = even_script(
        STAGES,
        users=4,
        response_s=0.25,
        think_s=0.75,
        seconds=40.0,
        service_s=0.05,
        factors={"users": "4"},
    )
    written = write_run(tmp_path / "r001", replace(script, tiers={"content": {"kind": "content_server", "cpus": [0]}}))
    written.update(hosts=HOSTS)
    return written


def test_both_sides_have_intervals(run: RunFolder) -> None:
    write_stream(run, "content", "content_server", CONTENT)
    write_stream(run, "content-2", "content_server", CONTENT)
    write_stream(run, "host-brick-1", "host", DISK)
    write_stream(run, "host-brick-2", "host", DISK)
    result: dict[str, Any] = summarize_run(run)["storage"]
    assert result["asked"]["read_bytes_per_s"]["value"] == pytest.approx(1e7)
    assert result["asked"]["read_bytes_per_s"]["low"] == pytest.approx(1e7)
    assert result["asked"]["calls_per_s"]["value"] == pytest.approx(140.0)
    assert result["reached"]["read_bytes_per_s"]["value"] == pytest.approx(2e6)
    assert result["reached"]["read_operations_per_s"]["value"] == pytest.approx(20.0)
    assert result["reached"]["write_bytes_per_s"]["value"] is None, "a value that was not recorded is None, not zero"
    assert result["mounts"] == {}


def test_a_mount_reports_the_share_of_each_server(run: RunFolder) -> None:
    write_stream(run, "area", "glusterfs_mount", MOUNT, glusterfs_cache_bytes=3e6, glusterfs_cache_limit_bytes=4e6)
    mount: dict[str, Any] = summarize_run(run)["storage"]["mounts"]["area"]
    assert mount["calls_per_s"]["value"] == pytest.approx(100.0)
    assert mount["server_calls_per_s"]["value"] == pytest.approx(45.0)
    assert (mount["cache_bytes"], mount["cache_limit_bytes"], mount["cache_files"]) == (3e6, 4e6, None)
    assert mount["servers"]["store-1"]["calls_per_s"]["value"] == pytest.approx(35.0)
    shares = {name: server["read_share"]["value"] for name, server in mount["servers"].items()}
    assert shares == {"store-1": pytest.approx(0.75), "store-2": pytest.approx(0.25)}


def test_a_server_of_all_reads_has_the_exact_interval_of_their_number(run: RunFolder) -> None:
    """With n of n reads at one server, the exact 95 % interval of its share begins at 0.025^(1/n)."""
    second = 'glusterfs_server_calls_total{server="store-2",call="read"}'
    write_stream(run, "area", "glusterfs_mount", {key: rate for key, rate in MOUNT.items() if key != second})
    summary = summarize_run(run)
    share = summary["storage"]["mounts"]["area"]["servers"]["store-1"]["read_share"]
    assert (share["value"], share["high"], share["method"]) == (1.0, 1.0, "binomial")
    assert share["low"] == pytest.approx(0.025 ** (1 / share["n"]))
    assert share["n"] > 100


def test_a_server_that_nobody_reads_from_has_no_share(run: RunFolder) -> None:
    quiet = {key: rate for key, rate in MOUNT.items() if 'call="read"' not in key}
    write_stream(run, "area", "glusterfs_mount", quiet)
    servers = summarize_run(run)["storage"]["mounts"]["area"]["servers"]
    assert list(servers) == ["store-1"]
    assert servers["store-1"]["read_share"]["value"] is None


def test_without_storage_there_is_none(run: RunFolder) -> None:
    write_stream(run, "host-brick-1", "host", DISK)
    assert summarize_run(run)["storage"] is None
