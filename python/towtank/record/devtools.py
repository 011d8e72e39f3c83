"""Speaks the Chrome DevTools protocol over pipes: calls methods, and dispatches replies and events.

Messages are JSON, each terminated by a zero byte (https://chromedevtools.github.io/devtools-protocol/).
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from towtank.digging import dig
from towtank.record.chromium import Chromium

# Largest length of a protocol message. Response bodies, which may be longer, are not sent over the protocol. [byte]
_MESSAGE_AT_MOST = 64 * 2**20
_ANSWERS_WITHIN_S = 30.0
Handler = Callable[[object, str], None]


class DevtoolsError(Exception):
    """Raised if the browser refuses a call, or has exited."""


class Devtools:
    """Calls methods of a browser, and dispatches the browser's events to the handlers `on`, which get the parameters
    and the session of the event.
    """

    def __init__(self, browser: Chromium) -> None:
        self.on: dict[str, Handler] = {}
        self._browser = browser
        self._answers: dict[int, asyncio.Future[object]] = {}
        self._calls = 0
        self._gone = ""

    async def __aenter__(self) -> Self:
        reader = asyncio.StreamReader(limit=_MESSAGE_AT_MOST)
        pipe = os.fdopen(os.dup(self._browser.reads), "rb", buffering=0)
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._listener = asyncio.create_task(self._listen(reader))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._transport.close()
        self._listener.cancel()
        await asyncio.gather(self._listener, return_exceptions=True)

    async def call(self, method: str, session: str = "", **parameters: object) -> object:
        """Call a method of the browser and return the result.

        Raises
        ------
        DevtoolsError
            If the browser refuses the call, does not reply, or has exited.
        """
        if self._gone:
            raise DevtoolsError(self._gone)
        self._calls += 1
        number = self._calls
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            os.write(self._browser.writes, json.dumps(message).encode() + b"\0")
            return await asyncio.wait_for(self._answers[number], _ANSWERS_WITHIN_S)
        except TimeoutError:
            raise DevtoolsError(f"no reply to {method} within {_ANSWERS_WITHIN_S:.0f} s") from None
        except OSError as error:
            raise DevtoolsError(f"the browser has exited: {error.strerror}") from None
        finally:
            del self._answers[number]

    def post(self, method: str, session: str, **parameters: object) -> None:
        """Call a method of the browser without waiting for the result."""
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": parameters, "sessionId": session}
        with suppress(OSError):
            os.write(self._browser.writes, json.dumps(message).encode() + b"\0")

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                self._take(json.loads((await reader.readuntil(b"\0"))[:-1]))
        # Data that are not JSON raise a ValueError.
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, ValueError):
            words = self._browser.last_words()
            self._gone = "the browser ended" + (f": {words}" if words else "")
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(DevtoolsError(self._gone))

    def _take(self, message: object) -> None:
        answer = self._answers.get(dig(message, "id"))
        if answer is not None and not answer.done():
            if (error := dig(message, "error")) is not None:
                answer.set_exception(DevtoolsError(str(dig(error, "message") or "refused")))
            else:
                answer.set_result(dig(message, "result"))
        handler = self.on.get(dig(message, "method"))
        if handler is not None:
            handler(dig(message, "params"), str(dig(message, "sessionId") or ""))
