"""Progress of a measurement is passed to a callback, and is shown on a terminal or in a notebook."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from towtank import Progress
from towtank.api.progress import Reporting, Shown

LIVE = {"k": "live", "t_s": 3.0, "stage": "steady", "users": 8, "throughput_per_s": 120.0, "p95_ms": 41.0, "errors": 2}


def steps_of_a_run() -> list[Progress]:
    steps: list[Progress] = []
    with Reporting(steps.append) as display:
        display.note("bringing the system up")
        display.run_starts("r001 (1/2)", 12.0)
        display.frame({"k": "stage", "name": "steady"})
        display.frame(LIVE)
        display.run_ends("complete")
        display.note("analysing")
    return steps


def test_each_step_is_a_record_with_units() -> None:
    note, start, second, end, last = steps_of_a_run()
    assert (note.kind, note.text, note.run) == ("note", "bringing the system up", "")
    assert (start.kind, start.run, start.planned_s, start.share) == ("run_started", "r001 (1/2)", 12.0, 0.0)
    assert (second.kind, second.run, second.stage, second.users, second.errors) == (
        "second", "r001 (1/2)", "steady", 8, 2,
    )  # fmt: skip
    assert second.share == pytest.approx(0.25)
    assert second.throughput_per_s is not None and second.p95_ms is not None
    assert (second.throughput_per_s, second.throughput_per_s.unit) == (120.0, "1/s")
    assert (second.p95_ms, second.p95_ms.unit) == (41.0, "ms")
    assert str(second) == "3 of 12 s, steady: 8 users, 120.0/s, p95 41 ms, 2 errors"
    assert (end.kind, end.text, end.share) == ("run_ended", "complete", 1.0)
    assert (last.run, last.planned_s) == ("", 0.0)


def test_on_a_terminal_or_in_a_log_it_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Shown()
    for step in steps_of_a_run():
        shown(step)
    shown.close()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == ["bringing the system up", "r001 (1/2): 12 s", "  complete", "analysing"]


def test_in_a_notebook_one_line_changes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []

    def show(data: dict[str, str], *, raw: bool, display_id: bool = False) -> SimpleNamespace:
        assert raw, "without `raw`, IPython would fetch text that begins with http"
        lines.append(data["text/plain"])
        return SimpleNamespace(update=show)

    display = SimpleNamespace(display=show)
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=display))
    shown = Shown()
    for step in steps_of_a_run():
        shown(step)
    assert lines[3] == "3 of 12 s, steady: 8 users, 120.0/s, p95 41 ms, 2 errors"
    assert lines[-1] == "analysing"
    shown.close(done=True)
    assert lines[-1] == "done", "the line must not remain at the last step"
    shown.close(done=False)
    assert lines[-1] == "stopped"
    assert capsys.readouterr() == ("", "")
