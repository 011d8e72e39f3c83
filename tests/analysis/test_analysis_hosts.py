from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from even_runs import even_script
from moved_runs import move_away
from synthetic_runs import MONOTONIC_NS, SECOND, WALL_NS, Stage, write_run

from towtank.analysis import summarize_run
from towtank.results import lines
from towtank.results.folder import RunFolder

STAGES = [Stage("steady", "steady", 40.0, 4)]
TIERS = {"content": {"kind": "content_server", "host": "web", "cpus": [0]}}
HOSTS: dict[str, Any] = {
    "web": {"provider": "namespaces", "cpus_virtual": 0.5, "sizes": {"network": {"rate": "0.1 Gbit/s"}}},
    "database": {
        "provider": "namespaces",
        "cpus_virtual": None,
        "disks": {"data": {"read_operations": "100 /s", "write_rate": "4 MB/s", "images": 2}},
    },
    "other": {"provider": "existing"},
}
HOSTS_TOLD = ("web", "database")
# Rates at which the counters of a host grow. [1/s]
RATES = {
    "host_cpu_seconds_total": 0.25,
    "host_periods_total": 10.0,
    "host_throttled_periods_total": 4.0,
    "host_throttled_seconds_total": 0.125,
    "host_page_cache_refaults_total": 300.0,
    "host_network_receive_bytes_total": 5000.0,
    "host_network_receive_drops_total": 0.5,
    "host_tcp_listen_overflows_total": 0.25,
    "host_tcp_listen_drops_total": 0.5,
    "host_tcp_retransmits_total": 0.75,
    'host_disk_write_bytes_total{disk="data"}': 1e6,
    'host_disk_read_operations_total{disk="data"}': 80.0,
    'host_disk_busy_seconds_total{disk="data"}': 0.2,
    'host_pressure_seconds_total{resource="cpu",extent="some"}': 0.1,
}


def write_host(run: RunFolder, name: str, factor: float) -> None:
    """Write a recording of a host whose counters grow by `factor` times `RATES`."""
    head = {"k": "header", "schema": "towtank/service-metrics/1", "service": f"host-{name}", "kind": "host"}
    with (run.observe / f"host-{name}.ndjson").open("wb") as stream:
        stream.write(lines.encode({**head, "source": "host"}))
        for second in range(42):
            values = {key: rate * factor * second for key, rate in RATES.items()}
            values |= {"host_memory_bytes": 2e8, "host_memory_cache_bytes": 5e7}
            values |= {
                'host_disk_size_bytes{disk="data"}': 1e9 + second,
                'host_disk_free_inodes{disk="data"}': 100.0 - second,
            }
            at = {"t_ns": MONOTONIC_NS + second * SECOND, "wall_ns": WALL_NS + second * SECOND}
            stream.write(lines.encode({"k": "metrics", **at, "took_s": 0.001, "cpu_s_total": 0.0, "values": values}))


@pytest.fixture
def summary(tmp_path: Path) -> dict[str, Any]:
    script = even_script(
        STAGES,
        users=4,
        response_s=0.25,
        think_s=0.75,
        seconds=40.0,
        service_s=0.05,
        factors={"users": "4"},
    )
    run = write_run(tmp_path / "r001", replace(script, tiers=TIERS))
    run.update(hosts=HOSTS)
    write_host(run, "web", 1.0)
    write_host(run, "database", 2.0)
    return summarize_run(run)


def test_a_host_has_its_rates_and_levels(summary: dict[str, Any]) -> None:
    assert list(summary["hosts"]) == ["web", "database"]
    web = summary["hosts"]["web"]
    assert (web["tiers"], web["cpus_virtual"], web["cpus_allotted"]) == (["content"], 0.5, 0.5)
    assert web["cpus_used"]["value"] == pytest.approx(0.25)
    assert web["utilization"] == pytest.approx(0.5)
    assert web["throttled_share"] == pytest.approx(0.4)
    assert web["throttled_s_per_s"] == pytest.approx(0.125)
    assert web["page_cache_refaults_per_s"] == pytest.approx(300.0)
    assert web["receive_bytes_per_s"] == pytest.approx(5000.0)
    assert (web["link_bytes_per_s"], summary["hosts"]["database"]["link_bytes_per_s"]) == (12.5e6, None)
    assert (web["memory_bytes"], web["memory_cache_bytes"]) == (2e8, 5e7)
    assert web["pressure"] == {"cpu_some": pytest.approx(0.1)}
    length = summary["window"]["end_s"] - summary["window"]["start_s"]
    assert web["tcp"] == {
        "listen_overflows": pytest.approx(0.25 * length),
        "listen_drops": pytest.approx(0.5 * length),
        "retransmits": pytest.approx(0.75 * length),
        "needless_retransmits": None,
        "timeouts": None,
        "probe_recoveries": None,
    }
    assert web["transmit_bytes_per_s"] is None, "a value that was not recorded is None, not zero"
    disk = web["disks"]["data"]
    assert (disk["write_bytes_per_s"], disk["utilization"]) == (pytest.approx(1e6), pytest.approx(0.2))
    assert disk["free_inodes_least"] == 60.0
    assert disk["free_bytes_least"] is None
    # The file system is enlarged during the run. The reported size is the one at the end of the window, at 40 s.
    assert (disk["size_bytes"], disk["size_inodes"]) == (1e9 + 40, None)
    # The host creates one file per second and has 60 free inodes at the end of the window.
    assert disk["inodes_full_in_s"] == pytest.approx(60.0)


def test_a_disk_without_a_limit_is_measured_by_its_busy_time(summary: dict[str, Any]) -> None:
    disk = summary["hosts"]["web"]["disks"]["data"]
    assert (disk["busy_share"], disk["utilization"]) == (pytest.approx(0.2), pytest.approx(0.2))
    assert (disk["utilization_of"], disk["utilization_limit"]) == ("busy", None)


def test_a_disk_with_limits_is_measured_against_the_one_that_it_uses_most(summary: dict[str, Any]) -> None:
    # The device holds two images with limits of 100 reads/s and 4 MB/s each, so its limits are 200 reads/s and 8 MB/s.
    disk = summary["hosts"]["database"]["disks"]["data"]
    assert disk["utilization"] == pytest.approx(160 / 200)
    assert (disk["utilization_of"], disk["utilization_limit"]) == ("read_operations", 200.0)
    assert disk["busy_share"] == pytest.approx(0.4), "the summary still contains the busy time of the device"


def test_each_host_whose_network_had_trouble_is_named(summary: dict[str, Any]) -> None:
    result = {
        (reason["kind"], name)
        for reason in summary["verdict"]["reasons"]
        for name in ("this machine", "host web", "host database", "host other")
        if reason["kind"] in ("listen_overflow", "retransmits") and name in reason["message"]
    }
    assert result == {(kind, f"host {name}") for kind in ("listen_overflow", "retransmits") for name in HOSTS_TOLD}


def test_a_tier_is_measured_by_what_its_host_was_given(summary: dict[str, Any]) -> None:
    content = summary["tiers"]["content"]
    assert content["cpus_allotted"] == 0.5
    assert content["utilization"] == pytest.approx(content["cpus_used"]["value"] / 0.5)


def test_the_machine_below_them(summary: dict[str, Any]) -> None:
    machine = summary["machine"]
    # The machine has one CPU. One host has a limit of 0.5 CPUs, the other has none: 0.5 + 1 = 1.5 virtual CPUs.
    assert (machine["cpus"], machine["cpus_virtual"], machine["overcommit"]) == (1, 1.5, 1.5)
    assert machine["cpus_used"]["value"] == pytest.approx(0.75)
    assert machine["throttled_s_per_s"] == pytest.approx(0.375)
    assert [consumer["tier"] for consumer in machine["consumers"]] == ["content"]


def test_a_system_without_such_hosts_has_none(tmp_path: Path) -> None:
    script = even_script(
        STAGES,
        users=2,
        response_s=0.25,
        think_s=0.75,
        seconds=40.0,
        service_s=0.05,
        factors={"users": "2"},
    )
    run = write_run(tmp_path / "r001", script)
    summary = summarize_run(run)
    assert (summary["hosts"], summary["machine"]) == ({}, None)
    run.update(hosts={"web": "not a mapping"})
    assert summarize_run(run)["hosts"] == {}


def even_run(folder: Path, tiers: dict[str, Any]) -> RunFolder:
    script = even_script(
        STAGES,
        users=4,
        response_s=0.25,
        think_s=0.75,
        seconds=40.0,
        service_s=0.05,
        factors={"users": "4"},
    )
    return write_run(folder, replace(script, tiers=tiers))


def test_a_tier_on_another_machine_is_lined_up_by_its_clock(tmp_path: Path) -> None:
    near = summarize_run(even_run(tmp_path / "near", {"content": {"kind": "content_server", "cpus": []}}))
    run = even_run(tmp_path / "far", {"content": {"kind": "content_server", "host": "far", "cpus": []}})
    move_away(run, 3_000 * SECOND)
    far_clocks = [
        {"offset_ns": 3_001 * SECOND, "uncertainty_ns": 2_000_000_000},
        {"offset_ns": 3_000 * SECOND, "uncertainty_ns": 1_000},
    ]
    run.update(hosts={"far": {"provider": "ssh"}}, clocks={"far": far_clocks})
    far = summarize_run(run)
    assert (near["tiers"]["content"]["host"], far["tiers"]["content"]["host"]) == (None, "far")
    assert {**far["tiers"]["content"], "host": None} == near["tiers"]["content"]
    # Four users make one cycle per second with 50 ms of CPU time each. In the first second of the window not all of
    # them have started.
    assert far["tiers"]["content"]["cpus_used"]["value"] == pytest.approx(4 * 0.05, rel=0.05)
    host = far["hosts"]["far"]
    assert host["tiers"] == ["content"]
    assert host["cpus_used"]["value"] == pytest.approx(near["host"]["cpus_used"]["value"])
    assert host["tcp"] == near["host"]["tcp"]
    assert host["socket_memory_bytes"] == near["host"]["tcp_memory_bytes"]
    assert far["timeline"]["tiers_cpus_used"] == near["timeline"]["tiers_cpus_used"]
    assert far["machine"] is None


def test_a_machine_without_a_clock_cannot_be_lined_up(tmp_path: Path) -> None:
    run = even_run(tmp_path / "far", {"content": {"kind": "content_server", "host": "far", "cpus": []}})
    move_away(run, 3_000 * SECOND)
    run.update(hosts={"far": {"provider": "ssh"}}, clocks={"far": "broken"})
    summary = summarize_run(run)
    assert summary["tiers"]["content"]["cpus_used"]["value"] is None
    assert summary["hosts"] == {}
