"""`towtank.Session`: common settings for several measurements, and their end. The tests generate no load."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import towtank
from towtank import conduct
from towtank.conduct import Display, DriveOptions, StopRequest
from towtank.conduct.driving import DriveOutcome
from towtank.errors import Stopped

URL = "http://127.0.0.1:1/"


class Loads:
    """Replacement of `drive_target` that records its arguments. A load of 60 s continues until it is stopped; all other
    loads end at once.
    """

    def __init__(self) -> None:
        self.options: list[DriveOptions] = []
        self.outs: list[Path | None] = []
        self.allowed: list[Sequence[str]] = []
        self.going = threading.Event()
        self.ended = 0

    def __call__(
        self, options: DriveOptions, display: Display, stop: StopRequest, *,
        addresses: Sequence[str] = (), out: Path | None = None, allowed: Sequence[str] = (),
    ) -> DriveOutcome:  # fmt: skip
        self.options.append(options)
        self.outs.append(out)
        self.allowed.append(allowed)
        if options.duration == "60 s":
            pause = threading.Event()
            while not stop.requested:
                self.going.set()
                pause.wait(0.001)
        display.note("a step")
        self.ended += 1
        return DriveOutcome({"target": options.target, "valid": True, "doubts": []})


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Loads:
    found = Loads()
    monkeypatch.setattr(conduct, "drive_target", found)
    return found


def test_the_settings_are_the_defaults_of_each_call(loads: Loads, tmp_path: Path) -> None:
    steps: list[towtank.Progress] = []
    limits: towtank.Limits = {"interference": 0.2, "start_lag_p99": 0.05}
    folder = tmp_path / "today"
    (folder / "drive-002").mkdir(parents=True)
    with towtank.Session(folder, seed=7, limits=limits, allowed=["a.example"], progress=steps.append) as session:
        first = session.drive(URL)
        session.drive(URL, seed=8, limits={"errors": "2 %"}, allowed=(), out=tmp_path / "own")
        session.drive(URL)
    assert first.target == URL
    assert [each.seed for each in loads.options] == [7, 8, 7]
    assert [each.limits for each in loads.options] == [
        {"interference": 0.2, "start_lag_p99": 0.05},
        {"errors": 0.02},
        {"interference": 0.2, "start_lag_p99": 0.05},
    ]
    assert loads.outs == [folder / "drive-001", tmp_path / "own", folder / "drive-003"]
    assert [list(each) for each in loads.allowed] == [["a.example"], [], ["a.example"]]
    assert [step.text for step in steps] == ["a step"] * 3


def test_a_session_without_settings_changes_nothing(loads: Loads) -> None:
    with towtank.Session() as session:
        session.drive(URL, duration="5 s")
    towtank.drive(URL, duration="5 s")
    assert loads.options[0] == loads.options[1]
    assert loads.outs == [None, None]


def test_limits_of_a_study_are_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    requested: list[Any] = []

    class Request:
        def __init__(self, *given: object) -> None:
            requested.append(given)
            raise Stopped("enough")

    monkeypatch.setattr(conduct, "StudyRequest", Request)
    with towtank.Session(limits={"interference": 0.2}, seed=3) as session, pytest.raises(Stopped, match="enough"):
        session.run("content-users", changes={"load.users": 5, "limits.errors": "2 %"})
    study, _, _, seed, changes, _, _ = requested[0]
    assert (study, seed) == ("content-users", 3)
    assert changes == ("limits.interference=20 %", "load.users=5", "limits.errors=2 %")


def test_the_end_of_the_block_ends_what_goes_on(loads: Loads) -> None:
    raised: list[BaseException] = []

    def load() -> None:
        try:
            session.drive(URL, duration="60 s")
        except Stopped as error:
            raised.append(error)

    with towtank.Session() as session:
        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        assert loads.going.wait(60)
    assert session.closed
    for thread in threads:
        thread.join()
    assert len(raised) == 2
    assert not [thread for thread in threading.enumerate() if thread.name == "towtank-conducting"]
    with pytest.raises(Stopped, match="the session is closed"):
        session.drive(URL)


def test_a_cancelled_task_of_asyncio_ends_its_load(loads: Loads) -> None:
    async def measure() -> None:
        async with towtank.Session() as session:
            await asyncio.to_thread(session.drive, URL, duration="60 s")

    async def cancel() -> None:
        task = asyncio.create_task(measure())
        while not loads.going.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert loads.ended == 1

    asyncio.run(cancel())
    assert not [thread for thread in threading.enumerate() if thread.name == "towtank-conducting"]


def test_a_call_without_the_session_is_not_ended_by_it(loads: Loads) -> None:
    session = towtank.Session()
    session.drive(URL)
    session.close()
    towtank.drive(URL)
    assert loads.ended == 2
