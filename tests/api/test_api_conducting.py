"""Work in a separate thread, and its end after an exception in a callback."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from towtank.api.conducting import Conducting, Work, conducted
from towtank.api.progress import Progress
from towtank.conduct import Display, StopRequest


class Steps:
    """Work that reports steps until it is asked to stop, like a load.

    Attributes
    ----------
    begun, ended : bool
        True as soon as the work has begun, and as soon as it has ended.
    asked : int
        Number of requests to stop that were received before the work ended.
    """

    def __init__(self) -> None:
        self.begun = self.ended = False
        self.asked = 0

    def __call__(self, display: Display, stop: StopRequest) -> str:
        self.begun = True
        pause = threading.Event()
        while not stop.requested:
            display.note("a step")
            pause.wait(0.001)
        for _ in range(5):
            display.note("finishing")
            pause.wait(0.02)  # gives the calling thread time to receive the step
        self.asked, self.ended = stop.count, True
        return "made"


def raising(error: BaseException) -> Callable[[Progress], None]:
    def report(step: Progress) -> None:
        raise error

    return report


def conducting_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "towtank-conducting"]


@pytest.mark.parametrize("error", [LookupError("x"), KeyboardInterrupt(), SystemExit(3)], ids=repr)
def test_a_callback_that_always_raises_ends_the_work_once(error: BaseException) -> None:
    """The callback is called only once, because every further exception would count as another interrupt and abandon
    the work.
    """
    work = Steps()
    with pytest.raises(type(error)) as raised:
        conducted(work, raising(error))
    assert raised.value is error
    assert (work.ended, work.asked, conducting_threads()) == (True, 1, [])


def test_a_thread_that_cannot_be_started_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    work = Steps()
    with pytest.raises(RuntimeError, match="can't start new thread"):
        Conducting(work, lambda step: None).outcome()
    assert not work.begun


def test_an_interrupt_while_the_thread_starts_leaves_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    work = Steps()
    conducting = Conducting(work, lambda step: None)
    with pytest.raises(KeyboardInterrupt):
        conducting.outcome()
    conducting.join()
    assert (work.begun, conducting_threads()) == (False, [])


def test_an_error_of_the_work_is_raised_in_the_calling_thread() -> None:
    def work(display: Display, stop: StopRequest) -> None:
        raise OSError("of the work")

    failing: Work[None] = work
    with pytest.raises(OSError, match="of the work"):
        conducted(failing, None)
