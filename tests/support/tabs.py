"""Controls a tab of Chromium without network access: window width, colour preference, scripts and printing."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from waiting import PATIENCE_S

from towtank.record.chromium import Chromium
from towtank.record.devtools import Devtools

Found = TypeVar("Found")
SCHEMES = {
    "light": {"prefers-color-scheme": "light", "forced-colors": "none"},
    "dark": {"prefers-color-scheme": "dark", "forced-colors": "none"},
    "forced": {"prefers-color-scheme": "dark", "forced-colors": "active"},
}
"""Colour preferences of a reader, as CSS media features."""
A4, LETTER = (210 / 25.4, 297 / 25.4), (8.5, 11.0)
"""Width and height of the paper sizes A4 and letter. [in]"""
_OPEN_FOLDS = """window.opened = [...document.querySelectorAll("details:not([open])")];
for (const part of window.opened) part.open = true; 0"""
_PASS_BY = """(() => {
  const next = document.querySelector("figure[data-live]:not(.is-live)");
  if (next) next.scrollIntoView();
  return !next;
})()"""
_CLOSE_FOLDS = "for (const part of window.opened) part.open = false; window.scrollTo(0, 0); 0"
# Address of the browser's proxy. No proxy exists there, so the browser has no network access.
_NOWHERE = "127.0.0.1:9"


@dataclass
class Tab:
    """Browser tab with its log and requests.

    Attributes
    ----------
    logged : list of str
        Warnings, errors and exceptions of the loaded pages.
    requested : list of str
        Addresses that the pages requested, except the pages themselves and embedded data.
    """

    devtools: Devtools
    session: str = ""
    logged: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    async def open(self) -> None:
        """Open the tab, and record its events from then on."""
        target = await self.devtools.call("Target.createTarget", url="about:blank")
        attached = await self.devtools.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self.session = attached["sessionId"]
        self.devtools.on |= {
            "Runtime.consoleAPICalled": lambda event, _: self._console(event),
            "Runtime.exceptionThrown": lambda event, _: self.logged.append(str(event["exceptionDetails"])),
            "Log.entryAdded": lambda event, _: self.logged.append(event["entry"]["text"]),
            "Network.requestWillBeSent": lambda event, _: self._request(event["request"]["url"]),
        }
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")

    def _console(self, event: dict[str, Any]) -> None:
        if event["type"] in ("warning", "error", "assert"):
            self.logged.append(" ".join(str(part.get("value") or part.get("description")) for part in event["args"]))

    def _request(self, address: str) -> None:
        if not address.startswith(("data:", "file:", "about:")):
            self.requested.append(address)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return await self.devtools.call(method, self.session, **parameters)

    async def load(self, page: Path) -> None:
        await self.call("Page.navigate", url=page.as_uri())
        await self.until(f"document.readyState === 'complete' && location.href.startsWith({page.as_uri()!r})")

    async def load_live(self, page: Path) -> None:
        """Load a report, unfold it, and scroll past all figures until they are interactive. Then fold it again."""
        await self.load(page)
        await self.evaluate(_OPEN_FOLDS)
        await self.until(_PASS_BY)
        await self.evaluate(_CLOSE_FOLDS)

    async def look(self, width: int, scheme: str = "light", height: int = 900) -> None:
        """Set window size and colour preference of the tab."""
        features = [{"name": name, "value": value} for name, value in SCHEMES[scheme].items()]
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        await self.call("Emulation.setEmulatedMedia", features=features)

    async def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression. If the value is a promise, wait for its result.

        The page's content security policy does not apply to the expression.
        """
        found = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def until(self, expression: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not await self.evaluate(f"Boolean({expression})"):
                await asyncio.sleep(0.02)

    async def printed(self, paper: tuple[float, float]) -> bytes:
        """Print the page as PDF. A paper size in the style sheet takes precedence over `paper`."""
        width, height = paper
        found = await self.call(
            "Page.printToPDF", paperWidth=width, paperHeight=height, preferCSSPageSize=True, printBackground=True
        )
        return base64.b64decode(found["data"])


def in_a_tab(task: Callable[[Tab], Awaitable[Found]]) -> Found:
    """Run a task in a tab of a new browser; return its result."""

    async def whole() -> Found:
        with Chromium.start(_NOWHERE, "", sandbox=False) as browser:
            async with Devtools(browser) as devtools:
                tab = Tab(devtools)
                await tab.open()
                return await task(tab)

    return asyncio.run(whole())
