"""An internal error in one part of a report affects only this part: a sentence replaces it, and the rest of the report
is complete.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from results_1 import RESULTS_1
from test_report_command import plain

from towtank import containment
from towtank.cli import app
from towtank.containment import Failed, Parts, attempt, attempt_or, contained
from towtank.errors import ModelError, Stopped
from towtank.report import html, pictures
from towtank.report.content import SECTIONS, build_document, part_of
from towtank.report.document import Figure
from towtank.report.figures import FIGURES, MAIN
from towtank.report.source import Results, load_results


class BrokenError(RuntimeError):
    """The error that the tests raise inside a part of the report."""


def fail(*_: Any, **__: Any) -> None:
    raise BrokenError("on purpose")


@pytest.fixture
def towtank(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The command line with `report` as its only command. Files about internal errors are written to the folder of the
    test.
    """
    monkeypatch.setattr(app, "COMMANDS", ("report", "report"))
    monkeypatch.setattr(app, "GROUPS", ())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return app.run


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with two runs, which are too few to fit a model."""
    folder = Path(shutil.copytree(RESULTS_1, tmp_path_factory.mktemp("small") / "results-1"))
    for run in sorted((folder / "runs").iterdir())[2:]:
        shutil.rmtree(run)
    return folder


@pytest.fixture(scope="module")
def read(small: Path) -> Results:
    return load_results(small)


def break_part(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Make one part of the report raise an error, in every module that creates this part."""
    make = containment._make

    def make_or_fail(name: str, *arguments: Any, **keywords: Any) -> Any:
        return fail() if name == part else make(name, *arguments, **keywords)

    monkeypatch.setattr(containment, "_make", make_or_fail)


PARTS = [*(part_of(build) for build in SECTIONS), *(f"figure {what}" for what, _ in (MAIN, *FIGURES))]


@pytest.mark.parametrize("part", PARTS)
def test_a_statement_replaces_a_section_or_figure_that_fails(
    read: Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, part: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with contained() as whole:
        before = build_document(read)
    assert not whole.failed
    break_part(monkeypatch, part)
    with contained() as parts:
        after = build_document(read)
    assert [(each.part, each.what) for each in parts.failed] == [(part, "BrokenError: on purpose")]
    sentence = parts.failed[0].sentence
    holders = [section for section in after.sections if sentence in str(section) and section.name != "failed-parts"]
    assert len(holders) == 1
    lost = {section.name for section in before.sections} - {section.name for section in after.sections}
    assert len(lost) <= 1
    untouched = [section for section in after.sections if section in before.sections]
    assert len(untouched) >= len(before.sections) - 1
    assert after.sections[0].name == "failed-parts"
    fault_file = parts.failed[0].fault_file
    assert fault_file is not None
    assert "BrokenError: on purpose" in Path(fault_file).read_text()


def test_a_statement_replaces_a_picture_that_cannot_be_drawn(
    read: Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    document = build_document(read)
    figures = [block for section in document.sections for block in section.blocks if isinstance(block, Figure)]
    for figure in figures:
        with monkeypatch.context() as patch, contained() as parts:
            break_part(patch, f"picture {figure.name}")
            patch.setattr(pictures, "static_svg", lambda spec: "<svg></svg>")
            page = html.render(document)
        assert [each.part for each in parts.failed] == [f"picture {figure.name}"]
        assert "this part could not be made: BrokenError: on purpose" in page
        assert f'id="figure-{figure.name}"' not in page


@pytest.mark.waits
def test_every_other_part_of_the_command_may_fail(
    towtank: Any, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The test runs for every part of which a report consists at present, so new parts are included."""
    monkeypatch.setattr(pictures, "static_svg", lambda spec: "<svg></svg>")
    with contained() as parts:
        load_results(small)
    wrong = []
    for part in dict.fromkeys(parts.attempted):
        out = tmp_path / "out.html"
        out.unlink(missing_ok=True)
        # Stored documents are removed. Otherwise the command would reuse them, and the replaced function would not be
        # called.
        for kept in ("study-summary.json", "model.json", "study-sizing.json"):
            (small / kept).unlink(missing_ok=True)
        with monkeypatch.context() as patch:
            break_part(patch, part)
            status = towtank(["report", str(small), "--out", str(out), "--json"])
        printed = capsys.readouterr()
        named = [each["part"] for each in json.loads(printed.out).get("failed_parts", [])]
        if status != 1 or named != [part] or not out.is_file() or part not in printed.err:
            wrong.append((part, status, named, printed.err))
    assert not wrong


def test_people_find_the_report_in_the_last_line(
    towtank: Any, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.html"
    # The stored model is removed, because the report would otherwise reuse it and not call the fit.
    (small / "model.json").unlink(missing_ok=True)
    monkeypatch.setattr(pictures, "static_svg", lambda spec: "<svg></svg>")
    break_part(monkeypatch, "capacity model")
    assert towtank(["report", str(small), "--out", str(out)]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == f"report: {out}"
    assert "capacity model: this part could not be made: BrokenError: on purpose" in printed.err
    assert "capacity model: this part could not be made" in " ".join(plain(out).split())


def test_a_known_error_is_an_answer_and_no_fault() -> None:
    def refuse() -> int:
        raise ModelError("three levels are needed", hint="run more")

    with contained() as parts:
        made = attempt("curve", refuse)
    assert made == Failed("curve", "three levels are needed", None, internal=False)
    assert parts.failed == [made]
    assert not parts.faults


def test_a_request_to_stop_is_not_contained() -> None:
    def stop() -> int:
        raise Stopped("by the user")

    with contained(), pytest.raises(Stopped):
        attempt("curve", stop)


def test_without_a_boundary_nothing_is_hidden() -> None:
    with pytest.raises(BrokenError):
        attempt_or("curve", None, fail)


def test_a_boundary_within_a_boundary_is_the_same() -> None:
    with contained() as outer, contained() as inner:
        attempt_or("curve", 1, lambda: 1)
    assert inner is outer
    assert outer == Parts(["curve"], [])
