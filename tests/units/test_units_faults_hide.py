"""Descriptions of internal faults, stored or printed, contain no secret."""

from pathlib import Path

import pytest

from towtank.cli import app
from towtank.containment import attempt, contained

MESSAGE = "cannot parse http://u:canaryword@host/?token=canarytoken"


def _fail() -> None:
    raise ValueError(MESSAGE)


def test_a_contained_fault_shows_no_secret() -> None:
    with contained() as parts:
        attempt("figure", _fail)
    failed = parts.failed[0]
    assert failed.what == "ValueError: cannot parse http://***@host/?token=***"
    assert failed.fault_file is not None
    path = Path(failed.fault_file)
    assert "canary" not in path.read_text()
    assert "Traceback" in path.read_text()
    path.unlink()


def test_an_internal_fault_shows_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        _fail()
    except ValueError:
        app._internal_fault()
    said = capsys.readouterr().err
    assert "internal fault: ValueError: cannot parse http://***@host/?token=***" in said
    path = Path(said.rpartition("the file ")[2].strip())
    assert "canary" not in path.read_text()
    path.unlink()


def test_lines_of_a_fault_that_no_file_takes_show_no_secret(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("towtank.containment.keep_fault", lambda _: None)
    try:
        _fail()
    except ValueError:
        app._internal_fault()
    assert "canary" not in capsys.readouterr().err
