"""A brief (short report) has one page and stands alone.

It refers to no section that it lacks, and marks results that depend on suspect runs.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import report_synthetic as synthetic
from test_report_answers import asked
from test_report_paper import SamePictures, bare, texts

from towtank.analysis import claims
from towtank.cli import app
from towtank.report import paper
from towtank.report.content import build_document
from towtank.report.document import Callout, Document, Paragraph, Table
from towtank.report.source import Results

needs_typst = pytest.mark.skipif(find_spec("typst") is None, reason="needs typst: make setup")


def with_claims(*written: dict[str, Any], **made: Any) -> Results:
    """Return the synthetic study with these claims."""
    found = synthetic.results(**made)
    study = {**found.study, "claims": list(written), "run_to_run": 0.0}
    judged = claims.judge(study, [run.summary for run in found.runs])
    return dataclasses.replace(found, claims=judged)


def suspect() -> Results:
    """Return a study with more claims than the first screen shows. All of its claims depend on a suspect run."""
    return with_claims(*[asked("ratio", "confirmed")] * 5, asked("ratio", "refuted"), verdicts={"r004": "suspect"})


def said(document: Document) -> Iterator[str]:
    """Yield all sentences of a document: paragraphs, callouts and footnotes."""
    for section in document.sections:
        for block in section.blocks:
            if isinstance(block, Paragraph):
                yield "".join(run.text for run in block.content)
            elif isinstance(block, Callout):
                yield from ("".join(run.text for run in content) for content in block.content)
            elif isinstance(block, Table):
                yield from block.footnotes


@pytest.mark.parametrize("make", [suspect, synthetic.results, synthetic.many, synthetic.hostile])
def test_a_brief_points_to_the_full_report_for_what_it_lacks(make: Any) -> None:
    whole = build_document(make())
    brief = paper.brief(whole)
    pointers = ("section on", "this report", "see the limits", "folded", "below")
    assert [sentence for sentence in said(brief) if any(words in sentence for words in pointers)] == []


def test_a_brief_of_suspect_claims_says_where_their_reasons_are() -> None:
    sentences = list(said(paper.brief(build_document(suspect()))))
    assert "The full report has the reasons for the other answers." in sentences
    assert any("see the full report on limits of the conclusions" in sentence for sentence in sentences)


def test_the_number_of_confirmed_claims_is_marked_if_they_lean_on_suspect_runs() -> None:
    marked = " ".join(said(build_document(suspect())))
    assert "5 confirmed (5 of them †) and 1 refuted (1 of them †)." in marked
    plain = " ".join(said(build_document(with_claims(asked("ratio", "confirmed")))))
    assert "1 confirmed" in plain
    assert "1 confirmed (" not in plain


def tables(document: Document, *, one_page: bool) -> list[dict[str, Any]]:
    shown = json.loads(paper.content(document, SamePictures(), one_page=one_page))
    return [block for section in shown["sections"] for block in section["blocks"] if block["kind"] == "table"]


def test_a_note_on_left_out_rows_is_true() -> None:
    whole = build_document(suspect())
    (of_brief,) = [
        each for each in tables(paper.brief(whole), one_page=True) if each["caption"] == "Expected and found"
    ]
    assert len(of_brief["parts"][0]["rows"]) == 3
    assert "3 of 6 rows; the full report contains all of them." in of_brief["footnotes"]
    (of_report,) = [each for each in tables(whole, one_page=False) if each["caption"] == "Expected and found"]
    assert len(of_report["parts"][0]["rows"]) == 6
    assert not [note for note in of_report["footnotes"] if " rows; " in note]


@needs_typst
@pytest.mark.parametrize("letter", ["a", "a "])
@pytest.mark.parametrize("size", paper.PAPERS)
def test_a_brief_of_very_long_texts_has_one_page(letter: str, size: str) -> None:
    long = letter * (15_000 // len(letter))
    found = suspect()
    results = dataclasses.replace(found, summary={**found.summary, "question": long, "title": long})
    made = paper.to_pdf(paper.brief(build_document(results)), SamePictures(), paper=size, one_page=True)
    (page,) = texts(made)
    assert bare("…") in bare(page)


@needs_typst
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pdf", "--out", "x.html"], "--out: must be a PDF file, or --pdf be left out, got 'x.html' instead"),
        (["--pdf", "--brief", "--out", "x.HTM"], "--out: must be a PDF file"),
        (["--out", "x.pdf"], "--out: must be an HTML file, or --pdf be given, got 'x.pdf' instead"),
    ],
)
def test_a_file_of_the_other_format_is_refused(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(app, "COMMANDS", ("report", "report"))
    monkeypatch.setattr(app, "GROUPS", ())
    monkeypatch.chdir(tmp_path)
    assert app.run(["report", str(tmp_path), *arguments]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
