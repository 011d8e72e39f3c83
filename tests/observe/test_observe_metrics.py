"""The tables of the reference page of metrics have the same keys as real samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from metric_tables import metric_names, metric_tables

from towtank.results import ConnectionSeries

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "crates/probe/tests/data/recorded/expected.txt"


def keys(sample: dict[str, Any], prefix: str = "") -> set[str]:
    """Return the keys of all numbers in nested objects. The keys on the path to a number are joined by dots."""
    found = set()
    for key, value in sample.items():
        found |= keys(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key}
    return found


def test_the_tables_name_what_the_probe_samples() -> None:
    sample = json.loads("{" + RECORDED.read_text("utf-8") + "}")
    assert keys(sample["host"]) == metric_names("Host")
    assert keys(sample["cpus"][0]) == metric_names("Each CPU")
    assert keys(sample["disks"]["vda"]) == metric_names("Disks")
    assert keys(sample["networks"]["eth0"]) == metric_names("Network interfaces")
    # Recorded files of /proc contain no process limits, so the samples have no keys that depend on these limits.
    of_limits = {"open_files_of_fullest", "open_files_limit", "user_tasks", "user_tasks_limit"}
    assert of_limits < metric_names("Groups of processes")
    assert keys(sample["groups"]["content"]) == metric_names("Groups of processes") - of_limits


def test_the_table_of_the_busiest_names_what_the_page_of_the_stream_shows() -> None:
    page = (ROOT / "docs/reference/run-folder.md").read_text("utf-8")
    shown = json.loads(page[page.index('{"k":"sample"') :].split("```", 1)[0])["groups"]["content"]
    assert keys(shown["busiest_thread"]) == metric_names("Busiest process and thread of a group")
    assert keys(shown["busiest_process"]) == metric_names("Busiest process and thread of a group") - {"tid", "waits"}


def test_the_table_of_connections_names_the_series_of_its_stream() -> None:
    series = {value for name, value in vars(ConnectionSeries).items() if name.isupper() and name != "STREAM"}
    listed = metric_names("Connections between servers of this machine")
    assert {name.removesuffix("_total") for name in listed} == series


def test_counters_are_reported_by_their_names() -> None:
    for title, table in metric_tables().items():
        assert len(metric_names(title)) == len(table), f"{title}: a name occurs twice"
        for metric in table:
            assert metric.name.endswith("_total") == (metric.kind == "counter")
            assert metric.unit in ("s", "bytes", "1")
            assert ("_bytes" in metric.name) == (metric.unit == "bytes") or metric.name == "sqlite_page_bytes"
