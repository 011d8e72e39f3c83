"""Mutated files: any content is either accepted or reported as a fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from small_study import STUDY_WITH_CLAIMS, SYSTEM, WORKLOAD, write_files

from towtank.filecheck import check_file
from towtank.yamlfile import Node, parse_value

TEXTS = {"study": STUDY_WITH_CLAIMS, "system": SYSTEM, "workload": WORKLOAD}
NODES = [
    (kind, node.path)
    for kind, text in TEXTS.items()
    for node in parse_value(text, kind).walk()
    if node.path[:1] != ("schema",)
]
JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    3.5,
    10**40,
    "",
    " ",
    "x",
    "10",
    "5 s",
    "${",
    "${a}",
    "${parameters.think_mean}",
    "${system.x.y}",
    "100 %",
    [],
    {},
    [[]],
    [None],
    {"a": None},
    {"": ""},
    ["x", {}],
    {"then": []},
    "../..",
    "\u0000",
    "${random.int(1,2)}",
    "$.a",
    "(",
    "/",
    "log_in",
]


def replaced(node: Node, path: tuple[str | int, ...], value: Any, rename: str | None) -> Any:
    """Return the plain data with one value replaced, or its key renamed."""
    data = node.plain()
    inner = data
    for part in path[:-1]:
        inner = inner[part]
    if rename is not None and isinstance(inner, dict):
        inner[rename] = inner.pop(path[-1])
    else:
        inner[path[-1]] = value
    return data


@pytest.mark.waits
@given(
    place=st.sampled_from(NODES),
    value=st.sampled_from(JUNK),
    rename=st.none() | st.sampled_from(["x", "", "get", "users"]),
)
@example(place=("system", ("services", "content", "host")), value=[], rename=None)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_value_in_any_place_makes_anything_but_faults(
    place: tuple[str, tuple[str | int, ...]], value: Any, rename: str | None, tmp_path: Path
) -> None:
    kind, path = place
    if not path:
        return
    files = write_files(tmp_path)
    file = tmp_path / f"{kind}.yaml"
    changed = replaced(parse_value(TEXTS[kind], kind), path, value, rename)
    file.write_text(json.dumps(changed), "utf-8")
    for report in (check_file(files.study), check_file(file)):
        assert report.faults == sorted(report.faults)
        for fault in report.faults:
            assert Path(fault.file).parent == tmp_path
            assert fault.line >= 1
            assert fault.column >= 1
            assert "must " in fault.message, fault
            assert "\n" not in fault.message


@pytest.mark.parametrize("kind", TEXTS)
def test_every_place_is_reached(kind: str) -> None:
    assert len([place for place in NODES if place[0] == kind]) >= 20
