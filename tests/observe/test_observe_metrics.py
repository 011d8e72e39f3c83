"""Tables of metrics have the same keys as real samples, and the reference page contains the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from towtank.observe import metrics
from towtank.observe.metric import Table
from towtank.observe.metrics_page import document

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "crates/probe/tests/data/recorded/expected.txt"


def names(table: Table) -> set[str]:
    return {metric.name for metric in table.metrics}


def keys(sample: dict[str, Any], prefix: str = "") -> set[str]:
    """Return the keys of all numbers in nested objects. The keys on the path to a number are joined by dots."""
    found = set()
    for key, value in sample.items():
        found |= keys(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key}
    return found


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / "docs/reference/metrics.md").read_text("utf-8")
    assert page == document(), "run `python -m towtank.observe.metrics_page > docs/reference/metrics.md`"


def test_the_tables_name_what_the_probe_samples() -> None:
    sample = json.loads("{" + RECORDED.read_text("utf-8") + "}")
    assert keys(sample["host"]) == names(metrics.HOST)
    assert keys(sample["cpus"][0]) == names(metrics.CPUS)
    assert keys(sample["disks"]["vda"]) == names(metrics.DISKS)
    assert keys(sample["networks"]["eth0"]) == names(metrics.NETWORKS)
    # Recorded files of /proc contain no process limits, so the samples have no keys that depend on these limits.
    of_limits = {"open_files_of_fullest", "open_files_limit", "user_tasks", "user_tasks_limit"}
    assert of_limits < names(metrics.GROUPS)
    assert keys(sample["groups"]["content"]) == names(metrics.GROUPS) - of_limits


def test_the_table_of_the_busiest_names_what_the_page_of_the_stream_shows() -> None:
    page = (ROOT / "docs/reference/run-folder.md").read_text("utf-8")
    shown = json.loads(page[page.index('{"k":"sample"') :].split("```", 1)[0])["groups"]["content"]
    assert keys(shown["busiest_thread"]) == names(metrics.BUSIEST)
    assert keys(shown["busiest_process"]) == names(metrics.BUSIEST) - {"tid", "waits"}


def test_counters_are_reported_by_their_names() -> None:
    for table in metrics.TABLES:
        assert len(names(table)) == len(table.metrics), f"{table.title}: a name occurs twice"
        for metric in table.metrics:
            assert metric.name.endswith("_total") == (metric.kind == "counter")
            assert metric.unit in ("s", "bytes", "1")
            assert ("_bytes" in metric.name) == (metric.unit == "bytes") or metric.name == "sqlite_page_bytes"
