from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic
from pypdf import PdfReader

from towtank.cli import app
from towtank.errors import ReportError
from towtank.report import paper, paper_tables
from towtank.report.content import build_document
from towtank.report.document import Column, Document, Figure, Section, Table
from towtank.report.pictures import Pictures
from towtank.report.source import Results

needs_typst = pytest.mark.skipif(find_spec("typst") is None, reason="needs typst: make setup")
_SIDE_MM = 18.0  # margin of the template [mm]
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200"><text x="10" y="20">{}</text></svg>'


class SamePictures(Pictures):
    """Pictures that are all the same small drawing, because Vega takes seconds to load."""

    def of(self, spec: object) -> str:
        return DRAWING.format("drawing")


@pytest.fixture
def towtank(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command line with `report` as its only command."""
    monkeypatch.setattr(app, "COMMANDS", ("report", "report"))
    monkeypatch.setattr(app, "GROUPS", ())
    return app.run


def document(make: Callable[[], Results] = synthetic.results) -> Document:
    return build_document(make())


def of_blocks(*blocks: Any) -> Document:
    return Document("Title", "subtitle", (Section("summary", "Summary", blocks, part="Answer"),), front="Answer")


def texts(made: bytes) -> list[str]:
    """Return the text of each page without break opportunities and line breaks."""
    pages = PdfReader(io.BytesIO(made)).pages
    return [" ".join(page.extract_text().replace("\u200b", "").split()) for page in pages]


def bare(text: str) -> str:
    return "".join(text.replace("\u200b", "").split())


@needs_typst
def test_the_pdf_has_answer_verdict_tables_and_figures_of_the_document() -> None:
    found = document(lambda: synthetic.results(verdicts={"r002": "suspect", "r003": "invalid"}))
    pages = texts(paper.to_pdf(found, SamePictures()))
    whole = bare(" ".join(pages))
    for number, page in enumerate(pages, 1):
        assert f"{number} / {len(pages)}" in page
        assert bare(found.page_title) in bare(page)
    for said in (found.question, found.answer, found.verdict, found.made_with):
        assert bare(said) in whole
    tables = [block for section in found.sections for block in section.blocks if isinstance(block, Table)]
    for number, table in enumerate(tables, 1):
        assert bare(f"Table {number}. {table.caption}") in whole
        assert [cell for row in table.rows for cell in row if bare(cell) not in whole] == []
    for number, figure in enumerate(found.figures(), 1):
        assert bare(f"Figure {number}. {figure.title}") in whole
    assert all(bare(section.title) in bare(" ".join(pages[:2])) for section in found.sections)


@needs_typst
def test_the_pdf_is_tagged_has_a_language_and_alternatives_of_figures_and_is_the_same_again() -> None:
    found = document()
    made = paper.to_pdf(found, SamePictures())
    assert paper.to_pdf(found, SamePictures()) == made
    root = PdfReader(io.BytesIO(made)).trailer["/Root"]
    assert root["/Lang"] == "en"
    assert root["/MarkInfo"]["/Marked"].value is True
    assert "<pdfuaid:part>1</pdfuaid:part>" in root["/Metadata"].get_data().decode()
    alternatives = [node["/Alt"] for node in nodes(root["/StructTreeRoot"]) if node.get("/S") == "/Figure"]
    assert len(alternatives) == len(found.figures())
    assert all(len(each) > 20 for each in alternatives)


def nodes(node: Any) -> list[Any]:
    """Return a structure element of a PDF and all elements below it."""
    below = node.get("/K", [])
    below = below if isinstance(below, list) else [below]
    kids = [kid.get_object() for kid in below]
    return [node, *(each for kid in kids if isinstance(kid, dict) and "/S" in kid for each in nodes(kid))]


@needs_typst
@pytest.mark.parametrize("size", [("a4", (595.3, 841.9)), ("letter", (612.0, 792.0))], ids=lambda size: size[0])
@pytest.mark.parametrize("make", [synthetic.results, synthetic.hostile, synthetic.many], ids=lambda make: make.__name__)
def test_the_brief_has_one_page_with_question_answer_and_verdict(
    make: Callable[[], Results], size: tuple[str, tuple[float, float]]
) -> None:
    found = document(make)
    made = paper.to_pdf(paper.brief(found), SamePictures(), paper=size[0], one_page=True)
    (page,) = texts(made)
    for said in (found.title, found.question, found.answer, found.verdict):
        assert bare(said) in bare(page)
    box = PdfReader(io.BytesIO(made)).pages[0].mediabox
    assert (float(box.width), float(box.height)) == pytest.approx(size[1], abs=0.1)


@needs_typst
def test_no_text_is_read_as_a_program_and_letters_without_a_font_become_their_numbers() -> None:
    evil = '#panic("x") $a$ *b* \\ " \x00\x1b \ud800 [U \U0010fffd \u202eabc \u05d0\u05d1 ' + "x" * 300
    table = Table(evil, (Column(evil), Column("n", "1", numeric=True)), ((evil, "1 ms"),), (evil,))
    figure = Figure("name", evil, evil, svg=DRAWING.format("\U0010fffd"))
    found = dataclasses.replace(of_blocks(table, figure), title=evil)
    whole = " ".join(texts(paper.to_pdf(found)))
    assert '#panic("x") $a$ *b*' in whole
    assert "[U+10FFFD]" in whole


@needs_typst
@pytest.mark.parametrize("columns", [1, 9, 16])
def test_tables_are_never_wider_than_the_page(columns: int) -> None:
    heads = tuple(Column(f"quantity {number}", "ms", numeric=number % 2 == 1) for number in range(columns))
    row = tuple("123.4 [100.1, 140.2] ms" if number % 2 else f"name_{'x' * 90}" for number in range(columns))
    made = paper.to_pdf(of_blocks(Table("wide", heads, (row,) * 3)))
    assert inked_mm(made) >= _SIDE_MM - 0.7
    assert all(f"quantity {number}" in " ".join(texts(made)) for number in range(columns))


def inked_mm(made: bytes) -> float:
    """Return the smallest distance of the text from the left and right sides of the pages. [mm]

    The position of each text fragment, and an estimate of its width, are compared with the width of the page.
    """
    smallest = float("inf")
    for page in PdfReader(io.BytesIO(made)).pages:
        width = float(page.mediabox.width)

        def seen(
            text: str, matrix: list[float], place: list[float], _font: object, size: float, width: float = width
        ) -> None:
            nonlocal smallest
            left = matrix[4] + place[4] * matrix[0]
            # Fragments of words in tables are at least half as wide as estimated.
            right = left + 0.5 * paper_tables.width_pt(text.strip()) * size / paper_tables.SIZE_PT
            if text.strip():
                smallest = min(smallest, left, width - right)

        page.extract_text(visitor_text=seen)
    return smallest / 72 * 25.4


def test_columns_of_a_wide_table_are_shared_among_parts_that_repeat_the_first_column() -> None:
    heads = tuple(Column(str(number), numeric=True) for number in range(12))
    table = Table("wide", heads, (tuple(f"{number}23.4 [100, 140] ms" for number in range(12)),))
    found = paper_tables.parts(table, 493.0)
    assert len(found) > 1
    assert {part.columns[0].title for part in found} == {"0"}
    assert [column.title for part in found for column in part.columns[1:]] == [str(number) for number in range(1, 12)]
    for part in found:
        assert sum(part.widths_pt) + paper_tables.GAP_PT * (len(part.widths_pt) - 1) <= 493.1
        assert part.size_pt == paper_tables.SIZE_PT


def test_a_table_that_is_slightly_too_wide_gets_smaller_letters() -> None:
    cells = tuple(f"{number}23.4 [100, 140] ms" for number in range(6))
    table = Table("wide", tuple(Column(str(number), numeric=True) for number in range(6)), (cells,))
    whole = sum(map(paper_tables.width_pt, cells))
    (part,) = paper_tables.parts(table, 0.9 * whole + 5 * paper_tables.GAP_PT)
    assert part.size_pt == pytest.approx(0.9 * paper_tables.SIZE_PT)
    assert sum(part.widths_pt) == pytest.approx(0.9 * whole)


def test_in_a_table_of_long_texts_the_longest_text_has_the_widest_column() -> None:
    heads = ("Configuration", "Answer", "Evidence", "Against", "Not observed", "Next step")
    row = (
        "settings default",
        "limit not known " * 3,
        "the busiest resource is a CPU " * 12,
        *["raise the load " * 3] * 3,
    )
    (part,) = paper_tables.parts(Table("limits", tuple(map(Column, heads)), (row,)), 493.0)
    assert part.size_pt == paper_tables.SIZE_PT
    assert max(part.widths_pt) == part.widths_pt[2]
    assert part.widths_pt[2] > 1.4 * part.widths_pt[3]


def test_a_long_table_has_its_first_rows_and_their_number() -> None:
    rows = tuple((f"row {number}",) for number in range(1381))
    (table,) = json.loads(paper.content(of_blocks(Table("long", (Column("name"),), rows))))["sections"][0]["blocks"]
    assert [row[0] for row in table["parts"][0]["rows"]] == [f"row {number}" for number in range(24)]
    assert table["footnotes"] == ["24 of 1,381 rows; the report as HTML contains all of them."]


def test_without_typst_the_command_says_how_to_install_it(
    towtank: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paper, "find_spec", lambda _: None)
    with pytest.raises(ReportError):
        paper.to_pdf(document())
    assert towtank(["report", str(tmp_path), "--pdf"]) == 1
    said = capsys.readouterr().err
    assert "a report as PDF needs the Python package typst, which is not installed" in said
    assert "-m pip install typst" in said


def test_options_of_the_pdf_are_refused_without_it(
    towtank: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert towtank(["report", str(tmp_path), "--brief", "--paper", "a3"]) == 2
    said = capsys.readouterr().err
    assert "--brief: must be given with --pdf only" in said
    assert "--paper: must be given with --pdf only" in said
    assert "--paper: must be one of a4, letter, got 'a3' instead" in said


@needs_typst
def test_a_title_without_a_letter_is_replaced() -> None:
    found = dataclasses.replace(of_blocks(Table("t", (Column("n"),), (("1",),))), title="\x00\x07")
    assert bare("report") in bare(" ".join(texts(paper.to_pdf(found))))
