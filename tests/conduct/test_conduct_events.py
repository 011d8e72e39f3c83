"""Events of a run, such as the kill of a service. A thread of an event that fails or never ends is reported, and the
run ends nevertheless.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE_S, until

from towtank.conduct import events as module
from towtank.conduct.events import Events
from towtank.results.folder import RunFolder
from towtank.study.events import Event, Moment

KILL = Event.model_validate({"at": Moment(None, 0.0), "do": "kill", "service": "content"})


class EventTarget:
    """A system that calls a function of the test instead of killing a service."""

    hosts: Any = None

    def __init__(self, kill: Callable[[], None]) -> None:
        self._kill = kill

    def processes_of(self, name: str) -> list[str]:
        return [name]

    def signal(self, name: str, what: str) -> None:
        assert (name, what) == ("content", "kill")
        self._kill()

    def stop(self, name: str) -> None:
        raise AssertionError(name)

    def start(self, name: str) -> dict[str, int]:
        raise AssertionError(name)


@pytest.fixture
def happen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], Events]:
    """A function that runs an event. The event calls the argument of the function instead of killing a service."""
    monkeypatch.setattr(Events, "_origin_ns", lambda _: time.monotonic_ns())

    def begin(kill: Callable[[], None]) -> Events:
        run = RunFolder.create(tmp_path / "run", {})
        made = Events(run, {"loss": KILL}, [], EventTarget(kill), lambda *_: None, lambda _: None)
        made.stage("steady", 0.0)
        return made

    return begin


def test_whatever_is_wrong_with_an_event_is_reported(happen: Any) -> None:
    def fails() -> None:
        raise IndexError("list index out of range")

    made = happen(fails)
    assert until(lambda: made.failures) == [
        "event loss (kill content) was not carried out as planned: list index out of range"
    ]
    made.finish()
    assert [event["k"] for event in made.run.events()] == ["event_begins", "event_failed"]


def test_an_event_that_does_not_end_holds_nothing_up(happen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_END_WITHIN_S", 0.0)
    begun, released = threading.Event(), threading.Event()

    def lasts() -> None:
        begun.set()
        released.wait(PATIENCE_S)

    made = happen(lasts)
    assert begun.wait(PATIENCE_S)
    made.finish()
    (thread,) = [each for each in threading.enumerate() if each.name == "towtank-event-loss"]
    assert made.failures == [
        "event loss (kill content) was not carried out as planned: it did not end within 0 s after the end of the load"
    ]
    assert thread.daemon
    released.set()
    thread.join(PATIENCE_S)
