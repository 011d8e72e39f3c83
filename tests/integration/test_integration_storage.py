"""Storage studies at a small scale, on real file systems. Each study shows the effect that it is designed to show."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from host_support import requires, virtual_host
from integration_bench import Bench
from ruamel.yaml import YAML

from towtank.study import needed_packages

STUDIES = Path(__file__).parents[2] / "studies"
DISK = {"size": "400 MiB", "file_system": "xfs", "write_rate": "20 MB/s"}
pytestmark = [pytest.mark.waits, pytest.mark.timeout(600)]


def small(bench: Bench, name: str, users: int, levels: dict[str, list[str]], **parameters: str) -> dict[str, Any]:
    """Run a study with some levels of its factors for a few seconds each; return the summaries by factor levels."""
    pytest.importorskip("content_server")
    requires(virtual_host(cpus=0.5, memory="64 MiB", network={"offloads": False}, disks={"data": DISK}))
    missing = [package for package in needed_packages(str(STUDIES / name)) if package.found() is None]
    if missing:
        pytest.skip("; ".join(f"{package.kind}: {package.install}" for package in missing))
    shutil.copytree(STUDIES, bench.folder / "studies")
    study = bench.folder / "studies" / name / "study.yaml"
    yaml = YAML()
    document = yaml.load(study)
    del document["claims"]
    for part in ("objectives", "presets"):  # with the claims, they refer to load levels that are not run here
        document.pop(part, None)
    document["repetitions"] = 1
    document["factors"]["users"] = [users]
    for factor, kept in levels.items():
        document["factors"][factor] = {level: document["factors"][factor][level] for level in kept}
    if "inodes" in levels:  # a number that is used up in a few seconds
        document["factors"]["inodes"]["few"] = {"hosts.web.disks.contents.inodes": 700}
    document["load"]["stages"] = {"ramp_up": "500 ms", "settle": "2 s", "steady": "10 s"}
    given = {"services.content.population.scale": 0.00004, **parameters}
    document["overrides"] = {**document.get("overrides", {}), **given}
    yaml.dump(document, study)
    ended = bench.towtank("run", study, "--out", bench.results, "--quiet", "--no-report")
    assert ended.returncode in (0, 4), ended.stdout + ended.stderr
    assert set(bench.statuses().values()) == {"complete"}
    summaries = [json.loads(path.read_text()) for path in sorted(bench.results.glob("runs/*/summary.json"))]
    return {"/".join(summary["factors"][factor] for factor in levels): summary for summary in summaries}


def value(summary: dict[str, Any], *path: str) -> float:
    """Return the value of the estimate at a path of keys below `storage` in a summary."""
    node: Any = summary["storage"]
    for key in path:
        node = node[key]
    assert node["value"] is not None, path
    return float(node["value"])


def test_one_node_on_both_file_systems(bench: Bench) -> None:
    found = small(bench, "content-scaling", 20, {"file_system": ["local", "parallel"]})
    for summary in found.values():
        assert value(summary, "asked", "calls_per_s") > 1
        assert summary["errors"]["share"] == 0
    servers = found["parallel"]["storage"]["mounts"]["area"]["servers"]
    assert set(servers) == {"store-1", "store-2"}
    assert value(found["parallel"], "mounts", "area", "server_calls_per_s") > 1
    assert value(found["parallel"], "mounts", "area", "write_bytes_per_s") > 0
    # At level `local`, no user uses the mount; only the probe reads its counters.
    assert value(found["local"], "mounts", "area", "write_bytes_per_s") == 0
    assert set(found["parallel"]["tiers"]) == {"store-1", "store-2", "area", "content"}


def test_order_of_servers_and_place_of_the_cache(bench: Bench) -> None:
    levels = ["same_order", "rotated_order", "cache_on_servers", "cache_on_client"]
    found = small(bench, "content-network-storage", 20, {"storage": levels})
    assert value(found["same_order"], "mounts", "area", "servers", "store-1", "read_share") == 1
    assert 0.1 < value(found["rotated_order"], "mounts", "area", "servers", "store-1", "read_share") < 0.9
    asked = {level: value(found[level], "mounts", "area", "calls_per_s") for level in levels}
    sent = {level: value(found[level], "mounts", "area", "server_calls_per_s") for level in levels}
    assert sent["cache_on_client"] / asked["cache_on_client"] < sent["cache_on_servers"] / asked["cache_on_servers"]
    assert found["cache_on_client"]["storage"]["mounts"]["area"]["cache_bytes"] > 2**20


def from_server(summary: dict[str, Any]) -> float:
    """Return the rate at which the mount's host received bytes from the network, nearly all of them file contents.
    [bytes/s]
    """
    return float(summary["hosts"]["web"]["receive_bytes_per_s"])


def test_both_limits_of_the_cache_take_effect(bench: Bench) -> None:
    levels = {"cache": ["4_MiB", "128_MiB"], "files": ["few", "many"]}
    found = small(bench, "content-cache", 20, levels)
    mounts = {level: summary["storage"]["mounts"]["area"] for level, summary in found.items()}
    assert mounts["128_MiB/few"]["cache_files"] < mounts["128_MiB/many"]["cache_files"]
    # Bytes received over the network, divided by the bytes that programs read from the mount. The mount's own counter
    # of cached bytes is wrong, so it is not used.
    read = {
        level: from_server(summary) / value(summary, "asked", "read_bytes_per_s") for level, summary in found.items()
    }
    assert read["128_MiB/many"] < read["4_MiB/few"]
    resident = {level: summary["tiers"]["area"]["memory_bytes"] for level, summary in found.items()}
    assert resident["128_MiB/many"] > resident["4_MiB/few"]


def failed(summary: dict[str, Any], transaction: str) -> int:
    """Return the number of failed transactions of a kind, and assert that there were more than 5 transactions."""
    result = summary["transactions"][transaction]
    assert result["count"] + result["errors"] > 5
    return int(result["errors"])


def test_inodes_run_out_and_nothing_that_was_stored_is_lost(bench: Bench) -> None:
    found = small(bench, "content-full-disk", 24, {"inodes": ["enough", "few"]}, **{"parameters.think_mean": "200 ms"})
    full = found["few"]
    disk = full["hosts"]["web"]["disks"]["contents"]
    assert failed(full, "add_document") > 5
    assert failed(full, "download") == 0, "stored documents must remain readable"
    stored = full["stored"]
    assert stored["acknowledged"] > 5
    assert stored["found"] == stored["acknowledged"], json.dumps(stored["named"])
    assert [stored[fate] for fate in ("lost", "different", "unreadable", "unread")] == [0, 0, 0, 0]
    assert disk["free_bytes_least"] > 0.5 * disk["size_bytes"]
    reasons = {reason["kind"]: reason for reason in full["verdict"]["reasons"]}
    # At the time of a sample, the inode of a removed file may already be free again, so both messages are correct.
    assert re.search(r"had no inodes left|% of its inodes left", reasons["storage_full"]["message"])
    assert disk["free_inodes_least"] < 0.01 * disk["size_inodes"]
    assert failed(found["enough"], "add_document") == 0
