"""If the browser sends an invalid message, all waiting calls fail immediately, before their time limit."""

from __future__ import annotations

import asyncio
import os
from typing import Any, cast

import pytest

from towtank.record.chromium import Chromium
from towtank.record.devtools import Devtools, DevtoolsError

pytestmark = pytest.mark.waits


class _Browser:
    """Stand-in for a browser. The test writes the messages of the browser to a pipe."""

    def __init__(self) -> None:
        self.reads, self.says = os.pipe()
        self.reported, self.writes = os.pipe()

    def last_words(self) -> str:
        return "its last words"


@pytest.mark.timeout(20)
@pytest.mark.parametrize("said", [b"no JSON\0", b"\xff\xfe\0"])
def test_a_call_ends_where_the_browser_says_what_is_no_message(said: bytes) -> None:
    browser: Any = _Browser()

    async def run() -> None:
        async with Devtools(cast(Chromium, browser)) as devtools:
            waiting = asyncio.create_task(devtools.call("Page.enable"))
            await asyncio.sleep(0)
            os.write(browser.says, said)
            with pytest.raises(DevtoolsError, match="the browser ended: its last words"):
                await waiting

    asyncio.run(run())
    for file in (browser.reads, browser.says, browser.reported, browser.writes):
        os.close(file)
