"""Runs a recording until the user stops it, its time has passed, or the browser session ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import anyio

from towtank.record.authority import new_authority
from towtank.record.browsing import Browsing
from towtank.record.chromium import Chromium, asks_by_itself, find_chromium
from towtank.record.devtools import Devtools
from towtank.record.proxy import Proxy, listening
from towtank.record.script import BrowserAction

# Interval between checks whether the user wants to stop. [s]
_POLL_S = 0.1
# Longest time to wait, after the last action, for responses that have not ended. [s]
_FINISH_S = 2.0
Stopped = Callable[[], bool]


@dataclass(frozen=True)
class BrowserSession:
    """Settings of a browser session: pause between pages [s], time limit for a page to complete [s], and whether
    Chromium isolates pages from the user's files and processes.
    """

    actions: list[BrowserAction]
    think_s: float
    timeout_s: float
    sandbox: bool = True


def record_proxy(proxy: Proxy, started: Callable[[], None], stopped: Stopped, for_s: float | None) -> None:
    """Record the exchanges of a proxy's clients until `stopped` returns True, or for a time [s] if one is given.

    `started` is called as soon as the proxy listens; `proxy.address` then contains the port.
    """

    async def run() -> None:
        async with listening(proxy):
            started()
            deadline = None if for_s is None else time.monotonic() + for_s
            while not stopped() and not proxy.recorder.archive.fault:
                if deadline is not None and time.monotonic() >= deadline:
                    return
                await anyio.sleep(_POLL_S)

    _run(run)


def record_browser(proxy: Proxy, session: BrowserSession, stopped: Stopped) -> None:
    """Record a browser session to its end, or until the user stops the session.

    Raises
    ------
    StudyError, TargetError
        Raised by `Browsing.perform`; the archive then contains the exchanges before the error.
    """
    find_chromium()
    proxy.authority = new_authority()
    asked = {urlsplit(action.value).hostname or "" for action in session.actions if action.kind == "open"}
    # Requests that the browser sends on its own are refused, unless the user opens a page of a host that receives such
    # requests.
    proxy.refuses = lambda host: asks_by_itself(host) and not any(map(asks_by_itself, asked))
    pin = proxy.authority.pin

    async def run() -> None:
        async with listening(proxy) as (host, port):
            with Chromium.start(f"{host}:{port}", pin, sandbox=session.sandbox) as browser:
                async with Devtools(browser) as devtools:
                    browsing = Browsing(devtools, proxy.recorder, session.think_s, session.timeout_s)
                    await _unless_stopped(browsing, session.actions, stopped)
                    with anyio.move_on_after(_FINISH_S):
                        while proxy.recorder.in_flight:
                            await anyio.sleep(_POLL_S)

    _run(run)


async def _unless_stopped(browsing: Browsing, actions: list[BrowserAction], stopped: Stopped) -> None:
    work = asyncio.create_task(browsing.perform(actions))
    try:
        while not work.done() and not stopped() and not browsing.recorder.archive.fault:
            await asyncio.wait({work}, timeout=_POLL_S)
        if work.done():
            await work
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await work


def _run(function: Callable[[], object]) -> None:
    """Run a coroutine until it ends. If several tasks fail, only the first error is raised."""
    try:
        anyio.run(function)  # type: ignore[arg-type]
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None
