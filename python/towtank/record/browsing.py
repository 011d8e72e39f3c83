"""Drives a browser session behind a recording proxy: opens pages, clicks, fills in fields and waits, like a person."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from importlib import resources
from urllib.parse import urldefrag, urlsplit

import anyio

from towtank.digging import dig
from towtank.errors import TargetError
from towtank.record.devtools import Devtools, DevtoolsError
from towtank.record.recorder import Recorder
from towtank.record.script import BrowserAction

# A page counts as complete if no request of the page has been in progress for this time. Scripts that load more parts
# of the page usually send their requests sooner. [s]
_QUIET_S = 0.5
_POLL_S = 0.05
_ELEMENT_WITHIN_S = 10.0


@dataclass
class Browsing:
    """Performs the actions of a session in a browser.

    `think_s` is the pause after a page is complete, before the next page is opened; `timeout_s` is the time limit for a
    page to complete. [s]
    """

    devtools: Devtools
    recorder: Recorder
    think_s: float
    timeout_s: float
    _session: str = ""
    _target: str = ""
    _popups: list[str] = field(default_factory=list)

    async def perform(self, actions: list[BrowserAction]) -> None:
        """Perform all actions in order.

        Raises
        ------
        StudyError
            If an element to click or fill in does not exist.
        TargetError
            If a page cannot be reached, or the browser has exited.
        """
        try:
            await self._begin()
            thought = True  # There is no think time before the first page.
            for action in actions:
                if action.kind in {"open", "click"} and not thought:
                    await self._until(self.recorder.last_end_s + self.think_s)
                await getattr(self, f"_{action.kind}")(action)
                thought = action.kind == "wait" or (thought and action.kind == "fill")
        except DevtoolsError as error:
            raise TargetError(f"the browser session ended early: {error}") from None

    async def _begin(self) -> None:
        self.devtools.on = {
            "Target.targetCreated": self._target_created,
            "Network.requestWillBeSent": self._request_will_be_sent,
        }
        await self.devtools.call("Target.setDiscoverTargets", discover=True)
        targets = dig(await self.devtools.call("Target.getTargets"), "targetInfos") or ()
        pages = [str(dig(each, "targetId")) for each in targets if dig(each, "type") == "page"]
        if not pages:
            raise DevtoolsError("the browser has no page")
        await self._attach(pages[0])
        await self.devtools.call("Browser.setDownloadBehavior", behavior="deny")

    async def _attach(self, target: str) -> None:
        """Attach to a browser tab; the next actions act on this tab."""
        answer = await self.devtools.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session, self._target = str(dig(answer, "sessionId")), target
        self.devtools.on["Page.javascriptDialogOpening"] = self._dialog
        for domain in ("Network", "Page", "Runtime"):
            await self.devtools.call(f"{domain}.enable", self._session)

    def _target_created(self, parameters: object, _: str) -> None:
        info = dig(parameters, "targetInfo")
        if dig(info, "type") == "page" and dig(info, "openerId") == self._target:
            self._popups.append(str(dig(info, "targetId")))

    def _request_will_be_sent(self, parameters: object, _: str) -> None:
        key = (str(dig(parameters, "request", "method")), urldefrag(str(dig(parameters, "request", "url"))).url)
        self.recorder.kinds[key] = str(dig(parameters, "type") or "").lower()

    def _dialog(self, _: object, session: str) -> None:
        """Confirm a dialog of the page. This method does not wait for the browser's reply, since the page is blocked
        until the dialog closes.
        """
        self.devtools.post("Page.handleJavaScriptDialog", session, accept=True)

    async def _open(self, action: BrowserAction) -> None:
        self.recorder.begin_page(action.value)
        asked = urldefrag(action.value).url
        url = asked if urlsplit(asked).path else f"{asked}/"
        self.recorder.errors.pop(url, None)
        begun = time.monotonic()
        answer = await self.devtools.call("Page.navigate", self._session, url=action.value)
        await self._settle(begun)
        error = self.recorder.errors.get(url) or dig(answer, "errorText")
        # For a download, the browser aborts the navigation although the response arrives. This is not an error.
        if error and error != "net::ERR_ABORTED":
            raise TargetError(f"{action.value} cannot be opened: {error}")

    async def _click(self, action: BrowserAction) -> None:
        self.recorder.begin_page(f"click {action.value}")
        begun = time.monotonic()
        await self._on_element(action, str(action.value), "click", "")
        await self._settle(begun)
        if self._popups:
            await self._attach(self._popups.pop())
            self._popups.clear()
            await self._settle(begun)

    async def _fill(self, action: BrowserAction) -> None:
        for selector, value in action.value.items():
            await self._on_element(action, selector, "fill", value)

    async def _wait(self, action: BrowserAction) -> None:
        await self._until(max(self.recorder.last_end_s, time.monotonic() - _QUIET_S) + action.value)

    async def _until(self, moment_s: float) -> None:
        await anyio.sleep(max(0.0, moment_s - time.monotonic()))

    async def _on_element(self, action: BrowserAction, selector: str, what: str, value: str) -> None:
        call = f"({_script(what)})({json.dumps(selector)}, {json.dumps(value)})"
        deadline = time.monotonic() + _ELEMENT_WITHIN_S
        found = "does not exist"
        while time.monotonic() < deadline:
            outcome = await self._evaluate(call)
            if outcome == "done":
                return
            if outcome.startswith("SyntaxError"):
                raise action.fault(f"must be a CSS selector, got {selector!r} instead")
            found = outcome or found
            await anyio.sleep(_POLL_S)
        page = await self._evaluate("location.href")
        within = f"after {_ELEMENT_WITHIN_S:.0f} s on {page[:200]}"
        raise action.fault(f"must be an element to {what}, got {selector!r}, which {found} {within}")

    async def _evaluate(self, expression: str) -> str:
        """Return the result of a JavaScript expression as text; an empty text while the page is being unloaded."""
        try:
            answer = await self.devtools.call(
                "Runtime.evaluate", self._session, expression=expression, returnByValue=True, userGesture=True
            )
        except DevtoolsError as error:
            if "context" in str(error).lower() or "navigated" in str(error).lower():
                return ""
            raise
        if (details := dig(answer, "exceptionDetails")) is not None:
            return str(dig(details, "exception", "description") or "failed").partition("\n")[0]
        value = dig(answer, "result", "value")
        return "" if value is None else str(value)

    async def _settle(self, begun_s: float) -> None:
        """Wait until the page is loaded and sends no more requests, but not longer than `timeout_s`."""
        deadline = begun_s + self.timeout_s
        while (now := time.monotonic()) < deadline:
            quiet_since = max(self.recorder.last_end_s, begun_s)
            quiet = not self.recorder.in_flight and now - quiet_since >= _QUIET_S
            if quiet and await self._evaluate("document.readyState") == "complete":
                return
            await anyio.sleep(_POLL_S)
        self.recorder.note(f"a page was not quiet after {self.timeout_s:g} s: the recording went on without waiting")


def _script(name: str) -> str:
    """Return a JavaScript function of this package, such as `click`, that acts on an element of a page."""
    return resources.files("towtank.record").joinpath(f"{name}.js").read_text("utf-8")
