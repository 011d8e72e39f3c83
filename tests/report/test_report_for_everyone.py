from __future__ import annotations

import csv
import html
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic
from chromium import DARK, dump, needs_chromium, run
from pypdf import PdfReader

from towtank.report.content import build_document
from towtank.report.document import Document, Table
from towtank.report.html import render

pytestmark = [pytest.mark.waits, pytest.mark.browser, needs_chromium, pytest.mark.xdist_group("browser")]

_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
_AXE = """window.addEventListener("load", () => setTimeout(async () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  // Tables that scroll are made reachable when they are opened.
  await new Promise((done) => setTimeout(done, 500));
  const { violations } = await axe.run(document);
  say(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 200))]));
}, 3000));"""
_ATTEMPTS = 4
_SAY = """const say = (found) => {
  const element = document.body.appendChild(document.createElement("pre"));
  element.id = "said";
  element.textContent = JSON.stringify(found);
};"""
_TAKE_ALONG = """window.addEventListener("load", () => setTimeout(async () => {
  const copied = [], saved = [];
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => copied.push(text) } });
  URL.createObjectURL = (blob) => { saved.push(blob); return "blob:none"; };
  HTMLAnchorElement.prototype.click = () => {};
  for (const button of document.querySelectorAll(".tools button")) button.click();
  await new Promise((done) => setTimeout(done, 5000));
  say({ copied, saved: await Promise.all(saved.map(async (blob) => [blob.type, blob.size, await blob.text()])) });
}, 3000));"""


@pytest.fixture(scope="module")
def document() -> Document:
    return build_document(synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}))


@pytest.fixture(scope="module")
def page(document: Document) -> str:
    return render(document)


def said(folder: Path, page: str, script: str, *options: str, axe: bool = False) -> Any:
    """Run a script in a page, and return its result.

    The content security policy of the page is removed, because it would block the script.
    """
    library = (files("axe_core_python") / "axe.min.js").read_text("utf-8") if axe else ""
    scripts = "".join(f"<script>{each}</script>" for each in (library, _SAY, script))
    path = folder / "page.html"
    # Strings in the libraries of the page also contain this tag. Its last occurrence is the tag of the page itself.
    before, end, after = _POLICY.sub("", page).rpartition("</body>")
    path.write_text(f"{before}{scripts}{end}{after}", "utf-8")
    # Chromium's virtual time may end, on a busy machine, before its other processes have responded. So loading is
    # repeated.
    for attempt in range(_ATTEMPTS):
        dom, log = dump(path, folder / f"profile-{attempt}", *options)
        if found := re.search(r'<pre id="said">(.*?)</pre>', dom, re.DOTALL):
            break
    assert found is not None, log
    assert "Uncaught" not in log
    return json.loads(html.unescape(found[1]))


@pytest.mark.parametrize(("width", "scheme"), [(320, ()), (768, (DARK,)), (1280, ()), (1920, (DARK,))])
def test_axe_finds_no_barrier(tmp_path: Path, page: str, width: int, scheme: tuple[str, ...]) -> None:
    assert said(tmp_path, page, _AXE, f"--window-size={width},1500", *scheme, axe=True) == []


def test_axe_would_find_one(tmp_path: Path, page: str) -> None:
    broken = page.replace('<main id="content">', '<main id="content"><img src="data:,">')
    assert "image-alt" in [name for name, _ in said(tmp_path, broken, _AXE, axe=True)]


def test_what_scrolls_is_reached_with_the_keyboard(tmp_path: Path, page: str) -> None:
    script = """window.addEventListener("load", () => setTimeout(() => {
      for (const part of document.querySelectorAll("details")) part.open = true;
    }, 1500));
    window.addEventListener("load", () => setTimeout(() => say(
      [...document.querySelectorAll(".table, .picture, pre")]
        .filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.tabIndex)), 3000));"""
    scrolled = said(tmp_path, page, script, "--window-size=500,900")
    assert scrolled
    assert set(scrolled) == {0}


def test_figures_and_tables_can_be_taken_along(tmp_path: Path, document: Document, page: str) -> None:
    taken = said(tmp_path, page, _TAKE_ALONG)
    tables = [block for section in document.sections for block in section.blocks if isinstance(block, Table)]
    assert taken["copied"].count(document.summary_text) == 1
    assert len(taken["copied"]) == 1 + 2 * len(tables)
    for table in tables:
        heads = [column.title for column in table.columns]
        assert any(text.startswith("| " + heads[0]) and text.count("\n") == len(table.rows) + 1
                   for text in taken["copied"]), table.caption  # fmt: skip
    kinds = [kind for kind, _, _ in taken["saved"]]
    figures = document.figures()
    assert kinds.count("image/svg+xml") == kinds.count("image/png") == len(figures)
    assert all(size > 500 for kind, size, _ in taken["saved"] if kind == "image/png")
    sheets = [list(csv.reader(text.splitlines())) for kind, _, text in taken["saved"] if kind == "text/csv"]
    drawn = [figure.table for figure in figures if figure.table]
    assert [len(sheet) for sheet in sheets] == [1 + len(table.rows) for table in drawn]
    assert [row[0] for row in sheets[0][1:]] == [row[0] for row in drawn[0].rows]


_HEARD = """window.addEventListener("load", () => setTimeout(async () => {
  const heard = document.querySelector("[role=status]"), said = [];
  const before = [heard.textContent, heard.getAttribute("aria-live"), heard.checkVisibility(), heard.offsetWidth];
  let refused = false;
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async () => { throw new Error("no"); } } });
  document.execCommand = () => !refused;
  URL.createObjectURL = () => "blob:none";
  HTMLAnchorElement.prototype.click = () => {};
  const buttons = [...document.querySelectorAll(".tools button")];
  const press = async (words) => {
    const button = buttons.find((each) => each.getAttribute("aria-label").startsWith(words));
    const before = heard.textContent;
    button.click();
    // A picture takes as long as the machine lets it.
    for (let waits = 0; waits < 200 && (!heard.textContent || heard.textContent === before); waits++) {
      await new Promise((done) => setTimeout(done, 50));
    }
    said.push([heard.textContent, button.textContent, button.getAttribute("aria-label")]);
  };
  const pressed = ["Copy summary", "Copy as Markdown", "SVG", "CSV", "PNG", "Open or close all"];
  for (const words of pressed) await press(words);
  refused = true;
  await press("Copy as TSV");
  await new Promise((done) => setTimeout(done, 2500));
  say({ before, said, after: buttons.map((button) => button.textContent) });
}, 2000));"""


def test_what_a_button_did_is_heard_and_seen(tmp_path: Path, page: str) -> None:
    found = said(tmp_path, page, _HEARD)
    text, live, is_there, width = found["before"]
    # Screen readers read a message only if its live region existed before. So an empty, visually hidden region must
    # exist.
    assert (text, live, is_there, width) == ("", "polite", True, 1)
    assert found["said"] == [
        ["Copied: Copy summary, report", "Copied", "Copy summary: report"],
        ["Copied: Copy as Markdown, table 1", "Copied", "Copy as Markdown: table 1"],
        ["Saved: SVG, figure 1", "Saved", "SVG: figure 1"],
        ["Saved: CSV, figure 1", "Saved", "CSV: figure 1"],
        ["Saved: PNG, figure 1", "Saved", "PNG: figure 1"],
        ["Opened: Open or close all, report", "Opened", "Open or close all: report"],
        ["Not copied: Copy as TSV, table 1", "Not copied", "Copy as TSV: table 1"],
    ]
    assert {"Copied", "Saved", "Opened", "Not copied"}.isdisjoint(found["after"])


def test_a_table_gives_no_formula_to_a_spreadsheet_and_keeps_its_numbers(tmp_path: Path, page: str) -> None:
    formulas = ["=cmd|calc", "-1 +cmd|calc", "+1 cmd|calc"]
    numbers = ["+0.961 %", "+1,234.5 ms", "-3", "+5 [3, 7] %", "+2 [\N{MINUS SIGN}1, 5] MiB/s"]
    assert page.count(">view_properties</th>") >= len(formulas + numbers)
    for cell in [*formulas, *numbers]:
        page = page.replace(">view_properties</th>", f">{cell}</th>", 1)
    taken = said(tmp_path, page, _TAKE_ALONG)
    cells = {cell for text in taken["copied"] for cell in re.split(r"[\t\n]", text)}
    sheets = [csv.reader(text.splitlines()) for kind, _, text in taken["saved"] if kind == "text/csv"]
    cells |= {cell for sheet in sheets for row in sheet for cell in row}
    assert {f"'{formula}" for formula in formulas} - cells == set()
    assert cells.isdisjoint(formulas)
    assert set(numbers) - cells == set()


def test_on_paper_every_page_has_number_study_and_verdict(tmp_path: Path, document: Document, page: str) -> None:
    path, paper = tmp_path / "page.html", tmp_path / "page.pdf"
    path.write_text(page, "utf-8")
    run(path, tmp_path / "profile", f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    pages = [each.extract_text() for each in PdfReader(paper).pages]
    assert len(pages) > 3
    for number, text in enumerate(pages, 1):
        assert f"{number} / {len(pages)}" in text
        assert document.verdict in text.replace("\n", " ")
    whole = " ".join(pages)
    assert "Contents: 1 Summary" in whole
    for number in range(1, len(document.figures()) + 1):
        assert f"Figure {number}." in whole
    assert "Copy as Markdown" not in whole
