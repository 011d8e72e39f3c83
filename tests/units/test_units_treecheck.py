"""Checks of data trees (nested mappings and lists) that contain many faults."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from towtank import yamlfile
from towtank.documents import malformed
from towtank.problems import place_of
from towtank.treecheck import validate_tree
from towtank.workload.model import WorkloadFile

WORKLOAD = (
    "schema: towtank/workload/1\nname: w\ntransactions:\n  t:\n    - {get: /}\ngroups:\n  g: {loop: {mix: {t: 1}}}\n"
)


def calls_for(folder: Path, misspelt: int) -> int:
    """Return the number of function calls while a workload with the given number of misspelt keys is checked."""
    path = folder / "workload.yaml"
    path.write_text(WORKLOAD + "".join(f"transaktion{number}: x\n" for number in range(misspelt)), "utf-8")
    root, calls = yamlfile.load(path).root, 0

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        checked = validate_tree(root, WorkloadFile)
    finally:
        sys.setprofile(None)
    assert len(checked.faults) == misspelt
    assert checked.model is not None
    return calls


def test_the_work_for_misspelt_keys_grows_with_their_number(tmp_path: Path) -> None:
    # The first check in a process also imports modules and builds validators, so it is not counted.
    calls_for(tmp_path, 1)
    few, many = calls_for(tmp_path, 100), calls_for(tmp_path, 400)
    assert many < 6 * few


@pytest.mark.parametrize("wrong", ["x", "[1, 2]"])
def test_what_is_wrong_is_taken_out_and_an_equal_value_elsewhere_stays(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(WORKLOAD + f"title: x\nmisspelt: {wrong}\n", "utf-8")
    checked = validate_tree(yamlfile.load(path).root, WorkloadFile)
    assert [fault.line for fault in checked.faults] == [9]
    assert checked.model is not None
    assert "misspelt" not in checked.tree.value
    assert checked.model.title == "x"


@dataclass(frozen=True)
class OfTiers:
    tiers: dict[str, float | dict[str, float]]


def test_the_place_of_a_fault_has_names_like_those_of_types_and_no_branches_of_unions() -> None:
    document = {"tiers": {"Content": {"int": "many"}, "store": 1.0}}
    assert set(malformed(OfTiers, document)) == {"tiers"}
    assert place_of(document, ("tiers", "Content", "dict[str,float]", "int")) == "tiers.Content.int"
    assert place_of({"tiers": {"float": "x"}}, ("tiers", "float", "float")) == "tiers.float"
    assert place_of({"runs": [{"Name": 1}]}, ("runs", 0, "Run", "Name")) == "runs[0].Name"
    assert place_of({}, ("runs", 0, "name")) == "runs[0].name"
    assert place_of({}, ("Content",)) == "Content"
