"""The report in a real browser: interactive views replace the static drawings, and the page sends no network
request.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import report_synthetic as synthetic
from chromium import needs_chromium
from tabs import Tab, in_a_tab

from towtank.report import write_loaded_report

pytestmark = [pytest.mark.waits, pytest.mark.browser, needs_chromium, pytest.mark.xdist_group("browser")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    return write_loaded_report(
        synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}), folder / "report.html"
    )


@pytest.fixture(scope="module")
def loaded(report: Path) -> tuple[str, list[str]]:
    """Scroll past all figures of a report in a browser tab. Return the HTML after that, and the log and the requests of
    the tab.
    """

    async def found(tab: Tab) -> tuple[str, list[str]]:
        await tab.load_live(report)
        return str(await tab.evaluate("document.documentElement.outerHTML")), [*tab.logged, *tab.requested]

    return in_a_tab(found)


def test_every_drawing_is_replaced_by_its_interactive_view(loaded: tuple[str, list[str]]) -> None:
    dom, _ = loaded
    figures = re.findall(r'<figure id="figure-[a-z-]+"[^>]*data-live[^>]*>', dom)
    assert len(figures) == 9
    assert all('class="is-live"' in figure for figure in figures)
    assert len(re.findall(r'<div class="live[^"]*"[^>]*>.*?<svg', dom, re.DOTALL)) >= 7


def test_page_logs_no_fault_and_asks_for_nothing(loaded: tuple[str, list[str]]) -> None:
    assert loaded[1] == []


def test_views_are_made_when_the_reader_comes_near_them(report: Path) -> None:
    async def found(tab: Tab) -> tuple[list[str], int]:
        await tab.look(1280)
        await tab.load(report)
        await tab.until("document.querySelector('figure.is-live')")
        first = await tab.evaluate("[...document.querySelectorAll('figure.is-live')].map((figure) => figure.id)")
        await tab.load_live(report)
        return first, int(await tab.evaluate("document.querySelectorAll('figure.is-live').length"))

    first, in_the_end = in_a_tab(found)
    assert first[0] == "figure-throughput"
    assert len(first) < in_the_end
