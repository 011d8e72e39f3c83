"""Every published reference case has a test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cases import DATA

CASES = sorted({case["id"] for path in DATA.glob("*.json") for case in json.loads(path.read_text("utf-8"))})
TESTS = "\n".join(path.read_text("utf-8") for path in Path(__file__).parents[1].rglob("test_*.py"))


@pytest.mark.parametrize("identity", CASES)
def test_a_case_is_used(identity):
    assert re.search(rf"\b{identity}\b", TESTS), f"no test names {identity}"
