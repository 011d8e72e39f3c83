"""Imports in the guides for users of other tools produce the workloads shown.

An imported workload sends the same requests as the workload written by hand.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from towtank.workload import load_workload

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("form", "name"), [("k6", "from-k6/script.js"), ("jmx", "from-jmeter/plan.jmx")])
def test_imports_give_the_workloads_that_are_shown(form: str, name: str, tmp_path: Path) -> None:
    out = tmp_path / "imported.yaml"
    command = [sys.executable, "-m", "towtank", "import", form, str(ROOT / "examples" / name), "--out", str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    kept = (ROOT / "examples" / name).with_name("workload.yaml").read_text("utf-8")
    assert without_title(out.read_text("utf-8")) == without_title(kept)


def without_title(text: str) -> list[str]:
    """Return a workload without its title, which contains the path of the imported file."""
    return [line for line in text.splitlines() if not line.startswith(("title:", "# Imported"))]


def test_imported_workload_does_what_the_one_by_hand_does() -> None:
    by_hand = load_workload(ROOT / "examples" / "shop" / "workload.yaml").file.transactions["look_at_orders"]
    imported = load_workload(ROOT / "examples" / "from-k6" / "workload.yaml").file.transactions["script"]
    assert requests(by_hand) == requests(imported) == ["post /login", "get /orders", "get /orders/1"]


def requests(transaction: object) -> list[str]:
    """Return method and path of each request of a workload, in order."""
    return [f"{method} {path}" for method, path in re.findall(r"\b(get|post)='([^']*)'", repr(transaction))]
