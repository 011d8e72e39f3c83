from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from towtank.errors import StudyError
from towtank.workload import load_workload

WORKLOAD = """\
schema: towtank/workload/1
name: one
defaults:
  connections: FORM
transactions: {view: [{get: /}]}
groups: {all: {loop: {mix: {view: 100}}}}
"""


def part(folder: Path, form: str) -> dict[str, Any]:
    path = folder / "one.yaml"
    path.write_text(WORKLOAD.replace("FORM", form))
    return load_workload(path).file.defaults.plan_connections


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("per_user", {"mode": "per_user"}),
        ("new_each_time", {"mode": "new_each_time"}),
        ("20", {"mode": "pool", "size": 20}),
        ("{pool: 4}", {"mode": "pool", "size": 4}),
        ("{pool: 4, streams: 100}", {"mode": "pool", "size": 4, "streams": 100}),
    ],
)
def test_forms(tmp_path: Path, form: str, expected: dict[str, Any]) -> None:
    assert part(tmp_path, form) == expected


@pytest.mark.parametrize(
    ("form", "reported"),
    [
        ("0", "4:16: defaults.connections: must be per_user, new_each_time, the size of a pool"),
        ("true", "4:16: defaults.connections: must be per_user"),
        ("[4]", "4:16: defaults.connections: must be per_user"),
        ("{pool: 0}", "4:23: defaults.connections.pool: must be at least 1, got 0"),
        ("{streams: 4}", "4:16: defaults.connections: must have the key 'pool'"),
        ("{pool: 4, streams: 0}", "4:35: defaults.connections.streams: must be at least 1, got 0"),
        ("{pool: 4, what: 1}", "4:26: defaults.connections.what: must be one of the keys pool, streams"),
    ],
)
def test_what_is_refused(tmp_path: Path, form: str, reported: str) -> None:
    with pytest.raises(StudyError) as caught:
        part(tmp_path, form)
    assert reported in str(caught.value)
