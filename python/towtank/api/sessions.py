"""Sessions: share settings between measurements, and end all measurements together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from towtank.api.driving import drive as drive_once
from towtank.api.going import GOING, Going
from towtank.api.limits import Limits, limit_texts
from towtank.api.study import run as run_once

if TYPE_CHECKING:
    from towtank.api.progress import Callback

P = ParamSpec("P")
R = TypeVar("R")


def _in_session(call: Callable[P, R]) -> Callable[Concatenate[Session, P], R]:
    """Make a method of `Session` from a function of the API; settings of the session are defaults of its arguments."""

    @wraps(call)
    def method(session: Session, /, *args: P.args, **given: P.kwargs) -> R:
        free: Callable[..., R] = call
        return session._for_it(lambda: free(*args, **session._arguments(call.__name__, given)))

    method.__doc__ = f"""Call `towtank.{call.__name__}` with the settings of the session as defaults.

    Raises
    ------
    Stopped
        If the session is closed, or was closed before the measurement ended.
    """
    return method


class Session:
    """Shares settings between measurements, and ends all running measurements when its `with` block ends.

    A setting is the default of the argument with the same name. Several threads may use one session at the same time.
    If a session is closed while a measurement runs, the measurement ends early, saves the recorded data, and raises
    `towtank.errors.Stopped` in the thread that waits for it.

    Parameters
    ----------
    folder : Path or str, optional
        Folder for all recorded data: the measurements write to `drive-001`, `run-002` and so on in it. By default, each
        measurement uses its own default.
    seed : int, optional
        Seed of the random generators.
    limits : Limits, optional
        Limits of all measurements, for example `{"interference": "20 %"}`; for a study, they change `limits` of the
        study file.
    allowed : sequence of str
        Hosts that Towtank may load although they are outside the loopback and private address ranges.
    progress : callable or bool, optional
        Function to call with a `Progress` for each step; True shows the steps on the terminal or in the notebook.

    Attributes
    ----------
    folder : Path or None
        Folder for all recorded data; None if not set.

    Examples
    --------
    >>> with towtank.Session("results/today", seed=7, limits={"interference": "20 %"}) as session:  # doctest: +SKIP
    ...     found = session.drive("http://127.0.0.1:8080/", users=8)
    ...     results = session.run("content-users", preset="quick")
    """

    def __init__(
        self,
        folder: Path | str | None = None,
        *,
        seed: int | None = None,
        limits: Limits | None = None,
        allowed: Sequence[str] = (),
        progress: Callback | bool | None = None,
    ) -> None:
        self.folder = None if folder is None else Path(folder)
        self._limits: Limits = limits or {}
        settings = {"seed": seed, "allowed": tuple(allowed) or None, "progress": progress}
        self._shared = {name: value for name, value in settings.items() if value is not None}
        self._going = Going()
        self._lock = threading.Lock()
        self._number = 0

    drive = _in_session(drive_once)
    run = _in_session(run_once)

    @property
    def closed(self) -> bool:
        """True if the session is closed."""
        return self._going.closed

    def close(self) -> None:
        """End all running measurements, wait until they have ended, and refuse new measurements."""
        self._going.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _for_it(self, call: Callable[[], R]) -> R:
        """Call a function such that `close` can end its measurement."""
        self._going.refuse_closed()
        token = GOING.set(self._going)
        try:
            return call()
        finally:
            GOING.reset(token)

    def _arguments(self, kind: str, given: Mapping[str, object]) -> Mapping[str, object]:
        """Return the arguments of a call of `drive` or `run`: `given`, completed by the settings of the session."""
        found = {**self._shared, **given}
        if self.folder is not None and not {"out", "resume"} & set(given):
            found["out"] = self._new_record(self.folder, kind)
        if self._limits and kind == "drive":
            found.setdefault("limits", self._limits)
        elif self._limits:
            limits = {f"limits.{name}": text for name, text in limit_texts(self._limits).items()}
            changes = given.get("changes")
            found["changes"] = {**limits, **(changes if isinstance(changes, Mapping) else {})}
        return found

    def _new_record(self, folder: Path, kind: str) -> Path:
        """Return an unused path in the folder, such as `drive-001`."""
        with self._lock:
            self._number += 1
            while (path := folder / f"{kind}-{self._number:03}").exists():
                self._number += 1
            return path
