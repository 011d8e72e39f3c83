"""Study files after random mutations: every file is either accepted or reported with a fault."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from shipped_files import reports
from small_study import STUDY_WITH_CLAIMS, SYSTEM, WORKLOAD, write_files

from towtank import yamlfile
from towtank.filecheck import check_file
from towtank.yamlfile import Node, parse_value

pytestmark = pytest.mark.waits

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
    """Return the parsed data with one value replaced or one key renamed."""
    data = node.plain()
    inner = data
    for part in path[:-1]:
        inner = inner[part]
    if rename is not None and isinstance(inner, dict):
        inner[rename] = inner.pop(path[-1])
    else:
        inner[path[-1]] = value
    return data


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


# Mappings whose keys are chosen by the user: a misspelt key there is another valid name.
FREE = frozenset(
    ("headers", "query", "form", "multipart", "json", "values", "groups", "targets", "services", "factors", "presets",
     "set", "extract")
)  # fmt: skip
DRAWS = 200
LEAST_SHARE = 0.9


def is_free(path: tuple[str | int, ...]) -> bool:
    """Return True if the last part of a path is a name that the user chooses, and no other part of the files needs to
    contain this name.
    """
    parts = [part for key in path for part in str(key).split(".")]
    return parts[-2] in FREE or (len(path) > 2 and path[-3] == "factors") or "disks" in parts


def keys_of(root: Node) -> list[tuple[str, tuple[int, int], tuple[str | int, ...]]]:
    """Return the keys of two letters or more, each with its line, its column and its path."""
    mappings = [node for node in root.walk() if isinstance(node.value, dict)]
    return [(key, node.keys[key], (*node.path, key)) for node in mappings for key in node.value if len(key) > 1]


def slipped(word: str, draw: random.Random) -> str:
    """Return a word with a typing error: one letter is omitted, doubled, or swapped with the next one."""
    at = draw.randrange(len(word) - 1)
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return draw.choice([word[:at] + word[at + 1 :], word[: at + 1] + word[at:], swapped])


def draws(shipped: Path) -> Iterator[tuple[Path, str, tuple[str | int, ...]]]:
    """Yield random typing errors in shipped files: the file, its text with an error in one key, and the path of this
    key.
    """
    draw = random.Random(20261128)
    paths = sorted(path for path in shipped.rglob("*.yaml") if re.match("study|workload|system", path.name))
    documents = [yamlfile.load(path) for path in paths]
    while True:
        document = draw.choice(documents)
        key, (line, column), path = draw.choice(keys_of(document.root))
        lines = document.text.split("\n")
        wrong, rest = slipped(key, draw), lines[line - 1][column - 1 :]
        if wrong != key and rest.startswith(key):
            lines[line - 1] = lines[line - 1][: column - 1] + wrong + rest.removeprefix(key)
            yield document.path, "\n".join(lines), path


def test_slips_in_drawn_keys_are_one_fault_each(shipped: Path) -> None:
    counts: Counter[int] = Counter()
    source = draws(shipped)
    while counts.total() < DRAWS:
        file, text, path = next(source)
        found = next(reports(file, text))
        assert found or is_free(path), f"{file}: {path}"
        if found:
            counts[len(found)] += 1
    assert counts[1] >= LEAST_SHARE * DRAWS, counts
