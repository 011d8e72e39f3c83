"""Converts JMeter cookie managers to initial cookies, and to the time for which virtual users keep cookies."""

from __future__ import annotations

import re

from towtank.workload.importers.draft import ImportDraft, Step, literal
from towtank.workload.importers.jmx.paths import split_address
from towtank.workload.importers.jmx.texts import Texts
from towtank.workload.importers.jmx.tree import Item, text_of
from towtank.workload.importers.xmlfile import Element

_PARAMETER = re.compile(r"(?<!\$)\$\{parameters\.\w+\}")


class CookieManagers:
    """Converts the cookie managers that apply to requests."""

    def __init__(self, draft: ImportDraft, texts: Texts) -> None:
        self.draft = draft
        self.texts = texts
        # State of the current thread group: the cookie manager of each request, and the values of its cookies by
        # target, path and name.
        self.of_requests: list[Item | None] = []
        self.given: dict[tuple[str | None, str, str], str] = {}
        # State of all thread groups: `declared` are the managers in the test plan, `managers` those that apply to
        # requests, and `sent` the cookies that are sent.
        self.declared: list[Item] = []
        self.managers: dict[int, Item] = {}
        self.sent: set[int] = set()
        # Cookies for a whole domain. If a server sets a cookie of the same name for its host only, JMeter sends both
        # cookies.
        self.wide: set[int] = set()

    def begin(self) -> None:
        """Begin a thread group: discard the managers and cookies of the previous group."""
        self.of_requests, self.given = [], {}

    def of_request(self, manager: Item | None, address: str, target: str | None) -> str:
        """Record the cookies of a request. Return the value of a Cookie header for cookies that only this request
        sends. In the address, variables without a known value stay as `${...}`.
        """
        self.of_requests.append(manager)
        own = []
        for entry in manager.collection("CookieManager.cookies") if manager is not None else []:
            name, written, path = entry.attributes.get("name", ""), text_of(entry, "Cookie.value"), self._path(entry)
            if not self._is_for(entry, address):
                continue
            self.sent.add(id(entry))
            value = self.texts.template(written, entry.place)
            if "${" not in _PARAMETER.sub("", value.replace("$${", "")):
                self.given[target, path, name] = value
                if self._domain(entry) != _host(address):
                    self.wide.add(id(entry))
            elif _covers(path, split_address(address).path or "/"):
                own.append(f"{name}={value}")
                why = "its value varies: it is sent with each request, even if the server sets a cookie with this name"
                self.draft.notes.add(entry.place, f"cookie {name!r}", why)
        return "; ".join(own)

    def _is_for(self, entry: Element, address: str) -> bool:
        """Return True if a cookie is sent to the host of an address (BasicDomainHandler of HttpClient 4.5)."""
        domain = self._domain(entry).removeprefix(".")
        below = text_of(entry, "Cookie.domain_specified", "false").strip().lower() == "true"
        host = _host(address)
        return bool(domain) and (host == domain or (below and host.endswith(f".{domain}")))

    def _domain(self, entry: Element) -> str:
        return self.texts.static(text_of(entry, "Cookie.domain")).strip().lower()

    def _path(self, entry: Element) -> str:
        path = self.texts.static(text_of(entry, "Cookie.path")).strip()
        return path if path.startswith("/") and "${" not in path else "/"

    def finish(self, group: Item) -> Step:
        """Return the cookie settings of a thread group (key `cookies`). All requests of the group must have been
        converted before.
        """
        known = {id(manager): manager for manager in self.of_requests if manager is not None}
        self.managers.update(known)
        if not known:
            return {"kept": "never"}
        for manager in known.values() if len({id(each) for each in self.of_requests}) > 1 else []:
            why = f"applies to some requests of {group.name!r}; in the workload all requests share one store of cookies"
            self.draft.notes.add(manager.place, f"{manager.tag} {manager.name!r}", why)
        given = [
            {"name": literal(name), "value": value, "path": path, **({"target": target} if target is not None else {})}
            for (target, path, name), value in self.given.items()
        ]
        clearing = {self._clears(manager, group) for manager in known.values()}
        return {**({"kept": "per_round"} if True in clearing else {}), **({"given": given} if given else {})}

    def close(self) -> None:
        """Add notes about cookies that JMeter sends differently, and about cookie managers without effect.

        The whole test plan must have been converted before.
        """
        for manager in self.declared:
            if id(manager) not in self.managers:
                manager.left_out = True
                why = "has no effect, because no request is in its scope"
                self.draft.notes.add(manager.place, f"{manager.tag} {manager.name!r}", why)
        for manager in self.managers.values():
            for entry in manager.collection("CookieManager.cookies"):
                name, path = entry.attributes.get("name", ""), text_of(entry, "Cookie.path").strip()
                what = f"cookie {name!r}"
                if id(entry) not in self.sent:
                    self.draft.notes.add(entry.place, what, "is not sent, because no request goes to its domain")
                elif not path:
                    why = "has no path: a server cookie with this name for / replaces it; JMeter sends both"
                    self.draft.notes.add(entry.place, what, why)
                elif id(entry) in self.wide:
                    why = "applies to a whole domain: a cookie with this name for the host replaces it"
                    self.draft.notes.add(entry.place, what, f"{why}; JMeter sends both")

    @staticmethod
    def _clears(manager: Item, group: Item) -> bool:
        """Return True if a cookie manager deletes all cookies before each iteration (CookieManager.testIterationStart
        in JMeter 5.5).
        """
        clears = manager.flag("CookieManager.clearEachIteration")
        if manager.flag("CookieManager.controlledByThreadGroup"):
            return not group.flag("ThreadGroup.same_user_on_next_iteration", default=True)
        return clears


def _host(address: str) -> str:
    """Return the host of an address, which may be a variable whose value is not known."""
    place = address.partition("://")[2].partition("/")[0]
    return place.rpartition("@")[2].lower() if "${" in place else (split_address(address).hostname or "")


def _covers(prefix: str, path: str) -> bool:
    """Return True if a cookie for the path `prefix` is sent to a path (RFC 6265, section 5.1.4)."""
    return path == prefix or path.startswith(prefix if prefix.endswith("/") else f"{prefix}/")
