"""The report in a real browser: interactive views replace the drawings, no network is asked for anything."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import report_synthetic as synthetic

from towtank.report import write

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

pytestmark = [pytest.mark.browser, needs_chromium, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The page after it has loaded, and what the browser said."""
    folder = tmp_path_factory.mktemp("browser")
    report = write(synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}), folder / "report.html")
    return dump(report, folder / "profile")


def dump(report: Path, profile: Path) -> tuple[str, str]:
    """Load a page without any way to a network; its elements then, and what the browser logged."""
    command = [
        str(CHROMIUM),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--enable-logging=stderr",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--proxy-server=127.0.0.1:9",
        f"--user-data-dir={profile}",
        "--virtual-time-budget=20000",
        "--dump-dom",
        report.as_uri(),
    ]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=90, check=True)
    return ended.stdout, ended.stderr


def test_every_drawing_is_replaced_by_its_interactive_view(loaded: tuple[str, str]) -> None:
    dom, _ = loaded
    figures = re.findall(r'<figure id="figure-[a-z-]+"[^>]*data-live[^>]*>', dom)
    assert len(figures) == 7
    assert all('class="is-live"' in figure for figure in figures)
    assert len(re.findall(r'<div class="live[^"]*"[^>]*>.*?<svg', dom, re.DOTALL)) >= 7


def test_page_logs_no_fault_and_no_refused_request(loaded: tuple[str, str]) -> None:
    _, log = loaded
    assert [line for line in log.splitlines() if "CONSOLE" in line or "Refused to" in line] == []
