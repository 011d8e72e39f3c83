"""Every test that SECURITY.md names as evidence of a promise exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_is_named_exists() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    named = set(re.findall(r"`(test_\w+)`", text))
    files = set(re.findall(r"`(tests/[\w/]+\.py)`", text))
    sources = "".join(path.read_text("utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py")))
    assert len(named) > 30
    assert sorted(named - set(re.findall(r"\bdef (test_\w+)", sources))) == []
    assert [file for file in sorted(files) if not (ROOT / file).is_file()] == []
