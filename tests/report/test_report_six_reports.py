"""Six kinds of reports in Chromium.

The reports are accessible at all widths and in all colours, send no requests, and work without scripts, on paper and
with the keyboard.
"""

from __future__ import annotations

import dataclasses
import io
import shutil
import subprocess
from collections.abc import Callable
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import report_synthetic as synthetic
from chromium import needs_chromium
from pypdf import PdfReader
from results_1 import copy_with_model
from tabs import A4, LETTER, SCHEMES, Tab, in_a_tab
from test_report_limit import BACKLOG, LIMIT

from towtank.cli import app
from towtank.report import paper
from towtank.report.content import build_document
from towtank.report.document import Document
from towtank.report.html import render
from towtank.report.source import Results

pytestmark = [pytest.mark.waits, pytest.mark.browser, needs_chromium, pytest.mark.xdist_group("six_reports")]

needs_typst = pytest.mark.skipif(
    find_spec("typst") is None or shutil.which("pdftoppm") is None,
    reason="needs typst and pdftoppm: make setup; apt-get install poppler-utils",
)
# Margins of the PDF, and the resolution at which its pages are examined. [mm], [1/inch]
_SIDE_MM, _TOP_MM, _PAPER_DPI = 18.0, 16.0, 40
WIDTHS = (320, 768, 1280, 1920)
NARROW, SMALLEST_TEXT_PX = 360, 9.0
_PX_PER_IN, _MARGINS_IN = 96.0, (32 / 25.4, 36 / 25.4)
_AXE = """window.found = null;
axe.run(document, {resultTypes: ["violations"]}).then(({ violations }) => {
  window.found = violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]);
}); 0"""
# All rows of a table have the same structure, so axe checks only the first rows.
_FIRST_ROWS = "for (const row of document.querySelectorAll('tbody tr:nth-child(n + 9)')) row.remove(); 0"
_OPEN = "for (const part of document.querySelectorAll('details')) part.open = true; 0"
_SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_UNKNOWN = """[...document.querySelectorAll("a[href^='#']")].map((link) => link.hash.slice(1))
  .filter((target) => !document.getElementById(decodeURIComponent(target)))"""
# Script that returns the font sizes of texts in figures as shown on the screen, with the scale of the figure. [px]
_TEXTS_PX = """[...document.querySelectorAll("figure .live svg")].flatMap((picture) => {
  const scale = picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
  return [...picture.querySelectorAll("text")].filter((text) => text.textContent.trim())
    .map((text) => scale * parseFloat(getComputedStyle(text).fontSize));
})"""
_SEEN = """({
  pictures: [...document.querySelectorAll("figure .static svg")].filter((each) => each.checkVisibility()).length,
  buttons: document.querySelectorAll("button").length,
  words: document.querySelector("main").textContent.split(/\\s+/).length,
})"""
_FIGURES_PX = """[...document.querySelectorAll("figure")].map((figure) =>
  [figure.id, figure.getBoundingClientRect().height])"""
_REACHABLE = """[...document.querySelectorAll("a[href], button, summary, [tabindex='0']")]
  .filter((each) => each.checkVisibility())"""


def searched() -> Results:
    """Return a study whose only run searched for the highest load that meets the objectives."""
    made = synthetic.results(levels=(120,), indices=("present",))
    run = dataclasses.replace(made.runs[0], summary={**made.runs[0].summary, "limit": LIMIT, "backlog": BACKLOG})
    configuration = {**made.summary["configurations"][0], "found_limit": LIMIT}
    return dataclasses.replace(made, runs=(run,), summary={**made.summary, "configurations": [configuration]})


STUDIES: dict[str, Callable[[], Results]] = {
    "good": synthetic.results,
    "disturbed": lambda: synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}),
    "one-run": lambda: synthetic.results(levels=(30,), indices=("present",)),
    "search": searched,
    "many": synthetic.many,
    "hostile": synthetic.hostile,
}


@pytest.fixture(scope="module", params=STUDIES)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Document, Path]:
    document = build_document(STUDIES[request.param]())
    path = tmp_path_factory.mktemp(request.param) / "report.html"
    path.write_text(render(document), "utf-8")
    return document, path


# The report with every kind of graphical mark, which is tested in each combination of colours and width.
EVERYWHERE = "disturbed"
SOMEWHERE = [(320, "forced"), (768, "dark"), (1280, "light"), (1920, "dark")]


@pytest.mark.timeout(400)
def test_axe_finds_no_barrier_at_any_width_in_any_colours(report: tuple[Document, Path]) -> None:
    library = (files("axe_core_python") / "axe.min.js").read_text("utf-8")
    everywhere = [(width, scheme) for width in WIDTHS for scheme in SCHEMES]
    places = everywhere if report[1].parent.name.startswith(EVERYWHERE) else SOMEWHERE

    async def found(tab: Tab) -> dict[tuple[int, str], Any]:
        await tab.load_live(report[1])
        await tab.evaluate(f"{library}; 0")
        await tab.evaluate(_FIRST_ROWS)
        await tab.evaluate(_OPEN)
        barriers = {}
        for width, scheme in places:
            await tab.look(width, scheme)
            await tab.evaluate(_AXE)
            await tab.until("window.found")
            barriers[width, scheme] = await tab.evaluate("window.found")
        return barriers

    assert {place: barriers for place, barriers in in_a_tab(found).items() if barriers} == {}


def test_the_page_fits_asks_for_nothing_and_leads_somewhere(report: tuple[Document, Path]) -> None:
    async def found(tab: Tab) -> dict[str, Any]:
        await tab.load_live(report[1])
        seen: dict[str, Any] = {"unknown": await tab.evaluate(_UNKNOWN), "sideways": {}, "contents": {}}
        for width in (*WIDTHS, NARROW):
            await tab.look(width)
            # Styles and scripts adapt to the new width only after the next frame, so the script waits for two frames.
            await tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            seen["sideways"][width] = await tab.evaluate(_SIDEWAYS)
            seen["contents"][width] = await tab.evaluate("document.querySelector('nav details').open")
        await tab.evaluate(_OPEN)
        seen["texts"] = await tab.evaluate(_TEXTS_PX)
        return {**seen, "logged": tab.logged, "requested": tab.requested}

    seen = in_a_tab(found)
    assert seen["unknown"] == seen["logged"] == seen["requested"] == []
    assert {width for width, beyond in seen["sideways"].items() if beyond > 0} == set()
    assert seen["contents"] == dict.fromkeys((*WIDTHS, NARROW), False)
    assert min(seen["texts"]) >= SMALLEST_TEXT_PX


def test_without_scripts_the_page_loses_its_buttons_only(report: tuple[Document, Path]) -> None:
    async def found(tab: Tab) -> Any:
        await tab.call("Emulation.setScriptExecutionDisabled", value=True)
        await tab.load(report[1])
        await tab.evaluate(_OPEN)
        bare = await tab.evaluate(_SEEN)
        await tab.call("Emulation.setScriptExecutionDisabled", value=False)
        await tab.load_live(report[1])
        await tab.evaluate("for (const tools of document.querySelectorAll('.tools')) tools.remove(); 0")
        await tab.evaluate("for (const live of document.querySelectorAll('.live')) live.remove(); 0")
        return bare, await tab.evaluate(_SEEN)

    bare, whole = in_a_tab(found)
    assert (bare["buttons"], bare["pictures"]) == (0, len(report[0].figures()))
    assert bare["words"] == whole["words"] > 500


@pytest.mark.parametrize("paper", [A4, LETTER], ids=["A4", "Letter"])
def test_on_paper_of_the_readers_choice_nothing_is_cut(
    report: tuple[Document, Path], paper: tuple[float, float]
) -> None:
    document, path = report
    width, height = ((side - margins) * _PX_PER_IN for side, margins in zip(paper, _MARGINS_IN, strict=True))

    async def found(tab: Tab) -> tuple[bytes, list[tuple[str, float]]]:
        await tab.load_live(path)
        printed = await tab.printed(paper)
        await tab.look(round(width))
        await tab.call("Emulation.setEmulatedMedia", media="print")
        return printed, await tab.evaluate(_FIGURES_PX)

    printed, figures = in_a_tab(found)
    pages = PdfReader(io.BytesIO(printed)).pages
    sides = [(float(page.mediabox.width) / 72, float(page.mediabox.height) / 72) for page in pages]
    assert all(side == pytest.approx(paper, abs=0.02) for side in sides)
    texts = [" ".join(page.extract_text().split()) for page in pages]
    for number, text in enumerate(texts, 1):
        assert f"{number} / {len(pages)}" in text
        assert "".join(document.page_title.split()) in text.replace(" ", "")
    # Figures are not split between pages, so each figure must fit on a page.
    assert [(name, high) for name, high in figures if high > height] == []
    whole = " ".join(texts)
    assert [number for number in range(1, len(figures) + 1) if f"Figure {number}." not in whole] == []


def test_the_keyboard_reaches_all_that_can_be_used(report: tuple[Document, Path]) -> None:
    async def found(tab: Tab) -> list[str]:
        await tab.load_live(report[1])
        await tab.look(500)
        count = int(await tab.evaluate(f"(window.wanted = {_REACHABLE}).length"))
        await tab.evaluate("window.reached = new Set(); 0")
        missed = "window.wanted.filter((each) => !window.reached.has(each)).map((each) => each.outerHTML.slice(0, 120))"
        left: list[str] = []
        # A busy browser loses key presses until its page has the focus, so the key is pressed more often than
        # necessary. After the last element the focus returns to the first.
        for number in range(1, 4 * (count + 1) + 1):
            for kind in ("keyDown", "keyUp"):
                await tab.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            await tab.evaluate("window.reached.add(document.activeElement); 0")
            if number % (count + 1) == 0 and not (left := list(await tab.evaluate(missed))):
                break
        return left

    assert in_a_tab(found) == []


@needs_typst
@pytest.mark.parametrize("is_brief", [False, True], ids=["whole", "brief"])
def test_no_page_of_the_pdf_is_empty_or_has_text_in_its_margins(
    report: tuple[Document, Path], tmp_path: Path, is_brief: bool
) -> None:
    document = paper.brief(report[0]) if is_brief else report[0]
    made = paper.to_pdf(document, one_page=is_brief)
    assert paper.to_pdf(document, one_page=is_brief) == made
    assert_pages_are_whole(made, tmp_path)


@needs_typst
@pytest.mark.parametrize("options", [[], ["--paper", "letter"], ["--brief"]], ids=["A4", "Letter", "brief"])
def test_kept_results_become_the_same_whole_pages_again(tmp_path: Path, kept_model: Path, options: list[str]) -> None:
    results, path = copy_with_model(tmp_path / "results-1", kept_model), tmp_path / "out.pdf"
    command = ["report", str(results), "--pdf", "--out", str(path), *options]
    assert app.run(command) == 0
    made = path.read_bytes()
    assert_pages_are_whole(made, tmp_path)
    assert app.run(command) == 0
    assert path.read_bytes() == made


def assert_pages_are_whole(made: bytes, folder: Path) -> None:
    """Draw the pages of a PDF. Check that their margins are empty, and that their text areas are not."""
    path = folder / "pages.pdf"
    path.write_bytes(made)
    subprocess.run(["pdftoppm", "-gray", "-r", str(_PAPER_DPI), path, folder / "page"], check=True)
    pages = sorted(folder.glob("page*.pgm"))
    assert len(pages) == len(PdfReader(path).pages)
    for number, page in enumerate(pages, 1):
        kind, size, _, pixels = page.read_bytes().split(b"\n", 3)
        assert kind == b"P5"
        width, height = map(int, size.split())
        ink = np.frombuffer(pixels, np.uint8).reshape(height, width) < 200
        side, top = (round(mm / 25.4 * _PAPER_DPI) - 1 for mm in (_SIDE_MM, _TOP_MM))
        assert not ink[:, :side].any(), number
        assert not ink[:, -side:].any(), number
        assert not ink[:top].any(), number
        # Above the footer, at least a fifth of the height has text. The last page may have less.
        assert ink[: -2 * top].any(axis=1).sum() > (10 if number == len(pages) else height / 5), number
